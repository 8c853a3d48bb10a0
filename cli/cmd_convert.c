/* cmd_convert.c - `tern convert`: a model in another type. */
#include <stdio.h>
#include <string.h>

#include <tern/model_convert.h>

#include "commands.h"
#include "json.h"
#include "model_source.h"
#include "progress.h"
#include "table.h"
#include "term.h"

typedef struct reports {
    bool as_json, listed; /* all tensors were: files follow */
    json j;
    table t;
    text model; /* what it is opened by */
    uint64_t bytes;
    int parts;
    int lossless, others;
    int as_loaded; /* of the others: master weights, that became what they are when they are loaded */
} reports;

static const table_column columns[] = {{"tensor", false, true, STYLE_NAME},
                                       {"from", false, false, STYLE_NUMBER},
                                       {"to", false, false, STYLE_NUMBER},
                                       {"SQNR", true, false, STYLE_NONE},
                                       {"cosine", true, false, STYLE_NONE}};

static void add_report(void *user, const tern_convert_report *r)
{
    reports *all = user;
    const char *from = tern_stored_get(r->from)->name, *to = tern_stored_get(r->to)->name;
    *(r->lossless ? &all->lossless : &all->others) += 1;
    all->as_loaded += r->as_loaded;
    if (all->as_json) {
        json_object(&all->j, NULL);
        json_string(&all->j, "name", r->name);
        json_string(&all->j, "from", from);
        json_string(&all->j, "to", to);
        json_bool(&all->j, "lossless", r->lossless);
        json_bool(&all->j, "as_loaded", r->as_loaded);
        json_double(&all->j, "sqnr_db", r->sqnr_db);
        json_double(&all->j, "cosine", r->cosine);
        json_end(&all->j);
    } else if (!r->lossless) {
        text name = {0};
        text_add_safe(&name, r->name);
        table_add(&all->t, text_string(&name));
        table_add(&all->t, from);
        table_add(&all->t, to);
        table_addf(&all->t, "%.1f dB", r->sqnr_db);
        table_addf(&all->t, "%.5f", r->cosine);
        text_free(&name);
    }
}

/* A model in parts is opened by its index, any other by its one file. */
static void add_file(void *user, const tern_convert_file *f)
{
    reports *all = user;
    if (f->part != TERN_CONVERT_BESIDE)
        all->bytes += f->bytes;
    all->parts += f->part == TERN_CONVERT_TENSORS;
    if (all->model.length == 0 && f->part != TERN_CONVERT_BESIDE)
        text_add_safe(&all->model, f->path);
    if (!all->as_json)
        return;
    if (!all->listed) {
        json_end(&all->j);
        json_array(&all->j, "files");
        all->listed = true;
    }
    json_object(&all->j, NULL);
    json_string(&all->j, "name", f->path);
    json_uint(&all->j, "bytes", f->bytes);
    json_end(&all->j);
}

static void print_result(reports *all)
{
    char bytes[NUMBER_TEXT];
    if (all->as_json) {
        json_end(&all->j);
        json_end(&all->j);
        json_print(&all->j);
        return;
    }
    text line = {0};
    text_addf(&line, "%s: %s", text_string(&all->model), format_bytes(bytes, all->bytes));
    if (all->parts > 1) {
        text_add(&line, " in ");
        text_add_plural(&line, all->parts, "part");
    }
    text_add(&line, ", ");
    text_add_plural(&line, all->lossless, "tensor");
    text_add(&line, " without loss");
    if (all->others)
        text_addf(&line, ", %d with:\n", all->others);
    puts(text_string(&line));
    if (all->others)
        table_print(&all->t, 2, true);
    if (all->as_loaded > 0)
        printf(
            "\n  %s master weights, which become ternary whenever they are loaded: the model is the same\n",
            all->as_loaded == all->others ? "these are" : "among them are");
    text_free(&line);
}

