// The attributes seen so far.  An attribute is a template and the values that it finds.
//
// Templates over the same columns find the same values, some tokens apart: word[0] & word[1] sees
// at one token what word[-1] & word[0] sees at the next, and so do both at the first and at the
// last token of a segment.  Such templates are a family.  A look-up is made for all of them
// together:
//
//   (family, values) -> entry;  entry, member of the family -> attribute
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace caesura {

// Values below zero: before the sequence, after it, and one that no template has seen.
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
  std::vector<Part> parts;  // empty if the attributes come from outside (see Firing)
  Place place = Place::kToken;
  // Number of labels before the segment's own that attributes go with; at an edge at least one.
  int order = 0;
};

// Templates with several parts, which differ in place and in offset alone.
struct Family {
  std::vector<Part> parts;  // of a template with offset 0: its first part is at the token
  int n_members = 0;
  int low = 0, high = 0;  // the least and the greatest offset of a member
};
struct Member {
  int family = -1;  // -1 for a template with one part or none
  int offset = 0;   // of its first part
  int place = 0;    // where an entry of the family has its attribute
};

class Attributes {
 public:
  static constexpr std::int32_t kMissing = -1;
  static constexpr std::uint32_t kNoEntry = ~std::uint32_t{0};
  explicit Attributes(const std::vector<Template>& templates);

  std::int32_t id(int source, const std::int32_t* values, int count, bool grow);
  // The attribute of a template with one part.
  std::int32_t find(int source, std::int32_t value) const {
    const std::vector<std::int32_t>& known = single_[source];
    const auto at = static_cast<std::size_t>(value + 2);
    return at < known.size() ? known[at] : kMissing;
  }
  // The attributes of a template with one part, [value + 2]; good until one is added.
  const std::vector<std::int32_t>& of_values(int source) const { return single_[source]; }

  const std::vector<Family>& families() const { return families_; }
  const Member& member(int source) const { return member_[source]; }
  // The entries of `count` tuples of values, or kNoEntry; values: [count][parts].  Each step asks
  // for the memory that the next one reads, so that the waits overlap.
  void find_entries(int family, const std::int32_t* values, int count, std::uint32_t* entries);
  std::int32_t of_entry(std::uint32_t entry, const Member& member) const {
    return entry == kNoEntry ? kMissing : blocks_[entry + member.place];
  }

  std::int32_t size() const { return static_cast<std::int32_t>(source_.size()); }
  // No attribute is added from this number on; later ones are unknown.
  std::int32_t limit = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int32_t>& sources() const { return source_; }  // [size] templates
  const std::vector<std::int64_t>& ptr() const { return ptr_; }         // [size + 1]
  const std::vector<std::int32_t>& values() const { return values_; }

 private:
  // With half of the hash beside the entry, one that is not there is seldom compared with what is.
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
  std::vector<std::vector<std::int32_t>> single_;  // [templates][value + 2] of those with one part
  std::vector<Slot> slots_;                        // a power of two of them, or none
  std::size_t n_entries_ = 0;
  std::vector<std::int32_t> blocks_;   // entries: the family, the values, the members' attributes
  std::vector<std::uint64_t> hashes_;  // scratch of find_entries
  std::vector<std::int32_t> source_;
  std::vector<std::int64_t> ptr_{0};
  std::vector<std::int32_t> values_;
};

}  // namespace caesura
