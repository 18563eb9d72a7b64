// The weights of features, identified by 64-bit keys.
//
// A key is a hash of a feature ("this word after that one") and identifies a row of weights, one
// for each label.  The probability that any two of n keys collide is about n^2 / 2^65, which is
// 3e-6 for ten million keys, so keys are treated as unique.
#pragma once

#include <cstdint>
#include <vector>

#include "base/large_pages.hpp"

namespace caesura {

// Hashes a pair; the order matters.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a ^ 0x9e3779b97f4a7c15) *
                       static_cast<unsigned __int128>(b ^ 0xd6e8feb86659fd93);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Maps keys to rows 0, 1, 2, ... in the order of insertion, with open addressing.
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
  Table<Slot> slots_;  // the size is a power of two, and at most half of the slots are taken
  std::vector<std::uint64_t> keys_;
};

// A set of hashes with one bit each, which has false positives but no false negatives.  If the text
// of a span occurs in no key, keys with that text need not be looked up.
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
  std::vector<std::uint64_t> bits_ = std::vector<std::uint64_t>(16);  // the size is a power of two
  KeyTable added_;  // exactly the hashes that were added, needed to enlarge bits_
};

}  // namespace caesura
