/* dlpack_abi.h - the structs of the DLPack ABI, declared from its public description, so that the build needs
 * no foreign header. Numbers, order and sizes of everything here are fixed by that ABI; the names of the two
 * managed structs too, because <tern/dlpack.h> and other programs refer to them. */
#ifndef TERN_TENSOR_DLPACK_ABI_H
#define TERN_TENSOR_DLPACK_ABI_H

#include <stddef.h>
#include <stdint.h>

/* The version that is written, and the major version that is understood. */
enum { DLPACK_MAJOR = 1, DLPACK_MINOR = 1 };

/* Kinds of memory. Others (GPUs and so on) exist; host memory is all that is handled here. */
enum { DLPACK_CPU = 1 };

/* Kinds of elements; `bits` says how wide. */
enum {
    DLPACK_INT = 0,
    DLPACK_UINT = 1,
    DLPACK_FLOAT = 2,
    DLPACK_BFLOAT = 4,
    DLPACK_BOOL = 6, /* one byte each */
};

/* Bits of `flags`. */
#define DLPACK_READ_ONLY ((uint64_t)1 << 0)
#define DLPACK_IS_COPIED ((uint64_t)1 << 1) /* the producer made a copy that only the consumer uses */

typedef struct DLDevice {
    int32_t device_type;
    int32_t device_id; /* 0 for the CPU */
} DLDevice;

typedef struct DLDataType {
    uint8_t code, bits;
    uint16_t lanes; /* 1: plain elements */
} DLDataType;

typedef struct DLTensor {
    void *data; /* NULL if there are no elements */
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;       /* (ndim) */
    int64_t *strides;     /* (ndim) in elements; NULL, in older exports, means row-major */
    uint64_t byte_offset; /* from `data` to element [0,0,...] */
} DLTensor;

/* The older form, without version and flags. */
struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self); /* or NULL */
};

typedef struct DLPackVersion {
    uint32_t major, minor;
} DLPackVersion;

/* Version 1.x. Everything before `dl_tensor` stays where it is in future versions. */
struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self); /* or NULL */
    uint64_t flags;
    DLTensor dl_tensor;
};

_Static_assert(sizeof(void *) == 8, "the sizes below are those of 64-bit machines");
_Static_assert(sizeof(DLDevice) == 8 && sizeof(DLDataType) == 4 && sizeof(DLPackVersion) == 8, "DLPack ABI");
_Static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, device) == 8 && offsetof(DLTensor, ndim) == 16 &&
                   offsetof(DLTensor, dtype) == 20 && offsetof(DLTensor, shape) == 24 &&
                   offsetof(DLTensor, strides) == 32 && offsetof(DLTensor, byte_offset) == 40,
               "DLPack ABI");
_Static_assert(sizeof(struct DLManagedTensor) == 64 && offsetof(struct DLManagedTensor, manager_ctx) == 48 &&
                   offsetof(struct DLManagedTensor, deleter) == 56,
               "DLPack ABI");
_Static_assert(sizeof(struct DLManagedTensorVersioned) == 80 &&
                   offsetof(struct DLManagedTensorVersioned, manager_ctx) == 8 &&
                   offsetof(struct DLManagedTensorVersioned, deleter) == 16 &&
                   offsetof(struct DLManagedTensorVersioned, flags) == 24 &&
                   offsetof(struct DLManagedTensorVersioned, dl_tensor) == 32,
               "DLPack ABI");

#endif
