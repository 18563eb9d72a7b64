#include "learn/span_features.hpp"

#include <algorithm>

namespace caesura {
namespace {

constexpr std::uint64_t kTransition = 0x7472616e73697469, kEnding = 0x656e64696e670000;
constexpr int kAhead = 8;  // number of keys prefetched before they are looked up

std::uint64_t outside(std::int32_t id) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(id));
}

constexpr std::uint8_t kBothOpen = kOpenStart | kOpenEnd;

Group group_of(Place place, int low, int high) {
  switch (place) {
    case Place::kWithin:
      return {-low, high + 1, kBothOpen};
    case Place::kFirst:
      return {0, high + 1, kOpenEnd};
    case Place::kLast:
      return {-low, 1, kOpenStart};
    case Place::kSingle:
      return {0, 1, 0};
    case Place::kBegin:
      return {0, 2, kOpenEnd};
    case Place::kInside:
      return {1, 2, kBothOpen};
    case Place::kEnd:
      return {1, 1, kOpenStart};
    case Place::kEdge:
      return {0, 0, 0, true};
    default:
      return {0, 1, kBothOpen};
  }
}

int index_of(std::vector<Group>& groups, const Group& group) {
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (groups[g] == group) return static_cast<int>(g);
  groups.push_back(group);
  return static_cast<int>(groups.size()) - 1;
}

bool all_of(const std::vector<SegmentPart>& parts, Said a, Said b) {
  for (const SegmentPart& part : parts)
    if (part.said != a && part.said != b) return false;
  return true;
}

}  // namespace

std::uint64_t transition_key(int previous) { return mix(kTransition, outside(previous)); }
std::uint64_t ending_key(int last) { return mix(kEnding, outside(last)); }

void SpanFeatures::add_tokens(std::vector<Part> parts, Place place, std::uint64_t salt) {
  int low = 0, high = 0;
  for (const Part& part : parts) {
    low = std::min(low, part.offset);
    high = std::max(high, part.offset);
  }
  const int group = index_of(groups, group_of(place, low, high));
  tokens.push_back({std::move(parts), group, salt});
}

void SpanFeatures::add_segments(const std::vector<SegmentPart>& parts, std::uint64_t salt) {
  SegmentTemplate one;
  one.salt = salt;
  bool here = false, before = false;
  for (SegmentPart part : parts) {
    (part.role == 0 ? here : before) = true;
    // The last token of the previous segment is the token before this one; as a part of this
    // segment it needs no look back.
    if (part.role == 1 && part.said == Said::kLast) part = {0, Said::kBefore, part.column};
    if (part.said == Said::kLabel) {
      one.labels[part.role] = part.role > 0;  // weights are by the label of this segment anyway
    } else {
      one.parts[part.role].push_back(part);
    }
    if (part.said == Said::kText &&
        std::find(text_columns.begin(), text_columns.end(), part.column) == text_columns.end())
      text_columns.push_back(part.column);
  }
  one.fires_at_end = here && before;
  one.by_start = all_of(one.parts[0], Said::kBefore, Said::kFirst);
  one.by_end = !one.by_start && all_of(one.parts[0], Said::kLast, Said::kAfter);
  if (one.depth() > 0) {
    (one.by_start ? joints : pairs).push_back(std::move(one));
  } else {
    index_of(groups, kAtStart);
    index_of(groups, kAtEnd);
    spans.push_back(std::move(one));
  }
}

int SpanFeatures::depth() const {
  if (sees_everything) return kEverything;
  int most = 0;
  for (const auto* some : {&joints, &pairs})
    for (const SegmentTemplate& one : *some) most = std::max(most, one.depth());
  return most;
}

// -- values of columns and parts -----------------------------------------------------------------

std::uint64_t SpanKeys::token(int column, int t) const {
  return t < 0 ? outside(kBefore) : t >= T ? outside(kAfter) : tokens_[column][t];
}

int SpanKeys::text_index(int column) const {
  int k = 0;
  while (features_->text_columns[k] != column) ++k;
  return k;
}

std::uint64_t SpanKeys::text(int column, int b, int e) const {
  return texts_[text_index(column)][span(b, e)];
}

