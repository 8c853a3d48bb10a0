// session.h - what streams.cpp shares with session.cpp. Private to devices/mlx.
#ifndef TERN_DEVICES_MLX_SESSION_H
#define TERN_DEVICES_MLX_SESSION_H

#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "devices/mlx/lower.h"

namespace tern_mlx
{

// An array over memory of others, without a copy where MLX allows it.
mx::array over_bytes(void *data, const mx::Shape &shape, mx::Dtype dtype);

mx::Device device();
mx::Stream session_stream(const tern__mlx_session *session);
size_t session_memory(const tern__mlx_session *session); // bytes that it may use; 0: as MLX likes

// What went wrong, for the other side of the border.
template <typename F> bool guarded(tern__mlx_error *error, F &&body)
{
    try {
        body();
        return true;
    } catch (const fault &e) {
        error->status = e.status;
        std::snprintf(error->text, sizeof error->text, "%s", e.what());
    } catch (const std::bad_alloc &) {
        error->status = TERN_OUT_OF_MEMORY;
        std::snprintf(error->text, sizeof error->text, "no memory");
    } catch (const std::exception &e) {
        const bool memory =
            std::strncmp(e.what(), "[malloc", 7) == 0 || std::strstr(e.what(), "Unable to allocate");
        error->status = memory ? TERN_OUT_OF_MEMORY : TERN_INTERNAL; // MLX does not say whether it may pass
        std::snprintf(error->text, sizeof error->text, "%s", e.what());
    } catch (...) {
        error->status = TERN_INTERNAL;
        std::snprintf(error->text, sizeof error->text, "MLX failed without a reason");
    }
    return false;
}

} // namespace tern_mlx

#endif
