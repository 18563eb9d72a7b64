// Parallel loops with independent iterations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "base/interrupt.hpp"
#include "base/workspace.hpp"

namespace caesura {

// Calls work(i, workspace) for i = 0 .. count - 1 on up to n_threads threads.  The calls must be
// independent, so that the results are the same for any number of threads.  If several calls throw,
// the exception of the smallest i is rethrown when all threads have ended, so that the error does
// not depend on the number of threads either.
void for_each(int count, int n_threads, const std::function<void(int, Workspace&)>& work);

// Calls work(begin, end) for each block of a vector.  The blocks are the same for any number of
// threads.  The loop cannot be interrupted, so a vector is never left partly updated.
template <class Work>
void for_blocks(std::int64_t size, int n_threads, Work work) {
  constexpr std::int64_t kBlock = 1 << 15;
  const CallScope whole(CallScope::Asked{nullptr});
  for_each(static_cast<int>((size + kBlock - 1) / kBlock), n_threads,
           [&](int b, Workspace&) { work(b * kBlock, std::min(size, (b + 1) * kBlock)); });
}

}  // namespace caesura