std::uint64_t SpanKeys::said(const SegmentPart& part, int b, int e) const {
  switch (part.said) {
    case Said::kText:
      return text(part.column, b, e);
    case Said::kLength:
      return static_cast<std::uint64_t>(e - b);
    case Said::kFirst:
      return token(part.column, b);
    case Said::kLast:
      return token(part.column, e - 1);
    case Said::kBefore:
      return token(part.column, b - 1);
    default:
      return token(part.column, e);
  }
}

std::uint64_t SpanKeys::partial(const std::vector<SegmentPart>& parts, int b, int e) const {
  std::uint64_t hash = kNothing;
  for (const SegmentPart& part : parts) hash = mix(hash, said(part, b, e));
  return hash;
}

// At the end of the sequence every part has the same value, except the token before it.
std::uint64_t SpanKeys::partial_at(const std::vector<SegmentPart>& parts, int b, int e,
                                   bool beginning, bool end) const {
  if (beginning) return none_of(parts);
  if (!end) return partial(parts, b, e);
  std::uint64_t hash = outside(kAfter);  // differs from the keys of segments
  for (const SegmentPart& part : parts)
    hash = mix(hash, part.said == Said::kBefore ? token(part.column, T - 1) : outside(kAfter));
  return hash;
}

std::uint64_t SpanKeys::finished(const SegmentTemplate& one, std::uint64_t here,
                                 std::uint64_t before, int label, std::uint64_t earlier,
                                 int label2) const {
  std::uint64_t key = mix(one.salt, here);
  const int depth = one.depth();
  if (depth > 0) key = mix(key, one.labels[1] ? mix(before, outside(label)) : before);
  if (depth > 1) key = mix(key, one.labels[2] ? mix(earlier, outside(label2)) : earlier);
  return key;
}

std::uint64_t SpanKeys::joint_key(int f, int start, int previous, int label, int earlier,
                                  int label2) const {
  const SegmentTemplate& one = features_->joints[f];
  const std::uint64_t p =
      previous < 0 ? none_of(one.parts[1]) : joint_previous_[f * n_spans_ + previous];
  const std::uint64_t q = earlier < 0 || one.depth() < 2 ? none_of(one.parts[2])
                                                         : joint_earlier_[f * n_spans_ + earlier];
  return finished(one, joint_this_[f * T + start], p, label, q, label2);
}

std::uint64_t SpanKeys::end_key(const SegmentTemplate& one, int previous, int label, int earlier,
                                int label2) const {
  const LabelledSegment before{start_of(previous), end_of(previous), label};
  const LabelledSegment second{earlier < 0 ? 0 : start_of(earlier),
                               earlier < 0 ? 0 : end_of(earlier), label2};
  return key_of(one, nullptr, &before, earlier < 0 ? nullptr : &second);
}

std::uint64_t SpanKeys::key_of(const SegmentTemplate& one, const LabelledSegment* here,
                               const LabelledSegment* previous,
                               const LabelledSegment* earlier) const {
  const auto of = [&](const LabelledSegment* s, int role) {
    const bool none = s == nullptr;
    return partial_at(one.parts[role], none ? 0 : s->start, none ? 0 : s->end, none && role > 0,
                      none && role == 0);
  };
  const int depth = one.depth();
  return finished(one, of(here, 0), depth > 0 ? of(previous, 1) : 0,
                  previous == nullptr ? -1 : previous->label, depth > 1 ? of(earlier, 2) : 0,
                  earlier == nullptr ? -1 : earlier->label);
}

void SpanKeys::learn_texts(const SegmentTemplate& one, const LabelledSegment* here,
                           const LabelledSegment* previous, const LabelledSegment* earlier,
                           SpanModel& model) const {
  const LabelledSegment* segments[3] = {here, previous, earlier};
  for (int role = 0; role < 3; ++role) {
    if (segments[role] == nullptr) continue;
    for (const SegmentPart& part : one.parts[role]) {
      if (part.said != Said::kText) continue;
      const std::uint64_t hash = text(part.column, segments[role]->start, segments[role]->end);
      model.texts[text_index(part.column)].add(hash);
    }
  }
}

