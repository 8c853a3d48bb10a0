// session.cpp - arrays over host memory, and what is computed when.
//
// Steps of a partition become one lazy MLX graph. Host memory is its first and last station: what a step reads is either an array
// that an earlier step of the partition made, or an array over the operand's own bytes. MLX decides itself where results lie: one that
// is a block of its own is handed out as it lies, and whoever has it keeps the array; what else leaves the partition is copied to where
// the plan wants it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>

#ifdef __linux__
#include <sys/uio.h>
#include <unistd.h>
#endif

#include "devices/mlx/limits.h"
#include "devices/mlx/session.h"
#include "tensor/given.h"

using namespace tern_mlx;

namespace
{

// MLX's CPU allocator keeps the size of a block in front of it, and knows a block by the address of that; a Metal buffer is an
// object. Memory of others can stand for a block of the first kind. MLX asks for the size of a block before it shares it
// (`contiguous`) or lets a result take its place (a block with one owner): it then reads what lies in front of the memory of others. That
// must be readable, and such memory must never have one owner alone, or the result would be written over it (see `held`).
ptrdiff_t allocator_header()
{
    static const ptrdiff_t header = [] {
        mx::allocator::Data data = mx::allocator::malloc(256);
        mx::allocator::Buffer buffer = data.buffer();
        const ptrdiff_t gap = static_cast<char *>(buffer.raw_ptr()) - static_cast<char *>(buffer.ptr());
        return gap == ptrdiff_t(sizeof(size_t)) ? gap : 0;
    }();
    return header;
}

// May the bytes in front of `data` be read? They can lie in a page that is not there.
bool has_front(const void *data, ptrdiff_t bytes)
{
    enum { PAGE = 4096 }; // the smallest there are
    if (reinterpret_cast<uintptr_t>(data) % PAGE >= uintptr_t(bytes))
        return true;
#ifdef __linux__
    char seen[16];
    iovec to = {seen, size_t(bytes)},
          from = {static_cast<char *>(const_cast<void *>(data)) - bytes, size_t(bytes)};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == bytes;
#else
    return false;
#endif
}

} // namespace

mx::array tern_mlx::over_bytes(void *data, const mx::Shape &shape, mx::Dtype dtype)
{
    const ptrdiff_t header = allocator_header();
    if (header && has_front(data, header)) {
        void *block = static_cast<char *>(data) - header;
        return mx::array(mx::allocator::Data(mx::allocator::Buffer(block), [](mx::allocator::Buffer) {}),
                         shape, dtype);
    }
    return mx::array(data, shape, dtype,
                     [](void *) {}); // Metal: without a copy where pages allow it; else a copy
}

mx::Device tern_mlx::device()
{
    return mx::is_available(mx::Device(mx::Device::gpu)) ? mx::Device(mx::Device::gpu)
                                                         : mx::Device(mx::Device::cpu);
}

