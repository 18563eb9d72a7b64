// The attributes seen so far.  An attribute consists of a template and the values that it found.
//
// Templates over the same columns find the same values at different tokens: word[0] & word[1] finds
// at one token what word[-1] & word[0] finds at the next, and so do templates that apply only to
// the first or last token of a segment.  Such templates form a family and share a look-up:
//
//   (family, values) -> entry;  entry, member of the family -> attribute
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace caesura {

// Negative values: a token before the sequence, a token after it, and a value without a number.
constexpr std::int32_t kBefore = -1, kAfter = -2, kUnseen = -3;

enum class Place : std::uint8_t {
  kToken,
  kWithin,
  kFirst,
  kLast,
  kSingle,
  kBegin,
  kInside,
  kEnd,
  kEdge
};

struct Part {
  std::int32_t column, offset;
  bool operator==(const Part& other) const {
    return column == other.column && offset == other.offset;
  }
};

struct Template {
  std::vector<Part> parts;  // empty if the attributes come from firings (see Firing)
  Place place = Place::kToken;
  // Number of previous labels that attributes are combined with, besides the label of the segment
  // itself.  Attributes at an edge are combined with at least one.
  int order = 0;
};

// Templates with several parts that differ only in place and offset.
struct Family {
  std::vector<Part> parts;  // with offsets relative to that of the first part
  int n_members = 0;
  int low = 0, high = 0;  // smallest and largest offset of a member
};
struct Member {
  int family = -1;  // -1 for a template with one part or none
  int offset = 0;   // of its first part
  int place = 0;    // index of its attribute in an entry of the family
};

class Attributes {
 public:
  static constexpr std::int32_t kMissing = -1;
  static constexpr std::uint32_t kNoEntry = ~std::uint32_t{0};
  explicit Attributes(const std::vector<Template>& templates);

  // Returns the attribute of a template with these values, one for each part, or kMissing.  With
  // `grow`, a new attribute is added if size() is below `limit`.
  std::int32_t id(int source, const std::int32_t* values, int count, bool grow);
  // Returns the attribute of a template with one part, or kMissing.
  std::int32_t find(int source, std::int32_t value) const {
    const std::vector<std::int32_t>& known = single_[source];
    const auto at = static_cast<std::size_t>(value + 2);
    return at < known.size() ? known[at] : kMissing;
  }
  // The attributes of a template with one part, [value + 2]; valid until an attribute is added.
  const std::vector<std::int32_t>& of_values(int source) const { return single_[source]; }

  const std::vector<Family>& families() const { return families_; }
  const Member& member(int source) const { return member_[source]; }
  // Looks up the entries of `count` tuples of values; kNoEntry where there is none.  values:
  // [count][parts].  Each pass prefetches what the next one reads, so that cache misses overlap.
  void find_entries(int family, const std::int32_t* values, int count, std::uint32_t* entries);
  std::int32_t of_entry(std::uint32_t entry, const Member& member) const {
    return entry == kNoEntry ? kMissing : blocks_[entry + member.place];
  }

  std::int32_t size() const { return static_cast<std::int32_t>(source_.size()); }
  // No attributes are added beyond this number; further ones are kMissing.
  std::int32_t limit = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int32_t>& sources() const { return source_; }  // [size] templates
  const std::vector<std::int64_t>& ptr() const { return ptr_; }         // [size + 1]
  const std::vector<std::int32_t>& values() const { return values_; }

 private:
  // The tag, half of the hash, avoids most comparisons of an unknown tuple with the entries.
  struct Slot {
    std::uint32_t entry = kNoEntry, tag = 0;
  };
  std::int32_t push(int source, const std::int32_t* values, int count);
  std::uint64_t hash(int family, const std::int32_t* values) const;
  bool is_entry(std::uint32_t entry, int family, const std::int32_t* values) const;
  std::uint32_t find_entry(int family, const std::int32_t* values, std::uint64_t hash) const;
  std::uint32_t add_entry(int family, const std::int32_t* values, std::uint64_t hash);
  void grow_slots();

  std::vector<Family> families_;
  std::vector<Member> member_;                     // [templates]
  std::vector<std::vector<std::int32_t>> single_;  // [templates][value + 2] for those with one part
  std::vector<Slot> slots_;                        // its size is a power of two, or 0
  std::size_t n_entries_ = 0;
  std::vector<std::int32_t> blocks_;   // entries: family, values, attributes of the members
  std::vector<std::uint64_t> hashes_;  // scratch of find_entries
  std::vector<std::int32_t> source_;
  std::vector<std::int64_t> ptr_{0};
  std::vector<std::int32_t> values_;
};

}  // namespace caesura
