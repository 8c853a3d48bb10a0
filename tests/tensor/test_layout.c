/* Layouts and views against brute force: a layout is the list of places of its elements in row-major
 * order. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "tensor/buffer.h"
#include "tensor/layout.h"

enum { MOST = 4096 };

typedef struct places {
    int64_t at[MOST];
    int64_t count;
} places;

static tern__type type_of(tern_dtype dtype, int rank, const int64_t *shape)
{
    tern__type t = {.dtype = dtype, .rank = rank};
    for (int i = 0; i < rank; i++)
        t.shape[i] = shape[i];
    return t;
}

/* Where each element is, counted in units from the start of the storage. Unpacked types. */
static void list_places(const tern__type *type, const tern__layout *layout, places *out)
{
    int64_t index[TERN__MAX_RANK] = {0};
    int64_t count = tern__type_numel(type);
    out->count = count;
    for (int64_t n = 0; n < count; n++) {
        int64_t at = layout->offset;
        for (int i = 0; i < type->rank; i++)
            at += index[i] * layout->strides[i];
        out->at[n] = at;
        for (int i = type->rank - 1; i >= 0 && ++index[i] == type->shape[i]; i--)
            index[i] = 0;
    }
}

static uint64_t draws;

static int64_t draw(int64_t below)
{
    uint32_t words[4];
    tern__philox(harness_seed(), draws++, words);
    return (int64_t)(words[0] % (uint64_t)below);
}

static void random_type(int64_t most, tern__type *out)
{
    static const int64_t SIZES[] = {1, 1, 2, 2, 3, 4, 5, 6};
    tern__type t = {.dtype = TERN_F32, .rank = (int)draw(6)};
    int64_t count = 1;
    for (int i = 0; i < t.rank; i++) {
        t.shape[i] = SIZES[draw(8)];
        if (count * t.shape[i] > most)
            t.shape[i] = 1;
        count *= t.shape[i];
    }
    if (draw(40) == 0 && t.rank > 0)
        t.shape[draw(t.rank)] = 0;
    *out = t;
}

/* A view of a view of ... of a fresh contiguous tensor. */
static void random_view(tern__type *type, tern__layout *layout)
{
    random_type(400, type);
    tern__layout_contiguous(type, layout);
    for (int64_t steps = draw(4); steps > 0; steps--) {
        int64_t start[TERN__MAX_RANK], count[TERN__MAX_RANK], step[TERN__MAX_RANK], axes[TERN__MAX_RANK];
        tern__type to = *type;
        int64_t kind = draw(3);
        for (int i = 0; i < type->rank; i++) {
            int64_t size = type->shape[i];
            step[i] = draw(3) == 0 ? 1 + draw(2) : 1;
            start[i] = size > 1 ? draw(2) : 0;
            count[i] = size > 0 ? (size - 1 - start[i]) / step[i] + 1 : 0;
            if (draw(4) == 0 && count[i] > 0) { /* the same elements from the other end */
                start[i] += (count[i] - 1) * step[i];
                step[i] = -step[i];
            }
            axes[i] = i;
        }
        for (int i = type->rank - 1; i > 0; i--) {
            int64_t j = draw(i + 1), keep = axes[i];
            axes[i] = axes[j];
            axes[j] = keep;
        }
        if (kind == 0) {
            tern__view_slice(type, layout, start, count, step, type, layout);
        } else if (kind == 1) {
            tern__view_permute(type, layout, axes, type, layout);
        } else {
            for (int i = 0; i < to.rank; i++)
                to.shape[i] = to.shape[i] == 1 && draw(2) ? 3 : to.shape[i];
            if (tern__type_numel(&to) <= MOST) {
                tern__view_broadcast(type, layout, &to, layout);
                *type = to;
            }
        }
    }
}

/* A random factorisation of `count` with ones strewn in. */
static void random_reshape(int64_t count, tern__type *out)
{
    tern__type t = {.dtype = TERN_F32, .rank = 0};
    while (count > 1 && t.rank < TERN__MAX_RANK - 1) {
        int64_t divisors[MOST];
        int64_t found = 0;
        for (int64_t d = 1; d <= count; d++) {
            if (count % d == 0)
                divisors[found++] = d;
        }
        t.shape[t.rank] = divisors[draw(found)];
        count /= t.shape[t.rank++];
    }
    if (count > 1 || draw(3) == 0)
        t.shape[t.rank++] = count;
    *out = t;
}

