/* test_report.c - reports: text from files stays text, what is not there is said, every format has the same sections. The page in a
 * browser is test_report_page.py's. */
#include <tern/report.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/alloc.h>
#include <tern/graph.h>
#include <tern/memory.h>
#include <tern/profile.h>

#include "gate.h"
#include "harness.h"

static const char hostile[] = "</script><script>alert('x')</script>\x01\xff\"&";

static tern_report *new_report(void)
{
    tern_report *report = NULL;
    return tern_report_create("A <title> & more", &report) == TERN_OK ? report : NULL;
}

static void add_row(tern_results *to, const char *name, double us, double share)
{
    const double samples[] = {us, us * 1.01, us * 0.99};
    tern_result row = tern_result_default();
    row.suite = "ops", row.family = "f", row.name = name, row.threads = 1;
    row.rounds = us > 0 ? 3 : 0;
    row.samples_us = us > 0 ? samples : NULL;
    row.limit_kind = "read_bw", row.limit_share = share;
    row.error = us > 0 ? "" : "it is <broken>";
    CHECK_OK(tern_results_add(to, &row));
}

static tern_results *new_results(void)
{
    tern_results *r = NULL;
    if (tern_results_create(&r) == TERN_OK) {
        tern_results_set_condition(r, "host", "here");
        tern_results_set_condition(r, "cpu_model", hostile);
    }
    return r;
}

static char *write(const tern_report *report, tern_report_format format)
{
    char *text = NULL;
    return tern_report_write(report, format, 0, NULL, &text) == TERN_OK ? text : NULL;
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        n++;
    return n;
}

/* true: the build reads JSON. */
static bool reads_json(void)
{
    tern_results *r = NULL;
    const bool reads = tern_results_read("[]", 2, &r) == TERN_OK;
    tern_results_free(r);
    return reads;
}

/* A result of a machine whose load was this. */
static tern_results *results_of(const char *host, const char *load)
{
    tern_results *r = new_results();
    if (!r)
        return NULL;
    tern_results_set_condition(r, "host", host);
    tern_results_set_condition(r, "cores", "2 of 2 (all cores)");
    tern_results_set_condition(r, "load", load);
    return r;
}

TEST(a_report_is_of_one_machine_and_busy_if_any_file_is)
{
    tern_report *report = new_report();
    tern_results *idle = results_of("here", "0.01"), *busy = results_of("here", "1.75"),
                 *other = results_of("elsewhere", "0.01");
    add_row(idle, "a", 10, 0.5);
    add_row(busy, "b", 11, 0.5);
    add_row(other, "c", 12, 0.5);
    CHECK_OK(tern_report_add_results(report, "idle", idle));
    char *text = write(report, TERN_REPORT_TEXT);
    CHECK_EQ(count(text, "The machine was busy"), 0);
    tern_string_free(text);
    CHECK_OK(tern_report_add_results(report, "busy", busy));
    CHECK_STATUS(tern_report_add_results(report, "other", other), TERN_STATE);
    CHECK(strstr(tern_last_error(), "another machine (host elsewhere)") != NULL);
    text = write(report, TERN_REPORT_TEXT);
    CHECK_EQ(count(text, "The machine was busy before this was measured (load 1.75)"), 1);
    CHECK(strstr(text, "2 benchmarks were measured") != NULL); /* the refused one has left nothing */
    tern_string_free(text);
    tern_results_free(idle);
    tern_results_free(busy);
    tern_results_free(other);
    tern_report_free(report);
}

TEST(what_was_seen_while_measuring_counts_before_the_load)
{
    static const char *const seen[] = {"nobody", "others computed on 1.2 of 2 cores",
                                       "unavailable: no /proc"};
    for (int i = 0; i < 3; i++) {
        tern_report *report = new_report();
        tern_results *r = results_of("here", "1.75");
        tern_results_set_condition(r, "disturbed_by", seen[i]);
        add_row(r, "a", 10, 0.5);
        CHECK_OK(tern_report_add_results(report, "r", r));
        char *text = write(report, TERN_REPORT_TEXT);
        CHECK_EQ(count(text, "The machine was busy before this was measured"), i == 2);
        CHECK_EQ(count(text, "Other programs had the machine while this was measured (others computed"),
                 i == 1);
        tern_string_free(text);
        tern_results_free(r);
        tern_report_free(report);
    }
}

