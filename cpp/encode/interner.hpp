// A map from strings to numbers 0, 1, 2, ..., in the order of first occurrence.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/large_pages.hpp"

namespace caesura {

template <class Word>
std::uint64_t read_word(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// A hash of bytes that is the same in every run.  It reads eight bytes at a time, multiplies, and
// folds the product to 64 bits.  The last eight bytes may overlap those before.
inline std::uint64_t hash_bytes(const char* data, std::size_t size) {
  constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15, kSecond = 0xd6e8feb86659fd93;
  auto fold = [](std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  std::uint64_t hash = kFirst ^ size, last = 0;
  if (size >= 8) {
    const char* end = data + size - 8;
    for (; data < end; data += 8) hash = fold(hash ^ read_word<std::uint64_t>(data), kSecond);
    last = read_word<std::uint64_t>(end);
  } else if (size >= 4) {
    last = read_word<std::uint32_t>(data) << 32 | read_word<std::uint32_t>(data + size - 4);
  } else if (size > 0) {
    last = read_word<std::uint8_t>(data) << 16 | read_word<std::uint8_t>(data + size / 2) << 8 |
           read_word<std::uint8_t>(data + size - 1);
  }
  return fold(fold(hash ^ last, kSecond), kFirst);
}

// Whether two strings are equal.  Attributes have ten to forty bytes, for which calling memcmp
// takes longer than comparing them.
inline bool same_bytes(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  if (a.size() < 8) return std::memcmp(a.data(), b.data(), a.size()) == 0;
  const std::size_t last = a.size() - 8;
  for (std::size_t k = 0; k < last; k += 8) {
    if (read_word<std::uint64_t>(a.data() + k) != read_word<std::uint64_t>(b.data() + k))
      return false;
  }
  return read_word<std::uint64_t>(a.data() + last) == read_word<std::uint64_t>(b.data() + last);
}

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
  // Finds many strings at once.  The first pass over a block of them prefetches what the second
  // reads, so that cache misses overlap.
  void find(const std::string_view* texts, const std::uint64_t* hashes, int count,
            std::int32_t* ids) const;
  // Prefetches the group of a hash.
  void expect(std::uint64_t hash) const {
    if (!groups_.empty()) __builtin_prefetch(&groups_[hash & (groups_.size() - 1)]);
  }

  std::string_view operator[](std::int32_t id) const { return text_at(place_[id]); }
  std::int32_t size() const { return static_cast<std::int32_t>(place_.size()); }

 private:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  static constexpr int kSlots = 8;
  // One cache line.  A string is in the group that its hash selects or, if that is full, in one of
  // the following groups.  Slots are filled in order, so a group is full if its last slot is used.
  struct alignas(64) Group {
    std::uint32_t tag[kSlots];    // upper halves of hashes, made odd; 0 in unused slots
    std::uint32_t place[kSlots];  // indices of strings in blocks_
    bool full() const { return place[kSlots - 1] != kNowhere; }
    unsigned with_tag(std::uint32_t tag) const;
  };
  std::int32_t id_at(std::uint32_t place) const { return blocks_[place]; }
  std::string_view text_at(std::uint32_t place) const {
    const std::int32_t* block = blocks_.data() + place;
    return {reinterpret_cast<const char*>(block + 2), static_cast<std::size_t>(block[1])};
  }
  std::uint32_t first_with_tag(std::uint64_t hash) const;
  void put(std::uint64_t hash, std::uint32_t place);
  void grow();
  // The strings one after the other: number, size in bytes, and bytes padded to whole words.  Since
  // the number is stored with the string, a look-up has one cache miss less.
  Table<std::int32_t> blocks_;
  std::vector<std::uint32_t> place_;  // [size]
  Table<Group> groups_;               // its size is a power of two, or 0
};

}  // namespace caesura
