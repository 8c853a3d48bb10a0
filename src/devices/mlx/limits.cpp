// limits.cpp - the registry of what sessions may use.
#include <mlx/mlx.h>

#include <limits>
#include <mutex>
#include <set>

#include "devices/mlx/limits.h"

namespace mx = mlx::core;

namespace
{

std::mutex guard;
std::multiset<size_t> live;   // what each session may use; 0: as MLX likes
bool limited = false;         // MLX's limits are ours
size_t own_memory, own_cache; // MLX's own, if they are

std::shared_mutex turns;

size_t sum_of_live()
{
    size_t sum = 0;
    for (const size_t bytes : live)
        sum = bytes > std::numeric_limits<size_t>::max() - sum ? std::numeric_limits<size_t>::max()
                                                               : sum + bytes;
    return sum;
}

void apply()
{
    const bool wanted = !live.empty() && *live.begin() != 0;
    if (!wanted && !limited)
        return;
    const size_t memory = mx::set_memory_limit(wanted ? sum_of_live() : own_memory);
    const size_t cache = mx::set_cache_limit(wanted ? sum_of_live() : own_cache);
    if (!limited) {
        own_memory = memory;
        own_cache = cache;
    }
    limited = wanted;
}

} // namespace

tern_mlx::allowance::allowance(size_t most) : bytes(most)
{
    const std::lock_guard<std::mutex> held(guard);
    live.insert(bytes);
    apply();
}

tern_mlx::allowance::~allowance()
{
    const std::lock_guard<std::mutex> held(guard);
    live.erase(live.find(bytes));
    apply();
}

tern_mlx::turn::turn(bool alone) : alone_(alone)
{
    alone_ ? turns.lock() : turns.lock_shared();
}

tern_mlx::turn::~turn()
{
    alone_ ? turns.unlock() : turns.unlock_shared();
}