namespace
{

bool reads_in_place()
{
    alignas(64) static float probe[16] = {1};
    return over_bytes(probe, mx::Shape{16}, mx::float32).data<float>() == probe;
}

size_t numel(const tern__type &type)
{
    size_t n = 1;
    for (int i = 0; i < type.rank; i++)
        n *= size_t(type.shape[i]);
    return n;
}

// Sizes as MLX sees them: bytes in the last axis of ternary types.
struct view {
    mx::Shape shape;
    mx::Strides strides;
    char *data; // element [0,0,...]
    char *low;  // first byte
    char *high; // past the last
    bool dense;
    size_t item;
};

view view_of(const tern__buffer &b)
{
    view v{shape_of(*b.type), {},   static_cast<char *>(b.data),         nullptr,
           nullptr,           true, mx::size_of(dtype_of(b.type->dtype))};
    int64_t below = 0, above = 0, expected = 1;
    for (int i = 0; i < b.type->rank; i++) {
        const int64_t reach = (int64_t(v.shape[i]) - 1) * b.strides[i];
        (reach < 0 ? below : above) += reach;
        v.strides.push_back(b.strides[i]);
    }
    for (int i = b.type->rank - 1; i >= 0; i--) {
        v.dense = v.dense && (v.shape[i] == 1 || b.strides[i] == expected);
        expected *= v.shape[i];
    }
    v.low = v.data + below * int64_t(v.item);
    v.high = v.data + (above + 1) * int64_t(v.item);
    return v;
}

// What a step of the partition made, and where the plan wants it.
struct made {
    mx::array array;
    tern__type type;
    view place;
    bool kept;
    bool readable;      // by later steps: nobody has written over it since
    tern__given *given; // where it may be handed out; or nullptr
};

void drop_array(void *user, void *, size_t)
{
    delete static_cast<mx::array *>(user);
}

void write_strided(const view &to, int axis, char *at, const char *&from)
{
    if (axis == int(to.shape.size())) {
        std::memcpy(at, from, to.item);
        from += to.item;
        return;
    }
    for (int i = 0; i < to.shape[axis]; i++)
        write_strided(to, axis + 1, at + i * to.strides[axis] * int64_t(to.item), from);
}

} // namespace

// An integer at [i] of a vector of i32 or i64.
static int64_t index_at(const tern__buffer &b, int64_t i)
{
    const int64_t at = i * b.strides[0];
    return b.type->dtype == TERN_I64 ? static_cast<const int64_t *>(b.data)[at]
                                     : static_cast<const int32_t *>(b.data)[at];
}

static void copy_strided(const view &from, const view &to, int axis, const char *at, char *there)
{
    if (axis == int(from.shape.size())) {
        std::memcpy(there, at, from.item);
        return;
    }
    for (int i = 0; i < from.shape[axis]; i++)
        copy_strided(from, to, axis + 1, at + i * from.strides[axis] * int64_t(from.item),
                     there + i * to.strides[axis] * int64_t(to.item));
}

static int64_t within(int64_t index, int64_t limit)
{
    if (index < 0 || index >= limit)
        throw out_of_range(index, limit);
    return index;
}

// write_slice: x at the start indices of operand 2. Nothing is written unless all fits.
static void write_slice(const tern__mlx_step &step)
{
    const view x = view_of(step.in[1]), to = view_of(step.out[0]);
    char *there = to.data;
    for (int i = 0; i < int(x.shape.size()); i++)
        there += within(index_at(step.in[2], i), int64_t(to.shape[i]) - x.shape[i] + 1) * to.strides[i] *
                 int64_t(to.item);
    copy_strided(x, to, 0, x.data, there);
}

// write_rows: row r of x at (slots[r], positions[r]).
static void write_rows(const tern__mlx_step &step)
{
    const view x = view_of(step.in[1]), to = view_of(step.out[0]);
    view row = x, place = to;
    row.shape.erase(row.shape.begin());
    row.strides.erase(row.strides.begin());
    place.strides.erase(place.strides.begin(), place.strides.begin() + 2);
    const auto write = [&](bool really) {
        for (int r = 0; r < x.shape[0]; r++) {
            const int64_t position = index_at(step.in[3], r);
            if (position == -1)
                continue;
            const int64_t slot = within(index_at(step.in[2], r), to.shape[0]);
            within(position, to.shape[1]);
            if (really)
                copy_strided(row, place, 0, x.data + r * x.strides[0] * int64_t(x.item),
                             to.data + (slot * to.strides[0] + position * to.strides[1]) * int64_t(to.item));
        }
    };
    write(false);
    write(true);
}

using function = std::function<arrays(const arrays &)>;

struct tern__mlx_session {
    mx::Stream stream;
    std::vector<made> values;
    arrays
        held; // memory of others, which has two owners as long as MLX computes: it is nobody's to write over
    std::unordered_map<const tern__region *, function> functions; // of fused steps

    const allowance memory; // that it may use
    size_t in_use = 0;      // of it, by values that were computed; known only if there is a limit

