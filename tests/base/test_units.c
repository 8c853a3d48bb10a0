/* test_units.c - sizes, times and counts as people read them. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "harness.h"

typedef const char *say_fn(double value, char *buffer, size_t room);

typedef struct said {
    double value;
    const char *text;
} said;

static void check_all(say_fn *say, const said *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char text[TERN_UNIT_TEXT];
        CHECK(say(list[i].value, text, sizeof text) == text);
        CHECK_STR(text, list[i].text);
    }
}

TEST(bytes)
{
    static const said list[] = {{0, "0 B"},
                                {1, "1 B"},
                                {512.4, "512 B"},
                                {1023, "1023 B"},
                                {1024, "1.00 KiB"},
                                {1536, "1.50 KiB"},
                                {10.5 * 1024, "10.5 KiB"},
                                {812.0 * 0x1p20, "812 MiB"},
                                {0x1p20 - 513, "1023 KiB"},
                                {0x1p20 - 512, "1.00 MiB"},
                                {0x1p30, "1.00 GiB"},
                                {1.25 * 0x1p40, "1.25 TiB"},
                                {0x1p50, "1.00 PiB"},
                                {(double)UINT64_MAX, "16.0 EiB"},
                                {-1536, "-1.50 KiB"},
                                {NAN, "unavailable"},
                                {INFINITY, "unavailable"}};
    check_all(tern_bytes_text, list, sizeof list / sizeof *list);
}

TEST(times)
{
    static const said list[] = {{0, "0 ns"},          {5, "5 ns"},           {45.12, "45.1 ns"},
                                {0.25, "0.25 ns"},    {812, "812 ns"},       {999.4, "999 ns"},
                                {999.5, "1.00 us"},   {1000, "1.00 us"},     {9994, "9.99 us"},
                                {9996, "10.0 us"},    {99.96e3, "100 us"},   {999.4e3, "999 us"},
                                {999.5e3, "1.00 ms"}, {1.2444e6, "1.24 ms"}, {90.2e9, "90.2 s"},
                                {7200e9, "7200 s"},   {-1.5e6, "-1.50 ms"},  {NAN, "unavailable"}};
    check_all(tern_time_text, list, sizeof list / sizeof *list);
}

TEST(counts)
{
    static const said list[] = {{0, "0"},         {999, "999"},        {1000, "1.00 k"},
                                {1500, "1.50 k"}, {999.5e3, "1.00 M"}, {2.1e6, "2.10 M"},
                                {30e9, "30.0 G"}, {NAN, "unavailable"}};
    check_all(tern_count_text, list, sizeof list / sizeof *list);
}

TEST(a_text_is_cut_to_its_room)
{
    char text[4];
    CHECK_STR(tern_time_text(1.2444e6, text, sizeof text), "1.2");
    CHECK_STR(tern_time_text(1, NULL, 8), "");
    memset(text, 'x', sizeof text);
    CHECK_STR(tern_bytes_text(1, text, 0), "");
    CHECK_EQ(text[0], 'x');
}

TEST(the_texts_of_the_library_are_those_of_the_callers)
{
    CHECK_STR(tern__time_of(1.2444e6).text, "1.24 ms");
    CHECK_STR(tern__bytes_of(1536).text, "1.50 KiB");
}
