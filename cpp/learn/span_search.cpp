#include "learn/span_search.hpp"

#include <algorithm>
#include <utility>

#include "base/interrupt.hpp"
#include "lattice/lattice.hpp"

namespace caesura {
// span(b, e, y) = bias[y] + sum of the rows that apply.  Rows with an open end are added once for
// each start and carried over as e grows, so nothing is subtracted.
void SpanScores::of(const SpanModel& model, const SpanKeys& keys, const SpanCorpus& corpus,
                    const SpanRules& rules, const double* w) {
  const SpanFeatures& features = model.features;
  const int T = keys.T, L = keys.L;
  Y = features.n_labels;
  const std::size_t G = features.groups.size();
  // groups[g][t][y] = sum over the attributes of group g at token t of value times weight,
  // [G][T][Y]
  groups_.assign(G * T * Y, 0.0);
  for (const SpanKeys::At& one : keys.at) {
    double* to = groups_.data() + (static_cast<std::size_t>(one.group) * T + one.t) * Y;
    for (int y = 0; y < Y; ++y) to[y] += one.value * w[static_cast<std::size_t>(one.row) * Y + y];
  }
  // spans[b, e][y] = running[y] + what counts for [b, e) only, [T L][Y].  At e, each group adds the
  // anchor t whose core ends there.
  spans.assign(static_cast<std::size_t>(T) * L * Y, 0.0);
  running_.resize(Y);
  for (int b = 0; b < T; ++b) {
    if (b % 16 == 0) check_interrupt();
    for (int y = 0; y < Y; ++y) running_[y] = rules.bias.empty() ? 0.0 : rules.bias[y];
    for (int e = b + 1; e <= std::min(b + L, T); ++e) {
      double* to = spans.data() + static_cast<std::size_t>(keys.span(b, e)) * Y;
      for (std::size_t g = 0; g < G; ++g) {
        const Group& group = features.groups[g];
        const double* from = groups_.data() + g * T * Y;
        const int t = e - group.after;
        if (!group.applies(t, b, e)) continue;
        // Longer segments from b have it too if its end is open.
        double* sum = group.flags & kOpenEnd ? running_.data() : to;
        for (int y = 0; y < Y; ++y) sum[y] += from[t * Y + y];
      }
      for (int y = 0; y < Y; ++y) to[y] += running_[y];
    }
  }
  // Features that fire on [start, end) with closed or open ends (flags) are added to every span to
  // which they apply.
  for (const SpanKeys::Fire& one : keys.fires) {
    const SpanCorpus::Fired& fired = corpus.fired[one.fired];
    fired.for_spans(T, L, [&](int b, int e) {
      double* to = spans.data() + static_cast<std::size_t>(keys.span(b, e)) * Y;
      for (int y = 0; y < Y; ++y)
        to[y] += fired.value * w[static_cast<std::size_t>(one.row) * Y + y];
    });
  }
  // Features of the span itself, such as its text.
  for (const SpanKeys::Of& one : keys.of) {
    double* to = spans.data() + static_cast<std::size_t>(one.span) * Y;
    for (int y = 0; y < Y; ++y) to[y] += w[static_cast<std::size_t>(one.row) * Y + y];
  }
  // Spans that are too long for a label are impossible.
  for (int y = 0; y < Y; ++y) {
    if (rules.bounds[y] >= L) continue;
    for (int b = 0; b < T; ++b)
      for (int e = b + rules.bounds[y] + 1; e <= std::min(b + L, T); ++e)
        spans[static_cast<std::size_t>(keys.span(b, e)) * Y + y] = kMinusInfinity;
  }
  // transition[y0][y], row Y: of the first segment; ending[y]: of the last.
  transition.assign(static_cast<std::size_t>(Y + 1) * Y, 0.0);
  ending.assign(Y, 0.0);
  for (int y0 = 0; y0 <= Y; ++y0) {
    const std::int32_t row = model.table.find(transition_key(y0 < Y ? y0 : -1));
    for (int y = 0; y < Y; ++y) {
      double& to = transition[static_cast<std::size_t>(y0) * Y + y];
      if (row >= 0) to = w[static_cast<std::size_t>(row) * Y + y];
      if (y0 < Y ? rules.barred[y0 * Y + y] : rules.barred_start[y]) to = kMinusInfinity;
    }
    if (y0 == Y) break;
    const std::int32_t last = model.table.find(ending_key(y0));
    if (last >= 0) ending[y0] = w[static_cast<std::size_t>(last) * Y];
    if (rules.barred_end[y0]) ending[y0] = kMinusInfinity;
  }
  // edges[t][y0][y]: attributes at the boundary t, [T][Y][Y]
  edges.assign(keys.edges.empty() ? 0 : static_cast<std::size_t>(T) * Y * Y, 0.0);
  for (const SpanKeys::Edge& one : keys.edges) {
    double* to = edges.data() + (static_cast<std::size_t>(one.t) * Y + one.previous) * Y;
    for (int y = 0; y < Y; ++y) to[y] += one.value * w[static_cast<std::size_t>(one.row) * Y + y];
  }
}

// -- the agenda ----------------------------------------------------------------------------------

// Starts the search of one sequence: the only item of agenda[0] is the empty prefix.  depth_:
// number of earlier segments that features look at.
void SpanSearch::start(const SpanModel& model, const SpanKeys& keys, const SpanScores& scores,
                       const double* w, int k, Incremental* own, int sequence) {
  model_ = &model;
  keys_ = &keys;
  scores_ = &scores;
  w_ = w;
  own_ = own;
  k_ = k;
  sequence_ = sequence;
  depth_ = own != nullptr ? SpanFeatures::kEverything : model.features.depth();
  items_.clear();
  agenda_.resize(keys.T + 1);
  joined_.resize(keys.T + 1);
  groups_.resize(keys.T + 1);
  for (auto& one : agenda_) one.clear();
  items_.push_back({0.0, -1, -1, -1});
  agenda_[0].push_back(0);
  tally = {};
}

// joined(item, y) = transition(label, y) + edge(b, label, y) + joints(item, b): what the next
// segment adds to an item of agenda[b] regardless of its end.
void SpanSearch::close(int b) {
  const int Y = scores_->Y;
  std::vector<double>& joined = joined_[b];
  joined.resize(agenda_[b].size() * Y);
  double* to = joined.data();
  for (const std::int32_t i : agenda_[b]) {
    const Item& item = items_[i];
    const int y0 = item.label < 0 ? Y : item.label;
    for (int y = 0; y < Y; ++y) to[y] = scores_->transition[static_cast<std::size_t>(y0) * Y + y];
    if (!scores_->edges.empty() && item.label >= 0) {
      const double* edge =
          scores_->edges.data() + (static_cast<std::size_t>(b) * Y + item.label) * Y;
      for (int y = 0; y < Y; ++y) to[y] += edge[y];
    }
    const int earlier = previous_of(item);
    const int label2 = item.back < 0 ? -1 : items_[item.back].label;
    keys_->for_joints(b, item.span, item.label, earlier, label2, [&](std::uint64_t key) {
      model_->table.expect(key);
      pending_.push_back({key, static_cast<std::int32_t>((to - joined.data()) / Y)});
    });
    to += Y;
  }
  add_pending(joined);
  group(b);
}

// Adds the weights of the collected keys, whose memory has been prefetched in the meantime.
void SpanSearch::add_pending(std::vector<double>& rows) {
  const int Y = scores_->Y;
  for (const Pending& one : pending_) {
    const std::int32_t row = model_->table.find(one.key);
    if (row < 0) continue;
    double* to = rows.data() + static_cast<std::size_t>(one.item) * Y;
    for (int y = 0; y < Y; ++y) to[y] += w_[static_cast<std::size_t>(row) * Y + y];
  }
  pending_.clear();
}

// row(item, y) = score(item) + joined(item, y) + pairs(item, b, e, y)
void SpanSearch::add_pairs(int b, int e) {
  const int Y = scores_->Y, span = keys_->span(b, e);
  const auto& from = agenda_[b];
  const std::size_t n = from.size();
  row_ = joined_[b];
  pending_.clear();
  for (std::size_t k = 0; k < n; ++k) {
    const Item& item = items_[from[k]];
    for (int y = 0; y < Y; ++y) row_[k * Y + y] += item.score;
    if (model_->features.pairs.empty()) continue;
    const int label2 = item.back < 0 ? -1 : items_[item.back].label;
    keys_->for_pairs(span, item.span, item.label, previous_of(item), label2,
                     [&](std::uint64_t key) {
                       model_->table.expect(key);
                       pending_.push_back({key, static_cast<std::int32_t>(k)});
                     });
  }
  add_pending(row_);
  if (own_ != nullptr)
    for (std::size_t k = 0; k < n; ++k) add_own(static_cast<std::int32_t>(k), b, e);
}

// row(item, y) += weights of the keys that the user-written feature returns for the next segment
void SpanSearch::add_own(std::int32_t k, int b, int e) {
  const int Y = scores_->Y;
  const std::vector<LabelledSegment> before = path(agenda_[b][k]);
  for (int y = 0; y < Y; ++y) {
    own_keys_.clear();
    own_->keys(sequence_, before, {b, e, y}, own_keys_);
    for (const std::uint64_t key : own_keys_) {
      const std::int32_t row = model_->table.find(key);
      if (row >= 0)
        row_[static_cast<std::size_t>(k) * Y + y] += w_[static_cast<std::size_t>(row) * Y + y];
    }
  }
}

// groups[item]: the position of the first item of agenda[b] that is equivalent to it for everything
// after the next segment.  With features that look one segment back, all items are then equivalent;
// with those that look two back, the ones with the same last segment.  Only the best item of each
// group has to be kept.
void SpanSearch::group(int b) {
  const auto& from = agenda_[b];
  const int n = static_cast<int>(from.size());
  std::vector<std::int32_t>& groups = groups_[b];
  groups.resize(n);
  for (int k = 0; k < n; ++k) groups[k] = depth_ <= 1 ? 0 : k;
  if (depth_ != 2) return;
  order_.assign(groups.begin(), groups.end());
  // Sorted by their last segment, equivalent items are adjacent.  The sort is stable, so the first
  // item of each group stays first.
  auto key = [&](int k) { return std::make_pair(items_[from[k]].span, items_[from[k]].label); };
  std::stable_sort(order_.begin(), order_.end(), [&](int p, int q) { return key(p) < key(q); });
  for (int p = 1; p < n; ++p)
    if (key(order_[p]) == key(order_[p - 1])) groups[order_[p]] = groups[order_[p - 1]];
}

// Adds the candidates that extend the items of agenda[b] by [b, e): for each label, the best of
// each group.
void SpanSearch::extend(int b, int e) {
  // candidate(item, y) = row(item, y) + span(b, e, y)
  if (agenda_[b].empty()) return;
  const int Y = scores_->Y, span = keys_->span(b, e);
  add_pairs(b, e);
  const auto& from = agenda_[b];
  for (int y = 0; y < Y; ++y) {
    const double own = scores_->spans[static_cast<std::size_t>(span) * Y + y];
    if (own == kMinusInfinity) continue;
    order_.assign(from.size(), -1);  // the candidate of each group, or -1
    for (std::size_t k = 0; k < from.size(); ++k) {
      const double score = row_[k * Y + y] + own;
      if (score == kMinusInfinity) continue;
      ++tally.candidates;
      std::int32_t& mine = order_[groups_[b][k]];
      if (mine < 0) {
        mine = static_cast<std::int32_t>(candidates_.size());
        candidates_.push_back({score, span, y, from[k]});
      } else if (const Item one{score, span, y, from[k]}; is_before(one, candidates_[mine])) {
        candidates_[mine] = one;
      }
    }
  }
}

// Returns what the end of the sequence adds to a path with the last segment `span`.
double SpanSearch::ending(int span, int label, int previous, int previous_label) const {
  double sum = scores_->ending[label];
  keys_->for_ends(span, label, previous, previous_label, [&](std::uint64_t key) {
    const std::int32_t row = model_->table.find(key);
    if (row >= 0) sum += w_[static_cast<std::size_t>(row) * scores_->Y];
  });
  return sum;
}

// Whether a candidate ranks before another with the same end: by its score and, if the scores are
// equal, by the smaller label of the last segment, its later start, and so on backwards (see
// infer/ties.hpp).
bool SpanSearch::is_before(const Item& a, const Item& c) const {
  if (a.score != c.score) return a.score > c.score;
  for (const Item *p = &a, *q = &c; p->span >= 0 && q->span >= 0;
       p = &items_[p->back], q = &items_[q->back]) {
    if (p->label != q->label) return p->label < q->label;
    if (p->span != q->span) return p->span > q->span;  // the ends are equal, so the later start
  }
  return false;
}

// agenda[e]: the best k of
//
//   score(item) + joined(item, y) + pairs(item, b, e, y) + span(b, e, y),  item of agenda[b]
//
// over all starts b and labels y.  It is exact if k is so large that no group is dropped.
void SpanSearch::fill(int e) {
  if (e % 16 == 0) check_interrupt();
  candidates_.clear();
  for (int b = std::max(0, e - keys_->L); b < e; ++b) extend(b, e);
  // At the end of the sequence, add the score of ending there.
  if (e == keys_->T) {
    for (Item& one : candidates_) {
      const Item& back = items_[one.back];
      one.score += ending(one.span, one.label, back.span, back.label);
    }
    candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(),
                                     [](const Item& i) { return i.score == kMinusInfinity; }),
                      candidates_.end());
  }
  // The best k of all candidates that end at e, in order.
  const int n = static_cast<int>(candidates_.size()), kept = std::min(k_, n);
  order_.resize(n);
  for (int p = 0; p < n; ++p) order_[p] = p;
  std::partial_sort(order_.begin(), order_.begin() + kept, order_.end(),
                    [&](int p, int q) { return is_before(candidates_[p], candidates_[q]); });
  for (int p = 0; p < kept; ++p) {
    agenda_[e].push_back(static_cast<std::int32_t>(items_.size()));
    items_.push_back(candidates_[order_[p]]);
  }
  tally.items += kept;
  if (e < keys_->T) close(e);
}

