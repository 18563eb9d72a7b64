// The weights of features, identified by 64-bit keys.
//
// A key is a hash of what a feature says ("this word after that one"); a row of weights, one for
// each label, goes with it.  Two different features collide with a probability of about n^2 / 2^65
// for n keys in total, 3e-6 for ten million, so keys are treated as unique.
#pragma once

#include <cstdint>
#include <vector>

#include "base/large_pages.hpp"

namespace caesura {

// Hash of a pair; the order counts.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a ^ 0x9e3779b97f4a7c15) *
                       static_cast<unsigned __int128>(b ^ 0xd6e8feb86659fd93);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Keys to rows 0, 1, 2, ..., in the order of first insertion; open addressing.
class KeyTable {
 public:
  static constexpr std::int32_t kMissing = -1;

  std::int32_t find(std::uint64_t key) const {
    if (slots_.empty()) return kMissing;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = key & mask; slots_[at].row != kMissing; at = (at + 1) & mask)
      if (slots_[at].key == key) return slots_[at].row;
    return kMissing;
  }
  // Prefetches the memory that `find` will read.
  void expect(std::uint64_t key) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[key & (slots_.size() - 1)]);
  }
  std::int32_t add(std::uint64_t key);
  std::int32_t size() const { return static_cast<std::int32_t>(keys_.size()); }
  const std::vector<std::uint64_t>& keys() const { return keys_; }  // by row

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::int32_t row = kMissing;
  };
  void grow();
  Table<Slot> slots_;  // its size is a power of two, at most half of them taken
  std::vector<std::uint64_t> keys_;
};

// A set of hashes with false positives but no false negatives: one bit for each.  Where the text of
// a span is in no key at all, none of the keys with that text needs to be looked for.
class HashBits {
 public:
  bool has(std::uint64_t hash) const { return (bits_[word(hash)] >> (hash % 64)) & 1; }
  void add(std::uint64_t hash);
  const std::vector<std::uint64_t>& bits() const { return bits_; }
  void restore(std::vector<std::uint64_t> bits) { bits_ = std::move(bits); }
  const std::vector<std::uint64_t>& added() const { return added_.keys(); }

 private:
  static constexpr std::size_t kBitsForEach = 16;
  std::size_t word(std::uint64_t hash) const { return (hash / 64) & (bits_.size() - 1); }
  void set(std::uint64_t hash) { bits_[word(hash)] |= std::uint64_t{1} << (hash % 64); }
  std::vector<std::uint64_t> bits_ = std::vector<std::uint64_t>(16);  // its size is a power of two
  KeyTable added_;  // exactly what was added, so that there can be more bits
};

}  // namespace caesura
