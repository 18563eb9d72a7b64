// Vectors in huge pages (2 MB).  With small pages, almost every random access to a large table
// would miss the TLB.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace caesura {

template <class T>
struct LargePages {
  using value_type = T;
  static constexpr std::size_t kPage = std::size_t{1} << 21;

  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}

  static std::align_val_t alignment(std::size_t bytes) {
    return std::align_val_t{bytes >= kPage ? kPage : 64};
  }
  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    void* memory = ::operator new(bytes, alignment(bytes));
#ifdef __linux__
    if (bytes >= kPage) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    ::operator delete(memory, alignment(count * sizeof(T)));
  }
  template <class U>
  bool operator==(const LargePages<U>&) const {
    return true;
  }
  template <class U>
  bool operator!=(const LargePages<U>&) const {
    return false;
  }
};

template <class T>
using Table = std::vector<T, LargePages<T>>;

}  // namespace caesura
