/* stored.c - the types in which files store tensors. */
#include "model/file/stored.h"

#include <string.h>

#include "base/checked.h"
#include "base/names.h"
#include "base/status.h"
#include "model/file/codec.h"

static const tern_stored_info infos[TERN_STORED_COUNT] = {
#define INFO(id, number, name, elements, bytes, kind, dtype) \
    [TERN_STORED_##id] = {name, number, TERN_STORED_##kind, elements, bytes, TERN_##dtype},
    TERN_STORED_LIST(INFO)
#undef INFO
};

const tern_stored_info *tern_stored_get(tern_stored stored)
{
    return stored != TERN_STORED_AS_IS && (unsigned)stored < TERN_STORED_COUNT ? &infos[stored] : NULL;
}

static const char *stored_at(void *user, int i, bool *untold)
{
    (void)user;
    const tern_stored stored = (tern_stored)(TERN_STORED_AS_IS + 1 + i);
    if (stored >= TERN_STORED_COUNT)
        return NULL;
    *untold = !tern_stored_keeps_ternary(stored);
    return infos[stored].name;
}

tern_status tern_stored_parse(const char *name, tern_stored *out)
{
    static const tern__name_list list = {
        .what = "types of weights in files", .at = stored_at, .any_case = true};
    int i = 0;
    TERN_TRY(tern__name_find_in(&list, name, out ? &i : NULL));
    *out = (tern_stored)(TERN_STORED_AS_IS + 1 + i);
    return TERN_OK;
}

bool tern__stored_from_gguf(int32_t number, tern_stored *out)
{
    for (unsigned i = TERN_STORED_AS_IS + 1; number >= 0 && i < TERN_STORED_COUNT; i++) {
        if (infos[i].gguf_number == number) {
            *out = (tern_stored)i;
            return true;
        }
    }
    return false;
}

tern_status tern__stored_size(const char *who, tern_stored stored, int rank, const int64_t *shape,
                              int64_t *elements, uint64_t *bytes)
{
    const tern_stored_info *info = &infos[stored];
    int64_t count = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        TERN__FAIL_IF(shape[i] < 0, TERN_FORMAT, "%s: the size of axis %d is %lld", who, i,
                      (long long)shape[i]);
        empty |= shape[i] == 0;
    }
    /* The product of the others must fit even if one is zero: shapes without elements are computed with too. */
    for (int i = 0; i < rank; i++)
        TERN__FAIL_IF(shape[i] && !tern__i64_mul(count, shape[i], &count), TERN_FORMAT,
                      "%s: the product of its sizes is too large for any file", who);
    const int tail = tern__codec_tail(stored);
    const bool shared = tern__codec_planes(stored) > 1; /* rows, not elements of a row, share bytes */
    int64_t unit = rank == 0 ? 1 : shared ? shape[0] : shape[rank - 1];
    TERN__FAIL_IF(unit % info->block_elements, TERN_FORMAT,
                  "%s: %s has blocks of %d, but a row of %lld elements", who, info->name,
                  info->block_elements, (long long)unit);
    int64_t total;
    TERN__FAIL_IF(!tern__i64_mul(count / info->block_elements, info->block_bytes, &total) ||
                      !tern__i64_add(total, tail, &total),
                  TERN_FORMAT, "%s: its bytes are too many for any file", who);
    *elements = empty ? 0 : count;
    *bytes = (uint64_t)(empty ? tail : total);
    return TERN_OK;
}

void tern__rows_and_columns(int rank, const int64_t *shape, int64_t *rows, int64_t *columns)
{
    *rows = 1;
    for (int i = 0; i + 1 < rank; i++)
        *rows *= shape[i];
    *columns = rank ? shape[rank - 1] : 1;
    if (*rows == 0 || *columns == 0)
        *rows = *columns =
            0; /* the other one may be anything: no memory is set aside for it, no loop walks it */
}

bool tern__stored_has_values(tern_stored stored)
{
    const tern_stored_kind kind = tern_stored_get(stored)->kind;
    return kind == TERN_STORED_PLAIN || kind == TERN_STORED_GROUPED;
}

bool tern_stored_keeps_ternary(tern_stored stored)
{
    const tern_stored_info *info = tern_stored_get(stored);
    return info && (info->kind == TERN_STORED_TERNARY || tern__stored_holds_weights(stored));
}

bool tern__stored_has_blocks(tern_stored stored)
{
    const tern_stored_info *info = tern_stored_get(stored);
    return info->kind == TERN_STORED_PLAIN && tern_dtype_get(info->dtype)->kind == TERN_KIND_BLOCK;
}

bool tern__stored_holds_weights(tern_stored stored)
{
    const tern_stored_info *info = tern_stored_get(stored);
    const tern_dtype_kind kind = info ? tern_dtype_get(info->dtype)->kind : TERN_KIND_BOOL;
    return info && info->kind == TERN_STORED_PLAIN && stored != TERN_STORED_F64 &&
           (kind == TERN_KIND_FLOAT || kind == TERN_KIND_BLOCK);
}
