// The gold segments of a corpus, and the rows of a sequence that apply to them.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/mapped.hpp"
#include "learn/objective.hpp"

namespace caesura {

// The gold segments of a corpus; a partially labelled sequence has its partial
// labels (a Hint) instead.
struct Gold {
  Mapped<std::int64_t> lengths;  // [sequences]
  int n_labels = 0;
  Mapped<std::int64_t> ptr{0};  // [sequences + 1]
  Mapped<LabelledSegment> segments;
  std::vector<std::shared_ptr<const Hint>> hints;  // [sequences], or empty if there are none

  // The partial labels of a sequence, or null if it is fully labelled.
  const Hint* hint(int i) const { return hints.empty() ? nullptr : hints[i].get(); }

  // Moves the arrays into files in a folder, like those of a Design, unless folder is null.
  void move_to(const Folder& folder) {
    if (folder == nullptr) return;
    lengths = Mapped<std::int64_t>(lengths.begin(), lengths.end(), Mapping<std::int64_t>(folder));
    ptr = Mapped<std::int64_t>(ptr.begin(), ptr.end(), Mapping<std::int64_t>(folder));
    segments =
        Mapped<LabelledSegment>(segments.begin(), segments.end(), Mapping<LabelledSegment>(folder));
  }
};

// Returns the index of the segment that covers each token, [T].
inline std::vector<std::int32_t> segment_of(int T, const LabelledSegment* segments,
                                            std::int64_t count) {
  std::vector<std::int32_t> at(T, 0);
  for (std::int64_t k = 0; k < count; ++k)
    std::fill(at.begin() + segments[k].start, at.begin() + segments[k].end, k);
  return at;
}

// Returns the index of the segment that a site applies to, or -1.  at: [T] the segment of each
// token.
inline int segment_at(const Site& site, const LabelledSegment* segments, const std::int32_t* at) {
  const LabelledSegment& s = segments[at[site.start]];
  return applies(site.start, site.end, site.flags, s.start, s.end) ? at[site.start] : -1;
}

// Calls visit(site, row) for all rows of sequence i; a token is visited as a site that is open at
// both ends.
template <class Sequences, class Visit>
void for_rows(const Sequences& c, int i, Visit visit) {
  const int T = c.length(i);
  const std::int64_t first = c.first_row(i);
  for (int t = 0; t < T; ++t) visit(Site{t, t + 1, kOpenStart | kOpenEnd}, first + t);
  for (std::int64_t k = c.sites[i]; k < c.sites[i + 1]; ++k)
    visit(c.site[k], first + T + k - c.sites[i]);
}

}  // namespace caesura
