#include "learn/span_table.hpp"

namespace caesura {

std::int32_t KeyTable::add(std::uint64_t key) {
  if (2 * (keys_.size() + 1) > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = key & mask;
  for (; slots_[at].row != kMissing; at = (at + 1) & mask)
    if (slots_[at].key == key) return slots_[at].row;
  slots_[at] = {key, size()};
  keys_.push_back(key);
  return size() - 1;
}

void KeyTable::grow() {
  slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), Slot{});
  const std::size_t mask = slots_.size() - 1;
  for (std::int32_t row = 0; row < size(); ++row) {
    std::size_t at = keys_[row] & mask;
    while (slots_[at].row != kMissing) at = (at + 1) & mask;
    slots_[at] = {keys_[row], row};
  }
}

void HashBits::add(std::uint64_t hash) {
  const std::int32_t before = added_.size();
  if (added_.add(hash) < before) return;
  if (kBitsForEach * added_.keys().size() > 64 * bits_.size()) {
    bits_.assign(2 * bits_.size(), 0);
    for (const std::uint64_t one : added_.keys()) set(one);
  } else {
    set(hash);
  }
}

}  // namespace caesura
