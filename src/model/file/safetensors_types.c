/* safetensors_types.c - how safetensors call types: one table for reading and writing. */
#include "model/file/safetensors_types.h"

#include <string.h>

#include "base/status.h"

static const struct {
    const char *name;
    tern_stored stored;
} types[] = {
    {"F64", TERN_STORED_F64},   {"F32", TERN_STORED_F32},    {"F16", TERN_STORED_F16},
    {"BF16", TERN_STORED_BF16}, {"I64", TERN_STORED_I64},    {"I32", TERN_STORED_I32},
    {"I16", TERN_STORED_I16},   {"I8", TERN_STORED_I8},      {"U64", TERN_STORED_U64},
    {"U32", TERN_STORED_U32},   {"U16", TERN_STORED_U16},    {"U8", TERN_STORED_U8},
    {"BOOL", TERN_STORED_BOOL}, {"F8_E4M3", TERN_STORED_F8}, {"F8_E5M2", TERN_STORED_F8},
    {"U8", TERN_STORED_HF_T2}, /* behind U8, which is what it is read as: hf_names.c finds out */
};

bool tern__safetensors_type_parse(const char *name, tern_stored *out)
{
    for (size_t i = 0; i < TERN__COUNT(types); i++) {
        if (strcmp(types[i].name, name) == 0) {
            *out = types[i].stored;
            return true;
        }
    }
    return false;
}

const char *tern__safetensors_type_name(tern_stored stored)
{
    for (size_t i = 0; i < TERN__COUNT(types); i++) {
        if (types[i].stored == stored)
            return types[i].name;
    }
    return NULL;
}