TEST(an_empty_report_says_what_it_lacks)
{
    tern_report *report = new_report();
    char *text = write(report, TERN_REPORT_TEXT);
    const char *name, *what;
    int sections = 0;
    while (tern_report_section(sections, &name, &what) == TERN_OK && name[0] && what[0])
        sections++;
    CHECK_EQ(sections, 11);
    CHECK_STATUS(tern_report_section(sections, &name, &what), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_report_section(-1, &name, &what), TERN_OUT_OF_RANGE);
    CHECK_EQ(count(text, "unavailable: "), sections);
    tern_string_free(text);
    text = write(report, TERN_REPORT_JSON);
    CHECK_EQ(count(text, "\"unavailable\": "), sections);
    tern_string_free(text);
    text = write(report, TERN_REPORT_HTML);
    CHECK_EQ(count(text, "<p class=\"missing\">unavailable: "), sections);
    CHECK(strstr(text, "A &lt;title&gt; &amp; more</title>") != NULL && strstr(text, "</html>") != NULL);
    tern_string_free(text);
    tern_report_free(report);
}

TEST(text_from_files_stays_text)
{
    tern_report *report = new_report();
    tern_results *results = new_results();
    add_row(results, hostile, 10, 0.5);
    add_row(results, "broken", 0, NAN);
    CHECK_OK(tern_report_add_results(report, hostile, results));
    CHECK_OK(tern_report_compare(report, hostile, NULL, results, NULL));
    char *text = write(report, TERN_REPORT_HTML);
    /* The page's own: its data, its script, and nothing that a name brought in. */
    CHECK_EQ(count(text, "<script"), 2);
    CHECK_EQ(count(text, "</script>"), 2);
    CHECK(!strstr(text, "<broken>") && strstr(text, "it is &lt;broken&gt;") != NULL);
    CHECK(strstr(text, "\\u003c/script>\\u003cscript>") != NULL && strstr(text, "&lt;/script&gt;") != NULL);
    CHECK(!strchr(text, '\x01') && !strchr(text, '\xff'));
    tern_string_free(text);
    text = write(report, TERN_REPORT_JSON);
    CHECK(!strchr(text, '\x01') && !strchr(text, '\xff'));
    tern_string_free(text);
    tern_report_free(report);
    tern_results_free(results);
}

/* What one call said is what the page says: a second look at the same samples might say something else. */
TEST(a_comparison_that_was_made_is_shown_as_it_is)
{
    tern_report *report = new_report();
    tern_results *base = new_results(), *now = new_results();
    tern_regress_report *regress = NULL;
    char *text;
    for (int i = 0; i < 8; i++) {
        add_row(base, "a", 10, NAN);
        add_row(now, "a", 20, NAN);
    }
    /* In pairs, and with a threshold of its own. */
    CHECK_OK(tern_regress_pairs(&(tern_regress_options){.threshold = 0.5}, base, now, &regress));
    CHECK_OK(tern_report_add_regress(report, "old", regress, base, NULL));
    CHECK_STATUS(tern_report_add_regress(report, "old", regress, base, NULL), TERN_STATE);
    CHECK_OK(tern_report_add_results(report, "new", now));
    CHECK_STATUS(tern_report_compare(report, "old", NULL, base, NULL), TERN_STATE);
    tern_regress_free(regress); /* the report shares it */
    text = write(report, TERN_REPORT_TEXT);
    CHECK(strstr(text, "8 pairs of sessions") != NULL && strstr(text, "threshold 50 %") != NULL);
    CHECK(strstr(text, "Compared with 'old'") != NULL);
    CHECK_EQ(count(text, "baseline  "), 1);
    tern_string_free(text);
    tern_report_free(report);
    tern_results_free(base);
    tern_results_free(now);
}

