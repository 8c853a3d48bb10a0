/* DLPack in both forms and both directions: fields, lifetimes, and what is refused. */
#include "gate.h"
#include "harness.h"

#include <string.h>

#include "base/alloc.h"
#include "tensor/dlpack.h"

/* A storage of 24 counting i32 values, and a view of it: rows backwards, every second column. */
static void make_view(tern__type *type, tern__layout *layout, tern__storage **storage)
{
    tern__type whole;
    tern__layout contiguous;
    CHECK_OK(tern__type_make("t", TERN_I32, 2, (int64_t[]){4, 6}, &whole));
    CHECK_OK(tern__storage_create(NULL, 96, 0, storage));
    for (int i = 0; i < 24; i++)
        ((int32_t *)(*storage)->host)[i] = i;
    tern__layout_contiguous(&whole, &contiguous);
    tern__view_slice(&whole, &contiguous, (int64_t[]){3, 1}, (int64_t[]){4, 3}, (int64_t[]){-1, 2}, type,
                     layout);
}

TEST(export_states_the_view)
{
    uint64_t before = live_blocks();
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    struct DLManagedTensorVersioned *managed;
    struct DLManagedTensor *older;
    make_view(&type, &layout, &storage);
    CHECK_OK(tern__dlpack_export(&type, &layout, storage, &managed));
    CHECK_OK(tern__dlpack_export_unversioned(&type, &layout, storage, &older));
    CHECK_EQ(managed->version.major, 1);
    CHECK_EQ(managed->flags, 0);
    const DLTensor *tensors[2] = {&managed->dl_tensor, &older->dl_tensor};
    for (int i = 0; i < 2; i++) {
        const DLTensor *t = tensors[i];
        CHECK(t->data == (int32_t *)storage->host + 19 && t->byte_offset == 0);
        CHECK(t->device.device_type == 1 && t->device.device_id == 0);
        CHECK(t->dtype.code == 0 && t->dtype.bits == 32 && t->dtype.lanes == 1);
        CHECK(t->ndim == 2 && t->shape[0] == 4 && t->shape[1] == 3);
        CHECK(t->strides[0] == -6 && t->strides[1] == 2);
    }
    /* the exports outlive our reference */
    tern__storage_release(storage);
    CHECK_EQ(((int32_t *)managed->dl_tensor.data)[-6], 13);
    managed->deleter(managed);
    CHECK_EQ(((int32_t *)older->dl_tensor.data)[2], 21);
    older->deleter(older);
    CHECK_EQ(live_blocks(), before);
}

TEST(every_type_goes_there_and_back)
{
    static const struct {
        tern_dtype dtype;
        uint8_t code, bits;
    } TYPES[] = {{TERN_BOOL, 6, 8},  {TERN_U8, 1, 8},   {TERN_I8, 0, 8},
                 {TERN_I32, 0, 32},  {TERN_I64, 0, 64}, {TERN_F16, 2, 16},
                 {TERN_BF16, 4, 16}, {TERN_F32, 2, 32}, {TERN_F64, 2, 64}};
    uint64_t before = live_blocks();
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++) {
        for (int rank = 0; rank <= TERN__MAX_RANK; rank++) {
            int64_t shape[TERN__MAX_RANK] = {2, 1, 3, 1, 2, 1, 1, 2};
            tern__type type, back;
            tern__layout layout, back_layout;
            tern__storage *storage, *imported;
            struct DLManagedTensorVersioned *managed;
            CHECK_OK(tern__type_make("t", TYPES[i].dtype, rank, shape, &type));
            tern__layout_contiguous(&type, &layout);
            CHECK_OK(tern__storage_create(NULL, tern__type_bytes(&type), 0, &storage));
            CHECK_OK(tern__dlpack_export(&type, &layout, storage, &managed));
            CHECK(managed->dl_tensor.dtype.code == TYPES[i].code &&
                  managed->dl_tensor.dtype.bits == TYPES[i].bits);
            CHECK_OK(tern__dlpack_import(managed, &back, &back_layout, &imported));
            CHECK(tern__layout_same(&type, &layout, &back, &back_layout));
            CHECK(imported->host == storage->host && imported->bytes == tern__type_bytes(&type));
            tern__storage_release(storage);
            tern__storage_release(imported); /* runs the deleter, which frees the storage */
        }
    }
    CHECK_EQ(live_blocks(), before);
}

