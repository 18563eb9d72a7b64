// Best-first search for segmentations within limits, see step 3 of limited.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "infer/prices.hpp"

namespace caesura {

// Writes the n best segmentations within the limits to `out`, or all if there are fewer; the tables
// of `priced` bound the scores of partial segmentations.  limit: [bits] Limit.  Returns false if
// more than `most_entries` partial segmentations would be needed.
bool search_priced(const Problem& problem, const Priced& priced,
                   const std::vector<std::uint8_t>& limit, int n, std::int64_t most_entries,
                   std::vector<std::vector<LabelledSegment>>& out);

}  // namespace caesura
