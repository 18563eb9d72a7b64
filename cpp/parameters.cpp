#include "parameters.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

#include "lattice.hpp"

namespace caesura {
namespace {

// The gold segment that a site applies to, or -1.  at: [T] segment of each token
int segment_at(const Site& site, const LabelledSegment* segments, const std::int32_t* at) {
  const LabelledSegment& s = segments[at[site.start]];
  const bool starts = s.start == site.start || (site.flags & kOpenStart);
  const bool ends = s.end == site.end || ((site.flags & kOpenEnd) && s.end >= site.end);
  return starts && ends ? at[site.start] : -1;
}

// The patterns of a model by their labels.
class PatternTable {
 public:
  explicit PatternTable(Layout& layout) : layout_(layout) {
    for (const auto& pattern : layout.patterns) known_.emplace(pattern, static_cast<std::int32_t>(known_.size()));
  }
  // The last order + 1 labels of segments [0, k], or -1 where there are not so many, or they may not be adjacent.
  std::int32_t of(const LabelledSegment* segments, std::int64_t k, int order) {
    if (k < order) return -1;
    std::vector<std::int32_t> labels;
    for (std::int64_t j = k - order; j <= k; ++j) {
      labels.push_back(segments[j].label);
      const auto n = labels.size();
      if (n > 1 && !layout_.barred.empty() && layout_.barred[labels[n - 2] * layout_.Y + labels[n - 1]]) return -1;
    }
    const auto [found, added] = known_.emplace(labels, static_cast<std::int32_t>(layout_.patterns.size()));
    if (added) layout_.patterns.push_back(std::move(labels));
    return found->second;
  }

 private:
  Layout& layout_;
  std::map<std::vector<std::int32_t>, std::int32_t> known_;
};

std::vector<std::int32_t> segment_of(int T, const LabelledSegment* segments, std::int64_t count) {
  std::vector<std::int32_t> at(T, 0);
  for (std::int64_t k = 0; k < count; ++k) std::fill(at.begin() + segments[k].start, at.begin() + segments[k].end, k);
  return at;
}

// May a segment with this label lie over the site, as far as a hint tells?
bool possible(const Site& site, int label, int Y, const Hint& hint) {
  for (int t = site.start; t < site.end; ++t) {
    if (!hint.allowed.empty() && !hint.allowed[static_cast<std::size_t>(t) * Y + label]) return false;
    if (!hint.boundary.empty() && t > site.start && (hint.boundary[t] & kForced)) return false;
  }
  if (hint.boundary.empty()) return true;
  if (!(site.flags & kOpenStart) && (hint.boundary[site.start] & kBarred)) return false;
  return (site.flags & kOpenEnd) || !(hint.boundary[site.end] & kBarred);
}

// For each attribute the labels (or pairs of labels) that it has been seen with: linked lists.
struct Seen {
  struct Node {
    std::int32_t label, next;
    double frequency;
  };
  std::vector<std::int32_t> head;  // [attributes]
  std::vector<Node> nodes;
  std::vector<std::int32_t> order;  // attributes as they come
  std::vector<double> total;        // [attributes]

  explicit Seen(std::int32_t n_attributes) : head(n_attributes, -1), total(n_attributes, 0.0) {}
  void add(std::int32_t attribute, std::int32_t label, double value) {
    total[attribute] += 1.0;
    if (head[attribute] < 0) order.push_back(attribute);
    for (std::int32_t k = head[attribute]; k >= 0; k = nodes[k].next) {
      if (nodes[k].label == label) {
        nodes[k].frequency += value;
        return;
      }
    }
    nodes.push_back({label, head[attribute], value});
    head[attribute] = static_cast<std::int32_t>(nodes.size()) - 1;
  }
  // The labels of an attribute in order, good until it is asked again.
  const std::vector<std::int32_t>& labels(std::int32_t attribute, double min_frequency) {
    found_.clear();
    for (std::int32_t k = head[attribute]; k >= 0; k = nodes[k].next) {
      if (nodes[k].frequency >= min_frequency) found_.push_back(nodes[k].label);
    }
    std::sort(found_.begin(), found_.end());
    return found_;
  }

