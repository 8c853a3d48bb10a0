/* test_names.c - names of enumerations, said and found. */
#include <string.h>

#include "base/names.h"
#include "base/status.h"
#include "harness.h"

static const char *const colours[] = {"red", "green", "blue"};

TEST(numbers_have_names)
{
    CHECK_STR(tern__name_of(colours, 3, 1), "green");
    CHECK_STR(tern__name_of(colours, 3, 3), "unknown");
    CHECK_STR(tern__name_of(colours, 3, -1), "unknown");
}

TEST(names_are_found_or_listed)
{
    int number = 7;
    CHECK_OK(tern__name_find(colours, 3, "colours", "blue", &number));
    CHECK_EQ(number, 2);
    CHECK_STATUS(tern__name_find(colours, 3, "colours", "Blue", &number), TERN_NOT_FOUND);
    CHECK_STR(tern_last_error(), "colours: there is no 'Blue'; there are red, green and blue");
    CHECK_EQ(number, 2);
    CHECK_STATUS(tern__name_find(colours, 3, "colours", NULL, &number), TERN_INVALID_ARGUMENT);
}
