#include "encode/attributes.hpp"

#include <algorithm>

#include "base/errors.hpp"

namespace caesura {

Attributes::Attributes(const std::vector<Template>& templates)
    : member_(templates.size()), single_(templates.size()) {
  for (std::size_t k = 0; k < templates.size(); ++k) {
    std::vector<Part> parts = templates[k].parts;
    if (parts.size() < 2) continue;
    const int offset = parts[0].offset;
    for (Part& part : parts) part.offset -= offset;
    auto same = [&](const Family& family) { return family.parts == parts; };
    auto family = std::find_if(families_.begin(), families_.end(), same);
    if (family == families_.end())
      family = families_.insert(families_.end(), Family{parts, 0, offset, offset});
    family->low = std::min(family->low, offset);
    family->high = std::max(family->high, offset);
    // An entry consists of its family, one value for each part and one attribute for each member.
    const int place = 1 + static_cast<int>(parts.size()) + family->n_members++;
    member_[k] = {static_cast<int>(family - families_.begin()), offset, place};
  }
}

std::int32_t Attributes::push(int source, const std::int32_t* values, int count) {
  source_.push_back(source);
  values_.insert(values_.end(), values, values + count);
  ptr_.push_back(static_cast<std::int64_t>(values_.size()));
  return size() - 1;
}

std::int32_t Attributes::id(int source, const std::int32_t* values, int count, bool grow) {
  // A value without a number has no attributes.  Callers skip such values; as an index it would be
  // out of bounds.
  if (std::find(values, values + count, kUnseen) != values + count) return kMissing;
  if (count == 1) {
    std::vector<std::int32_t>& known = single_[source];
    const auto at = static_cast<std::size_t>(values[0] + 2);
    if (at < known.size() && known[at] != kMissing) return known[at];
    if (!grow || size() >= limit) return kMissing;
    if (at >= known.size()) known.resize(std::max(at + 1, 2 * known.size()), kMissing);
    return known[at] = push(source, values, 1);
  }
  const Member& member = member_[source];
  const std::uint64_t h = hash(member.family, values);
  std::uint32_t entry = find_entry(member.family, values, h);
  std::int32_t a = of_entry(entry, member);
  if (a != kMissing || !grow || size() >= limit) return a;
  if (entry == kNoEntry) entry = add_entry(member.family, values, h);
  return blocks_[entry + member.place] = push(source, values, count);
}

// ---- Hash table of entries ----

std::uint64_t Attributes::hash(int family, const std::int32_t* values) const {
  std::uint64_t h = static_cast<std::uint64_t>(family) + 0x9e3779b97f4a7c15;
  for (std::size_t k = 0; k < families_[family].parts.size(); ++k) {
    h = (h ^ static_cast<std::uint32_t>(values[k])) * 0xff51afd7ed558ccd;
    h ^= h >> 32;
  }
  return h * 0xc4ceb9fe1a85ec53;
}

bool Attributes::is_entry(std::uint32_t entry, int family, const std::int32_t* values) const {
  const std::int32_t* block = blocks_.data() + entry;
  return block[0] == family &&
         std::equal(values, values + families_[family].parts.size(), block + 1);
}

std::uint32_t Attributes::find_entry(int family, const std::int32_t* values,
                                     std::uint64_t hash) const {
  if (slots_.empty()) return kNoEntry;
  const std::size_t mask = slots_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(hash);
  for (std::size_t at = hash >> 32 & mask; slots_[at].entry != kNoEntry; at = (at + 1) & mask) {
    if (slots_[at].tag == tag && is_entry(slots_[at].entry, family, values))
      return slots_[at].entry;
  }
  return kNoEntry;
}

void Attributes::find_entries(int family, const std::int32_t* values, int count,
                              std::uint32_t* entries) {
  if (slots_.empty()) {
    std::fill_n(entries, count, kNoEntry);
    return;
  }
  const std::size_t mask = slots_.size() - 1, width = families_[family].parts.size();
  hashes_.resize(count);
  for (int k = 0; k < count; ++k) {
    hashes_[k] = hash(family, values + k * width);
    __builtin_prefetch(&slots_[hashes_[k] >> 32 & mask]);
  }
  for (int k = 0; k < count; ++k) {  // the first slot with the tag is most likely the right one
    const auto tag = static_cast<std::uint32_t>(hashes_[k]);
    std::size_t at = hashes_[k] >> 32 & mask;
    while (slots_[at].entry != kNoEntry && slots_[at].tag != tag) at = (at + 1) & mask;
    entries[k] = slots_[at].entry;
    if (entries[k] != kNoEntry) __builtin_prefetch(blocks_.data() + entries[k]);
  }
  for (int k = 0; k < count; ++k) {
    if (entries[k] != kNoEntry && !is_entry(entries[k], family, values + k * width))
      entries[k] = find_entry(family, values + k * width, hashes_[k]);
  }
}

std::uint32_t Attributes::add_entry(int family, const std::int32_t* values, std::uint64_t hash) {
  const Family& own = families_[family];
  if (blocks_.size() + own.parts.size() + own.n_members >= kNoEntry)
    throw TooLarge("X", "its attributes need more than 16 GiB", "use fewer features or sequences");
  if (2 * ++n_entries_ > slots_.size()) grow_slots();
  const auto entry = static_cast<std::uint32_t>(blocks_.size());
  blocks_.push_back(family);
  blocks_.insert(blocks_.end(), values, values + own.parts.size());
  blocks_.insert(blocks_.end(), own.n_members, kMissing);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash >> 32 & mask;
  while (slots_[at].entry != kNoEntry) at = (at + 1) & mask;
  slots_[at] = {entry, static_cast<std::uint32_t>(hash)};
  return entry;
}

void Attributes::grow_slots() {
  std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.entry == kNoEntry) continue;
    const std::int32_t* block = blocks_.data() + slot.entry;
    std::size_t at = hash(block[0], block + 1) >> 32 & mask;
    while (slots_[at].entry != kNoEntry) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace caesura