// -- keys of one sequence ------------------------------------------------------------------------

void SpanKeys::prepare(const SpanModel& model, const SpanCorpus& corpus, int sequence,
                       int longest) {
  features_ = &model.features;
  corpus_ = &corpus;
  first_ = corpus.offsets[sequence];
  first_fired_ = corpus.fired_ptr[sequence];
  last_fired_ = corpus.fired_ptr[sequence + 1];
  T = corpus.length(sequence);
  L = std::max(1, std::min(longest, T));
  n_spans_ = T * L;
  at.clear();
  edges.clear();
  fires.clear();
  of.clear();
  read_tokens(model);
  find_tokens(model);
  hash_texts(model);
  find_spans(model);
  hash_pairs(model);
}

void SpanKeys::forget_hashes() {
  for (Hashes* one :
       {&this_, &previous_, &earlier_, &joint_previous_, &joint_earlier_, &joint_this_, &alive_[0],
        &alive_[1], &alive_[2], &joint_alive_[0], &joint_alive_[1]})
    Hashes().swap(*one);
  std::vector<Hashes>().swap(tokens_);
  std::vector<Hashes>().swap(texts_);
  std::vector<std::vector<std::uint8_t>>().swap(known_);
  std::vector<Pending>().swap(pending_);
}

void SpanKeys::read_tokens(const SpanModel& model) {
  const int C = model.features.n_columns;
  tokens_.resize(C);
  plain_.assign(C, 0);
  for (int c = 0; c < C; ++c) {
    const SpanCorpus::Values& values = corpus_->columns[c];
    plain_[c] = values.ptr.empty() && values.weights.empty();
    tokens_[c].resize(T);
    for (int t = 0; t < T; ++t) {
      if (values.ptr.empty()) {
        tokens_[c][t] = values.hash(values.ids[first_ + t]);
        continue;
      }
      std::uint64_t hash = kNothing;
      for (std::int64_t k = values.ptr[first_ + t]; k < values.ptr[first_ + t + 1]; ++k)
        hash = mix(hash, values.hash(values.ids[k]));
      tokens_[c][t] = hash;
    }
  }
}

void SpanKeys::find_tokens(const SpanModel& model) {
  pending_.clear();
  const int n_templates = static_cast<int>(model.features.tokens.size());
  for (int k = 0; k < n_templates; ++k) {
    const TokenTemplate& one = model.features.tokens[k];
    const bool edge = model.features.groups[one.group].edge;
    for (int t = edge ? 1 : 0; t < T; ++t) {
      for_anchor(one, t, [&](std::uint64_t key, double value) {
        if (!edge) {
          pending_.push_back({key, one.group, t, value});
          return;
        }
        for (int y = 0; y < model.features.n_labels; ++y)
          pending_.push_back({mix(key, static_cast<std::uint64_t>(y)), -1 - y, t, value});
      });
    }
  }
  const std::size_t n = pending_.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) model.table.expect(pending_[i + kAhead].key);
    const Pending& p = pending_[i];
    const std::int32_t row = model.table.find(p.key);
    if (row == KeyTable::kMissing) continue;
    if (p.a >= 0) {
      at.push_back({p.a, p.b, row, p.value});
    } else {
      edges.push_back({p.b, -1 - p.a, row, p.value});
    }
  }
  for (std::int64_t k = first_fired_; k < last_fired_; ++k) {
    if (k + kAhead < last_fired_) model.table.expect(corpus_->fired[k + kAhead].key);
    const std::int32_t row = model.table.find(corpus_->fired[k].key);
    if (row != KeyTable::kMissing) fires.push_back({static_cast<std::int32_t>(k), row});
  }
}

// The hash of a text extends that of the text that is one token shorter.
void SpanKeys::hash_texts(const SpanModel& model) {
  const std::size_t n = model.features.text_columns.size();
  texts_.resize(n);
  known_.resize(n);
  for (std::size_t c = 0; c < n; ++c) {
    const Hashes& tokens = tokens_[model.features.text_columns[c]];
    texts_[c].resize(n_spans_);
    known_[c].assign(n_spans_, 0);
    for (int b = 0; b < T; ++b) {
      std::uint64_t hash = kNothing;
      for (int e = b + 1; e <= std::min(b + L, T); ++e) {
        hash = mix(hash, tokens[e - 1]);
        texts_[c][span(b, e)] = hash;
        known_[c][span(b, e)] = model.texts[c].has(hash);
      }
    }
  }
}

