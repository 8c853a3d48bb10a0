/* test_chart.c - pictures of curves: round steps on the axes, points where they belong, and none that are not numbers; whatever the range. */
#include <tern/chart.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "gate.h"
#include "harness.h"

/* The text of the i-th tick (class "dim"), the note left out; "" past the last. */
static const char *tick(const char *svg, int i, char buffer[64])
{
    buffer[0] = '\0';
    for (const char *at = strstr(svg, "<line class=\"grid\""); at;
         at = strstr(at + 1, "<line class=\"grid\""))
        if (i-- == 0) {
            const char *text = strstr(at, "<text class=\"dim\"");
            text = text ? strchr(text, '>') : NULL;
            if (text)
                snprintf(buffer, 64, "%.*s", (int)strcspn(text + 1, "<"), text + 1);
            break;
        }
    return buffer;
}

static void draw(const tern_chart *chart, char **svg)
{
    CHECK_OK(tern_chart_write(chart, svg));
    CHECK(strncmp(*svg, "<svg", 4) == 0 && strstr(*svg, "</svg>\n"));
    CHECK(!strstr(*svg, "nan") && !strstr(*svg, "inf"));
}

TEST(steps_are_round)
{
    static const struct {
        tern_chart_unit unit;
        double high;
        const char *second, *third;
    } rows[] = {
        {TERN_CHART_NUMBERS, 0.7, "0.1", "0.2"},
        {TERN_CHART_NUMBERS, 1, "0.2", "0.4"},
        {TERN_CHART_COUNTS, 3, "1", "2"},
        {TERN_CHART_COUNTS, 5000, "1000", "2000"},
        {TERN_CHART_BYTES, 5, "1 B", "2 B"},
        {TERN_CHART_BYTES, 3 << 20, "0.5 MiB", "1 MiB"},
        {TERN_CHART_BYTES, 1000 << 10, "128 KiB", "256 KiB"},
        {TERN_CHART_TIMES, 1.6e9, "0.2 s", "0.4 s"},
        {TERN_CHART_TIMES, 80, "10 ns", "20 ns"},
    };
    char word[64];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *svg = NULL;
        draw(&(tern_chart){.x = {NULL, rows[i].unit, 0, rows[i].high}}, &svg);
        CHECK_STR(tick(svg, 1, word), rows[i].second);
        CHECK_STR(tick(svg, 2, word), rows[i].third);
        tern_string_free(svg);
    }
}

TEST(points_lie_between_their_neighbours_on_the_axes)
{
    const double x[] = {0, 5, 10, 15}, y[] = {1, 2, NAN, 3};
    const tern_chart_series series = {.name = "a < b", .look = TERN_CHART_DOTS, .n = 4, .x = x, .y = y};
    char *svg = NULL;
    draw(&(tern_chart){.title = "h\xc3\xb6her & tiefer", .n = 1, .series = &series}, &svg);
    double last = 0;
    int dots = 0;
    for (const char *at = svg; (at = strstr(at, "<circle")) != NULL; at++, dots++) {
        double cx = 0, cy = 0;
        CHECK_EQ(sscanf(at, "<circle class=\"f0\" cx=\"%lf\" cy=\"%lf\"", &cx, &cy), 2);
        CHECK(cx > last && cy >= 84 && cy <= 404);
        last = cx;
    }
    CHECK_EQ(dots, 3);
    CHECK(strstr(svg, "a &lt; b") && strstr(svg, "h\xc3\xb6her &amp; tiefer"));
    tern_string_free(svg);
}

/* One point, none, hardly any difference, numbers without end. */
TEST(any_range_can_be_drawn)
{
    const double zero[] = {0, 1}, flat[] = {7, 7}, close[] = {1e15, 1e15 + 0.25}, far[] = {-1e308, 1e308},
                 small[] = {1e-300, 2e-300}, none[] = {NAN, INFINITY};
    const double *const values[] = {zero, flat, close, far, small, none};
    enum { LOOKS = TERN_CHART_RANGE + 1, UNITS = TERN_CHART_TIMES + 1 };
    for (int i = 0; i < (int)(sizeof values / sizeof values[0]) * LOOKS * UNITS; i++) {
        const double *v = values[i / (LOOKS * UNITS)];
        const tern_chart_unit unit = (tern_chart_unit)(i % UNITS);
        const tern_chart_series series = {
            .look = (tern_chart_look)(i / UNITS % LOOKS), .n = 2, .x = v, .y = v, .low = v};
        const tern_chart_mark mark = {v[0], v[1], "here"};
        char *svg = NULL;
        draw(&(tern_chart){.x.unit = unit, .y.unit = unit, .n = 1, .series = &series, .mark = &mark}, &svg);
        tern_string_free(svg);
    }
}

TEST(what_cannot_be_drawn_is_refused)
{
    const double x[] = {0, 1};
    char *svg = NULL;
    const tern_chart_series wrong[] = {
        {.n = 2, .x = x},
        {.n = -1},
        {.look = TERN_CHART_RANGE, .n = 2, .x = x, .y = x},
        {.look = (tern_chart_look)5, .n = 2, .x = x, .y = x},
        {.colour = TERN_CHART_COLOURS, .n = 2, .x = x, .y = x},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_STATUS(tern_chart_write(&(tern_chart){.n = 1, .series = &wrong[i]}, &svg),
                     TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_chart_write(&(tern_chart){.x.unit = (tern_chart_unit)4}, &svg), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_chart_write(&(tern_chart){.mark = &(tern_chart_mark){0}}, &svg), TERN_INVALID_ARGUMENT);
    gate g = {.countdown = 1};
    tern_alloc_set_gate(gate_allow, &g);
    const tern_status status = tern_chart_write(&(tern_chart){.title = "t"}, &svg);
    tern_alloc_set_gate(NULL, NULL);
    CHECK_EQ(status, TERN_OUT_OF_MEMORY);
    CHECK(!svg);
}
