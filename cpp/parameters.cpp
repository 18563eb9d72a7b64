#include "parameters.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "lattice.hpp"

namespace caesura {
namespace {

// The label of the gold segment that a site applies to, or -1.  at: [T] segment of each token
int label_at(const Site& site, const LabelledSegment* segments, const std::int32_t* at) {
  const LabelledSegment& s = segments[at[site.start]];
  const bool starts = s.start == site.start || (site.flags & kOpenStart);
  const bool ends = s.end == site.end || ((site.flags & kOpenEnd) && s.end >= site.end);
  return starts && ends ? s.label : -1;
}

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

Pairs observed_pairs(const Corpus& corpus, const Gold& gold, const Choice& choice, std::int32_t n_attributes,
                     Layout& layout) {
  const int Y = choice.Y;
  Seen seen(n_attributes), edges(corpus.edge_ptr.empty() ? 0 : n_attributes);
  std::vector<double> pairs(static_cast<std::size_t>(Y) * Y, choice.all_transitions ? 1.0 : 0.0);
  auto value = [&](std::int64_t k) { return corpus.value.empty() ? 1.0 : corpus.value[k]; };
  for (int i = 0; i < corpus.n_sequences(); ++i) {
    const Hint* hint = gold.hints[i].get();
    const LabelledSegment* segments = gold.segments.data() + gold.ptr[i];
    const std::int64_t n_segments = gold.ptr[i + 1] - gold.ptr[i];
    const std::vector<std::int32_t> at = segment_of(corpus.length(i), segments, n_segments);
    for_rows(corpus, i, [&](const Site& site, std::int64_t row) {
      auto add = [&](int label) {
        for (std::int64_t k = corpus.ptr[row]; k < corpus.ptr[row + 1]; ++k) seen.add(corpus.attribute[k], label, value(k));
      };
      if (hint == nullptr && !choice.all_states) {
        const int label = label_at(site, segments, at.data());
        if (label >= 0) add(label);
        return;
      }
      for (int y = 0; y < Y; ++y) {
        if (choice.all_states || possible(site, y, Y, *hint)) add(y);
      }
    });
    auto add_edges = [&](int t, int pair) {
      pairs[pair] = 1.0;
      if (corpus.edge_ptr.empty()) return;
      for (std::int64_t k = corpus.edge_ptr[corpus.tokens[i] + t]; k < corpus.edge_ptr[corpus.tokens[i] + t + 1]; ++k) {
        edges.add(corpus.edge[k], pair, corpus.edge_value[k]);
      }
    };
    for (std::int64_t k = 1; hint == nullptr && k < n_segments; ++k) {
      add_edges(segments[k].start, segments[k - 1].label * Y + segments[k].label);
    }
    for (int t = 1; hint != nullptr && t < corpus.length(i); ++t) {
      if (!hint->boundary.empty() && (hint->boundary[t] & kBarred)) continue;
      for (int pair = 0; pair < Y * Y; ++pair) {
        const auto ok = [&](int token, int y) {
          return hint->allowed.empty() || hint->allowed[static_cast<std::size_t>(token) * Y + y];
        };
        if (ok(t - 1, pair / Y) && ok(t, pair % Y)) add_edges(t, pair);
      }
    }
  }
  layout.transition.clear();
  for (int pair = 0; pair < Y * Y; ++pair) {
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
      if (!layout.barred.empty() && layout.barred[pair]) continue;
      out.edge_attribute.push_back(a);
      out.edge_pair.push_back(pair);
    }
  }
  return out;
}

Parameters::Parameters(Pairs pairs, Layout layout, Planes planes)
    : pairs_(std::move(pairs)), layout_(std::make_shared<Layout>(std::move(layout))), planes_(std::move(planes)) {
  Layout& l = *layout_;
  if (planes_.count * l.Y > kLanes) {
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
    const auto lane = static_cast<std::int32_t>(plane_of(pairs_.attribute[k]) * l.Y + pairs_.label[k]);
    const bool dense = group.count >= least;
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
  const int least = least_dense();
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
      if (group.count >= least) {
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
  double w = 0.0;
  auto add_row = [&](std::int64_t row, int lane) {
    for (std::int64_t k = d.dense_ptr[row]; k < d.dense_ptr[row + 1]; ++k) {
      const double value = w * (d.dense_value.empty() ? 1.0 : d.dense_value[k]);
      d.for_parts(d.dense[k], [&](std::int32_t part) { table[static_cast<std::size_t>(part) * lanes + lane] += value; });
    }
    for (std::int64_t k = d.sparse_ptr[row]; k < d.sparse_ptr[row + 1]; ++k) {
      if (d.sparse_lane[k] == lane) single[d.sparse[k]] += w * (d.sparse_value.empty() ? 1.0 : d.sparse_value[k]);
    }
  };
  for (int j = 0; j < n; ++j) {
    const int i = some == nullptr ? j : some[j];
    const std::int64_t n_segments = gold.ptr[i + 1] - gold.ptr[i];
    if (gold.hints[i] != nullptr || n_segments == 0) continue;
    const LabelledSegment* segments = gold.segments.data() + gold.ptr[i];
    const std::vector<std::int32_t> at = segment_of(d.length(i), segments, n_segments);
    w = weight[i];
    for_rows(d, i, [&](const Site& site, std::int64_t row) {
      const int label = label_at(site, segments, at.data());
      if (label < 0) return;
      add_row(row, label);
      if (site.plane > 0) add_row(d.first_row(i) + site.start, site.plane * l.Y + label);
    });
    add(start[segments[0].label], w);
    add(end[segments[n_segments - 1].label], w);
    for (std::int64_t s = 1; s < n_segments; ++s) {
      const int pair = segments[s - 1].label * l.Y + segments[s].label, t = segments[s].start;
      add(transition[pair], w);
      if (d.edge_ptr.empty()) continue;
      for (std::int64_t k = d.edge_ptr[d.tokens[i] + t]; k < d.edge_ptr[d.tokens[i] + t + 1]; ++k) {
        if (d.edge_pair[k] == pair) counts[l.first_edge() + d.edge[k]] += w * d.edge_value[k];
      }
    }
  }
  for (std::size_t k = 0; k < l.slot.size(); ++k) {
    const Slot& slot = l.slot[k];
    counts[k] = slot.lane < 0 ? single[slot.row] : table[static_cast<std::size_t>(slot.row) * lanes + slot.lane];
  }
  return counts;
}

}  // namespace caesura
