// Parallel loops over independent pieces of work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "base/interrupt.hpp"
#include "base/workspace.hpp"

namespace caesura {

// Calls work(i, workspace) for i = 0 .. count - 1 on that many threads; each i is independent, so
// the results are the same for any number of threads.  If several throw, the exception of the
// smallest i is thrown again after all have ended, so that it does not depend on their number.
void for_each(int count, int n_threads, const std::function<void(int, Workspace&)>& work);

// Calls work(begin, end) for the blocks of a long vector, which are the same for any number of
// threads.  It is not interrupted, so a vector is never changed in part.
template <class Work>
void for_blocks(std::int64_t size, int n_threads, Work work) {
  constexpr std::int64_t kBlock = 1 << 15;
  const CallScope whole(CallScope::Asked{nullptr});
  for_each(static_cast<int>((size + kBlock - 1) / kBlock), n_threads,
           [&](int b, Workspace&) { work(b * kBlock, std::min(size, (b + 1) * kBlock)); });
}

}  // namespace caesura