/* Do strides exist that visit `list` in order when seen as `to`? If so they can be read off the list. */
static bool strides_exist(const places *list, const tern__type *to, tern__layout *out)
{
    static places visited;
    int64_t step = 1;
    out->offset = list->at[0];
    for (int i = to->rank - 1; i >= 0; i--) {
        out->strides[i] = to->shape[i] > 1 ? list->at[step] - list->at[0] : 0;
        step *= to->shape[i];
    }
    list_places(to, out, &visited);
    return memcmp(visited.at, list->at, sizeof list->at[0] * (size_t)list->count) == 0;
}

TEST(reshape_is_a_view_exactly_when_strides_exist)
{
    static places list, seen;
    int views = 0, copies = 0;
    for (int n = 0; n < 20000; n++) {
        tern__type type, to;
        tern__layout layout, view, found;
        random_view(&type, &layout);
        list_places(&type, &layout, &list);
        if (list.count == 0)
            continue;
        random_reshape(list.count, &to);
        bool possible = strides_exist(&list, &to, &found);
        bool viewed = tern__view_reshape(&type, &layout, &to, &view);
        CHECK_EQ(viewed, possible);
        if (viewed) {
            list_places(&to, &view, &seen);
            CHECK(memcmp(seen.at, list.at, sizeof list.at[0] * (size_t)list.count) == 0);
        }
        views += viewed;
        copies += !viewed;
    }
    CHECK(views > 4000 && copies > 1000); /* the draw reaches both */
}

static bool reshape(tern_dtype dtype, int from_rank, const int64_t *from, int to_rank, const int64_t *to,
                    tern__layout *out)
{
    tern__type a = type_of(dtype, from_rank, from), b = type_of(dtype, to_rank, to);
    tern__layout layout;
    tern__layout_contiguous(&a, &layout);
    layout.offset = 7;
    return tern__view_reshape(&a, &layout, &b, out);
}

TEST(reshape_scalars_and_empties)
{
    tern__layout out;
    CHECK(reshape(TERN_F32, 0, NULL, 0, NULL, &out));
    CHECK_EQ(out.offset, 7);
    CHECK(reshape(TERN_F32, 0, NULL, 2, (int64_t[]){1, 1}, &out));
    CHECK(reshape(TERN_F32, 3, (int64_t[]){1, 1, 1}, 0, NULL, &out));
    CHECK(reshape(TERN_F32, 2, (int64_t[]){0, 5}, 3, (int64_t[]){7, 0, 2}, &out));
    CHECK_EQ(out.strides[0], 2);
    CHECK_EQ(out.strides[2], 1);
    CHECK(reshape(TERN_F32, 1, (int64_t[]){0}, 8, (int64_t[]){0, 0, 0, 0, 0, 0, 0, 9}, &out));
}

TEST(reshape_of_a_transpose_needs_a_copy_unless_axes_stay_apart)
{
    tern__type a = type_of(TERN_F32, 3, (int64_t[]){4, 6, 5}), t, b;
    tern__layout layout, view, out;
    tern__layout_contiguous(&a, &layout);
    tern__view_permute(&a, &layout, (int64_t[]){2, 0, 1}, &t, &view); /* [5,4,6] with strides 1, 30, 5 */
    b = type_of(TERN_F32, 2, (int64_t[]){5, 24});
    CHECK(tern__view_reshape(&t, &view, &b, &out)); /* the two outer axes of `a` are still neighbours */
    CHECK_EQ(out.strides[0], 1);
    CHECK_EQ(out.strides[1], 5);
    b = type_of(TERN_F32, 1, (int64_t[]){120});
    memset(&out, 0x11, sizeof out);
    tern__layout before = out;
    CHECK(!tern__view_reshape(&t, &view, &b, &out));
    CHECK(memcmp(&before, &out, sizeof out) == 0);
}

TEST(reshape_of_packed_rows)
{
    tern__layout out;
    CHECK(reshape(TERN_T2, 2, (int64_t[]){6, 5}, 3, (int64_t[]){2, 3, 5}, &out));
    CHECK_EQ(out.offset, 7);
    CHECK_EQ(out.strides[0], 6);
    CHECK_EQ(out.strides[1], 2);
    CHECK_EQ(out.strides[2], 1);
    CHECK(reshape(TERN_T5, 1, (int64_t[]){1}, 0, NULL, &out));
    CHECK(reshape(TERN_T5, 0, NULL, 3, (int64_t[]){1, 1, 1}, &out));
    CHECK(!reshape(TERN_T5, 2, (int64_t[]){2, 10}, 2, (int64_t[]){4, 5}, &out)); /* rows are cut */
    CHECK(!reshape(TERN_T2, 2, (int64_t[]){2, 8}, 1, (int64_t[]){16}, &out));    /* rows are joined */
    CHECK(!reshape(TERN_T2, 2, (int64_t[]){4, 1}, 2, (int64_t[]){1, 4}, &out));
    CHECK(reshape(TERN_T2, 2, (int64_t[]){0, 4}, 2, (int64_t[]){3, 0}, &out));
    /* every second row of [4,5]: the rows are there, the merged rows are not */
    tern__type a = type_of(TERN_T2, 3, (int64_t[]){4, 2, 5}), s, b = type_of(TERN_T2, 2, (int64_t[]){4, 5});
    tern__layout layout, view;
    tern__layout_contiguous(&a, &layout);
    tern__view_slice(&a, &layout, (int64_t[]){0, 0, 0}, (int64_t[]){2, 2, 5}, (int64_t[]){2, 1, 1}, &s,
                     &view);
    CHECK(!tern__view_reshape(&s, &view, &b, &out));
}