 private:
  std::vector<std::int32_t> found_;
};

// Calls visit(site, row) for the rows of sequence i; a token is a site that is open at both ends.
template <class Sequences, class Visit>
void for_rows(const Sequences& c, int i, Visit visit) {
  const int T = c.length(i);
  const std::int64_t first = c.first_row(i);
  for (int t = 0; t < T; ++t) visit(Site{t, t + 1, kOpenStart | kOpenEnd}, first + t);
  for (std::int64_t k = c.sites[i]; k < c.sites[i + 1]; ++k) visit(c.site[k], first + T + k - c.sites[i]);
}

}  // namespace

Pairs observed_pairs(const Corpus& corpus, const Gold& gold, const Choice& choice, const Planes& planes, Layout& layout) {
  const int Y = choice.Y, square = Y * Y;
  Seen seen(planes.n_attributes), edges(corpus.edge_ptr.empty() ? 0 : planes.n_attributes);
  PatternTable table(layout);
  std::vector<double> pairs(square, choice.all_transitions ? 1.0 : 0.0);
  auto value = [&](std::int64_t k) { return corpus.value.empty() ? 1.0 : corpus.value[k]; };
  auto for_edges = [&](int i, int t, auto visit) {
    if (corpus.edge_ptr.empty()) return;
    for (std::int64_t k = corpus.edge_ptr[corpus.tokens[i] + t]; k < corpus.edge_ptr[corpus.tokens[i] + t + 1]; ++k) visit(k);
  };
  // What is fully labelled; it says which patterns there are.
  for (int i = 0; i < corpus.n_sequences(); ++i) {
    if (gold.hints[i] != nullptr) continue;
    const LabelledSegment* segments = gold.segments.data() + gold.ptr[i];
    const std::int64_t n_segments = gold.ptr[i + 1] - gold.ptr[i];
    const std::vector<std::int32_t> at = segment_of(corpus.length(i), segments, n_segments);
    for_rows(corpus, i, [&](const Site& site, std::int64_t row) {
      const int segment = segment_at(site, segments, at.data());
      for (std::int64_t k = corpus.ptr[row]; k < corpus.ptr[row + 1]; ++k) {
        const std::int32_t a = corpus.attribute[k];
        if (const int order = planes.order_of(a); order > 0) {
          const std::int32_t pattern = segment < 0 ? -1 : table.of(segments, segment, order);
          if (pattern >= 0) seen.add(a, Y + pattern, value(k));
        } else if (choice.all_states) {
          for (int y = 0; y < Y; ++y) seen.add(a, y, value(k));
        } else if (segment >= 0) {
          seen.add(a, segments[segment].label, value(k));
        }
      }
    });
    for (std::int64_t j = 1; j < n_segments; ++j) {
      const int pair = segments[j - 1].label * Y + segments[j].label;
      pairs[pair] = 1.0;
      for_edges(i, segments[j].start, [&](std::int64_t k) {
        const int order = planes.order_of(corpus.edge[k]);
        const std::int32_t pattern = order < 2 ? -1 : table.of(segments, j, order);
        if (order < 2 || pattern >= 0) edges.add(corpus.edge[k], order < 2 ? pair : square + pattern, corpus.edge_value[k]);
      });
    }
  }
  // What is known in part: everything that is possible, of patterns those that are there already.
  std::vector<std::vector<std::int32_t>> by_order(256);
  for (std::size_t p = 0; p < layout.patterns.size(); ++p) by_order.at(layout.patterns[p].size() - 1).push_back(static_cast<std::int32_t>(p));
  for (int i = 0; i < corpus.n_sequences(); ++i) {
    const Hint* hint = gold.hints[i].get();
    if (hint == nullptr) continue;
    for_rows(corpus, i, [&](const Site& site, std::int64_t row) {
      for (int y = 0; y < Y; ++y) {
        if (!choice.all_states && !possible(site, y, Y, *hint)) continue;
        for (std::int64_t k = corpus.ptr[row]; k < corpus.ptr[row + 1]; ++k) {
          const std::int32_t a = corpus.attribute[k];
          const int order = planes.order_of(a);
          if (order == 0) seen.add(a, y, value(k));
          for (const std::int32_t p : order == 0 ? by_order[0] : by_order[order]) {
            if (layout.patterns[p].back() == y) seen.add(a, Y + p, value(k));
          }
        }
      }
    });
    for (int t = 1; t < corpus.length(i); ++t) {
      if (!hint->boundary.empty() && (hint->boundary[t] & kBarred)) continue;
      const auto ok = [&](int token, int y) {
        return hint->allowed.empty() || hint->allowed[static_cast<std::size_t>(token) * Y + y];
      };
      for (int pair = 0; pair < square; ++pair) {
        if (!ok(t - 1, pair / Y) || !ok(t, pair % Y)) continue;
        pairs[pair] = 1.0;
        for_edges(i, t, [&](std::int64_t k) {
          const int order = planes.order_of(corpus.edge[k]);
          if (order < 2) edges.add(corpus.edge[k], pair, corpus.edge_value[k]);
          for (const std::int32_t p : order < 2 ? by_order[0] : by_order[order]) {
            const auto& labels = layout.patterns[p];
            if (labels[order - 1] * Y + labels[order] == pair) edges.add(corpus.edge[k], square + p, corpus.edge_value[k]);
          }
        });
      }
    }
  }
  layout.transition.clear();
  for (int pair = 0; pair < square; ++pair) {
    const bool barred = !layout.barred.empty() && layout.barred[pair];
    if (pairs[pair] != 0.0 && !barred) layout.transition.push_back(pair);
  }

  Pairs out;  // those that are used most come first, so that they stay near
  std::stable_sort(seen.order.begin(), seen.order.end(),
                   [&](std::int32_t a, std::int32_t b) { return seen.total[a] > seen.total[b]; });
  for (const std::int32_t a : seen.order) {
    for (const std::int32_t y : seen.labels(a, choice.min_frequency)) {
      out.attribute.push_back(a);
      out.label.push_back(y);
    }
  }
  for (const std::int32_t a : edges.order) {
    for (const std::int32_t pair : edges.labels(a, choice.min_frequency)) {
      if (pair < square && !layout.barred.empty() && layout.barred[pair]) continue;
      out.edge_attribute.push_back(a);
      out.edge_pair.push_back(pair);
    }
  }
  return out;
}

Parameters::Parameters(Pairs pairs, Layout layout, Planes planes)
    : pairs_(std::move(pairs)), layout_(std::make_shared<Layout>(std::move(layout))), planes_(std::move(planes)) {
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
  for (std::int32_t k = 0; k < l.n_edges; ++k) {
    Group& group = edge_groups_.at(pairs_.edge_attribute[k]);
    if (group.count++ == 0) group.first = k;
  }
}

// The states of the patterns, and of pairs that have weights with attributes.
void Parameters::make_histories() {
  Layout& l = *layout_;
  if (l.patterns.empty()) return;
  std::vector<std::int32_t> pairs;
  std::copy_if(pairs_.edge_pair.begin(), pairs_.edge_pair.end(), std::back_inserter(pairs), [&](std::int32_t pair) { return pair < l.Y * l.Y; });
  auto made = std::make_shared<Histories>(l.Y, l.patterns, pairs, trainer<double>().width);
  l.row_patterns.clear();
  for (const std::int32_t target : pairs_.label) {
    if (target >= l.Y) l.row_patterns.push_back(target - l.Y);
  }
  std::sort(l.row_patterns.begin(), l.row_patterns.end());
  l.row_patterns.erase(std::unique(l.row_patterns.begin(), l.row_patterns.end()), l.row_patterns.end());
  if (!l.row_patterns.empty() && l.Y + made->lanes + 64 > 65535) throw std::length_error("patterns");
  l.histories = std::move(made);
}

std::int32_t Parameters::lane_of(std::int64_t k) const {
  const Layout& l = *layout_;
  if (pairs_.label[k] < l.Y) return static_cast<std::int32_t>(plane_of(pairs_.attribute[k]) * l.Y + pairs_.label[k]);
  const int width = trainer<double>().width;
  return (l.Y + width - 1) / width * width + l.histories->pattern[pairs_.label[k] - l.Y];
}

// Which weights share a row of the table, and which stand alone.
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
  for (std::int64_t k = 0; k < n; ++k) {
    Group& group = groups_[base(k)];
    const std::int32_t lane = lane_of(k);
    const bool dense = group.count >= least && pairs_.label[k] < l.Y;
    group.dense = dense;
    if (group.first < 0) {
      group.first = static_cast<std::int32_t>(dense ? l.n_dense++ : l.n_sparse);
      if (!dense) l.n_sparse += group.count;
    }
    if (dense) {
      l.slot[k] = {group.first, lane};
    } else {
      l.slot[k] = {group.first + used[base(k)]++, -1};
      sparse_lane_.resize(l.n_sparse);
      sparse_lane_[l.slot[k].row] = static_cast<std::uint16_t>(lane);
    }
  }
}

