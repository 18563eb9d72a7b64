// Scratch memory of one thread.  A kernel allocates arrays from it, and all are released at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace caesura {

class Workspace {
 public:
  Workspace() = default;
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // Arrays are aligned to 64 bytes, uninitialised, and valid until clear().
  double* doubles(std::size_t count);
  std::int32_t* ints(std::size_t count);
  void clear();

  // Aligned memory that survives clear(), for values that one problem leaves to the next.  *fresh
  // tells whether it is new, which it is whenever `count` changes; new memory is zeroed.
  double* kept(std::size_t count, bool* fresh);
  std::size_t peak() const { return peak_; }

 private:
  struct Block;
  void* take(std::size_t bytes);
  void free_blocks();
  Block* blocks_ = nullptr;
  std::unique_ptr<double[]> kept_;
  std::size_t kept_size_ = 0;
  std::size_t used_ = 0, total_ = 0, peak_ = 0, wanted_ = 0;
};

}  // namespace caesura