void SpanSearch::run(const SpanModel& model, const SpanKeys& keys, const SpanScores& scores,
                     const double* w, int k, Incremental* own, int sequence) {
  start(model, keys, scores, w, k, own, sequence);
  if (keys.T > 0) close(0);
  for (int e = 1; e <= keys.T; ++e) fill(e);
}

// Returns what gold segment j adds to the score of the gold prefix before it.
double SpanSearch::gold_step(const std::vector<LabelledSegment>& gold, std::size_t j) {
  const int Y = scores_->Y, y = gold[j].label;
  const int span = keys_->span(gold[j].start, gold[j].end);
  // The two segments before it, which features may look at, or -1.
  const int y0 = j > 0 ? gold[j - 1].label : -1, y1 = j > 1 ? gold[j - 2].label : -1;
  const int before = j > 0 ? keys_->span(gold[j - 1].start, gold[j - 1].end) : -1;
  const int earlier = j > 1 ? keys_->span(gold[j - 2].start, gold[j - 2].end) : -1;
  double sum = scores_->spans[static_cast<std::size_t>(span) * Y + y] +
               scores_->transition[static_cast<std::size_t>(j > 0 ? y0 : Y) * Y + y];
  if (!scores_->edges.empty() && j > 0)
    sum += scores_->edges[(static_cast<std::size_t>(gold[j].start) * Y + y0) * Y + y];
  auto add = [&](std::uint64_t key) {
    const std::int32_t row = model_->table.find(key);
    if (row >= 0) sum += w_[static_cast<std::size_t>(row) * Y + y];
  };
  keys_->for_joints(gold[j].start, before, y0, earlier, y1, add);
  keys_->for_pairs(span, before, y0, earlier, y1, add);
  if (own_ != nullptr) {
    own_keys_.clear();
    own_->keys(sequence_, {gold.begin(), gold.begin() + static_cast<std::ptrdiff_t>(j)}, gold[j],
               own_keys_);
    for (const std::uint64_t key : own_keys_) add(key);
  }
  if (gold[j].end == keys_->T) sum += ending(span, y, before, y0);
  return sum;
}

