// A memory pool for results.  Freed blocks are kept, up to a limit, and reused, because a page
// fault on fresh memory costs more than writing the numbers into the page.
#pragma once

#include <cstddef>
#include <memory>

namespace caesura {

struct PoolDeleter {
  std::size_t size;  // doubles
  void operator()(double* block) const;
};
using PooledDoubles = std::unique_ptr<double[], PoolDeleter>;

PooledDoubles pooled(std::size_t count);

}  // namespace caesura
