// The member templates of SpanKeys, which visit keys.
#pragma once

#include <algorithm>

#include "learn/span_features.hpp"

namespace caesura {

// Visits the key of every combination of one value of each remaining part, with the product of the
// values' weights.
template <class Visit>
void SpanKeys::combinations(const TokenTemplate& one, int t, std::size_t part, std::uint64_t key,
                            double value, Visit& visit) const {
  if (part == one.parts.size()) return visit(key, value);
  const auto [column, offset] = one.parts[part];
  const int at = t + offset;
  if (plain_[column] || at < 0 || at >= T)
    return combinations(one, t, part + 1, mix(key, token(column, at)), value, visit);
  const SpanCorpus::Values& values = corpus_->columns[column];
  const std::int64_t place = first_ + at;
  const std::int64_t low = values.ptr.empty() ? place : values.ptr[place],
                     high = values.ptr.empty() ? place + 1 : values.ptr[place + 1];
  for (std::int64_t k = low; k < high; ++k) {
    const double weight = values.weights.empty() ? 1.0 : values.weights[k];
    combinations(one, t, part + 1, mix(key, values.hash(values.ids[k])), value * weight, visit);
  }
}

// Calls visit(key, value) for the keys of a token template with the anchor t.
template <class Visit>
void SpanKeys::for_anchor(const TokenTemplate& one, int t, Visit visit) const {
  combinations(one, t, 0, one.salt, 1.0, visit);
}

template <class Visit>
void SpanKeys::for_segment(const LabelledSegment& segment, const LabelledSegment* previous,
                           const LabelledSegment* earlier, SpanModel* learn, Visit visit) const {
  const int b = segment.start, e = segment.end;
  for (const TokenTemplate& one : features_->tokens) {
    const Group& group = features_->groups[one.group];
    if (group.edge) {
      if (previous == nullptr) continue;
      for_anchor(one, b, [&](std::uint64_t key, double value) {
        visit(mix(key, static_cast<std::uint64_t>(previous->label)), value);
      });
      continue;
    }
    group.for_anchors(b, e, [&](int t) { for_anchor(one, t, visit); });
  }
  const auto* first = corpus_->fired.data() + first_fired_;
  const auto* last = corpus_->fired.data() + last_fired_;
  const auto* fired = std::lower_bound(
      first, last, b, [](const SpanCorpus::Fired& f, int start) { return f.start < start; });
  for (; fired != last && fired->start < e; ++fired)
    if (fired->applies(b, e)) visit(fired->key, fired->value);
  for (const auto* some : {&features_->spans, &features_->joints, &features_->pairs}) {
    for (const SegmentTemplate& one : *some) {
      if (learn != nullptr) learn_texts(one, &segment, previous, earlier, *learn);
      visit(key_of(one, &segment, previous, earlier), 1.0);
    }
  }
}

template <class Visit>
void SpanKeys::for_end(const LabelledSegment& last, const LabelledSegment* before, SpanModel* learn,
                       Visit visit) const {
  for (const auto* some : {&features_->spans, &features_->joints, &features_->pairs}) {
    for (const SegmentTemplate& one : *some) {
      if (!one.fires_at_end) continue;
      if (learn != nullptr) learn_texts(one, nullptr, &last, before, *learn);
      visit(key_of(one, nullptr, &last, before), 1.0);
    }
  }
}

}  // namespace caesura
