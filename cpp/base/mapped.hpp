// Vectors that may be stored in memory-mapped files, so that the operating system can move them
// between memory and disk.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#define CAESURA_HAVE_MMAP
#endif

namespace caesura {

// A folder for unnamed temporary files; null selects ordinary memory.
using Folder = std::shared_ptr<const std::string>;

// Maps a new, unlinked file in `folder`.  Returns its writable pages, or null on failure.
inline void* map_file(const std::string& folder, std::size_t bytes) {
#ifdef CAESURA_HAVE_MMAP
  std::string path = folder + "/caesura-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return nullptr;
  unlink(path.c_str());
  void* pages = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0)
    pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return pages == MAP_FAILED ? nullptr : pages;
#else
  return nullptr;
#endif
}

template <class T>
struct Mapping {
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;  // a move transfers pages
  static constexpr std::size_t kLeast = std::size_t{1} << 16;     // bytes, minimum size of a file
  Folder folder;

  Mapping() = default;
  explicit Mapping(Folder place) : folder(std::move(place)) {}
  template <class U>
  Mapping(const Mapping<U>& other) : folder(other.folder) {}

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (folder == nullptr || bytes < kLeast) return static_cast<T*>(::operator new(bytes));
    void* memory = map_file(*folder, bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
#ifdef CAESURA_HAVE_MMAP
    if (folder != nullptr && count * sizeof(T) >= kLeast) {
      munmap(static_cast<void*>(memory), count * sizeof(T));
      return;
    }
#endif
    ::operator delete(memory);
  }
  template <class U>
  bool operator==(const Mapping<U>& other) const {
    return folder == other.folder;
  }
  template <class U>
  bool operator!=(const Mapping<U>& other) const {
    return folder != other.folder;
  }
};

template <class T>
using Mapped = std::vector<T, Mapping<T>>;

}  // namespace caesura
