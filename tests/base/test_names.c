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

/* Letter `i`, up to the number that `user` points to; odd ones are not told. */
static const char *letter_at(void *user, int i, bool *untold)
{
    static char text[2];
    if (i > *(const int *)user)
        return NULL;
    *untold = i % 2 == 1;
    text[0] = (char)('a' + i);
    return text;
}

TEST(names_that_are_no_array)
{
    int most = 5, i = 7;
    tern__name_list list = {.what = "letters", .at = letter_at, .user = &most};
    CHECK_OK(tern__name_find_in(&list, "d", &i)); /* it is not told, but there */
    CHECK_EQ(i, 3);
    CHECK_STATUS(tern__name_find_in(&list, "D", &i), TERN_NOT_FOUND);
    CHECK_STR(tern_last_error(), "letters: there is no 'D'; there are a, c and e");
    list.any_case = true;
    CHECK_OK(tern__name_find_in(&list, "B", &i));
    CHECK_EQ(i, 1);
    most = 0;
    CHECK_STATUS(tern__name_find_in(&list, "b", &i), TERN_NOT_FOUND);
    CHECK_STR(tern_last_error(), "letters: there is no 'b'; there are a");
    CHECK_STATUS(tern__name_find_in(&list, "a", NULL), TERN_INVALID_ARGUMENT);
    CHECK_EQ(i, 1);
}

/* However long the list is, the sentence ends with a whole name. */
static const char *long_at(void *user, int i, bool *untold)
{
    (void)user;
    (void)untold;
    return i < 100 ? "abcdefghijklmnopqrstuvwxyz" : NULL;
}

TEST(a_list_that_is_too_long_for_a_message)
{
    int i = 0;
    const tern__name_list list = {.what = "names", .at = long_at};
    CHECK_STATUS(tern__name_find_in(&list, "x", &i), TERN_NOT_FOUND);
    const char *last = strrchr(tern_last_error(), ' ');
    CHECK(last != NULL && strcmp(last, " abcdefghijklmnopqrstuvwxyz") == 0);
}