TEST(conditions_are_of_one_set_and_a_failure_leaves_none)
{
    tern_report *report = new_report();
    tern_results *first = NULL, *second = new_results();
    char *text;
    CHECK_OK(tern_results_create(&first));
    CHECK_OK(tern_results_set_condition(first, "load", "0.5"));
    add_row(first, "a", 10, 0.5);
    add_row(second, "a", 10, 0.5);
    long n = 0;
    for (bool fired = true; fired;) { /* the second is given whole, or not at all */
        tern_report *half = new_report();
        gate g = {.countdown = ++n};
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status = tern_report_add_results(half, "second", second);
        tern_alloc_set_gate(NULL, NULL);
        fired = g.fired;
        CHECK_STATUS(status, fired ? TERN_OUT_OF_MEMORY : TERN_OK);
        text = write(half, TERN_REPORT_TEXT);
        CHECK_EQ(count(text, "cpu_model"), fired ? 0 : 1);
        tern_string_free(text);
        tern_report_free(half);
    }
    CHECK_OK(tern_report_add_results(report, "first", first));
    CHECK_OK(tern_report_add_results(report, "second", second));
    text = write(report, TERN_REPORT_TEXT);
    CHECK(strstr(text, "load ") != NULL && !strstr(text, "cpu_model"));
    tern_string_free(text);
    tern_report_free(report);
    tern_results_free(first);
    tern_results_free(second);
}

/* What is said of the row that is farthest from its limit is true of it, however far that is. */
TEST(what_is_left_to_gain_is_not_made_smaller)
{
    const double shares[] = {0.5, 0.25, 1e-5, 0};
    static const char *const said[] = {"", "there, at most a factor of 4.0 is left to gain.",
                                       "there, more than a factor of 1000 is left to gain.",
                                       "there, more than a factor of 1000 is left to gain."};
    for (int i = 1; i < 4; i++) {
        tern_report *report = new_report();
        tern_results *results = new_results();
        add_row(results, "a", 10, shares[0]);
        add_row(results, "b", 20, shares[i]);
        CHECK_OK(tern_report_add_results(report, "r.json", results));
        char *text = write(report, TERN_REPORT_TEXT);
        CHECK(strstr(text, said[i]) != NULL);
        tern_string_free(text);
        tern_report_free(report);
        tern_results_free(results);
    }
}

TEST(one_result_and_one_that_failed)
{
    tern_report *report = new_report();
    tern_results *results = new_results();
    add_row(results, "a", 10, 0.5);
    add_row(results, "b", 0, NAN);
    CHECK_OK(tern_report_add_results(report, "r.json", results));
    char *text = write(report, TERN_REPORT_TEXT);
    CHECK(strstr(text, "1 benchmark was measured") != NULL && strstr(text, "1 could not be: b") != NULL);
    CHECK(strstr(text, "reach 50 % or more") != NULL);
    CHECK(strstr(text, "unavailable: it is <broken>") != NULL);
    CHECK(!strstr(text, "nan") && !strstr(text, "inf"));
    tern_string_free(text);
    text = write(report, TERN_REPORT_JSON);
    CHECK(strstr(text, "\"share\": null") != NULL && !strstr(text, ": nan"));
    tern_string_free(text);
    text = write(report, TERN_REPORT_HTML);
    CHECK(!strstr(text, "nan") && !strstr(text, "http") && !strstr(text, "src="));
    tern_string_free(text);
    tern_report_free(report);
    tern_results_free(results);
}

