/* lower.h - one op as MLX arrays (lower.cpp), and arrays over host memory (session.cpp). C++ only. */
#ifndef TERN_DEVICES_MLX_LOWER_H
#define TERN_DEVICES_MLX_LOWER_H

#include <stdexcept>
#include <string>
#include <vector>

#include <mlx/mlx.h>

#include "devices/mlx/mlx.h"

namespace tern_mlx
{

namespace mx = mlx::core;
using arrays = std::vector<mx::array>;

/* Bad data or a bad request, found by the plugin itself. */
struct fault : std::runtime_error {
    tern_status status;
    fault(tern_status which, const std::string &text) : std::runtime_error(text), status(which)
    {
    }
};

extern const tern__op *op_table; /* the host's */

fault out_of_range(int64_t index, int64_t limit);

/* The same elements: bytes for ternary types (rows of whole bytes). */
mx::Dtype dtype_of(tern_dtype dtype);
mx::Shape shape_of(const tern__type &type);

/* The results of a call; operands have the types that the call says. */
arrays lower(const tern__call &call, const arrays &in, mx::Stream stream);
/* A fused region op by op: the body of a compiled function. */
arrays lower_region(const tern__region &region, const arrays &in, mx::Stream stream);
/* Why it cannot be lowered; empty: it can. */
std::string refuse(const tern__call &call);

} // namespace tern_mlx

#endif
