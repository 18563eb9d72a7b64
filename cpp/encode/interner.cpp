#include "encode/interner.hpp"

#include <algorithm>

#include "base/errors.hpp"

namespace caesura {

namespace {

// The tag of a hash.  It is never 0, the tag of unused slots.
std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32) | 1; }

}  // namespace

// Returns a mask of the slots that have the tag.  All slots are compared at once: the end of a loop
// that stops at the match would be mispredicted for every fourth string.
unsigned Interner::Group::with_tag(std::uint32_t wanted) const {
  using Four = std::uint32_t __attribute__((vector_size(16)));
  using Two = std::uint64_t __attribute__((vector_size(16)));
  Four low, high;
  std::memcpy(&low, tag, sizeof low);
  std::memcpy(&high, tag + 4, sizeof high);
  const Four bits =
      (Four(low == wanted) & Four{1, 2, 4, 8}) | (Four(high == wanted) & Four{16, 32, 64, 128});
  const Two halves = reinterpret_cast<Two>(bits);
  const std::uint64_t folded = halves[0] | halves[1];
  return static_cast<unsigned>(folded | folded >> 32);
}

std::int32_t Interner::find(std::string_view text, std::uint64_t hash) const {
  if (groups_.empty()) return kMissing;
  const std::size_t mask = groups_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Group& group = groups_[at];
    for (unsigned found = group.with_tag(tag_of(hash)); found != 0; found &= found - 1) {
      const std::uint32_t place = group.place[__builtin_ctz(found)];
      if (same_bytes(text_at(place), text)) return id_at(place);
    }
    if (!group.full()) return kMissing;
  }
}

// The place of the first string with the tag of a hash, which is most likely the one sought; or
// kNowhere.
std::uint32_t Interner::first_with_tag(std::uint64_t hash) const {
  const std::size_t mask = groups_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const unsigned found = groups_[at].with_tag(tag_of(hash));
    if (found != 0) return groups_[at].place[__builtin_ctz(found)];
    if (!groups_[at].full()) return kNowhere;
  }
}

void Interner::find(const std::string_view* texts, const std::uint64_t* hashes, int count,
                    std::int32_t* ids) const {
  constexpr int kMany = 128;
  std::uint32_t places[kMany];
  for (int first = 0; first < count; first += kMany) {
    const int some = std::min(kMany, count - first);
    for (int k = 0; k < some; ++k) {
      places[k] = groups_.empty() ? kNowhere : first_with_tag(hashes[first + k]);
      if (places[k] != kNowhere) __builtin_prefetch(blocks_.data() + places[k]);
    }
    for (int k = 0; k < some; ++k) {
      const int here = first + k;
      if (places[k] == kNowhere)
        ids[here] = kMissing;
      else
        ids[here] = same_bytes(text_at(places[k]), texts[here]) ? id_at(places[k])
                                                                : find(texts[here], hashes[here]);
    }
  }
}

std::int32_t Interner::add(std::string_view text, std::uint64_t hash) {
  const std::int32_t known = find(text, hash);
  if (known != kMissing) return known;
  constexpr std::size_t kLine = 16;  // words of a cache line; shorter strings do not straddle two
  const std::size_t words = 2 + (text.size() + 3) / 4;
  if (blocks_.size() + words + kLine >= kNowhere)
    throw TooLarge("X", "its strings need more than 16 GiB", "use fewer features or sequences");
  if (4 * static_cast<std::size_t>(size() + 1) > 3 * kSlots * groups_.size()) grow();
  const std::int32_t id = size();
  const std::size_t used = blocks_.size() % kLine;
  const std::size_t skipped = words <= kLine && used + words > kLine ? kLine - used : 0;
  const auto place = static_cast<std::uint32_t>(blocks_.size() + skipped);
  blocks_.resize(place + words);
  blocks_[place] = id;
  blocks_[place + 1] = static_cast<std::int32_t>(text.size());
  if (!text.empty()) std::memcpy(blocks_.data() + place + 2, text.data(), text.size());
  place_.push_back(place);
  put(hash, place);
  return id;
}

void Interner::put(std::uint64_t hash, std::uint32_t place) {
  const std::size_t mask = groups_.size() - 1;
  std::size_t at = hash & mask;
  while (groups_[at].full()) at = (at + 1) & mask;
  Group& group = groups_[at];
  const auto free = std::find(group.place, group.place + kSlots, kNowhere) - group.place;
  group.tag[free] = tag_of(hash);
  group.place[free] = place;
}

void Interner::grow() {
  Group empty{};
  std::fill_n(empty.place, kSlots, kNowhere);
  groups_.assign(groups_.empty() ? 8 : 2 * groups_.size(), empty);
  for (const std::uint32_t place : place_) {
    const std::string_view text = text_at(place);
    put(hash_bytes(text.data(), text.size()), place);
  }
}

}  // namespace caesura