// Returns the prefix that the weights are updated against.  At each boundary where a gold segment
// ends, the gold prefix is looked up in the agenda.  The update is made at a boundary where it is
// not the best item:
//
//   kEarly         the first where it has left the agenda, or at the end if the best path is wrong
//   kMaxViolation  the one where the best prefix has the largest lead over it
//   kStandard      at the end
SpanSearch::Against SpanSearch::train(const SpanModel& model, const SpanKeys& keys,
                                      const SpanScores& scores, const double* w, int k,
                                      Incremental* own, int sequence,
                                      const std::vector<LabelledSegment>& gold, Update update) {
  start(model, keys, scores, w, k, own, sequence);
  Against against;
  if (keys.T == 0) return against;
  close(0);
  double gold_score = 0.0;     // of the gold prefix
  std::int32_t gold_item = 0;  // index of its item, or -2
  std::size_t j = 0;           // number of gold segments so far
  for (int e = 1; e <= keys.T; ++e) {
    fill(e);
    if (gold[j].end != e) continue;
    if (update == Update::kMaxViolation) gold_score += gold_step(gold, j);
    const int span = keys.span(gold[j].start, e);
    // The gold prefix is in the agenda if an item extends the previous gold prefix by the gold
    // segment.
    std::int32_t found = -1;
    for (const std::int32_t i : agenda_[e]) {
      const Item& one = items_[i];
      if (one.back == gold_item && one.span == span && one.label == gold[j].label) found = i;
    }
    ++j;
    gold_item = found < 0 ? -2 : found;  // no item extends -2
    if (agenda_[e].empty()) continue;
    if (agenda_[e][0] == found) {
      if (e == keys.T) against.item = -1;  // correct: no update
      continue;
    }
    const std::int32_t top = agenda_[e][0];
    const double violation = update == Update::kMaxViolation ? items_[top].score - gold_score : 0.0;
    const bool worst = against.item < 0 || violation > against.violation;
    const bool take = update == Update::kMaxViolation ? worst
                      : update == Update::kEarly      ? found < 0 || e == keys.T
                                                      : e == keys.T;
    if (take) against = {e, static_cast<int>(j), top, violation};
    if (take && update == Update::kEarly) break;
  }
  if (against.item < 0) against.boundary = -1;
  return against;
}

// Returns the segments of an item, following its back-pointers.
std::vector<LabelledSegment> SpanSearch::path(std::int32_t item) const {
  std::vector<LabelledSegment> out;
  for (std::int32_t i = item; i >= 0 && items_[i].span >= 0; i = items_[i].back)
    out.push_back(
        {keys_->start_of(items_[i].span), keys_->end_of(items_[i].span), items_[i].label});
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace caesura