TEST(views_come_back_with_their_strides)
{
    uint64_t before = live_blocks();
    tern__type type, back;
    tern__layout layout, back_layout;
    tern__storage *storage, *imported;
    struct DLManagedTensor *managed;
    make_view(&type, &layout, &storage);
    CHECK_OK(tern__dlpack_export_unversioned(&type, &layout, storage, &managed));
    tern__storage_release(storage);
    CHECK_OK(tern__dlpack_import_unversioned(managed, &back, &back_layout, &imported));
    CHECK(tern__type_equal(&type, &back));
    /* the storage starts at the lowest element: value 1; [0,0] is 18 after it */
    CHECK_EQ(*(int32_t *)imported->host, 1);
    CHECK(back_layout.offset == 18 && back_layout.strides[0] == -6 && back_layout.strides[1] == 2);
    CHECK_EQ(imported->bytes, (18 + 4 + 1) * 4);
    CHECK(tern__layout_fits(&back, &back_layout, imported->bytes));
    CHECK(!imported->read_only);
    tern__storage_release(imported);
    CHECK_EQ(live_blocks(), before);
}

TEST(read_only_memory_says_so)
{
    float data[4] = {1, 2, 3, 4};
    tern__type type, back;
    tern__layout layout;
    tern__storage *storage, *imported;
    struct DLManagedTensorVersioned *managed;
    struct DLManagedTensor *older = NULL;
    CHECK_OK(tern__type_make("t", TERN_F32, 1, (int64_t[]){4}, &type));
    tern__layout_contiguous(&type, &layout);
    CHECK_OK(tern__storage_borrow(data, sizeof data, true, NULL, NULL, &storage));
    CHECK_STATUS(tern__dlpack_export_unversioned(&type, &layout, storage, &older), TERN_UNSUPPORTED);
    CHECK(older == NULL);
    CHECK_OK(tern__dlpack_export(&type, &layout, storage, &managed));
    CHECK_EQ(managed->flags, 1);
    CHECK_OK(tern__dlpack_import(managed, &back, &layout, &imported));
    CHECK(imported->read_only);
    tern__storage_release(imported);
    tern__storage_release(storage);
}

TEST(ternary_types_are_refused)
{
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    struct DLManagedTensorVersioned *managed = NULL;
    uint64_t before = live_blocks();
    CHECK_OK(tern__type_make("t", TERN_T2, 1, (int64_t[]){4}, &type));
    tern__layout_contiguous(&type, &layout);
    CHECK_OK(tern__storage_create(NULL, 1, 0, &storage));
    CHECK_STATUS(tern__dlpack_export(&type, &layout, storage, &managed), TERN_UNSUPPORTED);
    CHECK_STR(tern_last_error(), "dlpack: t2 has no form there; cast to i8 first");
    tern__storage_release(storage);
    CHECK(managed == NULL);
    CHECK_EQ(live_blocks(), before);
}

/* ---- what other producers hand over -------------------------------------------------------------------- */

static int deleted;

static void count_deletion(struct DLManagedTensorVersioned *self)
{
    (void)self;
    deleted++;
}

static _Alignas(8) char memory[64];
static int64_t shape[9] = {2, 3, 1, 1, 1, 1, 1, 1, 1}, strides[9] = {3, 1, 1, 1, 1, 1, 1, 1, 1};

static struct DLManagedTensorVersioned foreign(void)
{
    memset(strides, 0, sizeof strides);
    shape[0] = 2;
    shape[1] = strides[0] = 3;
    strides[1] = 1;
    return (struct DLManagedTensorVersioned){
        .version = {1, 7},
        .deleter = count_deletion,
        .dl_tensor = {.data = memory,
                      .device = {1, 0},
                      .ndim = 2,
                      .dtype = {2, 32, 1},
                      .shape = shape,
                      .strides = strides},
    };
}

static tern_status import(struct DLManagedTensorVersioned *managed, tern__storage **storage)
{
    tern__type type;
    tern__layout layout;
    return tern__dlpack_import(managed, &type, &layout, storage);
}

