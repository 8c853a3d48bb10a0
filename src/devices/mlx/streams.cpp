// streams.cpp - memory that MLX owns, copies of it, streams and events. A block is an array of bytes; arrays are never changed, so
// a copy makes the block another array, which depends on the one that it was. MLX keeps that order across streams by itself.
#include <cstring>

#include "devices/mlx/limits.h"
#include "devices/mlx/lower.h"
#include "devices/mlx/session.h"

using namespace tern_mlx;

struct tern__mlx_stream {
    mx::Stream stream;
};

// Who waits for it waits for all of its stream, which is enough.
struct tern__mlx_event {
    mx::Stream stream;
};

static mx::Stream stream_of(const tern__mlx_session *session, const tern__mlx_stream *stream)
{
    return stream ? stream->stream : session_stream(session);
}

static mx::array &array_of(void *handle)
{
    return *static_cast<mx::array *>(handle);
}

static mx::Shape one(size_t n)
{
    return mx::Shape{mx::safe_cast(ptrdiff_t(n), "a block")};
}

bool tern__mlx_block_make(tern__mlx_session *session, size_t bytes, void **out, tern__mlx_error *error)
{
    return guarded(error, [&] {
        const size_t most = session_memory(session);
        if (most && bytes > most)
            throw fault(TERN_OUT_OF_MEMORY, "a block of " + std::to_string(bytes) +
                                                " bytes, and it may use " + std::to_string(most));
        const turn now(false); // a session that computes alone is not told of this memory
        mx::array block = mx::zeros(one(bytes ? bytes : 1), mx::uint8, session_stream(session));
        mx::eval(arrays{block});
        *out = new mx::array(block);
    });
}

void tern__mlx_block_end(void *block)
{
    tern__mlx_error error;
    guarded(&error, [&] { delete static_cast<mx::array *>(block); });
}

// Nobody else has the array, or it is copied first: what is written through the address is in the block alone.
bool tern__mlx_block_map(tern__mlx_session *session, void *block, void **out, tern__mlx_error *error)
{
    return guarded(error, [&] {
        const turn now(false);
        mx::array &array = array_of(block);
        array = mx::contiguous(mx::copy(array, session_stream(session)), false, session_stream(session));
        mx::eval(arrays{array});
        *out = array.data<char>();
    });
}

// Bytes [at, at + n) of a block, or of host memory as it lies.
static mx::array part_of(const tern__mlx_piece &piece, size_t bytes, mx::Stream s)
{
    if (!piece.block)
        return over_bytes(static_cast<char *>(piece.host) + piece.at, one(bytes), mx::uint8);
    const int at = mx::safe_cast(ptrdiff_t(piece.at), "a block");
    return mx::slice(array_of(piece.block), {at}, {at + int(bytes)}, s);
}

bool tern__mlx_copy(tern__mlx_session *session, tern__mlx_stream *stream, const tern__mlx_piece *to,
                    const tern__mlx_piece *from, size_t bytes, tern__mlx_error *error)
{
    return guarded(error, [&] {
        if (!to->block && !from->block) {
            std::memmove(static_cast<char *>(to->host) + to->at, static_cast<char *>(from->host) + from->at,
                         bytes);
            return;
        }
        const turn now(false); // what goes on behind it on a stream is not seen, and counts
        const mx::Stream s = stream_of(session, stream);
        mx::array part = part_of(*from, bytes, s);
        if (!to->block) { // the host's memory is written by the host: this waits
            part = mx::contiguous(part, false, s);
            mx::eval(arrays{part});
            std::memmove(static_cast<char *>(to->host) + to->at, part.data<char>(), bytes);
            return;
        }
        mx::array &block = array_of(to->block);
        const int at = mx::safe_cast(ptrdiff_t(to->at), "a block");
        block = mx::slice_update(block, part, mx::Shape{at}, mx::Shape{at + int(bytes)}, s);
        stream ? mx::async_eval(arrays{block}) : mx::eval(arrays{block});
    });
}

bool tern__mlx_stream_make(tern__mlx_stream **out, tern__mlx_error *error)
{
    return guarded(error, [&] { *out = new tern__mlx_stream{mx::new_thread_unsafe_stream(device())}; });
}

bool tern__mlx_synchronise(tern__mlx_session *session, tern__mlx_error *error)
{
    return guarded(error, [&] { mx::synchronize(session_stream(session)); });
}

bool tern__mlx_event_make(tern__mlx_session *session, const tern__mlx_stream *stream, tern__mlx_event **out,
                          tern__mlx_error *error)
{
    return guarded(error, [&] { *out = new tern__mlx_event{stream_of(session, stream)}; });
}

bool tern__mlx_event_wait(const tern__mlx_event *event, tern__mlx_error *error)
{
    return guarded(error, [&] { mx::synchronize(event->stream); });
}

void tern__mlx_event_end(tern__mlx_event *event)
{
    delete event;
}

void tern__mlx_stream_end(tern__mlx_stream *stream)
{
    tern__mlx_error error;
    guarded(&error, [&] {
        if (stream)
            mx::synchronize(stream->stream);
        delete stream;
    });
}
