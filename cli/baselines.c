/* baselines.c - see baselines.h. */
#include "baselines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "source.h"
#include "term.h"

/* false: nobody says where. */
static bool find_path(const args *a, char *to, size_t room)
{
    const char *given = args_value(a, "store") ? args_value(a, "store") : getenv("TERN_BASELINES");
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int n = 0;
    if (given && given[0])
        n = snprintf(to, room, "%s", given);
    else if (data && data[0] == '/')
        n = snprintf(to, room, "%s/tern/baselines.db", data);
    else if (home && home[0])
        n = snprintf(to, room, "%s/.local/share/tern/baselines.db", home);
    return n > 0 && (size_t)n < room;
}

int baselines_open(const args *a, bool create, tern_baselines **out)
{
    char path[4096];
    *out = NULL;
    if (!find_path(a, path, sizeof path))
        return fail("where are baselines kept? give --store FILE, or set $TERN_BASELINES or $HOME");
    tern_status status = tern_baselines_open(path, create, out);
    return status == TERN_OK || (status == TERN_NOT_FOUND && !create) ? EXIT_DONE : fail_status(NULL);
}

int baselines_open_with(const args *a, const char *name, tern_baselines **out)
{
    const int code = baselines_open(a, false, out);
    return code == EXIT_DONE && !*out
               ? fail("there is no baseline '%s': none are kept yet; 'tern baseline create NAME' makes one",
                      name)
               : code;
}

void baselines_add_again(text *to, const args *a, const char *name, const char *options)
{
    text_add(to, "tern baseline create ");
    text_add_word(to, name);
    if (options)
        text_add_safe(to, options);
    if (args_has(a, "store")) {
        text_add(to, " --store ");
        text_add_word(to, args_value(a, "store"));
    }
    text_add(to, " --runs 5 --replace");
}

int fail_baseline(tern_status status)
{
    return status == TERN_NOT_FOUND
               ? fail("%s; 'tern baseline list' shows those there are, 'tern baseline create "
                      "NAME' makes one",
                      last_words())
               : fail_status(NULL);
}

static const char *host_of(const tern_results *r)
{
    const char *host = tern_results_condition(r, "host");
    return host ? host : "";
}

int results_next_session(const tern_results *r)
{
    tern_result row;
    int next = 0;
    /* None past the last: an error may still be to be told. */
    for (int i = 0; i < tern_results_count(r); i++)
        if (tern_results_at(r, i, &row) == TERN_OK && row.run >= next)
            next = row.run + 1;
    return next;
}

bool results_append_as(tern_results *to, const tern_results *from, int first)
{
    tern_result row;
    const char *name, *value;
    const bool any = tern_results_count(to) > 0;
    tern_status status = TERN_OK;
    if (any && strcmp(host_of(to), host_of(from)) != 0) {
        fail("results of different machines (%s and %s) do not make one baseline", host_of(to),
             host_of(from));
        return false;
    }
    for (int i = 0; !any && status == TERN_OK && tern_results_condition_at(from, i, &name, &value) == TERN_OK;
         i++)
        status = tern_results_set_condition(to, name, value);
    for (int i = 0; status == TERN_OK && tern_results_at(from, i, &row) == TERN_OK; i++) {
        row.run += first;
        status = tern_results_add(to, &row);
    }
    if (status != TERN_OK)
        fail_status(NULL);
    return status == TERN_OK;
}

bool results_append(tern_results *to, const tern_results *from)
{
    return results_append_as(to, from, results_next_session(to));
}

bool results_load(const char *path, tern_results **out)
{
    struct stat about;
    const bool flows = strcmp(path, "-") == 0 || (stat(path, &about) == 0 && S_ISFIFO(about.st_mode));
    text all = {0};
    bool good = flows ? read_text(path, &all) : tern_results_load(path, out) == TERN_OK;
    if (!flows && !good)
        fail_status(NULL);
    if (flows && good) {
        good = tern_results_read(text_string(&all), all.length, out) == TERN_OK;
        if (!good)
            fail_status(source_name(path));
    }
    text_free(&all);
    return good;
}

int results_append_files(const args *a, tern_results *to)
{
    const char *path;
    for (int i = 0; (path = args_nth(a, "from", i)) != NULL; i++) {
        tern_results *r = NULL;
        if (!results_load(path, &r))
            return EXIT_FAILED;
        const bool again = tern_results_repeat(to, r), fits = !again && results_append(to, r);
        tern_results_free(r);
        if (again)
            return fail("%s: a session of it was given before; a measurement counts once", path);
        if (!fits)
            return EXIT_FAILED;
    }
    return EXIT_DONE;
}

tern_status results_of_family(const tern_results *all, const char *family, tern_results **out)
{
    tern_result row;
    const char *name, *value;
    tern_results *some = NULL;
    tern_status status = tern_results_create(&some);
    for (int i = 0; status == TERN_OK && tern_results_condition_at(all, i, &name, &value) == TERN_OK; i++)
        status = tern_results_set_condition(some, name, value);
    for (int i = 0; status == TERN_OK && tern_results_at(all, i, &row) == TERN_OK; i++)
        if (strcmp(row.family, family) == 0)
            status = tern_results_add(some, &row);
    *out = status == TERN_OK ? some : NULL;
    if (status != TERN_OK)
        tern_results_free(some);
    return status;
}
