// limits.h - what sessions may use. MLX counts and limits memory for the process, sessions have limits of their own: one registry knows
// them all. Private to devices/mlx.
#ifndef TERN_DEVICES_MLX_LIMITS_H
#define TERN_DEVICES_MLX_LIMITS_H

#include <cstddef>
#include <shared_mutex>

namespace tern_mlx
{

// What a session may use, as long as it lives; 0: as MLX likes. MLX's limits are the sum over all that live, and its own while one of
// them has none, or none is left. Any thread.
class allowance
{
  public:
    explicit allowance(size_t most);
    ~allowance();
    allowance(const allowance &) = delete;
    allowance &operator=(const allowance &) = delete;

    const size_t bytes;
};

// Held while a session computes. One with a limit computes alone, so that what MLX counts meanwhile is its own; others beside each
// other.
class turn
{
  public:
    explicit turn(bool alone);
    ~turn();
    turn(const turn &) = delete;
    turn &operator=(const turn &) = delete;

  private:
    const bool alone_;
};

} // namespace tern_mlx

#endif
