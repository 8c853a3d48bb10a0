/* memory.c - what a model takes where it runs, told by its file's header alone. */
#include <tern/catalog.h>

#include "base/status.h"
#include "model/session.h"

double tern__cache_bytes(const tern__hparams *h, int slots, int64_t context, tern_dtype dtype)
{
    const double head = (double)h->head_width * (double)tern_dtype_get(dtype)->unit_bytes +
                        (dtype == TERN_I8 ? sizeof(float) : 0); /* its scale */
    return 2.0 * (double)h->layers * (double)slots * (double)context * (double)h->kv_heads * head;
}

static tern_status count_weights(const tern_model_file *file, double ternary_bits, uint64_t *out)
{
    double bytes = 0;
    for (int i = 0; i < tern_model_file_count(file); i++) {
        tern_file_tensor t;
        TERN_TRY(tern_model_file_tensor(file, i, &t));
        double elements = 1;
        for (int k = 0; k < t.rank; k++)
            elements *= (double)t.shape[k];
        const bool ternary = tern_model_file_runs_ternary(file, i);
        const tern_stored_info *info = tern_stored_get(t.stored);
        bytes += ternary                             ? elements * ternary_bits / 8
                 : info->kind == TERN_STORED_GROUPED ? elements * tern_dtype_get(info->dtype)->unit_bytes
                                                     : (double)t.bytes;
        /* Codes that the file does not have as such cannot be read again: they stay beside what is packed. */
        if (ternary && info->kind != TERN_STORED_TERNARY)
            bytes += elements * 2 / 8;
    }
    *out = (uint64_t)bytes; /* of a file whose sizes were checked: far below 2^64 */
    return TERN_OK;
}

tern_status tern_model_plan_memory(const tern_model_file *file, const tern_session_options *options,
                                   tern_model_memory *out)
{
    TERN__FAIL_IF(!file || !out, TERN_INVALID_ARGUMENT, "model_plan_memory: an argument is NULL");
    tern_session_options o = options ? *options : tern_session_options_default();
    tern__hparams h;
    tern_device_info device;
    TERN_TRY(tern_model_check(file));
    TERN_TRY(tern__hparams_read(file, &h));
    o.context = o.context > h.context ? h.context : o.context;
    TERN_TRY(tern__session_options_resolve(&h, &o, &o));
    TERN_TRY(tern_catalog_device(0, &device));
    /* A file may promise any number of positions, and the caller any number of slots. */
    const double cache = tern__cache_bytes(&h, o.slots, o.context, o.cache);
    *out = (tern_model_memory){
        .device = device.name, .cache = cache < 0x1p64 ? (uint64_t)cache : UINT64_MAX, .context = o.context};
    return count_weights(file, device.ternary_bits > 0 ? device.ternary_bits : 2, &out->weights);
}
