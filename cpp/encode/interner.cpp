#include "encode/interner.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

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
  for (std::size_t at = hash & mask; slots_[at].place != kNowhere; at = (at + 1) & mask) {
    if (slots_[at].tag == tag && text_at(slots_[at].place) == text) return id_at(slots_[at].place);
  }
  return kMissing;
}

void Interner::find(const std::string_view* texts, const std::uint64_t* hashes, int count,
                    std::int32_t* ids) const {
  constexpr int kMany = 32;
  std::uint32_t places[kMany];
  const std::size_t mask = slots_.size() - 1;
  for (int first = 0; first < count; first += kMany) {
    const int some = std::min(kMany, count - first);
    for (int k = 0; k < some; ++k) {  // the first slot with the right tag, most likely it
      places[k] = kNowhere;
      if (slots_.empty()) continue;
      const std::uint64_t hash = hashes[first + k];
      const auto tag = static_cast<std::uint32_t>(hash >> 32);
      std::size_t at = hash & mask;
      while (slots_[at].place != kNowhere && slots_[at].tag != tag) at = (at + 1) & mask;
      places[k] = slots_[at].place;
      if (places[k] != kNowhere) __builtin_prefetch(blocks_.data() + places[k]);
    }
    for (int k = 0; k < some; ++k) {
      const int here = first + k;
      if (places[k] == kNowhere)
        ids[here] = kMissing;
      else
        ids[here] =
            text_at(places[k]) == texts[here] ? id_at(places[k]) : find(texts[here], hashes[here]);
    }
  }
}

std::int32_t Interner::add(std::string_view text, std::uint64_t hash) {
  const std::int32_t known = find(text, hash);
  if (known != kMissing) return known;
  const std::size_t words = 2 + (text.size() + 3) / 4;
  if (blocks_.size() + words >= kNowhere) throw std::length_error("strings");
  if (2 * static_cast<std::size_t>(size() + 1) > slots_.size()) grow();
  const std::int32_t id = size();
  const auto place = static_cast<std::uint32_t>(blocks_.size());
  blocks_.resize(blocks_.size() + words);
  blocks_[place] = id;
  blocks_[place + 1] = static_cast<std::int32_t>(text.size());
  if (!text.empty()) std::memcpy(blocks_.data() + place + 2, text.data(), text.size());
  place_.push_back(place);
  put(hash, place);
  return id;
}

void Interner::put(std::uint64_t hash, std::uint32_t place) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].place != kNowhere) at = (at + 1) & mask;
  slots_[at] = {static_cast<std::uint32_t>(hash >> 32), place};
}

void Interner::grow() {
  slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), Slot{});
  for (const std::uint32_t place : place_) {
    const std::string_view text = text_at(place);
    put(hash_bytes(text.data(), text.size()), place);
  }
}

}  // namespace caesura
