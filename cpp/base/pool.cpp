#include "base/pool.hpp"

#include <map>
#include <mutex>
#include <vector>

#ifndef _WIN32
#include <pthread.h>
#endif

namespace caesura {
namespace {

constexpr std::size_t kMostSpare = std::size_t{1} << 23;  // doubles: 64 MB

struct Pool {
  std::mutex guard;
  std::map<std::size_t, std::vector<double*>> blocks;  // by size
  std::size_t kept = 0;

  void make_room(std::size_t size) {
    for (auto at = blocks.begin(); kept + size > kMostSpare && at != blocks.end();) {
      if (at->second.empty()) {
        at = blocks.erase(at);
        continue;
      }
      delete[] at->second.back();
      at->second.pop_back();
      kept -= at->first;
    }
  }
};

Pool& pool();

// fork() acquires the lock first: the child of a fork during which another thread held it would
// wait for it forever.
void lock() { pool().guard.lock(); }
void unlock() { pool().guard.unlock(); }

Pool* make() {
#ifndef _WIN32
  pthread_atfork(&lock, &unlock, &unlock);
#endif
  return new Pool;
}

// Never destroyed, because results may outlive static objects when the interpreter exits.
Pool& pool() {
  static Pool* const shared = make();
  return *shared;
}

// Rounds up to a multiple of 8, and from 64 on by at most an eighth, so that freed blocks fit later
// requests of similar sizes.
std::size_t size_class(std::size_t count) {
  std::size_t step = 8;
  while (step * 16 <= count) step *= 2;
  return (count + step - 1) / step * step;
}

}  // namespace

PooledDoubles pooled(std::size_t count) {
  const std::size_t size = size_class(count == 0 ? 1 : count);
  Pool& shared = pool();
  {
    const std::lock_guard<std::mutex> lock(shared.guard);
    const auto found = shared.blocks.find(size);
    if (found != shared.blocks.end() && !found->second.empty()) {
      double* block = found->second.back();
      found->second.pop_back();
      shared.kept -= size;
      return PooledDoubles(block, PoolDeleter{size});
    }
  }
  return PooledDoubles(new double[size], PoolDeleter{size});
}

void PoolDeleter::operator()(double* block) const {
  Pool& shared = pool();
  {
    const std::lock_guard<std::mutex> lock(shared.guard);
    if (size <= kMostSpare) {
      shared.make_room(size);
      shared.blocks[size].push_back(block);
      shared.kept += size;
      return;
    }
  }
  delete[] block;
}

}  // namespace caesura
