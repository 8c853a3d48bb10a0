/* compare_devices.c - times of devices beside each other, for people; with --json for programs and `tern report`. */
#include "compare_devices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/compare_devices.h>

#include "commands.h"
#include "progress.h"
#include "table.h"
#include "term.h"

enum { MOST_NAMES = 16 };

/* Names between commas. */
typedef struct names {
    char *room;
    const char *items[MOST_NAMES];
    int n;
} names;

static bool split(const char *list, names *out)
{
    *out = (names){0};
    if (!list)
        return true;
    const size_t bytes = strlen(list) + 1;
    out->room = grab(bytes, 1);
    memcpy(out->room, list, bytes);
    for (char *at = out->room; at;) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma = '\0';
        if (out->n == MOST_NAMES || !at[0])
            return false;
        out->items[out->n++] = at;
        at = comma ? comma + 1 : NULL;
    }
    return true;
}

static bool show_progress(void *user, const char *what, int done, int total)
{
    (void)user;
    (void)what;
    return progress_update(NULL, (uint64_t)done, (uint64_t)total);
}

/* ---- for people ---- */

static void add_us(table *t, double us)
{
    char number[NUMBER_TEXT];
    table_add(t, isnan(us) ? "" : format_time(number, (uint64_t)(us * 1e3 + 0.5)));
}

static void print_times(const tern_device_comparison *c)
{
    static const table_column columns[] = {
        {"device", false, false, STYLE_NAME},  {"shape", false, false, STYLE_NONE},
        {"median", true, false, STYLE_NUMBER}, {"95 % from", true, false, STYLE_NONE},
        {"to", true, false, STYLE_NONE},       {"around", true, false, STYLE_NONE},
        {"transfer", true, false, STYLE_NONE}, {"", false, false, STYLE_DIM},
    };
    table t = table_make(columns, 8);
    tern_device_time row;
    char last[64] = "", title[64];
    for (int i = 0; tern_device_comparison_time(c, i, &row) == TERN_OK; i++) {
        snprintf(title, sizeof title, "%s %s", row.op, row.dtype);
        if (strcmp(title, last) != 0)
            table_add_heading(&t, title);
        snprintf(last, sizeof last, "%s", title);
        table_add(&t, row.device);
        table_add(&t, row.shape);
        add_us(&t, row.samples ? row.median_us : NAN);
        add_us(&t, row.samples ? row.low_us : NAN);
        add_us(&t, row.samples ? row.high_us : NAN);
        add_us(&t, row.samples ? row.around_us : NAN);
        add_us(&t, row.samples ? row.transfer_us : NAN);
        char note[80] = "";
        if (row.samples && row.around_missing[0])
            snprintf(note, sizeof note, "around: %s", row.around_missing);
        table_add(&t, row.samples ? note : row.error);
    }
    table_print(&t, 2, true);
    puts("\naround: what a run takes beside its steps: binding, launching, copies that nothing hides\n"
         "transfer: copies to the device and back, by its own clock; 0 where it uses host memory in place");
}

static void print_crossovers(const tern_device_comparison *c)
{
    tern_device_crossover x;
    tern_device_time first;
    if (tern_device_comparison_crossover(c, 0, &x) != TERN_OK || tern_device_comparison_time(c, 0, &first))
        return;
    printf("\n%sfaster than %s%s\n", on(STYLE_TITLE), first.device, off(STYLE_TITLE));
    for (int i = 0; tern_device_comparison_crossover(c, i, &x) == TERN_OK; i++) {
        printf("  %s, %s %s: ", x.device, x.op, x.dtype);
        if (x.always)
            puts("at every size that was measured");
        else if (x.any)
            printf("from %.2g elements of operands and results on\n", x.size);
        else
            puts("nowhere clearly");
    }
}

static void print_advice(const tern_device_comparison *c)
{
    tern_device_advice a;
    printf("\n%swhat to use%s\n", on(STYLE_TITLE), off(STYLE_TITLE));
    for (int i = 0; tern_device_comparison_advice(c, i, &a) == TERN_OK; i++)
        printf("  for %s: %s\n", tern_device_use_name(a.use), a.words);
}