bool SpanKeys::has_text(const std::vector<SegmentPart>& parts, int span) const {
  for (const SegmentPart& part : parts)
    if (part.said == Said::kText && !known_[text_index(part.column)][span]) return false;
  return true;
}

void SpanKeys::find_spans(const SpanModel& model) {
  pending_.clear();
  int start_group = 0, end_group = 0;
  for (std::size_t g = 0; g < model.features.groups.size(); ++g) {
    if (model.features.groups[g] == kAtStart) start_group = static_cast<int>(g);
    if (model.features.groups[g] == kAtEnd) end_group = static_cast<int>(g);
  }
  for (const SegmentTemplate& one : model.features.spans) {
    const auto& parts = one.parts[0];
    const bool lengths = !one.by_start && !one.by_end;
    for (int b = 0; b < T; ++b) {
      for (int e = b + 1; lengths && e <= std::min(b + L, T); ++e) {
        if (has_text(parts, span(b, e)))
          pending_.push_back({mix(one.salt, partial(parts, b, e)), -1, span(b, e), 1.0});
      }
      if (!lengths)
        pending_.push_back({mix(one.salt, partial(parts, b, b + 1)),
                            one.by_start ? start_group : end_group, b, 1.0});
    }
  }
  const std::size_t n = pending_.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) model.table.expect(pending_[i + kAhead].key);
    const Pending& p = pending_[i];
    const std::int32_t row = model.table.find(p.key);
    if (row == KeyTable::kMissing) continue;
    if (p.a >= 0) {
      at.push_back({p.a, p.b, row, 1.0});
    } else {
      of.push_back({p.b, row});
    }
  }
}

void SpanKeys::hash_pairs(const SpanModel& model) {
  const auto& pairs = model.features.pairs;
  const auto& joints = model.features.joints;
  const int F = static_cast<int>(pairs.size()), J = static_cast<int>(joints.size());
  const bool triples = model.features.depth() > 1;
  this_.resize(static_cast<std::size_t>(F) * n_spans_);
  previous_.resize(this_.size());
  earlier_.resize(triples ? this_.size() : 0);
  joint_this_.resize(static_cast<std::size_t>(J) * T);
  joint_previous_.resize(static_cast<std::size_t>(J) * n_spans_);
  joint_earlier_.resize(triples ? joint_previous_.size() : 0);
  for (auto& one : alive_) one.assign(n_spans_, 0);
  for (auto& one : joint_alive_) one.assign(n_spans_, 0);
  for (int f = 0; f < J; ++f)
    for (int b = 0; b < T; ++b) joint_this_[f * T + b] = partial(joints[f].parts[0], b, b + 1);
  for (int b = 0; b < T; ++b) {
    for (int e = b + 1; e <= std::min(b + L, T); ++e) {
      const int s = span(b, e);
      for (int f = 0; f < F; ++f) {
        const std::uint64_t bit = std::uint64_t{1} << f;
        for (int role = 0; role < 3; ++role)
          if (has_text(pairs[f].parts[role], s)) alive_[role][s] |= bit;
        this_[f * n_spans_ + s] = partial(pairs[f].parts[0], b, e);
        previous_[f * n_spans_ + s] = partial(pairs[f].parts[1], b, e);
        if (triples) earlier_[f * n_spans_ + s] = partial(pairs[f].parts[2], b, e);
      }
      for (int f = 0; f < J; ++f) {
        const std::uint64_t bit = std::uint64_t{1} << f;
        for (int role = 1; role < 3; ++role)
          if (has_text(joints[f].parts[role], s)) joint_alive_[role - 1][s] |= bit;
        joint_previous_[f * n_spans_ + s] = partial(joints[f].parts[1], b, e);
        if (triples) joint_earlier_[f * n_spans_ + s] = partial(joints[f].parts[2], b, e);
      }
    }
  }
}

}  // namespace caesura
