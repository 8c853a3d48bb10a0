/* from_json.h - what is known of a tokenizer.json while it is read: from_json.c collects the tokens, json_rules.c the
 * rules. */
#ifndef TERN_MODEL_TOKENIZER_FROM_JSON_H
#define TERN_MODEL_TOKENIZER_FROM_JSON_H

#include <jansson.h>

#include "base/json_walk.h"
#include "model/tokenizer/tokenizer.h"

typedef struct tern__json_reader {
    tern__json_walk walk;
    tern_vocabulary d;

    /* Tokens in the order of the file: of type NORMAL in its vocabulary, CONTROL where only added tokens name them. Their
     * ids in parallel. */
    tern__vocab seen;
    uint32_t *ids;
    size_t id_capacity;

    /* By id, once all were seen. */
    tern_token_text *tokens;
    int32_t *types;

    /* Of added tokens; their types in parallel. */
    tern_token_flags *flags;
    size_t flag_capacity;
    int32_t *added_types;
    size_t added_capacity;

    /* "left right", one behind the other. */
    char *merge_text;
    size_t merge_bytes, merge_capacity;
    uint32_t *merge_ends;
    size_t end_capacity;

    bool byte_level, metaspace; /* what the steps before the model say about the family */
    bool byte_fallback;
    bool pre_wanted;                /* the caller says how to cut text */
    char unk[64], bos[64], eos[64]; /* names; "" unless stated */
} tern__json_reader;

/* A member of an object. `value` is NULL for those that are walked: it stands at `walk` then. */
typedef struct tern__json_member {
    const char *key;
    bool walked;
    tern_status (*read)(tern__json_reader *r, const json_t *value);
} tern__json_member;

/* The small members of the file and of its model: rules. The last row has no key. */
extern const tern__json_member tern__json_rules[], tern__json_model_rules[];

#endif
