// The combinations of attributes with labels, label pairs and label patterns that occur in a
// corpus.
#include <algorithm>
#include <map>
#include <utility>

#include "base/interrupt.hpp"
#include "learn/parameters.hpp"

namespace caesura {
namespace {

// Whether the partial labels allow a segment with this label to which the site applies.
bool possible(const Site& site, int label, int Y, const Hint& hint) {
  for (int t = site.start; t < site.end; ++t) {
    if (!hint.allowed.empty() && !hint.allowed[static_cast<std::size_t>(t) * Y + label])
      return false;
    if (!hint.boundary.empty() && t > site.start && (hint.boundary[t] & kForced)) return false;
  }
  if (hint.boundary.empty()) return true;
  if (!(site.flags & kOpenStart) && (hint.boundary[site.start] & kBarred)) return false;
  return (site.flags & kOpenEnd) || !(hint.boundary[site.end] & kBarred);
}

// The labels, pairs or patterns that each attribute has been seen with, as linked lists.
struct Seen {
  struct Node {
    std::int32_t label, next;
    double frequency;
  };
  std::vector<std::int32_t> head;  // [attributes]
  std::vector<Node> nodes;
  std::vector<std::int32_t> order;  // attributes in order of first occurrence
  std::vector<double> total;        // [attributes] occurrences

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
  using Labels = std::vector<std::pair<std::int32_t, double>>;
  // Returns the labels of an attribute with at least this frequency, sorted; valid until the next
  // call.
  const Labels& labels(std::int32_t attribute, double min_frequency) {
    found_.clear();
    for (std::int32_t k = head[attribute]; k >= 0; k = nodes[k].next) {
      if (nodes[k].frequency >= min_frequency)
        found_.emplace_back(nodes[k].label, nodes[k].frequency);
    }
    std::sort(found_.begin(), found_.end());
    return found_;
  }

 private:
  Labels found_;
};

// The number of each pattern of a model; patterns that are new are added to the layout.
class PatternTable {
 public:
  explicit PatternTable(Layout& layout) : layout_(layout) {
    for (const auto& pattern : layout.patterns)
      known_.emplace(pattern, static_cast<std::int32_t>(known_.size()));
  }
  // Sets the segments that of() refers to.
  void look_at(const LabelledSegment* segments, std::int64_t n_segments) {
    segments_ = segments;
    found_.assign(n_segments, {});
  }
  // Returns the number of the pattern of the last order + 1 labels up to segment k, or -1 if there
  // are not so many labels or if some of them may not be adjacent.
  std::int32_t of(std::int64_t k, int order) {
    if (k < order) return -1;
    std::vector<std::int32_t>& found = found_[k];
    if (static_cast<int>(found.size()) <= order) found.resize(order + 1, kUnknown);
    if (found[order] == kUnknown) found[order] = find(k, order);
    return found[order];
  }

 private:
  static constexpr std::int32_t kUnknown = -2;
  std::int32_t find(std::int64_t k, int order) {
    std::vector<std::int32_t> labels;
    for (std::int64_t j = k - order; j <= k; ++j) {
      labels.push_back(segments_[j].label);
      const auto n = labels.size();
      if (n > 1 && !layout_.barred.empty() &&
          layout_.barred[labels[n - 2] * layout_.Y + labels[n - 1]])
        return -1;
    }
    const auto [found, added] =
        known_.emplace(labels, static_cast<std::int32_t>(layout_.patterns.size()));
    if (added) layout_.patterns.push_back(std::move(labels));
    return found->second;
  }

  Layout& layout_;
  std::map<std::vector<std::int32_t>, std::int32_t> known_;
  const LabelledSegment* segments_ = nullptr;
  std::vector<std::vector<std::int32_t>> found_;  // [segments][order]
};

class Observer {
 public:
  Observer(const Corpus& corpus, const Gold& gold, const Choice& choice, const Planes& planes,
           Layout& layout)
      : corpus_(corpus),
        gold_(gold),
        choice_(choice),
        planes_(planes),
        layout_(layout),
        table_(layout),
        rows_(planes.n_attributes),
        edges_(corpus.edge_ptr.empty() ? 0 : planes.n_attributes),
        pairs_(Y * Y, choice.all_transitions ? 1 : 0) {}

