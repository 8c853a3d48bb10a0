/* architecture.h - the table of architectures.def: what is true of every model of a kind, whichever file it is in. */
#ifndef TERN_MODEL_ARCH_ARCHITECTURE_H
#define TERN_MODEL_ARCH_ARCHITECTURE_H

#include <tern/model_file.h>
#include <tern/tensor.h>

/* Of the feed-forward part: X(enumerator, function over tensors, its name in config.json, another name or NULL). */
#define TERN__ACTIVATION_LIST(X)        \
    X(SILU, tern_silu, "silu", "swish") \
    X(RELU2, tern_relu2, "relu2", NULL)

typedef enum tern__activation {
#define TERN__ACTIVATION_ENUM(id, apply, name, other) TERN__##id,
    TERN__ACTIVATION_LIST(TERN__ACTIVATION_ENUM)
#undef TERN__ACTIVATION_ENUM
        TERN__ACTIVATION_COUNT
} tern__activation;

typedef struct tern__activation_info {
    const char *words[3]; /* in config.json: its name, perhaps another, then NULL */
    tern_tensor *(*apply)(tern_tensor *x);
} tern__activation_info;

/* How pairs of coordinates are chosen for rotation: files keep rows of q and k in the order that theirs needs. */
typedef enum tern__rope_pairs {
    TERN__ROPE_HALVES,     /* (j, j + d/2) */
    TERN__ROPE_NEIGHBOURS, /* (2j, 2j + 1) */
} tern__rope_pairs;

typedef struct tern__architecture {
    const char *name;
    tern__activation activation;
    bool sub_norms, ternary;
    tern__rope_pairs gguf_pairs; /* in GGUF, and wherever a file does not say */
    const char *hf_type, *hf_class, *hf_written_type;
    const char *hf_attn_sub_norm, *hf_ffn_sub_norm;
    double hf_rope_base;
    const char *pre;
} tern__architecture;

/* "ARCHITECTURE.NAME", a key of metadata; "" if that is longer than any key. Returns `out`. */
enum { TERN__ARCH_KEY = 256 };
const char *tern__arch_key(const char *architecture, const char *name, char out[static TERN__ARCH_KEY]);

/* Row i; NULL past the last. */
const tern__architecture *tern__architecture_get(int i);
/* By name, which may be NULL; NULL if there is none. */
const tern__architecture *tern__architecture_find(const char *name);
/* The one that the file says it has; NULL if it says nothing, or names one that is not known. */
const tern__architecture *tern__architecture_in(const tern_model_file *file);
/* The same for who cannot do without: TERN_NOT_FOUND, or TERN_UNSUPPORTED with a list of those that are known. */
tern_status tern__architecture_of(const tern_model_file *file, const tern__architecture **out);
/* Fails with a name that is not known. */
tern_status tern__architecture_unknown(const char *who, const char *name);

/* The row that a config.json means, by texts that are "" where it has none; NULL: none. */
const tern__architecture *tern__architecture_of_config(const char *model_type, const char *hf_class,
                                                       const char *hidden_act);

const tern__activation_info *tern__activation_get(tern__activation activation);
const char *tern__activation_name(tern__activation activation); /* as config.json has it */

/* Are its linear layers ternary even where the file has them as floats? By its architecture, or because its configuration says so. */
bool tern__says_ternary(const tern_model_file *file);

/* In which order the file has the rows of q and k: "tern.rope_style" if it has that, else as GGUF has them. */
tern_status tern__rope_pairs_of(const tern_model_file *file, const tern__architecture *a,
                                tern__rope_pairs *out);

#endif
