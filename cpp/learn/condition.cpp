#include "learn/condition.hpp"

#include <algorithm>

namespace caesura {
namespace {

// Whether the labels of the segments up to and including the k-th end in `labels`.
bool ends_in(const std::vector<std::int32_t>& labels, const LabelledSegment* segments, int k) {
  const int size = static_cast<int>(labels.size());
  for (int j = 0; j < size; ++j) {
    if (k - j < 0 || segments[k - j].label != labels[size - 1 - j]) return false;
  }
  return true;
}

}  // namespace

bool Condition::kept_by(const LabelledSegment* segments, int count, int Y) const {
  if (!rules.empty()) {
    std::vector<std::int32_t> labels(count);
    for (int k = 0; k < count; ++k) labels[k] = segments[k].label;
    if (!rules.kept_by(labels, Y)) return false;
  }
  // Segments are sorted, so a binary search finds the one that starts at a boundary.
  auto beginning_at = [&](int t) {
    auto before = [](const LabelledSegment& s, int at) { return s.start < at; };
    const auto* found = std::lower_bound(segments, segments + count, t, before);
    return found == segments + count || found->start != t ? -1 : static_cast<int>(found - segments);
  };
  for (const Edge& pair : pairs) {
    const int k = beginning_at(pair.position);
    if (k > 0 && segments[k].label == pair.label && segments[k - 1].label == pair.previous)
      return false;
  }
  for (const auto& [start, end, label] : forbidden) {
    const int k = beginning_at(start);
    if (k >= 0 && segments[k].end == end && segments[k].label == label) return false;
  }
  for (const History& history : histories) {
    const int k = beginning_at(history.start);
    if (k >= 0 && segments[k].end == history.end && ends_in(history.labels, segments, k))
      return false;
  }
  return true;
}

}  // namespace caesura