    tern__mlx_session(mx::Stream s, size_t most) : stream(s), memory(most)
    {
    }

    // `last`: values go first, or MLX could reuse none of the intermediates. MLX's own limit slows it down where it can wait for
    // memory, and means nothing to its CPU backend: what was used is looked at.
    void compute(const arrays &results, bool last)
    {
        const turn now(memory.bytes != 0);
        const size_t with_values = memory.bytes ? mx::get_active_memory() : 0;
        if (last)
            values.clear();
        if (!memory.bytes) {
            mx::eval(results);
            return;
        }
        const size_t before = mx::get_active_memory();
        in_use -= std::min(in_use, with_values > before ? with_values - before : 0);
        mx::reset_peak_memory();
        mx::eval(results);
        const size_t peak = mx::get_peak_memory(), after = mx::get_active_memory();
        const size_t used = in_use + (peak > before ? peak - before : 0);
        in_use += after > before ? after - before : 0;
        if (used > memory.bytes)
            throw fault(TERN_OUT_OF_MEMORY, "it used " + std::to_string(used) + " bytes, and may use " +
                                                std::to_string(memory.bytes));
    }

    void discard()
    {
        values.clear();
        held.clear();
        in_use = 0;
    }

    // Everything that memory may be asked for is computed, then written: results may lie where operands lay. In the end, not before
    // (later steps read memory), blocks may be handed out.
    void write(bool all)
    {
        arrays results;
        std::vector<view> places;
        std::vector<tern__given *> given;
        for (const made &m : values)
            if (m.kept || (all && m.readable)) {
                results.push_back(mx::contiguous(m.array, false, stream));
                places.push_back(m.place);
                given.push_back(all ? nullptr : m.given);
            }
        compute(results, true);
        in_use = 0; // results go when they are written
        std::vector<std::unique_ptr<mx::array>> handed(results.size());
        for (size_t i = 0; i < results.size(); i++) {
            const view &to = places[i];
            const char *from = results[i].data<char>();
            if (given[i] && is_alone(results[i]))
                handed[i] = std::make_unique<mx::array>(std::move(results[i]));
            else if (to.dense)
                std::memcpy(to.data, from, results[i].nbytes());
            else
                write_strided(to, 0, to.data, from);
        }
        for (size_t i = 0; i < handed.size(); i++)
            if (handed[i]) {
                void *host = handed[i]->data<char>();
                *given[i] = tern__given{host, drop_array, handed[i].release()};
            }
    }

    // Memory of MLX's, which holds this array alone and as a whole: no operand's, no constant's, no other result's.
    static bool is_alone(const mx::array &x)
    {
        return x.is_donatable() && x.data_size() == x.size() &&
               x.data<char>() == static_cast<const char *>(x.data_shared_ptr()->buffer().raw_ptr());
    }

    mx::array read(const tern__buffer &b)
    {
        const view v = view_of(b);
        const mx::Dtype dtype = dtype_of(b.type->dtype);
        for (auto m = values.rbegin(); m != values.rend(); ++m) {
            if (!m->readable || m->place.high <= v.low || v.high <= m->place.low)
                continue;
            if (m->type.dtype == b.type->dtype && m->place.data == v.data && m->place.shape == v.shape &&
                m->place.strides == v.strides)
                return m->array;
            if (m->type.dtype == b.type->dtype && m->place.dense && m->place.low <= v.low &&
                v.high <= m->place.high)
                return mx::as_strided(mx::contiguous(m->array, false, stream), v.shape, v.strides,
                                      size_t(v.data - m->place.low) / v.item, stream);
            write(true); // pieces of several results: memory puts them together
            break;
        }
        if (v.dense) {
            held.push_back(over_bytes(v.data, v.shape, dtype));
            return held.back();
        }
        const auto count = mx::safe_cast((v.high - v.low) / ptrdiff_t(v.item), "host");
        held.push_back(over_bytes(v.low, mx::Shape{count}, dtype));
        return mx::as_strided(held.back(), v.shape, v.strides, size_t(v.data - v.low) / v.item, stream);
    }

