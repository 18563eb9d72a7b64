#include "learn/parameters.hpp"

#include <algorithm>
#include <stdexcept>

namespace caesura {

Parameters::Parameters(Pairs pairs, Layout layout, Planes planes)
    : pairs_(std::move(pairs)),
      layout_(std::make_shared<Layout>(std::move(layout))),
      planes_(std::move(planes)) {
  Layout& l = *layout_;
  make_histories();
  if (planes_.count * l.Y > kLanes || l.histories != nullptr) {
    const std::int32_t n_attributes = planes_.n_attributes;
    planes_ = {};
    planes_.n_attributes = n_attributes;
  }
  l.planes = planes_.count;
  place_weights();
  l.n_edges = static_cast<std::int64_t>(pairs_.edge_attribute.size());
  if (l.n_edges > 0) edge_groups_.resize(planes_.n_attributes);
  edge_code_ = std::make_shared<const std::vector<std::int32_t>>(pairs_.edge_pair);
  for (std::int32_t k = 0; k < l.n_edges; ++k) {
    Group& group = edge_groups_.at(pairs_.edge_attribute[k]);
    if (group.count++ == 0) group.first = k;
  }
}

// Makes the histories and the arc program of the patterns, of the label pairs that have edge
// weights and of the rules.
void Parameters::make_histories() {
  Layout& l = *layout_;
  l.histories = nullptr;
  l.program = nullptr;
  if (l.patterns.empty() && l.rules.empty()) return;
  const int width = trainer<double>().width;
  auto made = std::make_shared<Histories>(l.Y, l.patterns, pairs_.edge_pair, width);
  constexpr int kMostHistories = 65000;  // an evaluation with more takes minutes
  if (made->Q > kMostHistories) {
    throw TooLarge("patterns", "got more than 65,000 different label histories", "fewer",
                   "lower order or that of history features, or raise pattern_min_freq or "
                   "min_freq");
  }
  l.row_patterns.clear();
  for (const std::int32_t target : pairs_.label) {
    if (target >= l.Y) l.row_patterns.push_back(target - l.Y);
  }
  std::sort(l.row_patterns.begin(), l.row_patterns.end());
  l.row_patterns.erase(std::unique(l.row_patterns.begin(), l.row_patterns.end()),
                       l.row_patterns.end());
  l.histories = std::move(made);
  make_program(l);
}

// Decides which weights share a row of the table and which are single.
void Parameters::place_weights() {
  Layout& l = *layout_;
  const int least = least_dense();
  groups_.assign(planes_.n_attributes, {-1, 0});
  const auto n = static_cast<std::int64_t>(pairs_.attribute.size());
  auto base = [&](std::int64_t k) -> std::int32_t {
    const std::int32_t a = pairs_.attribute[k];
    return planes_.base.empty() ? a : planes_.base[a];
  };
  for (std::int64_t k = 0; k < n; ++k) ++groups_.at(base(k)).count;
  std::vector<std::int32_t> used(groups_.size(), 0);
  l.slot.resize(n);
  l.n_dense = l.n_sparse = 0;
  if (l.histories != nullptr) pattern_state_ = std::make_shared<std::vector<std::int32_t>>();
  for (std::int64_t k = 0; k < n; ++k) {
    Group& group = groups_[base(k)];
    const std::int32_t target = pairs_.label[k];
    if (group.first < 0) {
      group.kind = target >= l.Y          ? Group::kPatterns
                   : group.count >= least ? Group::kDense
                                          : Group::kSingle;
      group.first =
          static_cast<std::int32_t>(group.kind == Group::kDense ? l.n_dense++ : l.n_sparse);
      if (group.kind != Group::kDense) l.n_sparse += group.count;
    }
    const auto lane = static_cast<std::int32_t>(plane_of(pairs_.attribute[k]) * l.Y + target);
    if (group.kind == Group::kDense) {
      l.slot[k] = {group.first, lane};
      continue;
    }
    l.slot[k] = {group.first + used[base(k)]++, -1};
    sparse_lane_.resize(l.n_sparse);
    if (pattern_state_ != nullptr) pattern_state_->resize(l.n_sparse);
    if (group.kind == Group::kPatterns)
      (*pattern_state_)[l.slot[k].row] = l.histories->pattern[target - l.Y];
    else
      sparse_lane_[l.slot[k].row] = static_cast<std::uint16_t>(lane);
  }
}

std::shared_ptr<Parameters> Parameters::with(std::vector<std::int32_t> bounds,
                                             std::vector<std::int32_t> transition,
                                             std::vector<std::int32_t> start) const {
  auto out = std::make_shared<Parameters>(*this);
  out->layout_ = std::make_shared<Layout>(*layout_);
  out->layout_->bounds = std::move(bounds);
  out->layout_->transition = std::move(transition);
  out->layout_->start = std::move(start);
  return out;
}

std::shared_ptr<Parameters> Parameters::with_rules(RuleSet rules) const {
  Layout layout = *layout_;
  layout.rules = std::move(rules);
  Planes planes;  // a model with rules has one plane
  planes.n_attributes = planes_.n_attributes;
  return std::make_shared<Parameters>(pairs_, std::move(layout), std::move(planes));
}

std::shared_ptr<const Design> Parameters::compile(const Corpus& corpus, Folder folder) const {
  auto out = std::make_shared<Design>(std::move(folder));
  Design& d = *out;
  const Layout& l = *layout_;
  d.Y = l.Y;
  d.planes = l.planes;
  std::copy_n(planes_.flags, 4, d.plane_flags);
  d.tagged = d.planes > 1 && l.n_edges == 0 &&
             std::all_of(l.bounds.begin(), l.bounds.end(), [](int b) { return b <= 1; });
  d.n_dense = l.n_dense;
  d.n_sparse = l.n_sparse;
  d.n_edges = l.n_edges;
  d.tokens.assign(corpus.tokens.begin(), corpus.tokens.end());
  d.dense.reserve(corpus.attribute.size());
  d.dense_ptr.reserve(corpus.ptr.size());
  d.sparse_ptr.reserve(corpus.ptr.size());
  const bool values = !corpus.value.empty();
  constexpr std::int64_t kSoon = 32;
  const auto n_items = static_cast<std::int64_t>(corpus.attribute.size());
  if (!l.row_patterns.empty()) d.pattern_ptr.push_back(0);
  d.pattern_state = pattern_state_;
  d.edge_code = edge_code_;
  std::uint8_t plane = 0;  // the plane of the row's attributes in the row of the token, 0: none
  auto add_row = [&](std::int64_t row) {
    bool any = false;
    plane = 0;
    for (std::int64_t k = corpus.ptr[row]; k < corpus.ptr[row + 1]; ++k) {
      const std::int32_t a = corpus.attribute[k];
      if (k + kSoon < n_items) __builtin_prefetch(groups_.data() + corpus.attribute[k + kSoon]);
      if (a >= planes_.n_attributes) continue;
      if (plane_of(a) > 0) {
        plane = static_cast<std::uint8_t>(plane_of(a));
        any = true;
        continue;
      }
      const Group& group = groups_[a];
      any |= group.count > 0;
      if (group.kind == Group::kPatterns) {
        if (group.count > 0)
          d.pattern_run.push_back({group.first, group.count, values ? corpus.value[k] : 1.0});
        continue;
      }
      if (group.kind == Group::kDense) {
        d.dense.push_back(group.first);
        if (values) d.dense_value.push_back(corpus.value[k]);
        continue;
      }
      for (std::int32_t j = 0; j < group.count; ++j) {
        d.sparse.push_back(group.first + j);
        d.sparse_lane.push_back(sparse_lane_[group.first + j]);
        if (values) d.sparse_value.push_back(corpus.value[k]);
      }
    }
    return any;
  };
  if (!corpus.word_ptr.empty()) d.word_ptr.push_back(0);
  d.word.reserve(corpus.word.size());
  d.word_ptr.reserve(corpus.word_ptr.size());
  d.site.reserve(corpus.site.size());
  d.word_memory = corpus.word_memory;
  auto add_words = [&](std::int64_t row) {
    if (corpus.word_ptr.empty()) return false;
    d.word.insert(d.word.end(), corpus.word.data() + corpus.word_ptr[row],
                  corpus.word.data() + corpus.word_ptr[row + 1]);
    return corpus.word_ptr[row] < corpus.word_ptr[row + 1];
  };
  auto end_row = [&] {
    if (!d.word_ptr.empty()) d.word_ptr.push_back(static_cast<std::int64_t>(d.word.size()));
    d.dense_ptr.push_back(static_cast<std::int64_t>(d.dense.size()));
    d.sparse_ptr.push_back(static_cast<std::int64_t>(d.sparse.size()));
    if (!d.pattern_ptr.empty())
      d.pattern_ptr.push_back(static_cast<std::int64_t>(d.pattern_run.size()));
  };
  int longest = 0;
  for (const std::int32_t bound : l.bounds) longest = std::max(longest, bound);
  const bool open =
      std::any_of(l.bounds.begin(), l.bounds.end(), [](std::int32_t b) { return b == 0; });
  for (int i = 0; i < corpus.n_sequences(); ++i) {
    for_rows(corpus, i, [&](const Site& site, std::int64_t row) {
      const bool token = row - corpus.first_row(i) < corpus.length(i);
      if (!token && !open && site.end - site.start > longest) return;  // longer than any segment
      const bool any = add_row(row);
      if (!add_words(row) && !any && !token) return;
      end_row();
      const auto at = static_cast<std::int64_t>(d.dense_ptr.size()) - 1;
      d.tagged &= token || (plane > 0 && d.is_empty(at - 1));
      if (!token) d.site.push_back({site.start, site.end, site.flags, plane});
    });
    d.sites.push_back(static_cast<std::int64_t>(d.site.size()));
  }
  d.dense.resize(d.dense.size() + Design::kAhead, 0);
  d.sparse.resize(d.sparse.size() + Design::kFarAhead, 0);
  d.sparse.shrink_to_fit();
  d.sparse_lane.shrink_to_fit();
  if (l.n_edges == 0 || corpus.edge_ptr.empty()) return out;
  d.edge_ptr.push_back(0);
  for (std::int64_t t = 0; t < corpus.tokens.back(); ++t) {
    for (std::int64_t k = corpus.edge_ptr[t]; k < corpus.edge_ptr[t + 1]; ++k) {
      const std::int32_t a = corpus.edge[k];
      if (a >= static_cast<std::int32_t>(edge_groups_.size())) continue;
      const Group& group = edge_groups_[a];
      if (group.count > 0) d.edge_run.push_back({group.first, group.count, corpus.edge_value[k]});
    }
    d.edge_ptr.push_back(static_cast<std::int64_t>(d.edge_run.size()));
  }
  return out;
}

void Parameters::add_weights(std::int32_t attribute, double value, const Weights<double>& w,
                             double* row) const {
  if (attribute >= planes_.n_attributes) return;
  const Group& group = groups_[attribute];
  if (group.kind == Group::kDense) {
    const double* weights = w.dense + static_cast<std::ptrdiff_t>(group.first) * w.wide;
    for (int y = 0; y < layout_->Y; ++y) row[y] += value * weights[y];
    return;
  }
  for (std::int32_t k = group.first; k < group.first + group.count; ++k)
    row[sparse_lane_[k]] += value * w.sparse[k];
}

std::vector<double> Parameters::count(const Design& d, const Gold& gold, const double* weight,
                                      const std::int32_t* some, int n) const {
  const Layout& l = *layout_;
  std::vector<double> counts(l.size(), 0.0);
  std::vector<std::int64_t> transition(static_cast<std::size_t>(l.Y) * l.Y, -1), start(l.Y, -1),
      end(l.Y, -1);
  for (std::size_t k = 0; k < l.transition.size(); ++k)
    transition[l.transition[k]] = l.first_transition() + k;
  for (std::size_t k = 0; k < l.start.size(); ++k) start[l.start[k]] = l.first_start() + k;
  for (std::size_t k = 0; k < l.end.size(); ++k) end[l.end[k]] = l.first_end() + k;
  auto add = [&](std::int64_t k, double x) {
    if (k >= 0) counts[k] += x;
  };
  // The dense and single weights in the order of the kernels; converted to that of the layout at
  // the end.
  const int lanes = l.planes * l.Y;
  std::vector<double> table(static_cast<std::size_t>(l.n_dense) * lanes, 0.0),
      single(l.n_sparse, 0.0);
  const bool histories = l.histories != nullptr;
  std::vector<double> entered(histories ? l.histories->lanes : 0, 0.0);
  std::vector<std::int32_t> states;  // [segments] of the current sequence
  double w = 0.0;
  // state: the state of the segment, or -1 if there are no histories or for a row of planes
  auto add_row = [&](std::int64_t row, int lane, std::int32_t state) {
    for (std::int64_t k = d.dense_ptr[row]; k < d.dense_ptr[row + 1]; ++k) {
      const double value = w * (d.dense_value.empty() ? 1.0 : d.dense_value[k]);
      d.for_parts(d.dense[k], [&](std::int32_t part) {
        table[static_cast<std::size_t>(part) * lanes + lane] += value;
      });
    }
    for (std::int64_t k = d.sparse_ptr[row]; k < d.sparse_ptr[row + 1]; ++k) {
      if (d.sparse_lane[k] == lane)
        single[d.sparse[k]] += w * (d.sparse_value.empty() ? 1.0 : d.sparse_value[k]);
    }
    d.for_patterns(row, [&](std::int32_t id, std::int32_t pattern, double value) {
      if (l.histories->ends_in(state, pattern)) single[id] += w * value;
    });
  };
  for (int j = 0; j < n; ++j) {
    const int i = some == nullptr ? j : some[j];
    const std::int64_t n_segments = gold.ptr[i + 1] - gold.ptr[i];
    if (gold.hint(i) != nullptr || n_segments == 0) continue;
    const LabelledSegment* segments = gold.segments.data() + gold.ptr[i];
    const std::vector<std::int32_t> at = segment_of(d.length(i), segments, n_segments);
    w = weight[i];
    states.clear();
    for (std::int64_t s = 0; histories && s < n_segments; ++s) {
      states.push_back(l.histories->next(s == 0 ? -1 : states.back(), segments[s].label));
      entered[states.back()] += w;
    }
    for_rows(d, i, [&](const Site& site, std::int64_t row) {
      const int segment = segment_at(site, segments, at.data());
      if (segment < 0) return;
      const int label = segments[segment].label;
      add_row(row, label, histories ? states[segment] : -1);
      if (site.plane > 0) add_row(d.first_row(i) + site.start, site.plane * l.Y + label, -1);
    });
    add(start[segments[0].label], w);
    add(end[segments[n_segments - 1].label], w);
    for (std::int64_t s = 1; s < n_segments; ++s) {
      const int pair = segments[s - 1].label * l.Y + segments[s].label, t = segments[s].start;
      add(transition[pair], w);
      d.for_edges(i, t, [&](std::int32_t id, std::int32_t code, double value) {
        const int pattern = code - l.Y * l.Y;
        const bool fires = pattern < 0
                               ? code == pair
                               : l.histories->ends_in(states[s], l.histories->pattern[pattern]);
        if (fires) counts[l.first_edge() + id] += w * value;
      });
    }
  }
  if (histories) l.histories->add_longer(entered.data());
  for (std::int64_t k = 0; k < l.n_plain; ++k)
    counts[l.first_pattern() + k] = entered[l.histories->pattern[k]];
  for (std::size_t k = 0; k < l.slot.size(); ++k) {
    const Slot& slot = l.slot[k];
    counts[k] = slot.lane < 0 ? single[slot.row]
                              : table[static_cast<std::size_t>(slot.row) * lanes + slot.lane];
  }
  return counts;
}

}  // namespace caesura