TEST(documents_of_one_benchmark_are_sessions_of_it)
{
    tern_report *report = new_report();
    tern_results *a = new_results(), *b = new_results();
    add_row(a, "x", 10, 0.5);
    add_row(a, "y", 10, 0.5);
    add_row(b, "x", 11, 0.5);
    add_row(b, "z", 0, NAN);
    CHECK_OK(tern_report_add_results(report, "a", a));
    CHECK_OK(tern_report_add_results(report, "b", b));
    char *text = write(report, TERN_REPORT_TEXT);
    CHECK(strstr(text, "2 benchmarks were measured") != NULL && strstr(text, "1 could not be: z") != NULL);
    CHECK(count(text, "x, 1 thread, session 1\n") == 1 && count(text, ", session ") == 1);
    tern_string_free(text);
    text = write(report, TERN_REPORT_HTML);
    CHECK(count(text, "reach 50\xc2\xa0% or more") == 1); /* no break before the sign */
    CHECK(count(text, "<strong>50\xc2\xa0%</strong>") == 1);
    tern_string_free(text);
    CHECK_STATUS(tern_report_add_results(report, "a again", a), TERN_STATE);
    tern_report_free(report);
    tern_results_free(a);
    tern_results_free(b);
}

TEST(sections_are_chosen_by_name_and_keep_their_order)
{
    tern_report *report = new_report();
    char *text = NULL;
    const char *two[] = {"data", "summary"}, *wrong[] = {"summary", "sumary"}, *none[] = {NULL};
    CHECK_OK(tern_report_write(report, TERN_REPORT_TEXT, 2, two, &text));
    CHECK(strncmp(text, "Summary\n", 8) == 0 && strstr(text, "\nRaw data\n") != NULL &&
          !strstr(text, "Roofline"));
    tern_string_free(text);
    text = NULL;
    CHECK_STATUS(tern_report_write(report, TERN_REPORT_TEXT, 2, wrong, &text), TERN_NOT_FOUND);
    CHECK(strstr(tern_last_error(), "sumary") != NULL && strstr(tern_last_error(), "roofline") != NULL);
    CHECK_STATUS(tern_report_write(report, TERN_REPORT_TEXT, 1, none, &text), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_report_write(report, TERN_REPORT_TEXT, -1, two, &text), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_report_write(report, (tern_report_format)9, 0, NULL, &text), TERN_INVALID_ARGUMENT);
    CHECK(text == NULL);
    tern_report_free(report);
}

/* ---- documents ---- */

#define PROFILE(frames, limits)                                                                             \
    "{\"format\": \"tern-profile\", \"version\": 1, \"title\": \"run\", \"wall_ns\": 10, \"work_ns\": 10, " \
    "\"wait_ns\": 0, \"events\": 3, \"lost\": "                                                             \
    "0, \"ops\": "                                                                                          \
    "[{\"name\": \"a\", \"category\": \"step\", \"threads\": 1, \"count\": 1, \"self_ns\": 10, \"flops\": " \
    "100, "                                                                                                 \
    "\"bytes\": 50, \"share\": 1, \"limit_share\": null, \"bottleneck\": \"overhead\"}], \"frames\": "      \
    "[" frames "], \"limits\": [" limits "]}"
#define LIMITS "{\"threads\": 1, \"memory_bytes_per_s\": 1e10, \"f32_per_s\": 1e11, \"int8_per_s\": null}"

static tern_status add(tern_report *report, const char *text)
{
    return tern_report_add_document(report, "d.json", text, strlen(text));
}

