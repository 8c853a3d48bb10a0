/* cmd_list.c - `tern list`: the library's tables. */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "catalog.h"
#include "commands.h"
#include "table.h"
#include "term.h"

/* What can be listed, and how many of each there are. */
static int list_catalogs(bool as_json)
{
    static const table_column columns[] = {{"what", false, false, STYLE_NAME},
                                           {"how many", true, false, STYLE_NONE},
                                           {"", false, false, STYLE_NONE}};
    table t = table_make(columns, 3);
    json j = {0};
    json_array(&j, NULL);
    for (int i = 0; catalogs[i]; i++) {
        int count = catalog_count(catalogs[i]);
        table_add(&t, catalogs[i]->name);
        table_addf(&t, "%d", count);
        table_add(&t, catalogs[i]->description);
        json_object(&j, NULL);
        json_string(&j, "name", catalogs[i]->name);
        json_int(&j, "count", count);
        json_string(&j, "description", catalogs[i]->description);
        json_end(&j);
    }
    json_end(&j);
    if (as_json) {
        json_print(&j);
        table_free(&t);
    } else {
        table_print(&t, 0, false);
        text_free(&j.out);
    }
    return EXIT_DONE;
}

static int fail_unknown_kind(const char *kind)
{
    char buffer[128];
    suggestion s = suggestion_for(kind);
    for (int i = 0; catalogs[i]; i++)
        suggestion_offer(&s, catalogs[i]->name);
    for (int i = 0; !s.best && catalogs[i]; i++) /* an entry without its catalog */
        if (catalog_has(catalogs[i], kind))
            return fail_usage("cannot list '%s'; did you mean 'tern list %s %s'?", kind, catalogs[i]->name,
                              kind);
    if (s.best)
        return fail_usage("cannot list '%s'%s", kind, suggestion_text(&s, "", buffer, sizeof buffer));
    text names = {0};
    for (int i = 0; catalogs[i]; i++)
        text_addf(&names, "%s%s", i ? ", " : "", catalogs[i]->name);
    int code = fail_usage("cannot list '%s', only %s", kind, text_string(&names));
    text_free(&names);
    return code;
}

/* Kernels have a row for each operation that they compute: is there none of the name before row i? */
static bool is_first(const catalog *c, int i)
{
    text name = {0}; /* a copy: the next row may be read to the same place */
    text_add(&name, catalog_name(c, i));
    int k = 0;
    while (k < i && strcmp(catalog_name(c, k), text_string(&name)) != 0)
        k++;
    text_free(&name);
    return k == i;
}

static int fail_unknown_entry(const catalog *c, const char *name)
{
    char buffer[128];
    const char *other;
    text containing = {0};
    int n = 0;
    for (int i = 0; strlen(name) >= 3 && (other = catalog_name(c, i)) != NULL; i++)
        if (strstr(other, name) && is_first(c, i))
            text_addf(&containing, "%s%s", n++ ? ", " : "", other);
    if (n > 0) {
        int code =
            fail("no %s is called '%s'; with it in their names: %s", c->one, name, text_string(&containing));
        text_free(&containing);
        return code;
    }
    suggestion s = suggestion_for(name);
    for (int i = 0; (other = catalog_name(c, i)) != NULL; i++)
        suggestion_offer(&s, other);
    return fail("no %s is called '%s'%s", c->one, name, suggestion_text(&s, "", buffer, sizeof buffer));
}

static int run(const args *a)
{
    const char *kind = args_operand(a, 0), *name = args_operand(a, 1);
    bool as_json = args_has(a, "json");
    if (!kind)
        return list_catalogs(as_json);
    const catalog *c = catalog_find(kind);
    if (!c)
        return fail_unknown_kind(kind);
    if (name && !catalog_has(c, name))
        return fail_unknown_entry(c, name);
    int code = catalog_check(c);
    if (code != EXIT_DONE)
        return code;
    if (as_json)
        catalog_print_json(c, name);
    else if (name)
        catalog_print_details(c, name);
    else
        catalog_print_table(c);
    return EXIT_DONE;
}

static const option options[] = {
    {"json", 0, NULL, NULL, "print JSON: an array, one object for each entry"},
    {0},
};

const command cmd_list = {
    .name = "list",
    .operands = "[ops|kernels|passes|dtypes|devices|metrics [NAME]]",
    .most = 2,
    .choices = "ops kernels passes dtypes devices metrics",
    .summary = "List operations, kernels, passes, element types, devices or metrics.",
    .details = "Without operand, says what can be listed. With NAME, shows one entry in full "
               "(kernels: by their own name or by that of their op).",
    .options = options,
    .examples = "tern list ops\n"
                "tern list ops attention\n"
                "tern list kernels matmul\n"
                "tern list dtypes --json",
    .run = run,
};