TEST(foreign_tensors_are_taken_and_deleted_once)
{
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    struct DLManagedTensorVersioned m = foreign();
    deleted = 0;
    m.dl_tensor.byte_offset = 8;
    m.dl_tensor.strides = NULL; /* row-major, as older producers say it */
    CHECK_OK(tern__dlpack_import(&m, &type, &layout, &storage));
    CHECK(storage->host == memory + 8 && storage->bytes == 24 && tern__layout_is_contiguous(&type, &layout));
    tern__storage_retain(storage);
    tern__storage_release(storage);
    CHECK_EQ(deleted, 0);
    tern__storage_release(storage);
    CHECK_EQ(deleted, 1);

    m = foreign();
    m.deleter = NULL;
    CHECK_OK(import(&m, &storage));
    tern__storage_release(storage);

    m = foreign();
    shape[0] = 0; /* nothing there: no pointer either */
    m.dl_tensor.data = NULL;
    CHECK_OK(tern__dlpack_import(&m, &type, &layout, &storage));
    CHECK(storage->bytes == 0 && storage->host != NULL && tern__type_numel(&type) == 0);
    tern__storage_release(storage);
    CHECK_EQ(deleted, 2);

    m = foreign();
    shape[0] = 1;
    strides[0] = INT64_MIN; /* the stride of an axis of one says nothing */
    CHECK_OK(tern__dlpack_import(&m, &type, &layout, &storage));
    CHECK_EQ(storage->bytes, 12);
    tern__storage_release(storage);
    CHECK_EQ(deleted, 3);
}

TEST(foreign_tensors_that_are_refused_stay_the_callers)
{
    tern__storage *storage = NULL;
    struct DLManagedTensorVersioned m;
    deleted = 0;
#define REFUSED(change, status) \
    m = foreign();              \
    change;                     \
    CHECK_STATUS(import(&m, &storage), status)
    REFUSED(m.version.major = 2, TERN_UNSUPPORTED);
    REFUSED(m.version.major = 0, TERN_UNSUPPORTED);
    REFUSED(m.dl_tensor.device.device_type = 2, TERN_UNSUPPORTED);
    REFUSED(m.dl_tensor.dtype.lanes = 4, TERN_UNSUPPORTED);
    REFUSED(m.dl_tensor.dtype.bits = 24, TERN_UNSUPPORTED);
    REFUSED(m.dl_tensor.dtype.code = 5, TERN_UNSUPPORTED);
    REFUSED(m.dl_tensor.ndim = 9, TERN_UNSUPPORTED);
    REFUSED(m.dl_tensor.ndim = -1, TERN_INVALID_ARGUMENT);
    REFUSED(m.dl_tensor.shape = NULL, TERN_INVALID_ARGUMENT);
    REFUSED(m.dl_tensor.data = NULL, TERN_INVALID_ARGUMENT);
    REFUSED(m.dl_tensor.byte_offset = 2, TERN_UNSUPPORTED);
    REFUSED(shape[1] = -3, TERN_SHAPE);
    REFUSED(shape[1] = INT64_MAX, TERN_OVERFLOW);
    REFUSED(strides[0] = INT64_MAX, TERN_OVERFLOW);
    REFUSED(strides[0] = INT64_MIN, TERN_OVERFLOW);
    REFUSED((strides[0] = INT64_MIN / 2, strides[1] = INT64_MIN / 2), TERN_OVERFLOW);
#undef REFUSED
    CHECK_STATUS(import(NULL, &storage), TERN_INVALID_ARGUMENT);
    CHECK(storage == NULL);
    CHECK_EQ(deleted, 0);
}

TEST(without_memory_nothing_changes_hands)
{
    tern__type type;
    tern__layout layout;
    tern__storage *storage, *imported = NULL;
    struct DLManagedTensorVersioned m = foreign(), *managed = NULL;
    struct DLManagedTensor *older = NULL;
    deleted = 0;
    make_view(&type, &layout, &storage);
    tern_alloc_set_gate(gate_refuse, NULL);
    tern_status a = tern__dlpack_export(&type, &layout, storage, &managed);
    tern_status b = tern__dlpack_export_unversioned(&type, &layout, storage, &older);
    tern_status c = import(&m, &imported);
    tern_alloc_set_gate(NULL, NULL);
    CHECK(a == TERN_OUT_OF_MEMORY && b == TERN_OUT_OF_MEMORY && c == TERN_OUT_OF_MEMORY);
    CHECK(managed == NULL && older == NULL && imported == NULL && deleted == 0);
    CHECK_EQ(atomic_load(&storage->refs), 1);
    tern__storage_release(storage);
}