TEST(contiguous_layouts)
{
    tern__type t = type_of(TERN_F32, 3, (int64_t[]){2, 3, 4});
    tern__layout l;
    tern__layout_contiguous(&t, &l);
    CHECK(l.offset == 0 && l.strides[0] == 12 && l.strides[1] == 4 && l.strides[2] == 1);
    CHECK(tern__layout_is_contiguous(&t, &l));
    l.offset = 3;
    CHECK(tern__layout_is_contiguous(&t, &l));
    l.strides[0] = 24;
    CHECK(!tern__layout_is_contiguous(&t, &l));
    t.shape[0] = 1; /* the stride of an axis of one says nothing */
    CHECK(tern__layout_is_contiguous(&t, &l));
    l.strides[2] = 2;
    CHECK(!tern__layout_is_contiguous(&t, &l));
    t.shape[1] = 0;
    CHECK(tern__layout_is_contiguous(&t, &l));

    t = type_of(TERN_T5, 3, (int64_t[]){2, 3, 11}); /* rows of three bytes */
    tern__layout_contiguous(&t, &l);
    CHECK(l.strides[0] == 9 && l.strides[1] == 3 && l.strides[2] == 1);
    CHECK(tern__layout_is_contiguous(&t, &l));
    l.strides[1] = 4;
    CHECK(!tern__layout_is_contiguous(&t, &l));
    t = type_of(TERN_T2, 0, NULL);
    CHECK(tern__layout_is_contiguous(&t, &l));
}

TEST(contiguity_span_and_fit_against_brute_force)
{
    static places list;
    for (int n = 0; n < 20000; n++) {
        tern__type type;
        tern__layout layout;
        random_view(&type, &layout);
        list_places(&type, &layout, &list);
        bool contiguous = true;
        int64_t low = 0, high = 0, got_low, got_high;
        for (int64_t i = 0; i < list.count; i++) {
            contiguous = contiguous && list.at[i] == list.at[0] + i;
            low = i == 0 || list.at[i] < low ? list.at[i] : low;
            high = i == 0 || list.at[i] > high ? list.at[i] : high;
        }
        CHECK_EQ(tern__layout_is_contiguous(&type, &layout), contiguous);
        tern__layout_span(&type, &layout, &got_low, &got_high);
        if (list.count == 0) {
            CHECK_EQ(got_low, got_high);
            CHECK(tern__layout_fits(&type, &layout, 0));
            continue;
        }
        CHECK_EQ(got_low, low * 4);
        CHECK_EQ(got_high, (high + 1) * 4);
        CHECK(tern__layout_fits(&type, &layout, (size_t)got_high));
        CHECK(!tern__layout_fits(&type, &layout, (size_t)got_high - 1));
        layout.offset -= low + 1;
        CHECK(!tern__layout_fits(&type, &layout, 1 << 20));
    }
}

TEST(hostile_layouts_do_not_fit)
{
    tern__type t = type_of(TERN_F64, 2, (int64_t[]){3, 3});
    tern__layout l = {.strides = {INT64_MAX, 1}};
    CHECK(!tern__layout_fits(&t, &l, SIZE_MAX));
    l = (tern__layout){.strides = {INT64_MIN, 1}};
    CHECK(!tern__layout_fits(&t, &l, SIZE_MAX));
    l = (tern__layout){.offset = INT64_MAX, .strides = {3, 1}};
    CHECK(!tern__layout_fits(&t, &l, SIZE_MAX));
    l = (tern__layout){.offset = INT64_MAX / 8, .strides = {3, 1}};
    CHECK(!tern__layout_fits(&t, &l, SIZE_MAX));
    l = (tern__layout){.strides = {INT64_MAX / 2, INT64_MAX / 2}};
    CHECK(!tern__layout_fits(&t, &l, SIZE_MAX));
    l = (tern__layout){.offset = -1, .strides = {3, 1}};
    CHECK(!tern__layout_fits(&t, &l, 1024));
    t = type_of(TERN_T2, 2, (int64_t[]){3, 9});
    tern__layout_contiguous(&t, &l);
    CHECK(tern__layout_fits(&t, &l, 9));
    CHECK(!tern__layout_fits(&t, &l, 8));
}

