/* compare_power.c - how often is tern_compare_run right? `make bench-power` runs it; not a part of `make bench`, it takes minutes.
 *
 * Equal work, and work that is 5 % and 10 % more, are compared again and again, with a threshold of 2 %. Work is runs of a small
 * compiled program: B makes 105 or 110 of them where A makes 100. "Undecided" counts as missed.
 *
 *     compare_power [--comparisons N] [--budget S] [--out FILE]     N of each kind (default 200), FILE receives JSON */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

enum { UNITS = 100, ELEMENTS = 4096, KINDS = 3 };

static const struct kind {
    const char *name;
    int units; /* of B */
} kinds[KINDS] = {{"equal", UNITS}, {"5 % slower", UNITS * 105 / 100}, {"10 % slower", UNITS * 110 / 100}};

typedef struct work {
    tern_exec *exec;
    tern_tensor *x;
    int units;
} work;

static tern_status run(void *user)
{
    const work *w = user;
    for (int i = 0; i < w->units; i++) {
        tern_tensor *y;
        TERN_TRY(tern_exec_run(w->exec, 1, (tern_tensor *[]){w->x}, 1, &y));
        tern_release(y);
    }
    return TERN_OK;
}

static tern_status make_work(tern_ctx *ctx, work *out)
{
    tern_program *program;
    tern_tensor *x = tern_input(ctx, "x", TERN_F32, 1, (int64_t[]){ELEMENTS});
    tern_tensor *y = tern_relu(tern_add(tern_mul(x, x), x));
    TERN_TRY(tern_compile(ctx, 1, (tern_tensor *[]){y}, NULL, NULL, &program));
    TERN_TRY(tern_exec_create(ctx, program, &out->exec));
    out->x = tern_randn(ctx, TERN_F32, 1, (int64_t[]){ELEMENTS}, 1);
    return tern_eval(out->x);
}

typedef struct tally {
    int n, verdicts[4];
    double seconds, longest;
} tally;

static tern_status compare_all(const work *work_of, int comparisons, double budget, tally *tallies)
{
    for (int i = 0; i < comparisons * KINDS; i++) {
        work a = *work_of, b = *work_of;
        tally *t = &tallies[i % KINDS];
        tern_comparison c;
        a.units = UNITS;
        b.units = kinds[i % KINDS].units;
        const tern_compare_options o = {.threshold = 0.02, .budget_s = budget, .seed = (uint64_t)i};
        TERN_TRY(tern_compare_run(&o, &(tern_contender){run, &a}, &(tern_contender){run, &b}, &c));
        t->n++;
        t->verdicts[c.verdict]++;
        t->seconds += c.seconds;
        t->longest = c.seconds > t->longest ? c.seconds : t->longest;
        if (i % 60 == 59) {
            printf("%d of %d comparisons\n", i + 1, comparisons * KINDS);
            fflush(stdout);
        }
    }
    return TERN_OK;
}

static void print_table(const tally *tallies)
{
    printf("\n| B is | comparisons | slower | faster | same | undecided | mean s | longest s |\n"
           "|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int k = 0; k < KINDS; k++) {
        const tally *t = &tallies[k];
        printf("| %s | %d | %d | %d | %d | %d | %.2f | %.2f |\n", kinds[k].name, t->n,
               t->verdicts[TERN_VERDICT_SLOWER], t->verdicts[TERN_VERDICT_FASTER],
               t->verdicts[TERN_VERDICT_SAME], t->verdicts[TERN_VERDICT_UNDECIDED], t->seconds / t->n,
               t->longest);
    }
}

static int write_json(const char *path, const tally *t)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        return 1;
    }
    double longest = 0;
    for (int k = 0; k < KINDS; k++)
        longest = t[k].longest > longest ? t[k].longest : longest;
    const int alarms = t[0].verdicts[TERN_VERDICT_SLOWER] + t[0].verdicts[TERN_VERDICT_FASTER];
    fprintf(file,
            "{\"comparisons\": %d, \"false_alarm_rate\": %.4f, \"power_5pct\": %.4f, \"power_10pct\": %.4f, "
            "\"longest_s\": %.2f}\n",
            t[0].n, (double)alarms / t[0].n, (double)t[1].verdicts[TERN_VERDICT_SLOWER] / t[1].n,
            (double)t[2].verdicts[TERN_VERDICT_SLOWER] / t[2].n, longest);
    return fclose(file) != 0;
}

typedef struct wanted {
    int comparisons;
    double budget;
    const char *path; /* of the JSON; NULL: none is written */
} wanted;

/* false: not understood. It takes minutes, so that a word that it does not know must not begin it. */
static bool parse(int argc, char **argv, wanted *to)
{
    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--comparisons") == 0)
            to->comparisons = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--budget") == 0)
            to->budget = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--out") == 0)
            to->path = argv[i + 1];
        else
            return false;
    return argc % 2 == 1 && to->comparisons > 0 && to->budget > 0;
}

int main(int argc, char **argv)
{
    wanted o = {.comparisons = 200, .budget = 5};
    tally tallies[KINDS] = {0};
    tern_ctx *ctx = NULL;
    work w = {0};
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    options.threads = 1;
    if (!parse(argc, argv, &o)) {
        fprintf(stderr, "usage: compare_power [--comparisons N] [--budget S] [--out FILE]\n");
        return 2;
    }
    if (tern_ctx_create(&options, &ctx) != TERN_OK || make_work(ctx, &w) != TERN_OK ||
        compare_all(&w, o.comparisons, o.budget, tallies) != TERN_OK) {
        fprintf(stderr, "compare_power: %s\n", tern_last_error());
        return 1;
    }
    print_table(tallies);
    return o.path ? write_json(o.path, tallies) : 0;
}