std::shared_ptr<Parameters> Parameters::with(std::vector<std::int32_t> bounds, std::vector<std::int32_t> transition,
                                             std::vector<std::int32_t> start) const {
  auto out = std::make_shared<Parameters>(*this);
  out->layout_ = std::make_shared<Layout>(*layout_);
  out->layout_->bounds = std::move(bounds);
  out->layout_->transition = std::move(transition);
  out->layout_->start = std::move(start);
  return out;
}

std::shared_ptr<const Design> Parameters::compile(const Corpus& corpus) const {
  auto out = std::make_shared<Design>();
  Design& d = *out;
  const Layout& l = *layout_;
  d.Y = l.Y;
  d.planes = l.planes;
  std::copy_n(planes_.flags, 4, d.plane_flags);
  d.tagged = d.planes > 1 && l.n_edges == 0 && std::all_of(l.bounds.begin(), l.bounds.end(), [](int b) { return b <= 1; });
  d.n_dense = l.n_dense;
  d.n_sparse = l.n_sparse;
  d.n_edges = l.n_edges;
  d.tokens = corpus.tokens;
  d.dense.reserve(corpus.attribute.size());
  d.dense_ptr.reserve(corpus.ptr.size());
  d.sparse_ptr.reserve(corpus.ptr.size());
  const bool values = !corpus.value.empty();
  constexpr std::int64_t kSoon = 12;
  const auto n_items = static_cast<std::int64_t>(corpus.attribute.size());
  std::uint8_t plane = 0;  // whose weights are in the row of the token
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
      if (group.dense) {
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
  auto end_row = [&] {
    d.dense_ptr.push_back(static_cast<std::int64_t>(d.dense.size()));
    d.sparse_ptr.push_back(static_cast<std::int64_t>(d.sparse.size()));
  };
  int longest = 0;
  for (const std::int32_t bound : l.bounds) longest = std::max(longest, bound);
  const bool open = std::any_of(l.bounds.begin(), l.bounds.end(), [](std::int32_t b) { return b == 0; });
  for (int i = 0; i < corpus.n_sequences(); ++i) {
    for_rows(corpus, i, [&](const Site& site, std::int64_t row) {
      const bool token = row - corpus.first_row(i) < corpus.length(i);
      if (!token && !open && site.end - site.start > longest) return;  // no segment is so long
      if (!add_row(row) && !token) return;
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
      for (std::int32_t j = 0; j < group.count; ++j) {
        d.edge.push_back(static_cast<std::int32_t>(group.first + j));
        d.edge_pair.push_back(pairs_.edge_pair[group.first + j]);
        d.edge_value.push_back(corpus.edge_value[k]);
      }
    }
    d.edge_ptr.push_back(static_cast<std::int64_t>(d.edge.size()));
  }
  return out;
}

std::vector<double> Parameters::count(const Design& d, const Gold& gold, const double* weight,
                                      const std::int32_t* some, int n) const {
  const Layout& l = *layout_;
  std::vector<double> counts(l.size(), 0.0);
  std::vector<std::int64_t> transition(static_cast<std::size_t>(l.Y) * l.Y, -1), start(l.Y, -1), end(l.Y, -1);
  for (std::size_t k = 0; k < l.transition.size(); ++k) transition[l.transition[k]] = l.first_transition() + k;
  for (std::size_t k = 0; k < l.start.size(); ++k) start[l.start[k]] = l.first_start() + k;
  for (std::size_t k = 0; k < l.end.size(); ++k) end[l.end[k]] = l.first_end() + k;
  auto add = [&](std::int64_t k, double x) {
    if (k >= 0) counts[k] += x;
  };
  // Rows and single weights as the kernels keep them, and in the order of the weights in the end.
  const int lanes = l.planes * l.Y;
  std::vector<double> table(static_cast<std::size_t>(l.n_dense) * lanes, 0.0), single(l.n_sparse, 0.0);
  const bool histories = l.histories != nullptr;
  const int width = trainer<double>().width, first_state = (l.Y + width - 1) / width * width;
  std::vector<double> entered(histories ? l.histories->lanes : 0, 0.0);
  std::vector<std::int32_t> states;  // of the segments of one sequence
  double w = 0.0;
  // state: of the segment, -1: there is none
  auto add_row = [&](std::int64_t row, int lane, std::int32_t state) {
    for (std::int64_t k = d.dense_ptr[row]; k < d.dense_ptr[row + 1]; ++k) {
      const double value = w * (d.dense_value.empty() ? 1.0 : d.dense_value[k]);
      d.for_parts(d.dense[k], [&](std::int32_t part) { table[static_cast<std::size_t>(part) * lanes + lane] += value; });
    }
    for (std::int64_t k = d.sparse_ptr[row]; k < d.sparse_ptr[row + 1]; ++k) {
      const bool pattern = state >= 0 && d.sparse_lane[k] >= first_state;
      if (pattern ? !l.histories->ends_in(state, d.sparse_lane[k] - first_state) : d.sparse_lane[k] != lane) continue;
      single[d.sparse[k]] += w * (d.sparse_value.empty() ? 1.0 : d.sparse_value[k]);
    }
  };
  for (int j = 0; j < n; ++j) {
    const int i = some == nullptr ? j : some[j];
    const std::int64_t n_segments = gold.ptr[i + 1] - gold.ptr[i];
    if (gold.hints[i] != nullptr || n_segments == 0) continue;
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
      if (d.edge_ptr.empty()) continue;
      for (std::int64_t k = d.edge_ptr[d.tokens[i] + t]; k < d.edge_ptr[d.tokens[i] + t + 1]; ++k) {
        const int code = d.edge_pair[k] - l.Y * l.Y;
        const bool fires = code < 0 ? d.edge_pair[k] == pair : l.histories->ends_in(states[s], l.histories->pattern[code]);
        if (fires) counts[l.first_edge() + d.edge[k]] += w * d.edge_value[k];
      }
    }
  }
  if (histories) l.histories->add_longer(entered.data());
  for (std::int64_t k = 0; k < l.n_plain; ++k) counts[l.first_pattern() + k] = entered[l.histories->pattern[k]];
  for (std::size_t k = 0; k < l.slot.size(); ++k) {
    const Slot& slot = l.slot[k];
    counts[k] = slot.lane < 0 ? single[slot.row] : table[static_cast<std::size_t>(slot.row) * lanes + slot.lane];
  }
  return counts;
}

}  // namespace caesura