static int convert(tern_ctx *ctx, const tern_model_file *file, const char *path,
                   tern_convert_options *options, bool as_json)
{
    reports all = {.as_json = as_json, .t = table_make(columns, 5)};
    options->report = add_report;
    options->wrote = add_file;
    options->user = &all;
    options->progress = progress_update;
    if (as_json) {
        json_object(&all.j, NULL);
        json_string(&all.j, "file", path);
        json_array(&all.j, "tensors");
    }
    progress_begin("converting");
    tern_status status = tern_model_convert(ctx, file, path, options);
    progress_end();
    if (status == TERN_OK)
        print_result(&all);
    text_free(&all.j.out);
    text_free(&all.model);
    table_free(&all.t);
    const tern_stored_info *to = tern_stored_get(options->type);
    if (status == TERN_DTYPE && !options->force && to && to->kind == TERN_STORED_TERNARY)
        return fail(
            "%s (a model that was not trained for it does not survive this; --force does it all the same)",
            tern_last_error());
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

static int convert_file(const args *a, tern_convert_options *options)
{
    tern_model_file *file;
    tern_ctx *ctx;
    if (tern_model_file_open(args_operand(a, 0), NULL, &file) != TERN_OK)
        return fail_status(NULL);
    int code = EXIT_FAILED;
    if (tern_ctx_create(NULL, &ctx) == TERN_OK) {
        code = convert(ctx, file, args_operand(a, 1), options, args_has(a, "json"));
        tern_ctx_destroy(ctx);
    } else {
        fail_status(NULL);
    }
    tern_model_file_close(file);
    return code;
}

static int run(const args *a)
{
    tern_convert_options options = tern_convert_options_default();
    const char *path = args_value(a, "tokenizer");
    tern_tokenizer *tokenizer = NULL;
    options.force = args_has(a, "force");
    if (!model_type(a, "type", &options.type) || !model_type(a, "embedding", &options.embedding) ||
        !args_file_bytes(a, "shard-size", &options.shard_bytes))
        return EXIT_USAGE;
    if (!model_output(args_operand(a, 1), LIST_ENDINGS))
        return EXIT_USAGE;
    if (path && tern_tokenizer_load(path, NULL, &tokenizer) != TERN_OK)
        return fail_status(NULL);
    options.tokenizer = tokenizer;
    const int code = convert_file(a, &options);
    tern_tokenizer_free(tokenizer);
    return code;
}

static const option options[] = {
    {"type", 't', "TYPE", LIST_STORED,
     "how linear layers are stored, as they are by default; safetensors take hf_t2, f32, f16 and bf16, GGUF "
     "all but hf_t2, .bin f32"},
    {"embedding", 0, "TYPE", NULL,
     "how the table of tokens and the output layer are stored; as they are by default"},
    {"tokenizer", 0, "FILE", NULL,
     "give the new file this tokenizer: a tokenizer.json, a .bin of llama2.c's, or a GGUF that has it"},
    {"shard-size", 0, "SIZE", NULL,
     "write several .safetensors of at most so many bytes, 500M or 5G (of 1000; 5Gi of 1024), and their "
     "index"},
    {"force", 0, NULL, NULL,
     "ternarise weights of a model that was not trained for it, or write ternary layers as numbers, "
     "which of a BitNet only Tern reads as ternary, and of a LLaMA nobody"},
    {"json", 0, NULL, NULL, "print JSON"},
    {0},
};

const command cmd_convert = {
    .name = "convert",
    .operands = "IN OUT",
    .least = 2,
    .most = 2,
    .summary = "Write a model in another format or type.",
    .details =
        "IN is GGUF, safetensors, a folder of them, or llama2.c. OUT ends in .gguf; or in .safetensors: then "
        "config.json "
        "and the tokenizer's files are written beside it; or in .bin: then it is an f32 LLaMA for llama2.c, "
        "without "
        "its tokenizer. Ternary codes are kept as they are, "
        "and are read back from the "
        "new file before it appears; a scale that the type cannot hold becomes a tensor of its own. "
        "For what loses "
        "something the signal-to-noise ratio and the cosine between before and after are shown. "
        "Ctrl-C leaves no file.",
    .options = options,
    .examples =
        "tern synth --shape tiny tiny.gguf && tern convert tiny.gguf tiny-tq1_0.gguf --type tq1_0\n"
        "tern synth --shape tiny tiny.gguf && tern convert tiny.gguf smaller.gguf --embedding q8_0\n"
        "tern synth --shape tiny tiny.gguf && mkdir -p tiny && tern convert tiny.gguf tiny/model.safetensors",
    .run = run,
};
