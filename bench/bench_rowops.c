/* bench_rowops.c - elements per nanosecond of every instruction of row programs, on every instruction set
 * this machine has: runs of 1,024 elements that lie in L1, one thread. Each number is the fastest of many
 * short samples, since noise only adds; the instruction sets take turns (measure/timing.h). Usage:
 * bench_rowops [--rows FILE | --json FILE] [INSTRUCTION]... */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bench_json.h"
#include "kernels/row/rowops.h"
#include "measure/measure.h"
#include "tensor/half.h"

enum { N = 1024, ROUNDS = 60, CALLS = 40 };

typedef enum kind { MAP, REDUCE, LOAD, STORE, GATHER, COPY } kind;

static const struct instruction {
    const char *name;
    int operands;
    kind kind;
} instructions[] = {
#define TERN_ROWOP(name, operands, kind) {#name, operands, kind},
#include "kernels/row/rowops.def"
#undef TERN_ROWOP
};

/* A line apart: where loads and stores are a multiple of 4 KiB apart, processors take one for the other, and
 * wait. */
static _Alignas(64) float a[N + 16], b[N + 16], c[N + 16], dst[N + 16];
static _Alignas(64) uint16_t halves[N];
static _Alignas(64) uint8_t bytes[4 * N];

/* Numbers from -4 to 4; where roots and logarithms want others, from 0.01 to 8; whole for bytes. */
static void fill(const char *name)
{
    uint32_t seed = 1;
    bool positive = strstr(name, "log") || strstr(name, "sqrt");
    bool whole = strstr(name, "8") || strcmp(name, "where") == 0;
    for (int i = 0; i < N; i++) {
        float *to[] = {a, b, c};
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525u + 1013904223u;
            float x = (float)(seed >> 8) * 0x1p-21f - 4;
            to[k][i] = positive ? x + 4.01f : whole ? (float)(int)(x * (k ? 20 : 0.5f)) : x;
        }
        halves[i] = tern__f32_to_f16(b[i]);
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

typedef struct job {
    const tern__rowop_table *table;
    int op, form;
    tern__rowop_state state;
} job;

static tern_status run_job(void *user)
{
    static const float imm[2] = {-1, 1};
    static const int64_t stride = 12;
    job *j = user;
    const struct instruction *what = &instructions[j->op];
    const void *from = what->kind != LOAD         ? (const void *)a
                       : strstr(what->name, "16") ? (const void *)halves
                                                  : (const void *)bytes;
    if (what->kind == REDUCE)
        j->table->reduce[j->op](&j->state, a, N);
    else if (what->kind == GATHER)
        j->table->map[j->op][0](dst, bytes, &stride, NULL, imm, N / 4);
    else
        j->table->map[j->op][j->form](dst, from, b, c, imm, N);
    return TERN_OK;
}

/* Elements per nanosecond of each table. */
static tern_status measure(const tern__rowop_table **tables, int n, int op, int form, double *best)
{
    job jobs[TERN__ISA_COUNT] = {0};
    tern__thing things[TERN__ISA_COUNT] = {0};
    tern__measurement m[TERN__ISA_COUNT] = {0};
    for (int k = 0; k < n; k++) {
        jobs[k] = (job){.table = tables[k], .op = op, .form = form};
        tables[k]->start((tern__rowop)op, &jobs[k].state);
        things[k] = (tern__thing){.run = run_job, .user = &jobs[k], .repeats = CALLS};
    }
    TERN_TRY(tern__measure(things, n, NULL, &(tern__turns){.rounds = ROUNDS}, m));
    for (int k = 0; k < n; k++)
        best[k] = (instructions[op].kind == GATHER ? N / 4 : N) / (m[k].time.min * 1e9);
    return TERN_OK;
}

static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc <= 1;
}

int main(int argc, char **argv)
{
    bench_output out;
    if (!bench_open(&out, &argc, argv))
        return 2;
    const tern__rowop_table *tables[TERN__ISA_COUNT];
    int n = 0;
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        const tern__rowop_table *table = tern__rowop_tables(1u << isa & tern__cpu()->isa_mask);
        if ((int)table->isa == isa)
            tables[n++] = table;
    }
    printf("elements per ns, one thread, runs of %d elements in L1\n%-16s", N, "");
    for (int k = 0; k < n; k++)
        printf("%10s", tern__isa_name(tables[k]->isa));
    printf("\n");
    for (int op = 0; op < TERN__ROWOP_COUNT; op++) {
        if (!wanted(instructions[op].name, argc, argv))
            continue;
        fill(instructions[op].name);
        for (int form = 0; form < 8; form++) {
            if (!tables[0]->map[op][form] && !(form == 0 && tables[0]->reduce[op]))
                continue;
            double best[TERN__ISA_COUNT];
            char label[32];
            if (measure(tables, n, op, form, best) != TERN_OK) {
                fprintf(stderr, "bench_rowops: %s\n", tern_last_error());
                return 1;
            }
            snprintf(label, sizeof label, form ? "%s/%d" : "%s", instructions[op].name, form);
            printf("%-16s", label);
            for (int k = 0; k < n; k++)
                printf("%10.2f", best[k]);
            printf("\n");
            if (op == TERN__ROWOP_exp || op == TERN__ROWOP_gelu || (op == TERN__ROWOP_add && form == 0))
                bench_row(&out,
                          op == TERN__ROWOP_exp    ? "rowop_exp_per_ns"
                          : op == TERN__ROWOP_gelu ? "rowop_gelu_per_ns"
                                                   : "rowop_add_per_ns",
                          best[n - 1], "elements/ns", "higher", "%s, runs of %d elements in L1, one thread",
                          tern__isa_name(tables[n - 1]->isa), N);
        }
    }
    return bench_close(&out) ? 0 : 1;
}