TEST(documents_are_told_apart_and_checked)
{
    if (!reads_json())
        SKIP("this build has no jansson");
    tern_report *report = new_report();
    static const char *const bad[] = {
        "",
        "{",
        "7",
        "{}",
        "{\"format\": \"tern-results\"}",
        "[{\"name\": 7}]",
        PROFILE("7", ""),
        PROFILE("{\"name\": \"main\", \"parent\": 0}", ""),
        PROFILE("{\"name\": \"main\", \"parent\": -2}", ""),
        PROFILE("", "{}, {}, {}"),
        "{\"format\": \"tern-profile\", \"version\": 1, \"ops\": 7, \"frames\": []}",
        "{\"ops\": [], \"frames\": []}", /* what it is must be said */
        "{\"format\": \"tern-other\", \"version\": 1, \"ops\": [], \"frames\": []}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const tern_status status = add(report, bad[i]);
        CHECK(status == TERN_FORMAT || status == TERN_LIMIT);
    }
    static const char *const newer[] = {"{\"format\": \"tern-profile\", \"version\": 2}",
                                        "{\"format\": \"tern-memory\", \"version\": 2}",
                                        "{\"format\": \"tern-memory\"}"};
    for (size_t i = 0; i < sizeof newer / sizeof newer[0]; i++)
        CHECK_STATUS(add(report, newer[i]), TERN_UNSUPPORTED);
    char *text = write(report, TERN_REPORT_TEXT);
    CHECK_EQ(count(text, "unavailable: "), 11); /* nothing of them stayed */
    tern_string_free(text);
    CHECK_OK(add(report, PROFILE("{\"name\": \"main\", \"parent\": -1, \"total_ns\": 10}", LIMITS)));
    CHECK_STATUS(add(report, PROFILE("", "")), TERN_STATE);
    CHECK_OK(add(report, "[{\"name\": \"a\", \"samples_us\": [1, 2, 3]}]"));
    text = write(report, TERN_REPORT_TEXT);
    CHECK(strstr(text, "2 operations/byte         10 G/s") != NULL);
    tern_string_free(text);
    text = write(report, TERN_REPORT_HTML);
    CHECK(strstr(text, "class=\"flame\"") != NULL && strstr(text, "href=\"#spot-0\"") != NULL);
    tern_string_free(text);
    for (int i = 2; i < 16; i++)
        CHECK_OK(add(report, "[]"));
    CHECK_STATUS(add(report, "[]"), TERN_LIMIT);
    tern_report_free(report);
}

#define MEMORY(timeline) MEMORY_PEAK("\"op\": \"a\"", timeline)
#define MEMORY_PEAK(peak, timeline)                                                                        \
    "{\"format\": \"tern-memory\", \"version\": 1, \"title\": \"run\", \"wall_ns\": 100, \"peak\": "       \
    "{\"bytes\": 2048, \"time_ns\": 50, " peak ", "                                                        \
    "\"step\": null}, "                                                                                    \
    "\"held_peak\": null, \"timeline\": [" timeline                                                        \
    "], \"ops\": [{\"name\": \"a\", \"category\": \"step\", \"peak_bytes\": 1024}], \"recommendations\": " \
    "[]}"

TEST(memory_is_drawn_from_its_document)
{
    if (!reads_json())
        SKIP("this build has no jansson");
    tern_report *report = new_report();
    CHECK_STATUS(add(report, MEMORY("7")), TERN_FORMAT);
    CHECK_STATUS(add(report, MEMORY("{\"time_ns\": 5}")), TERN_FORMAT);
    CHECK_STATUS(add(report, MEMORY("{\"time_ns\": 5, \"in_use_bytes\": -1}")), TERN_FORMAT);
    CHECK_STATUS(
        add(report, MEMORY("{\"time_ns\": 5, \"in_use_bytes\": 1}, {\"time_ns\": 4, \"in_use_bytes\": 1}")),
        TERN_FORMAT);
    CHECK_OK(add(report,
                 MEMORY("{\"time_ns\": 0, \"in_use_bytes\": 0}, {\"time_ns\": 50, \"in_use_bytes\": 2048}")));
    CHECK_STATUS(add(report, MEMORY("")), TERN_STATE);
    char *text = write(report, TERN_REPORT_TEXT);
    CHECK(strstr(text, "Memory peaks at 2.00 KiB, in a.") != NULL);
    CHECK(strstr(text, "held at most: unavailable; never given back: unavailable") != NULL);
    tern_string_free(text);
    text = write(report, TERN_REPORT_HTML);
    CHECK(strstr(text, "<path class=\"area\" d=\"M0 100V100.00H500V") != NULL);
    CHECK(!strstr(text, "<path class=\"held\" d=\"M0 5H40") && !strstr(text, "nan"));
    tern_string_free(text);
    tern_report_free(report);
    report = new_report();
    CHECK_OK(add(report, MEMORY_PEAK("\"op\": \"memory\", \"category\": \"pass\"", "")));
    text = write(report, TERN_REPORT_TEXT);
    CHECK(strstr(text, "Memory peaks at 2.00 KiB, while a program is compiled (pass 'memory').") != NULL);
    tern_string_free(text);
    text = write(report, TERN_REPORT_HTML);
    CHECK(strstr(text, "id=\"fig-memory\"") != NULL && !strstr(text, "nan") && !strstr(text, "inf%"));
    tern_string_free(text);
    tern_report_free(report);
}