  Pairs run() {
    for (int i = 0; i < corpus_.n_sequences(); ++i) {
      check_interrupt();
      if (gold_.hint(i) == nullptr) add_labelled(i);
    }
    // Partial labels are matched with the declared patterns and with those of the full labels.
    for (std::size_t p = 0; p < layout_.patterns.size(); ++p) {
      const std::size_t order = layout_.patterns[p].size() - 1;
      if (by_order_.size() <= order) by_order_.resize(order + 1);
      by_order_[order].push_back(static_cast<std::int32_t>(p));
    }
    for (int i = 0; i < corpus_.n_sequences(); ++i) {
      check_interrupt();
      if (gold_.hint(i) != nullptr) add_possible(i, *gold_.hint(i));
    }
    layout_.transition.clear();
    for (int pair = 0; pair < Y * Y; ++pair) {
      if (pairs_[pair] && !is_barred(pair)) layout_.transition.push_back(pair);
    }
    return chosen();
  }

 private:
  const Corpus& corpus_;
  const Gold& gold_;
  const Choice& choice_;
  const Planes& planes_;
  Layout& layout_;
  const int Y = choice_.Y;
  PatternTable table_;
  Seen rows_, edges_;
  std::vector<std::uint8_t> pairs_;  // [Y][Y] whether the pair occurs
  std::vector<std::vector<std::int32_t>> by_order_;

  double value(std::int64_t k) const { return corpus_.value.empty() ? 1.0 : corpus_.value[k]; }
  bool is_barred(int pair) const { return !layout_.barred.empty() && layout_.barred[pair]; }
  template <class Visit>
  void for_edges(int i, int t, Visit visit) const {
    if (corpus_.edge_ptr.empty()) return;
    for (std::int64_t k = corpus_.edge_ptr[corpus_.tokens[i] + t];
         k < corpus_.edge_ptr[corpus_.tokens[i] + t + 1]; ++k) {
      visit(corpus_.edge[k], planes_.order_of(corpus_.edge[k]), corpus_.edge_value[k]);
    }
  }
  template <class Visit>
  void for_patterns(int order, Visit visit) const {
    if (order >= static_cast<int>(by_order_.size())) return;
    for (const std::int32_t p : by_order_[order]) visit(p, layout_.patterns[p]);
  }

  void add_labelled(int i) {
    const LabelledSegment* segments = gold_.segments.data() + gold_.ptr[i];
    const std::int64_t n_segments = gold_.ptr[i + 1] - gold_.ptr[i];
    const std::vector<std::int32_t> at = segment_of(corpus_.length(i), segments, n_segments);
    table_.look_at(segments, n_segments);
    for_rows(corpus_, i, [&](const Site& site, std::int64_t row) {
      const int segment = segment_at(site, segments, at.data());
      for (std::int64_t k = corpus_.ptr[row]; k < corpus_.ptr[row + 1]; ++k) {
        const std::int32_t a = corpus_.attribute[k];
        if (const int order = planes_.order_of(a); order > 0) {
          const std::int32_t pattern = segment < 0 ? -1 : table_.of(segment, order);
          if (pattern >= 0) rows_.add(a, Y + pattern, value(k));
        } else if (choice_.all_states) {
          for (int y = 0; y < Y; ++y) rows_.add(a, y, value(k));
        } else if (segment >= 0) {
          rows_.add(a, segments[segment].label, value(k));
        }
      }
    });
    for (std::int64_t j = 1; j < n_segments; ++j) {
      const int pair = segments[j - 1].label * Y + segments[j].label;
      pairs_[pair] = 1;
      for_edges(i, segments[j].start, [&](std::int32_t a, int order, double x) {
        const std::int32_t pattern = order < 2 ? -1 : table_.of(j, order);
        if (order < 2 || pattern >= 0) edges_.add(a, order < 2 ? pair : Y * Y + pattern, x);
      });
    }
  }

