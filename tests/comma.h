/* comma.h - a locale whose numbers have a comma, as a program that uses the library may have set for its users. */
#ifndef TERN_TESTS_COMMA_H
#define TERN_TESTS_COMMA_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define NO_COMMA "no locale with a decimal comma is installed (locale -a), and localedef makes none"

static bool set_comma(const char *locale)
{
    return setlocale(LC_NUMERIC, locale) && strcmp(localeconv()->decimal_point, ",") == 0;
}

/* Sets one that is installed, or one that is made for the test; false: there is none. setlocale(LC_NUMERIC, "C") ends it. */
static bool begin_comma(void)
{
    static const char *const installed[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "pl_PL.UTF-8",
                                            "ru_RU.UTF-8"};
    char folder[4096], command[4200];
    for (size_t i = 0; i < sizeof installed / sizeof *installed; i++)
        if (set_comma(installed[i]))
            return true;
    if (!harness_path(folder, sizeof folder, "comma"))
        return false;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s' >/dev/null 2>&1", folder);
    if (system(command) == -1)
        return false;
    *strrchr(folder, '/') = '\0';
    setenv("LOCPATH", folder, 1);
    return set_comma("comma");
}

#endif