/* What the library writes it reads. */
TEST(profiles_and_memory_come_from_the_library)
{
    if (!reads_json())
        SKIP("this build has no jansson");
    tern_report *report = new_report();
    tern_profile *profile = NULL;
    tern_memory *memory = NULL;
    char *text = NULL;
    CHECK_OK(tern_profile_start(&(tern_profile_options){.title = "a <program>"}));
    CHECK_OK(tern_profile_stop(&profile));
    const tern_profile_limits limits = {.one = {.threads = 1, .memory_bytes_per_s = 1e10, .f32_per_s = 1e11}};
    CHECK_OK(tern_profile_export(profile, TERN_PROFILE_FORMAT_JSON, &limits, &text));
    CHECK_OK(add(report, text));
    tern_string_free(text);
    tern_profile_free(profile);
    CHECK_OK(tern_memory_start(NULL));
    CHECK_OK(tern_memory_stop(&memory));
    CHECK_OK(tern_memory_export(memory, TERN_MEMORY_FORMAT_JSON, &text));
    CHECK_OK(add(report, text));
    tern_string_free(text);
    tern_memory_free(memory);
    text = write(report, TERN_REPORT_TEXT);
    CHECK(strstr(text, "a <program>") != NULL);
    tern_string_free(text);
    tern_report_free(report);
}

TEST(a_profile_of_nothing_is_a_profile)
{
    if (!reads_json())
        SKIP("this build has no jansson");
    tern_report *report = new_report();
    CHECK_OK(add(report, "{\"format\": \"tern-profile\", \"version\": 1, \"ops\": [], \"frames\": []}"));
    char *text = write(report, TERN_REPORT_HTML);
    CHECK(strstr(text, "unavailable: the profile has no limits") != NULL);
    tern_string_free(text);
    text = write(report, TERN_REPORT_JSON);
    tern_string_free(text);
    tern_report_free(report);
}

/* However slow a step is: it lies above the lowest line of the picture, below which the ticks' labels stand. */
TEST(points_lie_above_the_lowest_line)
{
    if (!reads_json())
        SKIP("this build has no jansson");
    static const double self_ns[] = {10, 1, 1e3, 3e4, 7e5, 1.1e6, 9e8};
    for (size_t i = 0; i < sizeof self_ns / sizeof *self_ns; i++) {
        char document[1024], wanted[64];
        double line = 0, point = -1;
        snprintf(wanted, sizeof wanted, "\"self_ns\": %.0f, \"flops\": ", self_ns[i]);
        const char *usual = PROFILE("", LIMITS), *place = strstr(usual, "\"self_ns\": 10, \"flops\": ");
        CHECK(place != NULL);
        snprintf(document, sizeof document, "%.*s%s%s", (int)(place - usual), usual, wanted,
                 place + strlen("\"self_ns\": 10, \"flops\": "));
        tern_report *report = new_report();
        CHECK_OK(add(report, document));
        char *text = write(report, TERN_REPORT_HTML);
        const char *figure = strstr(text, "id=\"fig-roofline\"");
        CHECK(figure != NULL);
        for (const char *at = figure; (at = strstr(at, "x1=\"0\" x2=\"100%\" y1=\"")) != NULL; at++)
            line = fmax(line, strtod(at + strlen("x1=\"0\" x2=\"100%\" y1=\""), NULL));
        const char *circle = strstr(figure, " cy=\"");
        CHECK(circle != NULL);
        point = strtod(circle + strlen(" cy=\""), NULL);
        CHECK(line == 100 && point > 0 && point < 100);
        tern_string_free(text);
        tern_report_free(report);
    }
}