TEST(overlap_and_sameness)
{
    tern__type t = type_of(TERN_F32, 2, (int64_t[]){4, 4}), a, b;
    tern__layout l, la, lb;
    tern__layout_contiguous(&t, &l);
    tern__view_slice(&t, &l, (int64_t[]){0, 0}, (int64_t[]){2, 4}, (int64_t[]){1, 1}, &a, &la);
    tern__view_slice(&t, &l, (int64_t[]){2, 0}, (int64_t[]){2, 4}, (int64_t[]){1, 1}, &b, &lb);
    CHECK(!tern__layout_overlap(&a, &la, &b, &lb));
    CHECK(tern__layout_overlap(&t, &l, &b, &lb));
    CHECK(tern__layout_overlap(&b, &lb, &t, &l));
    CHECK(!tern__layout_same(&a, &la, &b, &lb));
    CHECK(tern__layout_same(&b, &lb, &b, &lb));
    tern__view_slice(&t, &l, (int64_t[]){3, 0}, (int64_t[]){2, 4}, (int64_t[]){-1, 1}, &a, &la);
    CHECK(tern__layout_overlap(&a, &la, &b, &lb)); /* the same rows backwards */
    CHECK(!tern__layout_same(&a, &la, &b, &lb));
    a.shape[1] = 0;
    CHECK(!tern__layout_overlap(&a, &la, &b, &lb));
}

TEST(slices_and_broadcasts_by_hand)
{
    tern__type t = type_of(TERN_I32, 2, (int64_t[]){5, 7}), s,
               to = type_of(TERN_I32, 3, (int64_t[]){2, 5, 9});
    tern__layout l, out;
    tern__layout_contiguous(&t, &l);
    tern__view_slice(&t, &l, (int64_t[]){4, 1}, (int64_t[]){3, 3}, (int64_t[]){-2, 3}, &s, &out);
    CHECK(s.rank == 2 && s.shape[0] == 3 && s.shape[1] == 3 && s.dtype == TERN_I32);
    CHECK(out.offset == 29 && out.strides[0] == -14 && out.strides[1] == 3);
    /* an empty slice at the end stays where it is */
    tern__view_slice(&t, &l, (int64_t[]){5, 0}, (int64_t[]){0, 7}, (int64_t[]){1, 1}, &s, &out);
    CHECK(s.shape[0] == 0 && out.offset == 0);
    t = type_of(TERN_I32, 2, (int64_t[]){5, 1});
    tern__layout_contiguous(&t, &l);
    tern__view_broadcast(&t, &l, &to, &out);
    CHECK(out.strides[0] == 0 && out.strides[1] == 1 && out.strides[2] == 0);
    t = type_of(TERN_I32, 0, NULL);
    tern__view_broadcast(&t, &l, &to, &out);
    CHECK(out.strides[0] == 0 && out.strides[1] == 0 && out.strides[2] == 0);
}

TEST(rows_of_a_buffer_as_a_matrix)
{
    tern__type type;
    int64_t stride;
    CHECK_OK(tern__type_make("buffer", TERN_F32, 3, (int64_t[]){2, 3, 4}, &type));
    const tern__buffer dense = {.type = &type, .strides = (int64_t[]){12, 4, 1}},
                       apart = {.type = &type, .strides = (int64_t[]){20, 4, 1}},
                       turned = {.type = &type, .strides = (int64_t[]){12, 1, 3}};
    CHECK(tern__buffer_is_matrix(&dense, 0, 6, &stride));
    CHECK_EQ(stride, 4);
    CHECK_EQ(tern__buffer_row_offset(&apart, 4), 24);
    CHECK(!tern__buffer_is_matrix(&apart, 0, 6, &stride));
    CHECK(tern__buffer_is_matrix(&apart, 3, 6, &stride));
    CHECK(!tern__buffer_is_matrix(&turned, 0, 6, &stride));
    /* a row of one element is in one piece, however far away the next element would be */
    CHECK_OK(tern__type_make("buffer", TERN_F32, 2, (int64_t[]){5, 1}, &type));
    const tern__buffer column = {.type = &type, .strides = (int64_t[]){7, 9}};
    CHECK(tern__buffer_is_matrix(&column, 0, 5, &stride));
    CHECK_EQ(stride, 7);
}
