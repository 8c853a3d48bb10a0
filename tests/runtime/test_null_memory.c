/* test_null_memory.c - the memory tracker, with NULL for each pointer in turn. */
#include "null_arguments.h"

TEST(memory)
{
    tern_memory *memory;
    ALLOWED(tern_memory_start(NULL));
    NEUTRAL(tern_memory_enter(NULL), 0);
    QUIET(tern_memory_leave(0));
    REFUSED(tern_memory_now(NULL));
    REFUSED(tern_memory_stop(NULL));
    CHECK(tern_memory_is_on());
    QUIET(tern_memory_process_peak());
    CHECK_OK(tern_memory_stop(&memory));
    QUIET(tern_memory_get_info(NULL, &o.memory_info));
    QUIET(tern_memory_get_info(memory, NULL));
    QUIET(tern_memory_get_system(NULL, &o.memory_system));
    QUIET(tern_memory_get_system(memory, NULL));
    QUIET(tern_memory_get_pressure(NULL, &o.pressure));
    QUIET(tern_memory_get_pressure(memory, NULL));
    REFUSED(tern_memory_get_peak(NULL, TERN_MEMORY_IN_USE, &o.memory_peak));
    REFUSED(tern_memory_get_peak(memory, TERN_MEMORY_IN_USE, NULL));
    REFUSED(tern_memory_get_peak(memory, (tern_memory_sum)9, &o.memory_peak));
    REFUSED(tern_memory_get_row(NULL, TERN_MEMORY_OPS, 0, &o.memory_row));
    REFUSED(tern_memory_get_row(memory, TERN_MEMORY_OPS, 0, NULL));
    REFUSED(tern_memory_get_row(memory, (tern_memory_by)9, 0, &o.memory_row));
    REFUSED(tern_memory_get_frame(NULL, 0, &o.memory_frame));
    REFUSED(tern_memory_get_frame(memory, 0, NULL));
    REFUSED(tern_memory_get_point(NULL, 0, &o.memory_point));
    REFUSED(tern_memory_get_point(memory, 0, NULL));
    REFUSED(tern_memory_get_leak(NULL, 0, &o.memory_leak));
    REFUSED(tern_memory_get_leak(memory, 0, NULL));
    REFUSED(tern_memory_get_copy(NULL, 0, &o.memory_copy));
    REFUSED(tern_memory_get_copy(memory, 0, NULL));
    REFUSED(tern_memory_get_pool(NULL, 0, &o.memory_pool));
    REFUSED(tern_memory_get_pool(memory, 0, NULL));
    REFUSED(tern_memory_get_plan(NULL, 0, &o.memory_plan));
    REFUSED(tern_memory_get_plan(memory, 0, NULL));
    REFUSED(tern_memory_get_advice(NULL, 0, &o.memory_advice));
    REFUSED(tern_memory_get_advice(memory, 0, NULL));
    REFUSED(tern_memory_by_parse(NULL, &o.memory_by));
    REFUSED(tern_memory_by_parse("op", NULL));
    REFUSED(tern_memory_format_parse(NULL, &o.memory_format));
    REFUSED(tern_memory_format_parse("svg", NULL));
    REFUSED(tern_memory_export(NULL, TERN_MEMORY_FORMAT_JSON, &o.text));
    REFUSED(tern_memory_export(memory, TERN_MEMORY_FORMAT_JSON, NULL));
    CHECK_STR(tern_advice_kind_name((tern_advice_kind)99), "unknown");
    CHECK_STR(tern_priority_name((tern_priority)99), "unknown");
    tern_memory_free(memory);
    QUIET(tern_memory_free(NULL));
}

TEST(pressure)
{
    REFUSED(tern_pressure_read("/", NULL, NULL));
    ALLOWED(tern_pressure_read(NULL, NULL, &(tern_pressure_reading){0}));
    ALLOWED(tern_pressure_relieve(TERN_PRESSURE_NONE, NULL));
    ALLOWED(tern_pressure_watch_start(NULL));
    tern_pressure_watch_stop();
    CHECK_STR(tern_pressure_name((tern_pressure)99), "unknown");
    CHECK_STR(tern_pressure_source_name((tern_pressure_source)99), "unknown");
}
