#include "base/workspace.hpp"

#include <algorithm>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace caesura {

namespace {
constexpr std::size_t kAlign = 64;
constexpr std::size_t kFirstBlock = std::size_t{1} << 16;
constexpr std::size_t kLargestStep = std::size_t{1} << 24;
constexpr std::size_t kMostKept = std::size_t{1} << 27;
constexpr std::size_t kHugePage = std::size_t{1} << 21;

std::align_val_t alignment(std::size_t size) {
  return std::align_val_t{size >= 2 * kHugePage ? kHugePage : kAlign};
}

// Large blocks use huge pages, which cause one page fault per 2 MB in place of one per 4 KB.
void* allocate(std::size_t size) {
  void* raw = ::operator new(size, alignment(size));
#ifdef __linux__
  if (size >= 2 * kHugePage) madvise(raw, size, MADV_HUGEPAGE);
#endif
  return raw;
}
}  // namespace

struct Workspace::Block {
  Block* next;
  std::size_t size;  // bytes after the header
  char* data() { return reinterpret_cast<char*>(this) + kAlign; }
};

Workspace::~Workspace() { free_blocks(); }

void Workspace::free_blocks() {
  while (blocks_ != nullptr) {
    Block* next = blocks_->next;
    ::operator delete(blocks_, alignment(blocks_->size + kAlign));
    blocks_ = next;
  }
}

void* Workspace::take(std::size_t bytes) {
  bytes = (std::max<std::size_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign;
  if (blocks_ == nullptr || used_ + bytes > blocks_->size) {
    const std::size_t grown = blocks_ == nullptr ? kFirstBlock : 2 * blocks_->size;
    const std::size_t size = std::max({bytes, wanted_, std::min(grown, kLargestStep)});
    blocks_ = new (allocate(size + kAlign)) Block{blocks_, size};
    used_ = 0;
  }
  char* p = blocks_->data() + used_;
  used_ += bytes;
  total_ += bytes;
  peak_ = std::max(peak_, total_);
  return p;
}

double* Workspace::doubles(std::size_t count) {
  return static_cast<double*>(take(count * sizeof(double)));
}

std::int32_t* Workspace::ints(std::size_t count) {
  return static_cast<std::int32_t*>(take(count * sizeof(std::int32_t)));
}

double* Workspace::kept(std::size_t count, bool* fresh) {
  *fresh = kept_size_ != count;
  if (*fresh) {
    kept_.reset(new double[count + kAlign / sizeof(double)]());
    kept_size_ = count;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(kept_.get());
  return reinterpret_cast<double*>((address + kAlign - 1) / kAlign * kAlign);
}

// If the kernel needed several blocks, the next one gets a single block of their total size (up to
// kMostKept), which then stays in the cache.
void Workspace::clear() {
  if (blocks_ != nullptr && (blocks_->next != nullptr || blocks_->size > kMostKept)) {
    wanted_ = std::min(total_, kMostKept);
    free_blocks();
  }
  used_ = total_ = 0;
}

}  // namespace caesura
