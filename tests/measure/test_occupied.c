/* test_occupied.c - what others had of the machine, from planted files of /proc and from made-up readings. */
#include "measure/occupied.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

/* A folder like /proc: `stat` (NULL: there is none), and two threads that waited so long. */
static const char *make_proc(const char *stat, const char *first, const char *second)
{
    static char root[512];
    static int n;
    char path[1024];
    const char *const folders[] = {"", "/self", "/self/task", "/self/task/1", "/self/task/2"};
    const struct {
        const char *path, *text;
    } files[] = {{"/stat", stat}, {"/self/task/1/schedstat", first}, {"/self/task/2/schedstat", second}};
    snprintf(root, sizeof root, "%s/proc%d", harness_folder(), n++);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%s", root, folders[i]);
        mkdir(path, 0777);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s%s", root, files[i].path);
        FILE *f = files[i].text ? fopen(path, "w") : NULL;
        if (f) {
            fputs(files[i].text, f);
            fclose(f);
        }
    }
    return root;
}

TEST(files_of_the_system_are_read)
{
    const uint64_t tick = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
    const tern_moment m = tern__moment_read(make_proc("cpu  100 20 30 4000 500 6 7 8 0 0\n"
                                                      "cpu0 50 10 15 2000 250 3 4 4 0 0\n"
                                                      "cpu1 50 10 15 2000 250 3 3 4 0 0\n"
                                                      "intr 12\n",
                                                      "1000 70 3\n", "2000 30 4\n"));
    CHECK(m.waits_known && m.cores_known);
    CHECK_EQ(m.waited_ns, 100);
    CHECK_EQ(m.cores, 2);
    CHECK_EQ(m.busy_ns, (100 + 20 + 30 + 6 + 7) * tick); /* neither idle nor waiting for a disk */
    CHECK_EQ(m.stolen_ns, 8 * tick);
    CHECK(m.now_ns > 0 && m.own_ns > 0);
}

TEST(what_the_system_does_not_tell_is_held_against_nobody)
{
    const char *const stats[] = {NULL, "", "cpu 1 2 3\n", "intr 5\n", "cpu  x y z\n"};
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++) {
        const tern_moment m = tern__moment_read(make_proc(stats[i], NULL, "nonsense\n"));
        CHECK(!m.waits_known && !m.cores_known);
        tern_moment later = m;
        later.now_ns += 1000000000;
        const tern__occupancy o = tern__occupancy_between(m, later);
        CHECK(isnan(o.waited) && isnan(o.stolen) && isnan(o.others));
        CHECK(!tern__is_occupied(&o, 0.1));
    }
    const tern_moment nowhere = tern__moment_read("/nowhere/at/all");
    CHECK(!nowhere.waits_known && !nowhere.cores_known);
    /* No time between them. */
    const tern__occupancy none = tern__occupancy_between(nowhere, nowhere);
    CHECK(!tern__is_occupied(&none, 0.1));
}

/* A second later on two cores: so many milliseconds of waiting, stolen, of all processes and of this one. */
static tern__occupancy after(uint64_t waited_ms, uint64_t stolen_ms, uint64_t busy_ms, uint64_t own_ms)
{
    const uint64_t ms = 1000000;
    tern_moment a = {.now_ns = 5,
                     .own_ns = 7,
                     .waited_ns = 11,
                     .busy_ns = 13,
                     .stolen_ns = 17,
                     .tick_ns = 10 * ms,
                     .cores = 2,
                     .waits_known = true,
                     .cores_known = true};
    tern_moment b = a;
    b.now_ns += 1000 * ms;
    b.waited_ns += waited_ms * ms;
    b.stolen_ns += stolen_ms * ms;
    b.busy_ns += busy_ms * ms;
    b.own_ns += own_ms * ms;
    return tern__occupancy_between(a, b);
}

