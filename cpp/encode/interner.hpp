// Strings to numbers 0, 1, 2, ..., in the order of their first coming.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace caesura {

// A hash of bytes; the same on every run.
std::uint64_t hash_bytes(const char* data, std::size_t size);

class Interner {
 public:
  static constexpr std::int32_t kMissing = -1;

  std::int32_t add(std::string_view text) {
    return add(text, hash_bytes(text.data(), text.size()));
  }
  std::int32_t find(std::string_view text) const {
    return find(text, hash_bytes(text.data(), text.size()));
  }
  std::int32_t add(std::string_view text, std::uint64_t hash);
  std::int32_t find(std::string_view text, std::uint64_t hash) const;
  // Find many at once: each step asks for memory that the next one reads, so that the waits
  // overlap.
  void find(const std::string_view* texts, const std::uint64_t* hashes, int count,
            std::int32_t* ids) const;
  void expect(std::uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }

  std::string_view operator[](std::int32_t id) const {
    return {text_.data() + begin_[id], static_cast<std::size_t>(begin_[id + 1] - begin_[id])};
  }
  std::int32_t size() const { return static_cast<std::int32_t>(begin_.size()) - 1; }

 private:
  struct Slot {
    std::uint32_t tag;  // upper half of the hash
    std::int32_t id = kMissing;
  };
  void grow();
  std::string text_;                    // all strings, one after the other
  std::vector<std::int64_t> begin_{0};  // [size + 1]
  std::vector<Slot> slots_;             // a power of two of them
};

}  // namespace caesura