    void add(const tern__mlx_step &step)
    {
        const tern__op *row = &op_table[step.op];
        std::vector<const tern__type *> in_types;
        std::vector<tern__type> out_types;
        arrays in;
        size_t elements = 0;
        for (int i = 0; i < step.n_out; i++) {
            out_types.push_back(*step.out[i].type);
            elements += numel(*step.out[i].type);
        }
        if (elements == 0)
            return;
        if (row->flags & TERN__WRITES && step.op != TERN__OP_overwrite) {
            write(true); // its operands, and whatever reads the state as it was
            step.op == TERN__OP_write_slice ? write_slice(step) : write_rows(step);
            return;
        }
        for (int i = 0; i < step.n_in; i++) {
            in_types.push_back(step.in[i].type);
            in.push_back(read(step.in[i]));
        }
        const tern__call call = {row, step.n_in, step.n_out, in_types.data(), step.attrs, out_types.data()};
        arrays out = step.op == TERN__OP_fused ? function_of(step)(in) : lower(call, in, stream);
        for (int i = 0; i < step.n_out; i++)
            keep(step.out[i], out[size_t(i)], step.kept[i], step.given ? step.given[i] : nullptr);
    }

    // MLX compiles it when it is called for the first time, and again where operands have another shape or type.
    const function &function_of(const tern__mlx_step &step)
    {
        const tern__region *region = step.attrs[TERN__ATTR_fused_body].region;
        auto at = functions.find(region);
        if (at == functions.end())
            at = functions
                     .emplace(region, mx::compile(function([region, s = stream](const arrays &in) {
                                  return lower_region(*region, in, s);
                              })))
                     .first;
        return at->second;
    }

    void keep(const tern__buffer &b, const mx::array &result, bool kept, tern__given *given)
    {
        if (result.size() == 0)
            return;
        const view v = view_of(b);
        if (result.shape() != v.shape || result.dtype() != dtype_of(b.type->dtype))
            throw fault(TERN_INTERNAL, "the result has another shape or type than was asked for");
        for (made &m : values) {
            if (m.place.high <= v.low || v.high <= m.place.low)
                continue;
            m.readable = false;
            // Written over as a whole: it need not reach memory.
            m.kept = m.kept && !(v.dense && v.low <= m.place.low && m.place.high <= v.high);
        }
        values.push_back({result, *b.type, v, kept, true, given});
    }
};

namespace
{

// A C++ library promises nothing between minor versions.
bool same_minor(const char *loaded)
{
    int major = -1, minor = -1;
    return std::sscanf(loaded, "%d.%d", &major, &minor) == 2 && major == MLX_VERSION_MAJOR &&
           minor == MLX_VERSION_MINOR;
}

} // namespace

mx::Stream tern_mlx::session_stream(const tern__mlx_session *session)
{
    return session->stream;
}

size_t tern_mlx::session_memory(const tern__mlx_session *session)
{
    return session->memory.bytes;
}

void tern__mlx_begin(const tern__op *ops)
{
    op_table = ops;
}

void tern__mlx_describe(tern__mlx_facts *out)
{
    tern__mlx_error error;
    *out = tern__mlx_facts{};
    std::snprintf(out->built, sizeof out->built, "%d.%d.%d", MLX_VERSION_MAJOR, MLX_VERSION_MINOR,
                  MLX_VERSION_PATCH);
    std::snprintf(out->version, sizeof out->version, "%s", mx::version());
    out->usable = same_minor(out->version);
    if (!out->usable)
        return;
    guarded(&error, [&] {
        const mx::Device d = device();
        out->gpu = d.type == mx::Device::gpu;
        out->in_place = reads_in_place();
        const auto &info = mx::device_info(d);
        if (auto name = info.find("device_name");
            name != info.end() && std::holds_alternative<std::string>(name->second))
            std::snprintf(out->device, sizeof out->device, "%s", std::get<std::string>(name->second).c_str());
        if (auto size = info.find("memory_size");
            size != info.end() && std::holds_alternative<size_t>(size->second))
            out->memory_bytes = int64_t(std::get<size_t>(size->second));
    });
}