TEST(others_are_told_from_oneself)
{
    const tern__occupancy o = after(410, 220, 1820, 800);
    CHECK_NEAR(o.waited, 0.41, 1e-9);
    CHECK_NEAR(o.stolen, 0.2, 1e-9); /* less a tick of each core */
    CHECK_NEAR(o.others, 1.0, 1e-9);
    char text[128], small[8];
    tern__occupancy_text(&o, text, sizeof text);
    CHECK_STR(text, "0.41 of its threads waited for a core, the host took 0.20 cores away, others "
                    "computed on 1.0 of 2 cores");
    tern__occupancy_text(&o, small, sizeof small);
    CHECK_STR(small, "0.41 of");
    /* More of one's own than the ticks show. */
    CHECK(after(0, 0, 900, 1000).others == 0);
}

TEST(a_machine_is_occupied_if_others_explain_the_change)
{
    const struct {
        tern__occupancy o;
        double threshold;
        bool occupied;
    } cases[] = {
        {after(0, 0, 2000, 1990), 0.1, false}, /* all of it one's own */
        {after(49, 0, 1000, 1000), 0.1, false},  {after(51, 0, 1000, 1000), 0.1, true},
        {after(30, 40, 1000, 1000), 0.1, false}, /* the ticks' doubt is the host's */
        {after(30, 45, 1000, 1000), 0.1, true},  {after(51, 0, 1000, 1000), 0.5, true},
        {after(9, 0, 1000, 1000), 0.02, false},  {after(11, 0, 1000, 1000), 0.02, true},
        {after(0, 0, 1260, 1000), 0.1, false},   {after(0, 0, 1280, 1000), 0.1, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (tern__is_occupied(&cases[i].o, cases[i].threshold) != cases[i].occupied)
            harness_fail(__FILE__, __LINE__, "case %zu is%s occupied", i, cases[i].occupied ? " not" : "");
}

/* No row is judged by other numbers than those of the warning. */
TEST(a_warning_is_given_by_the_rule_of_verdicts)
{
    for (uint64_t ms = 0; ms < 1000; ms += 7) {
        const tern__occupancy busy = after(0, 0, 1000 + ms, 1000), stolen = after(0, ms, 1000, 1000);
        CHECK_EQ(tern__occupancy_is_worth_telling(&busy), tern__is_occupied(&busy, 0.1));
        CHECK_EQ(tern__occupancy_is_worth_telling(&stolen), tern__is_occupied(&stolen, 0.1));
    }
    tern__occupancy waited = after(900, 0, 1000, 1000);
    CHECK(!tern__occupancy_is_worth_telling(&waited)); /* there may be more threads than cores */
    /* A tick of each core is little of a second; of less time it may be all that others had. */
    CHECK(tern__occupancy_is_sure(&waited));
    waited.hidden = 0.2;
    CHECK(!tern__occupancy_is_sure(&waited));
    waited = (tern__occupancy){.waited = NAN, .stolen = NAN, .others = NAN};
    CHECK(tern__occupancy_is_sure(&waited)); /* where nothing is known, waiting does not help */
}

/* What rounds to nothing is not told. */
TEST(no_part_of_a_text_is_zero)
{
    char text[128];
    tern__occupancy o = after(0, 23, 1820, 800);
    o.waited = NAN;
    tern__occupancy_text(&o, text, sizeof text);
    CHECK_STR(text, "others computed on 1.0 of 2 cores");
}

/* Of the machine at hand: nothing is known of it but that sums grow. */
TEST(moments_of_this_machine_grow)
{
    const tern_moment a = tern_moment_now();
    double sum = 0;
    for (int i = 0; i < 3000000; i++)
        sum += sqrt(i);
    CHECK(sum > 0);
    const tern_moment b = tern_moment_now();
    CHECK(b.now_ns > a.now_ns && b.own_ns > a.own_ns && b.waited_ns >= a.waited_ns && b.busy_ns >= a.busy_ns);
    CHECK(a.waits_known == b.waits_known && a.cores_known == b.cores_known);
}
