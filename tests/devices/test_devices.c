/* test_devices.c - the table of devices, and what device `auto` hands on to those that it chooses from. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "base/status.h"
#include "devices/auto.h"
#include "devices/bounds.h"
#include "devices/costs.h"
#include "harness.h"
#include "runtime/context.h"

/* ---- the table ---- */

static void *list_all(void *out)
{
    tern_device_info info;
    int n = 0;
    for (int i = 0; tern_catalog_device(i, &info) == TERN_OK; i++)
        n += info.name && info.name[0];
    *(int *)out = n;
    return NULL;
}

/* Any thread may ask: plugins are loaded once. What else could go wrong is seen by the thread sanitizer. */
TEST(any_thread_lists_devices)
{
    pthread_t threads[4];
    int counts[4] = {0};
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, list_all, &counts[i]) == 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(counts[i] >= 2);
        CHECK_EQ(counts[i], counts[0]);
    }
}

TEST(an_unknown_name_lists_the_known_ones)
{
    const tern__device_ops *ops = NULL;
    CHECK_STATUS(tern__device_find("abacus", &ops), TERN_NOT_FOUND);
    CHECK(strstr(tern_last_error(), "cpu, ") && strstr(tern_last_error(), ", " TERN__DEVICE_AUTO));
}

/* ---- ops ---- */

/* A new op says how exact devices are with it, and what kind of work it is: `none` is for leaves, which are never steps, and for a fused
 * region, which is what its ops are. */
TEST(every_op_has_a_bound_and_a_kind_of_work)
{
    for (int op = 0; op < TERN__OP_COUNT; op++) {
        if ((tern__ops[op].flags & TERN__LEAF) || op == TERN__OP_fused)
            continue;
        if (!tern__bound_is_stated((tern__opcode)op))
            harness_fail(__FILE__, __LINE__, "%s has no bound in ops.def", tern__ops[op].name);
        if (!tern__cost_is_stated((tern__opcode)op))
            harness_fail(__FILE__, __LINE__, "%s has no kind of work in ops.def", tern__ops[op].name);
    }
}

/* ---- device `auto` ---- */

static const char blocks[] = "a block belongs to one device: whoever wants one names that device";
static const char streams[] = "a stream orders work on blocks, of which it has none";

/* Every slot of tern__device_ops: `auto` has it, or need not, because. */
static const struct {
    size_t at;
    const char *name, *absent;
} slots[] = {
#define AT(slot) offsetof(tern__device_ops, slot), #slot
    {AT(name), NULL},
    {AT(backend), NULL},
    {AT(describe), NULL},
    {AT(create), NULL},
    {AT(destroy), NULL},
    {AT(target), NULL},
    {AT(run), NULL},
    {AT(compile), NULL},
    {AT(forget), NULL},
    {AT(copies_inputs), NULL},
    {AT(stage), NULL},
    {AT(trim), NULL},
    {AT(lose), NULL},
    {AT(list), "it has no kernels of its own"},
    {AT(allocate), blocks},
    {AT(release), blocks},
    {AT(map), blocks},
    {AT(unmap), blocks},
    {AT(copy), blocks},
    {AT(synchronise), blocks},
    {AT(stream_create), streams},
    {AT(stream_destroy), streams},
    {AT(record), streams},
    {AT(wait), streams},
    {AT(synchronise_event), streams},
    {AT(event_destroy), streams},
#undef AT
};

/* All slots are pointers, so that a slot without a row shows in the size. */
TEST(auto_has_every_slot_or_a_reason)
{
    CHECK_EQ(TERN__COUNT(slots) * sizeof(void *), sizeof(tern__device_ops));
    for (size_t i = 0; i < TERN__COUNT(slots); i++) {
        void *slot;
        for (size_t j = 0; j < i; j++)
            CHECK(slots[j].at != slots[i].at);
        memcpy(&slot, (const char *)&tern__device_auto + slots[i].at, sizeof slot);
        if ((slot != NULL) == (slots[i].absent != NULL))
            harness_fail(__FILE__, __LINE__, "slot %s: %s", slots[i].name,
                         slots[i].absent ? slots[i].absent : "auto does not hand it on");
    }
}

/* A device reads its own variables, and no others, by name. */
TEST(settings_of_devices_are_a_list)
{
    setenv("POCL_CACHE_DIR", "/some/where", 1);
    CHECK(strcmp(tern__env_setting("POCL_CACHE_DIR"), "/some/where") == 0);
    unsetenv("POCL_CACHE_DIR");
    CHECK(tern__env_setting("POCL_CACHE_DIR") == NULL);
    setenv("TERN_MLX_COMPILE", "off", 1);
    CHECK(tern__env_switched("TERN_MLX_COMPILE") == -1);
    setenv("TERN_MLX_COMPILE", "yes", 1);
    CHECK(tern__env_switched("TERN_MLX_COMPILE") == 1);
    unsetenv("TERN_MLX_COMPILE");
    CHECK(tern__env_switched("TERN_MLX_COMPILE") == 0);
    CHECK(getenv("HOME") == NULL || tern__env_setting("HOME") == NULL);
}