bool tern__mlx_lowers(const tern__call *call, char *why, size_t bytes)
{
    tern__mlx_error error;
    std::string reason;
    if (!guarded(&error, [&] { reason = refuse(*call); }))
        reason = error.text;
    std::snprintf(why, bytes, "%s", reason.c_str());
    return reason.empty();
}

// A chain of three, compiled and computed: where there is no compiler this throws.
static std::string try_compiling()
{
    tern__mlx_error error;
    const bool done = guarded(&error, [] {
        const mx::Stream s = mx::new_thread_unsafe_stream(device());
        const function chain = mx::compile(function([s](const arrays &in) {
            return arrays{mx::add(mx::multiply(in[0], in[0], s), mx::exp(in[0], s), s)};
        }));
        arrays out = chain(arrays{mx::zeros(mx::Shape{4}, mx::float32, s)});
        mx::eval(out);
        if (out[0].data<float>()[3] != 1)
            throw fault(TERN_INTERNAL, "a compiled function gives wrong results");
    });
    return done ? "" : error.text;
}

bool tern__mlx_compiles(int said, const char **why)
{
    const bool wanted = said ? said > 0 : device().type == mx::Device::gpu;
    *why = "";
    if (!wanted)
        return false;
    static const std::string problem = try_compiling();
    *why = problem.c_str();
    return problem.empty();
}

void tern__mlx_forget(tern__mlx_session *session, const tern__region *region)
{
    tern__mlx_error error;
    guarded(&error, [&] { session->functions.erase(region); });
}

bool tern__mlx_open(size_t memory, tern__mlx_session **out, tern__mlx_error *error)
{
    return guarded(error,
                   [&] { *out = new tern__mlx_session(mx::new_thread_unsafe_stream(device()), memory); });
}

void tern__mlx_close(tern__mlx_session *session)
{
    tern__mlx_error error;
    guarded(&error, [&] { delete session; });
}

bool tern__mlx_add(tern__mlx_session *session, const tern__mlx_step *step, tern__mlx_error *error)
{
    return guarded(error, [&] { session->add(*step); });
}

bool tern__mlx_finish(tern__mlx_session *session, tern__mlx_error *error)
{
    const bool done = guarded(error, [&] { session->write(false); });
    tern__mlx_discard(session);
    return done;
}

bool tern__mlx_settle(tern__mlx_session *session, tern__mlx_error *error)
{
    return guarded(error, [&] {
        arrays pending;
        for (const made &m : session->values)
            pending.push_back(m.array);
        session->compute(pending, false);
    });
}

bool tern__mlx_keep(tern__mlx_session *session, tern__mlx_error *error)
{
    const bool done = guarded(error, [&] { session->write(true); });
    tern__mlx_discard(session);
    return done;
}

void tern__mlx_discard(tern__mlx_session *session)
{
    session->discard();
}

size_t tern__mlx_trim(void)
{
    size_t given = 0;
    tern__mlx_error error;
    guarded(&error, [&] {
        const size_t before = mx::get_cache_memory();
        mx::clear_cache();
        const size_t after = mx::get_cache_memory();
        given = before > after ? before - after : 0;
    });
    return given;
}

void *tern__mlx_alloc(size_t bytes)
{
    void *memory = ::operator new(bytes, std::nothrow);
    return memory ? std::memset(memory, 0, bytes) : nullptr;
}

void tern__mlx_free(void *memory)
{
    ::operator delete(memory);
}

uint64_t tern__mlx_now_ns(void)
{
    return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::steady_clock::now().time_since_epoch())
                        .count());
}
