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

  std::string_view operator[](std::int32_t id) const { return text_at(place_[id]); }
  std::int32_t size() const { return static_cast<std::int32_t>(place_.size()); }

 private:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  struct Slot {
    std::uint32_t tag = 0;           // upper half of the hash
    std::uint32_t place = kNowhere;  // of a string in blocks_
  };
  std::int32_t id_at(std::uint32_t place) const { return blocks_[place]; }
  std::string_view text_at(std::uint32_t place) const {
    const std::int32_t* block = blocks_.data() + place;
    return {reinterpret_cast<const char*>(block + 2), static_cast<std::size_t>(block[1])};
  }
  void put(std::uint64_t hash, std::uint32_t place);
  void grow();
  // Strings one after the other: the number, how many bytes, and these, in whole words.  What a
  // look-up reads lies together: numbers and strings apart would be one more wait for memory.
  std::vector<std::int32_t> blocks_;
  std::vector<std::uint32_t> place_;  // [size]
  std::vector<Slot> slots_;           // a power of two of them
};

}  // namespace caesura