TEST(comparisons_need_results_and_are_made_once)
{
    tern_report *report = new_report();
    tern_results *results = new_results(), *earlier = new_results();
    add_row(results, "a", 10, 0.5);
    add_row(earlier, "a", 11, 0.5);
    CHECK_STATUS(tern_report_compare(report, "b", NULL, earlier, NULL), TERN_STATE);
    CHECK_OK(tern_report_add_results(report, "r", results));
    CHECK_OK(tern_results_set_condition(earlier, "checks", "the <latest> 1 of 2"));
    CHECK_OK(tern_report_compare(report, "b", NULL, earlier, earlier));
    CHECK_STATUS(tern_report_compare(report, "b", NULL, earlier, NULL), TERN_STATE);
    char *text = write(report, TERN_REPORT_HTML);
    CHECK(strstr(text, "id=\"fig-comparison\"") != NULL && strstr(text, "id=\"fig-history\"") != NULL);
    CHECK(strstr(text, "Of the checks since the baseline, the &lt;latest&gt; 1 of 2 are here") != NULL);
    tern_string_free(text);
    text = write(report, TERN_REPORT_TEXT);
    CHECK(strstr(text, "of the checks since the baseline, the <latest> 1 of 2 are here\n") != NULL);
    tern_string_free(text);
    tern_report_free(report);
    /* What is in the history already is no second session of it. */
    report = new_report();
    CHECK_OK(tern_report_add_results(report, "r", results));
    CHECK_OK(tern_report_compare(report, "b", NULL, results, results));
    text = write(report, TERN_REPORT_HTML);
    CHECK(strstr(text, "id=\"fig-comparison\"") != NULL && strstr(text, "id=\"fig-history\"") == NULL);
    tern_string_free(text);
    tern_report_free(report);
    tern_results_free(earlier);
    tern_results_free(results);
}

/* ---- without memory ---- */

static tern_status make_and_write(const tern_results *results, bool json)
{
    tern_report *report = NULL;
    TERN_TRY(tern_report_create(NULL, &report));
    tern_status status = tern_report_add_results(report, "r", results);
    if (status == TERN_OK)
        status = tern_report_compare(report, "b", NULL, results, NULL);
    if (status == TERN_OK && json)
        status = add(report, PROFILE("{\"name\": \"main\", \"parent\": -1, \"total_ns\": 10}", LIMITS));
    for (int f = TERN_REPORT_HTML; f <= TERN_REPORT_JSON && status == TERN_OK; f++) {
        char *text;
        status = tern_report_write(report, (tern_report_format)f, 0, NULL, &text);
        if (status == TERN_OK)
            tern_string_free(text);
    }
    tern_report_free(report);
    return status;
}

TEST(every_allocation_may_fail)
{
    tern_results *results = new_results();
    tern_alloc_stats before, after;
    const bool json = reads_json();
    long n = 0;
    add_row(results, "a", 10, 0.5);
    add_row(results, "b", 0, NAN);
    tern_alloc_get_stats(&before);
    for (bool fired = true; fired;) {
        gate g = {.countdown = ++n};
        tern_alloc_set_gate(gate_allow, &g);
        const tern_status status = make_and_write(results, json);
        tern_alloc_set_gate(NULL, NULL);
        fired = g.fired;
        CHECK_STATUS(status, fired ? TERN_OUT_OF_MEMORY : TERN_OK);
        tern_alloc_get_stats(&after);
        CHECK_EQ(after.live_bytes, before.live_bytes);
    }
    CHECK(n > 20);
    tern_results_free(results);
}