static void print_texts(const tern_device_comparison *c)
{
    tern_device_text t;
    tern_device_time first;
    char words[320];
    if (tern_device_comparison_text(c, 0, &t) != TERN_OK ||
        tern_device_comparison_time(c, 0, &first) != TERN_OK)
        return;
    printf("\n%swhat it says%s\n", on(STYLE_TITLE), off(STYLE_TITLE));
    for (int i = 0; tern_device_comparison_text(c, i, &t) == TERN_OK; i++)
        printf("  %s: %s\n", t.device, tern_device_text_words(&t, first.device, words, sizeof words));
}

static int print(const args *a, const tern_device_comparison *c)
{
    char *document;
    if (!args_has(a, "json")) {
        print_times(c);
        print_crossovers(c);
        print_advice(c);
        print_texts(c);
        return EXIT_DONE;
    }
    if (tern_device_comparison_json(c, &document) != TERN_OK)
        return fail_status(NULL);
    term_put(document);
    tern_string_free(document);
    return EXIT_DONE;
}

/* ---- the verb ---- */

static int compare(const args *a, const names *devices, const names *ops)
{
    tern_device_compare_options o = {.n_devices = devices->n,
                                     .devices = devices->items,
                                     .n_ops = ops->n,
                                     .ops = ops->items,
                                     .model = args_value(a, "model"),
                                     .prompt = args_value(a, "prompt"),
                                     .guard = true,
                                     .progress = show_progress};
    if (!args_int(a, "threads", 1, 1024, 0, &o.threads) || !args_int(a, "rounds", 1, 1000, 0, &o.rounds) ||
        !args_int(a, "tokens", 1, 1 << 20, 0, &o.tokens) || !args_positive(a, "budget", &o.budget_s))
        return EXIT_USAGE;
    tern_device_comparison *c = NULL;
    progress_begin_of("cases", "cases");
    const tern_status status = tern_devices_compare(&o, &c);
    progress_end();
    if (status == TERN_INVALID_ARGUMENT || (status == TERN_NOT_FOUND && !o.model))
        return fail_usage("%s", tern_last_error());
    if (status != TERN_OK)
        return fail_status(NULL);
    const int code = print(a, c);
    tern_device_comparison_free(c);
    return code;
}

int compare_devices(const args *a)
{
    /* Of the verb's other forms: what has no effect here is refused, so that nobody takes it for what was measured. */
    static const option others[] = {
        {.name = "input"},        {.name = "threshold"},     {.name = "program"},
        {.name = "bench"},        {.name = "level"},         {.name = "disable"},
        {.name = "goal"},         {.name = "memory-limit"},  {.name = "constant"},
        {.name = "batch"},        {.name = "precision"},     {.name = "library"},
        {.name = "device"},       {.name = "fallback"},      {.name = "dump-kernels"},
        {.name = "check-device"}, {.name = "device-memory"}, {.name = "background"},
        {.name = "cpu"},          {.name = "no-tune"},       {0}};
    names devices, ops;
    int code = EXIT_USAGE;
    if (!args_none_of(a, others, "is not for --devices"))
        return EXIT_USAGE;
    const bool given = split(args_value(a, "devices"), &devices), wanted = split(args_value(a, "ops"), &ops);
    if (args_operands(a) > 0)
        code = fail_usage("--devices takes no FILE, A and B");
    else if (args_has(a, "model") && args_has(a, "ops"))
        code = fail_usage("--model and --ops exclude each other");
    else if (!args_has(a, "model") && (args_has(a, "prompt") || args_has(a, "tokens")))
        code = fail_usage("--%s is for --model", args_has(a, "prompt") ? "prompt" : "tokens");
    else if (!given || !wanted)
        code = fail_usage("names have one comma between them, and there are at most %d", MOST_NAMES);
    else
        code = compare(a, &devices, &ops);
    free(devices.room);
    free(ops.room);
    return code;
}