  // Adds everything that the partial labels allow, but no new patterns.
  void add_possible(int i, const Hint& hint) {
    for_rows(corpus_, i, [&](const Site& site, std::int64_t row) {
      for (int y = 0; y < Y; ++y) {
        if (!choice_.all_states && !possible(site, y, Y, hint)) continue;
        for (std::int64_t k = corpus_.ptr[row]; k < corpus_.ptr[row + 1]; ++k) {
          const std::int32_t a = corpus_.attribute[k];
          const int order = planes_.order_of(a);
          if (order == 0)
            rows_.add(a, y, value(k));
          else
            for_patterns(order, [&](std::int32_t p, const auto& labels) {
              if (labels.back() == y) rows_.add(a, Y + p, value(k));
            });
        }
      }
    });
    auto allowed = [&](int t, int y) {
      return hint.allowed.empty() || hint.allowed[static_cast<std::size_t>(t) * Y + y];
    };
    for (int t = 1; t < corpus_.length(i); ++t) {
      if (!hint.boundary.empty() && (hint.boundary[t] & kBarred)) continue;
      for (int pair = 0; pair < Y * Y; ++pair) {
        if (!allowed(t - 1, pair / Y) || !allowed(t, pair % Y)) continue;
        pairs_[pair] = 1;
        for_edges(i, t, [&](std::int32_t a, int order, double x) {
          if (order < 2)
            edges_.add(a, pair, x);
          else
            for_patterns(order, [&](std::int32_t p, const auto& labels) {
              if (labels[order - 1] * Y + labels[order] == pair) edges_.add(a, Y * Y + p, x);
            });
        });
      }
    }
  }

  // Keeps the combinations that are frequent enough.  The attributes that occur most often come
  // first, so that their weights stay in the cache.
  Pairs chosen() {
    Pairs out;
    std::stable_sort(rows_.order.begin(), rows_.order.end(), [&](std::int32_t a, std::int32_t b) {
      return rows_.total[a] > rows_.total[b];
    });
    for (const std::int32_t a : rows_.order) {
      for (const auto& [target, frequency] : rows_.labels(a, choice_.min_frequency)) {
        out.attribute.push_back(a);
        out.label.push_back(target);
        out.frequency.push_back(frequency);
      }
    }
    for (const std::int32_t a : edges_.order) {
      for (const auto& [code, frequency] : edges_.labels(a, choice_.min_frequency)) {
        if (code < Y * Y && is_barred(code)) continue;
        out.edge_attribute.push_back(a);
        out.edge_pair.push_back(code);
        out.edge_frequency.push_back(frequency);
      }
    }
    drop_patterns(out);
    return out;
  }

  // Drops patterns without a remaining weight.
  void drop_patterns(Pairs& pairs) {
    std::vector<std::int32_t> number(layout_.patterns.size(), -1);
    std::fill(number.begin(), number.begin() + layout_.n_plain, 0);
    auto for_used = [&](auto visit) {
      for (std::int32_t& target : pairs.label) {
        if (target >= Y) visit(target, Y);
      }
      for (std::int32_t& code : pairs.edge_pair) {
        if (code >= Y * Y) visit(code, Y * Y);
      }
    };
    for_used([&](std::int32_t code, int first) { number[code - first] = 0; });
    std::vector<std::vector<std::int32_t>> kept;
    for (std::size_t p = 0; p < number.size(); ++p) {
      if (number[p] < 0) continue;
      number[p] = static_cast<std::int32_t>(kept.size());
      kept.push_back(std::move(layout_.patterns[p]));
    }
    layout_.patterns = std::move(kept);
    for_used([&](std::int32_t& code, int first) { code = first + number[code - first]; });
  }
};

}  // namespace

Pairs observed_pairs(const Corpus& corpus, const Gold& gold, const Choice& choice,
                     const Planes& planes, Layout& layout) {
  return Observer(corpus, gold, choice, planes, layout).run();
}

}  // namespace caesura
