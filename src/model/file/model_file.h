/* model_file.h - an open model file, and what the parsers of formats fill it with.
 *
 * A parser opens its parts, adds metadata and tensors, and leaves; tern_model_file_open then checks what is true of every
 * format (names are unique, tensors lie inside their part and do not overlap) and builds the indices. */
#ifndef TERN_MODEL_FILE_INTERNAL_H
#define TERN_MODEL_FILE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <tern/model_file.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/mapping.h"
#include "base/name_set.h"
#include "base/reader.h"

/* Beyond any real model; together with the limits on names they bound the memory that a hostile file can ask for. */
enum {
    TERN__MOST_TENSORS = 1 << 17,
    TERN__MOST_METAS = 1 << 14,
    TERN__MOST_NAME = 255, /* bytes of a key or a tensor's name */
    TERN__MARK_EVERY = 64, /* strings of an array between two marks */
};

typedef struct tern__meta {
    tern_meta_info info;
    uint64_t at; /* where an array's first element, or a text, is in `header` */
    union {
        uint64_t bits; /* of a number; integers are sign-extended */
        double f;
        uint64_t *marks; /* array of strings: where every TERN__MARK_EVERYth starts */
        struct {
            const char *text; /* terminated; NULL until the header has been read, if it lies there */
            size_t length;
        } string;
    };
} tern__meta;

typedef enum tern__scale_meaning {
    TERN__SCALE_UNKNOWN, /* there is no config.json to say so */
    TERN__SCALE_UNSAID,  /* there is one, and it does not say so in words that are known */
    TERN__SCALE_MULTIPLIES,
    TERN__SCALE_DIVIDES,
} tern__scale_meaning;

struct tern_model_file {
    _Atomic int refs; /* of whoever opened it, and of constants that are read later */
    tern_file_format format;
    int version;
    tern_model_file_options options;
    tern__arena arena; /* keys, names, texts, marks */
    tern__file *parts;
    size_t n_parts, parts_capacity;
    tern__reader header; /* of the first part; arrays of metadata lie in it */
    tern__meta *metas;
    size_t n_metas, metas_capacity;
    tern_file_tensor *tensors;
    /* (n_tensors) which of them some checkpoints have and no model needs: frequencies of rotation, which follow from the
     * hyper-parameters, and a head where the table of tokens serves as one, which nobody finds by the name that it would have */
    bool *left_over;
    size_t n_tensors, tensors_capacity, left_over_capacity;
    tern__names meta_names, tensor_names, stored_names; /* from names to numbers */
    pthread_mutex_t lock;    /* of the mappings: all else does not change once the file is open */
    tern__mapping *mappings; /* (n_parts) of those that are mapped, or NULL */
    bool master_weights;     /* the float weights of linear layers are a ternary model's master weights */
    tern__scale_meaning scale_meaning; /* of HF_T2's weight_scale */
    int64_t group; /* elements that share a scale in tensors of I8_GROUPS, all in whole groups */
};

/* ---- for parsers ----------------------------------------------------------------------------------------------- */

/* Each format's parser; the first part is open. */
tern_status tern__gguf_parse(tern_model_file *file);
tern_status tern__safetensors_parse(tern_model_file *file);
tern_status tern__safetensors_parse_index(tern_model_file *file);
tern_status tern__llama2c_parse(tern_model_file *file);

tern_status tern__model_file_add_part(tern_model_file *file, const char *path);

/* Copies what it needs. TERN_FORMAT for names that are empty, too long, or hold zeros or control characters; TERN_LIMIT. */
tern_status tern__model_file_name(tern_model_file *file, const char *what, const void *text, uint64_t length,
                                  const char **out);
tern_status tern__model_file_add_tensor(tern_model_file *file, const tern_file_tensor *tensor);
tern_status tern__model_file_add_meta(tern_model_file *file, const tern__meta *meta);

/* Metadata that a parser makes up from what its format has instead. */
tern_status tern__model_file_add_int(tern_model_file *file, const char *key, int64_t value);
tern_status tern__model_file_add_float(tern_model_file *file, const char *key, double value);
tern_status tern__model_file_add_bool(tern_model_file *file, const char *key, bool value);
tern_status tern__model_file_add_string(tern_model_file *file, const char *key, const char *text,
                                        size_t length);

/* Of a number or bool; 0 for strings, -1 if there is no such type. */
int tern__meta_bytes(tern_meta_type type);
/* The bits of a number or bool in a file, sign-extended if it has a sign. */
uint64_t tern__meta_load(tern_meta_type type, const uint8_t *bytes);

/* ---- shared reading ---------------------------------------------------------------------------------------------- */

void tern__model_file_retain(tern_model_file *file); /* tern_model_file_close lets go */

/* Tensor i where it is in the mapped file; NULL if files are not mapped here, or cannot be. */
const void *tern__model_file_mapped(tern_model_file *file, int i);
/* TERN_IO if a mapped part is shorter than it was, or bytes of it were found missing. */
tern_status tern__model_file_check_mapped(tern_model_file *file);

/* Adds the next name to a set of what the file at `path` has. TERN_FORMAT, as "PATH: ...", if it is there already. */
tern_status tern__model_file_index(tern__names *names, const char *path, const char *what, const char *name);

#endif
