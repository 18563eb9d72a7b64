#include "encode/interner.hpp"

#include <cstring>

namespace caesura {

// Eight bytes at a time, each multiplied and folded; the last eight may have been read before.
std::uint64_t hash_bytes(const char* data, std::size_t size) {
  constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15, kSecond = 0xd6e8feb86659fd93;
  auto fold = [](std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  auto read = [](const char* at, auto word) {
    std::memcpy(&word, at, sizeof word);
    return static_cast<std::uint64_t>(word);
  };
  std::uint64_t hash = kFirst ^ size, last = 0;
  if (size >= 8) {
    const char* end = data + size - 8;
    for (; data < end; data += 8) hash = fold(hash ^ read(data, std::uint64_t{}), kSecond);
    last = read(end, std::uint64_t{});
  } else if (size >= 4) {
    last = read(data, std::uint32_t{}) << 32 | read(data + size - 4, std::uint32_t{});
  } else if (size > 0) {
    last = read(data, std::uint8_t{}) << 16 | read(data + size / 2, std::uint8_t{}) << 8 |
           read(data + size - 1, std::uint8_t{});
  }
  return fold(fold(hash ^ last, kSecond), kFirst);
}

std::int32_t Interner::find(std::string_view text, std::uint64_t hash) const {
  if (slots_.empty()) return kMissing;
  const std::size_t mask = slots_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  for (std::size_t at = hash & mask; slots_[at].id != kMissing; at = (at + 1) & mask) {
    if (slots_[at].tag == tag && (*this)[slots_[at].id] == text) return slots_[at].id;
  }
  return kMissing;
}

void Interner::find(const std::string_view* texts, const std::uint64_t* hashes, int count,
                    std::int32_t* ids) const {
  const std::size_t mask = slots_.size() - 1;
  for (int k = 0; k < count; ++k) {  // the first slot with the right tag, most likely it
    ids[k] = kMissing;
    if (slots_.empty()) continue;
    const auto tag = static_cast<std::uint32_t>(hashes[k] >> 32);
    std::size_t at = hashes[k] & mask;
    while (slots_[at].id != kMissing && slots_[at].tag != tag) at = (at + 1) & mask;
    ids[k] = slots_[at].id;
    if (ids[k] != kMissing) __builtin_prefetch(&begin_[ids[k]]);
  }
  for (int k = 0; k < count; ++k) {
    if (ids[k] != kMissing) __builtin_prefetch(text_.data() + begin_[ids[k]]);
  }
  for (int k = 0; k < count; ++k) {
    if (ids[k] != kMissing && (*this)[ids[k]] != texts[k]) ids[k] = find(texts[k], hashes[k]);
  }
}

std::int32_t Interner::add(std::string_view text, std::uint64_t hash) {
  const std::int32_t known = find(text, hash);
  if (known != kMissing) return known;
  if (2 * static_cast<std::size_t>(size() + 1) > slots_.size()) grow();
  const std::int32_t id = size();
  text_.append(text);
  begin_.push_back(static_cast<std::int64_t>(text_.size()));
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].id != kMissing) at = (at + 1) & mask;
  slots_[at] = {static_cast<std::uint32_t>(hash >> 32), id};
  return id;
}

void Interner::grow() {
  slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), Slot{0, kMissing});
  const std::size_t mask = slots_.size() - 1;
  for (std::int32_t id = 0; id < size(); ++id) {
    const std::string_view text = (*this)[id];
    const std::uint64_t hash = hash_bytes(text.data(), text.size());
    std::size_t at = hash & mask;
    while (slots_[at].id != kMissing) at = (at + 1) & mask;
    slots_[at] = {static_cast<std::uint32_t>(hash >> 32), id};
  }
}

}  // namespace caesura
