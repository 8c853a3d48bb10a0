/* foreign.c - what to do instead of the options of llama.cpp and the verbs of other programs, for people who know them by heart. */
#include <stdio.h>
#include <string.h>

#include "args.h"

typedef struct advice {
    const char *words;   /* space-separated */
    const char *instead; /* what to do, the end of a sentence */
} advice;

#define LEAVE "; leave it out"

/* clang-format off */
static const advice options[] = {
    {"-ngl --n-gpu-layers --gpu-layers -sm --split-mode -ts --tensor-split -mg --main-gpu -nkvo --no-kv-offload -ot --override-tensor",
                                            "a model runs on one device as a whole, the processor unless --device names another" LEAVE},
    {"-dev --gpu --cuda --metal --vulkan --opencl --mlx", "write --device NAME, one of 'tern devices'"},
    {"-fa --flash-attn -nopo --no-op-offload --swa-full -kvu", "attention has no such choice" LEAVE},
    {"-cnv --conversation -i --interactive -if --interactive-first -ins --instruct", "conversations are 'tern chat'"},
    {"-no-cnv --no-conversation -st --single-turn", "'tern run' continues one text, 'tern chat' converses" LEAVE},
    {"-ctk --cache-type-k -ctv --cache-type-v", "keys and values have one type, --cache-type f32, f16 or i8"},
    {"-tb --threads-batch",                 "prompts and answers use the same threads: -t N"},
    {"-ub --ubatch-size",                   "what -b says is computed at once"},
    {"-sys --system-prompt -sysf --system-prompt-file", "'tern chat' has --system TEXT"},
    {"-mli --multiline-input",              "in 'tern chat' a line that ends in \\ goes on in the next"},
    {"-np --np",                            "several answers at once are --parallel N of 'tern run'"},
    {"--keep --context-shift --no-context-shift -gan -gaw --grp-attn-n --grp-attn-w",
                                            "'tern run' stops where the context is full, 'tern chat' forgets the oldest turns" LEAVE},
    {"--temperature",                       "write --temp X"},
    {"--reverse-prompt",                    "'tern run' has -r TEXT and --stop TEXT"},
    {"--predict",                           "write -n N"},
    {"--multiplier --sampling-seq --samplers --sampler-seq --typical --typical-p --tfs --mirostat --mirostat-lr --mirostat-ent "
     "--presence-penalty --frequency-penalty --dry-multiplier --dry-base --xtc-probability --xtc-threshold --dynatemp-range "
     "--dynatemp-exp --top-nsigma --top-n-sigma --adaptive-p",
                                            "of the samplers there are --repeat-penalty, --top-k, --top-p, --min-p and --temp, in this order"},
    {"--grammar --grammar-file -j --json-schema", "answers cannot be held to a grammar"},
    {"-hf -hfr --hf-repo -hff --hf-file -mu --model-url -dr --docker-repo", "nothing is downloaded: get the file, then name it with -m FILE"},
    {"--lora --lora-scaled --control-vector -md --model-draft --mmproj", "only whole models run, without adapters"},
    {"--rope-scaling --rope-scale --rope-freq-base --rope-freq-scale --yarn-ext-factor --yarn-orig-ctx",
                                            "positions are as the model's file says" LEAVE},
    {"--jinja --no-jinja --chat-template-file", "templates have names: --chat-template of 'tern chat'"},
    {"--chat-template",                     "'tern chat' has it: 'tern run' continues a text as it is"},
    {"--mlock --no-mmap -mmp --mmap --numa --no-warmup --warmup --no-repack --simple-io --log-disable --no-perf --perf --no-host",
                                            "there is no such choice here" LEAVE},
    {"--show-timings --verbose-prompt",     "-v says how fast it was, 'tern tokenize' what the tokens are"},
    {"-e --escape",                         "escapes such as \\n are replaced unless --no-escape is given" LEAVE},
    {"-bf --binary-file",                   "write -f FILE"},
    {"--prompt-cache --prompt-cache-all --slot-save-path", "nothing is kept from one run to the next"},
    {"-pg",                                 "prompts and generation are timed by themselves: -p and -n"},
    {0},
};

static const advice verbs[] = {
    {"serve server llama-server",           "there is no server yet"},
    {"quantize quantise llama-quantize quant", "did you mean 'tern convert IN OUT --type TYPE'?"},
    {"generate gen complete completions main cli llama-cli simple", "did you mean 'tern run -m FILE -p TEXT'?"},
    {"conversation interactive talk",       "did you mean 'tern chat -m FILE'?"},
    {"ppl",                                 "did you mean 'tern perplexity'?"},
    {"detokenize decode",                   "did you mean 'tern tokenize --decode IDS'?"},
    {"encode",                              "did you mean 'tern tokenize'?"},
    {"llama-bench benchmark",               "did you mean 'tern bench model'?"},
    {"info show dump",                      "did you mean 'tern inspect FILE'?"},
    {"pull download",                       "nothing is downloaded: get a model's file, then 'tern run -m FILE'"},
    {0},
};
/* clang-format on */

static const char *look_up(const advice *table, const char *word, size_t length)
{
    for (; table->words; table++)
        for (const char *at = table->words; *at;) {
            size_t n = strcspn(at, " ");
            if (n == length && memcmp(at, word, n) == 0)
                return table->instead;
            at += n + strspn(at + n, " ");
        }
    return NULL;
}

const char *foreign_option(const char *word)
{
    return look_up(options, word, strcspn(word, "="));
}

const char *foreign_verb(const char *word)
{
    return look_up(verbs, word, strlen(word));
}
