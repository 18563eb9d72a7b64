#include "infer/spelled.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <queue>
#include <string>
#include <unordered_map>

#include "infer/limited.hpp"
#include "lattice/semirings.hpp"

namespace caesura {
namespace {

constexpr std::int32_t kOutside = 0;  // 1 + 2 k and 2 + 2 k begin and continue a segment of label k

// The search of spelled.hpp.  A node is a belief; its children are the beliefs after one more
// token.  A part is a prefix, stored as a node and the prefix before it.  The heap holds, for each
// part that was taken, the best of its children that was not.
class SpelledSearch {
 public:
  SpelledSearch(const Problem& problem, const Lattice& lattice, const Walk& walk,
                const Reading& reading, int n, const SpelledLimits& most)
      : g_(lattice),
        automaton_(problem.automaton()),
        walk_(walk),
        reading_(reading),
        n_(n),
        most_(most),
        n_symbols_(1 + 2 * static_cast<int>(reading.states.size())),
        acc_(2 * static_cast<std::size_t>(g_.Q)),
        nodes_by_belief_(1024, Hash{this}, Equal{this}) {
    make_bounds();
  }

  // Takes the candidate with the largest bound until n complete segmentations were taken:
  //
  //   bound(prefix) = value(prefix) + ln sum over q of exp(belief[q] + bound[e, q])
  //
  // The bound of a complete segmentation is its log weight, so the answers are found in order.
  std::vector<Answer> run() {
    std::vector<Answer> found;
    SegmentCount count;
    root();
    while (!heap_.empty() && static_cast<int>(found.size()) < n_) {
      // The best candidate becomes a part; its next sibling and its first child become candidates.
      const Candidate best = heap_.top();
      heap_.pop();
      check_size();
      push_child(best.parent, best.choice + 1);
      const Child child = children_[first_child(best.parent) + best.choice];
      if (nodes_[child.node].taken == n_) continue;  // n better prefixes have its continuations
      ++nodes_[child.node].taken;
      const double value = (best.parent < 0 ? 0.0 : parts_[best.parent].value) + child.gain;
      parts_.push_back({value, child.node, best.parent});
      const auto part = static_cast<std::int32_t>(parts_.size()) - 1;
      if (nodes_[child.node].end == g_.T) {
        found.push_back({true, best.bound, segments(part)});
        count.add(found.back().segments.size());
      } else {
        push_child(part, 0);
      }
    }
    return found;
  }

 private:
  // A belief relative to its largest entry, for prefixes that end at `end`:
  //
  //   belief[q] = ln sum over the tag sequences of the prefix that end in state q of exp(score)
  struct Belief {
    std::int32_t end, symbol;
    std::size_t first, count;  // entries
    double bound;              // ln sum over q of exp(belief[q] + bound[end, q])
    std::int32_t first_child, n_children;
    std::int32_t taken;  // number of prefixes with this belief that were taken
  };
  struct Entry {
    std::int32_t state;
    double weight;
  };
  struct Child {
    std::int32_t node;
    double gain;  // log weight that this child adds to a prefix
  };
  struct Part {
    double value;
    std::int32_t node, parent;
  };
  // The children of a prefix are those of its node; only the next one is on the heap.
  struct Candidate {
    double bound;
    std::int32_t parent, choice, end;
    // The largest bound first; of equal ones, the longest prefix.
    bool operator<(const Candidate& other) const {
      if (bound != other.bound) return bound < other.bound;
      if (end != other.end) return end < other.end;
      return parent != other.parent ? parent > other.parent : choice > other.choice;
    }
  };

  int label(int q) const { return g_.order[g_.rank[q]]; }
  // first_symbol(q): the symbol of a token in state q that begins a segment.  symbol(p, q): the
  // symbol of a token in state q after a token in state p.
  std::int32_t first_symbol(int q) const { return 1 + 2 * reading_.label[label(q)]; }
  bool joined(int p, int q) const { return reading_.joined[label(p) * g_.Y + label(q)] != 0; }
  std::int32_t symbol(int p, int q) const {
    if (reading_.label[label(q)] < 0) return kOutside;
    return first_symbol(q) + (joined(p, q) ? 1 : 0);
  }
  // bound[e, q] of spelled.hpp, [T + 1][Q], and the score of token t in state q, [T][Q].
  double& bound(int e, int q) { return bounds_[static_cast<std::size_t>(e) * g_.Q + q]; }
  double& token(int t, int q) { return tokens_[static_cast<std::size_t>(t) * g_.Q + q]; }

  // Calls visit(q) for the states that may follow p.
  template <class Visit>
  void for_arcs(int p, Visit visit) const {
    if (automaton_.first_order) {
      for (int q = 0; q < g_.Q; ++q) visit(q);
    } else {
      for (int k = automaton_.out_ptr[p]; k < automaton_.out_ptr[p + 1]; ++k)
        visit(automaton_.out_state[k]);
    }
  }

  // From the last token to the first:
  //
  //   bound[T, q] = end[y(q)] for the accepting states
  //   bound[e, p] = max over symbols x of ln sum over arcs (p, q) that spell x of
  //                 exp(transition[p, q] + token[e, q] + bound[e + 1, q])
  void make_bounds() {
    bounds_.assign(static_cast<std::size_t>(g_.T + 1) * g_.Q, kMinusInfinity);
    tokens_.resize(static_cast<std::size_t>(g_.T) * g_.Q);
    for (int t = 0; t < g_.T; ++t) {
      for (int q = 0; q < g_.Q; ++q) token(t, q) = walk_.token_score(t, q);
    }
    for (int q = 0; q < g_.Q; ++q) {
      if (g_.accepting[q]) bound(g_.T, q) = g_.end[label(q)];
    }
    std::vector<LogTotal> totals(n_symbols_);
    for (int e = g_.T - 1; e > 0; --e) {
      check_interrupt();
      for (int p = 0; p < g_.Q; ++p) {
        std::fill(totals.begin(), totals.end(), LogTotal{});
        for_arcs(p, [&](int q) {
          const double rest = token(e, q) + bound(e + 1, q);
          if (rest > kMinusInfinity) totals[symbol(p, q)].add(walk_.transition(e, p, q) + rest);
        });
        for (const LogTotal& total : totals) bound(e, p) = std::max(bound(e, p), total.value());
      }
    }
  }

  // Computes the beliefs after the first token, one for each symbol:
  //
  //   belief[q] = start[y(q)] + entry[q] + token[0, q]
  void root() {
    std::vector<std::int32_t> touched;
    for (int r = 0; r < g_.Y; ++r) {
      const int q = g_.start_state[r];
      if (q < 0) continue;
      const double entry = g_.entry == nullptr ? 0.0 : g_.entry[q];
      acc_[2 * q].add(g_.start[g_.order[r]] + entry + token(0, q));
      touched.push_back(2 * q);
    }
    n_roots_ = make_children(1, touched);
    push_child(-1, 0);
  }

  // Adds the beliefs whose entries are in acc_ to children_, the best bound first, and returns
  // their number:
  //
  //   gain      = max over q of acc[q]
  //   belief[q] = acc[q] - gain
  //
  // for the states q of one symbol.  touched: the indices of the entries, 2 q, or 2 q + 1 if q
  // continues a segment.
  int make_children(int end, std::vector<std::int32_t>& touched) {
    // Sort by symbol: the states of one symbol are one belief.
    auto symbol_of = [&](std::int32_t k) {
      return reading_.label[label(k / 2)] < 0 ? kOutside : first_symbol(k / 2) + k % 2;
    };
    std::sort(touched.begin(), touched.end(), [&](std::int32_t a, std::int32_t b) {
      return std::pair(symbol_of(a), a) < std::pair(symbol_of(b), b);
    });
    const std::size_t first = children_.size();
    // States without a possible continuation are left out.
    for (std::size_t i = 0, j = 0; i < touched.size(); i = j) {
      const std::int32_t symbol = symbol_of(touched[i]);
      const std::size_t begin = entries_.size();
      double most = kMinusInfinity;
      for (; j < touched.size() && symbol_of(touched[j]) == symbol; ++j) {
        const double weight = acc_[touched[j]].value();
        acc_[touched[j]] = {};
        if (weight == kMinusInfinity || bound(end, touched[j] / 2) == kMinusInfinity) continue;
        entries_.push_back({touched[j] / 2, weight});
        most = std::max(most, weight);
      }
      if (most == kMinusInfinity) continue;
      for (std::size_t k = begin; k < entries_.size(); ++k) entries_[k].weight -= most;
      children_.push_back({node(end, symbol, begin), most});
    }
    std::stable_sort(children_.begin() + first, children_.end(),
                     [&](const Child& a, const Child& b) {
                       return a.gain + nodes_[a.node].bound > b.gain + nodes_[b.node].bound;
                     });
    return static_cast<int>(children_.size() - first);
  }

  // The node of the belief whose entries are entries_[begin ..].  If the same belief has a node
  // already, the entries are removed again.
  std::int32_t node(int end, std::int32_t symbol, std::size_t begin) {
    const auto id = static_cast<std::int32_t>(nodes_.size());
    nodes_.push_back({end, symbol, begin, entries_.size() - begin, 0.0, -1, 0, 0});
    const auto [known, added] = nodes_by_belief_.try_emplace(id, id);
    if (!added) {
      nodes_.pop_back();
      entries_.resize(begin);
      return known->second;
    }
    // ln sum over q of exp(belief[q] + bound[e, q])
    LogTotal total;
    for (std::size_t k = begin; k < entries_.size(); ++k)
      total.add(entries_[k].weight + bound(end, entries_[k].state));
    nodes_[id].bound = total.value();
    return id;
  }

  // The index of the first child of a part, whose node must have been expanded.  part: -1 for the
  // empty prefix.
  int first_child(std::int32_t part) const {
    return part < 0 ? 0 : nodes_[parts_[part].node].first_child;
  }
  // Computes the children of a node: sums the arcs from all states of a belief into the states
  // after one more token, separately for tokens that continue a segment and those that do not:
  //
  //   belief'[q] = ln sum over p of exp(belief[p] + transition[p, q] + token[e, q])
  void expand(std::int32_t id) {
    const int e = nodes_[id].end;
    std::vector<std::int32_t> touched;
    for (std::size_t k = nodes_[id].first; k < nodes_[id].first + nodes_[id].count; ++k) {
      const auto [p, weight] = entries_[k];
      for_arcs(p, [&, p = p, weight = weight](int q) {
        ++terms_;
        const double value = weight + walk_.transition(e, p, q) + token(e, q);
        if (value == kMinusInfinity) return;
        const bool goes_on = reading_.label[label(q)] >= 0 && joined(p, q);
        LogTotal& total = acc_[2 * q + (goes_on ? 1 : 0)];
        if (total.most == kMinusInfinity) touched.push_back(2 * q + (goes_on ? 1 : 0));
        total.add(value);
      });
    }
    const auto first = static_cast<std::int32_t>(children_.size());
    const int count = make_children(e + 1, touched);
    nodes_[id].first_child = first;
    nodes_[id].n_children = count;
  }
  // Pushes child number `choice` of a part onto the heap, if there is one.
  void push_child(std::int32_t part, int choice) {
    if (part >= 0 && nodes_[parts_[part].node].first_child < 0) expand(parts_[part].node);
    if (choice == (part < 0 ? n_roots_ : nodes_[parts_[part].node].n_children)) return;
    const Child& child = children_[first_child(part) + choice];
    const double value = part < 0 ? 0.0 : parts_[part].value;
    const Belief& next = nodes_[child.node];
    heap_.push({value + child.gain + next.bound, part, choice, next.end});
  }

  // Throws TooLarge if the search exceeds its limits, so that a search that would not finish is
  // refused within a second.
  void check_size() {
    if (++steps_ % 256 == 0) check_interrupt();
    constexpr std::int64_t kMostParts = 10'000'000;  // for any number of answers: about 300 MB
    const std::int64_t answers = std::min(static_cast<std::int64_t>(n_) * (g_.T + 1), kMostParts);
    const auto parts = static_cast<std::int64_t>(parts_.size());
    if (terms_ <= most_.most_terms && parts <= most_.most_parts + answers) return;
    const bool slow = terms_ > most_.most_terms;
    throw TooLarge(
        "n",
        "the search for the " + std::to_string(n_) + " best segmentations of " +
            std::to_string(g_.T) + " tokens passed its limit of " +
            (slow ? std::to_string(most_.most_terms) + " summed arcs between tags"
                  : std::to_string(most_.most_parts + answers) + " partial segmentations") +
            ", since each segmentation is spelled by several tag sequences and very many are "
            "nearly as probable as the best",
        "ask for fewer, or pass forbid_invalid='predict'");
  }

  // The segments of a complete part, from the symbols of its tokens, the last first.  An odd symbol
  // begins a segment, whose tokens after it have even symbols.
  std::vector<LabelledSegment> segments(std::int32_t part) const {
    std::vector<LabelledSegment> out;
    for (int end = -1; part >= 0; part = parts_[part].parent) {
      const Belief& node = nodes_[parts_[part].node];
      if (node.symbol == kOutside) continue;
      if (end < 0) end = node.end;
      if (node.symbol % 2 == 0) continue;  // it began at an earlier token
      out.push_back({node.end - 1, end, node.symbol / 2});
      end = -1;
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  // Only identical beliefs are equal.  Those with one state, such as after an outside token, always
  // are, since they are relative to their largest entry.
  struct Hash {
    const SpelledSearch* search;
    std::size_t operator()(std::int32_t id) const {
      const Belief& node = search->nodes_[id];
      std::uint64_t h = static_cast<std::uint64_t>(node.end) << 32 ^ node.symbol;
      for (std::size_t k = node.first; k < node.first + node.count; ++k) {
        const Entry& entry = search->entries_[k];
        std::uint64_t bits;
        std::memcpy(&bits, &entry.weight, sizeof bits);
        h = (h ^ bits ^ static_cast<std::uint64_t>(entry.state)) * 0x9e3779b97f4a7c15;
        h ^= h >> 29;
      }
      return static_cast<std::size_t>(h);
    }
  };
  struct Equal {
    const SpelledSearch* search;
    bool operator()(std::int32_t a, std::int32_t b) const {
      const Belief &x = search->nodes_[a], &y = search->nodes_[b];
      const Entry* entries = search->entries_.data();
      return x.end == y.end && x.symbol == y.symbol && x.count == y.count &&
             std::equal(entries + x.first, entries + x.first + x.count, entries + y.first,
                        [](const Entry& i, const Entry& j) {
                          return i.state == j.state && i.weight == j.weight;
                        });
    }
  };

  const Lattice& g_;
  const Automaton& automaton_;
  const Walk& walk_;
  const Reading& reading_;
  const int n_;
  const SpelledLimits most_;
  const int n_symbols_;
  std::vector<LogTotal> acc_;  // [Q][2] entries of the beliefs that are being computed
  std::vector<double> bounds_, tokens_;
  std::vector<Belief> nodes_;
  std::vector<Entry> entries_;
  std::vector<Child> children_;
  std::vector<Part> parts_;
  std::priority_queue<Candidate> heap_;
  std::unordered_map<std::int32_t, std::int32_t, Hash, Equal> nodes_by_belief_;
  std::int64_t terms_ = 0, steps_ = 0;
  int n_roots_ = 0;
};

// The search on the prepared lattice.  Limits that its automaton does not track are ignored.
std::vector<Answer> plain_n_best_spelled(const Problem& problem, Method method, Workspace& work,
                                         const Reading& reading, int n, const SpelledLimits& most) {
  const Lattice& g = problem.lattice(method);
  work.clear();
  Tables tables = tables_in(g, work.doubles(tables_size(g)));
  if (kernels().log_partition(g, work, &tables, nullptr) == kMinusInfinity) return {};
  const Walk walk(problem, g, tables);
  return SpelledSearch(problem, g, walk, reading, n, most).run();
}

// The symbols of the rules, one for each segment and one for each outside token.
std::vector<std::int32_t> symbols_of(const std::vector<LabelledSegment>& segments,
                                     const Reading& reading, const ProblemInput& in) {
  const auto outside = std::find(reading.label.begin(), reading.label.end(), -1);
  std::vector<std::int32_t> symbols;
  int at = 0;
  auto add_outside = [&](int end) {
    if (outside == reading.label.end()) return;
    const int tag = static_cast<int>(outside - reading.label.begin());
    for (; at < end; ++at) symbols.push_back(in.rules.symbol_of(tag));
  };
  for (const LabelledSegment& segment : segments) {
    add_outside(segment.start);
    symbols.push_back(in.rules.symbol_of(reading.states[segment.label][0]));
    at = segment.end;
  }
  add_outside(in.T);
  return symbols;
}

// Whether the rules are about the segments of the reading, so that either all tag sequences of a
// segmentation satisfy them or none does.
bool read_alike(const RuleSet& rules, const Reading& reading) {
  if (rules.joined != reading.joined) return false;
  for (const auto& tags : reading.states) {
    for (const std::int32_t tag : tags) {
      if (rules.symbol_of(tag) != rules.symbol_of(tags[0])) return false;
    }
  }
  return std::count(reading.label.begin(), reading.label.end(), -1) <= 1;
}

}  // namespace

std::vector<Answer> n_best_spelled(const Problem& problem, Method method, Workspace& work,
                                   const Reading& reading, int n, const SpelledLimits& most) {
  check_scores(problem);
  const ProblemInput& in = problem.input();
  if (in.T == 0) {
    if (!in.rules.kept_by({}, in.Y)) return {};
    return {{true, 0.0, {}}};
  }
  if (in.rules.limits() == 0) return plain_n_best_spelled(problem, method, work, reading, n, most);
  if (!read_alike(in.rules, reading)) {
    const auto all = problem.tracking(std::vector<std::uint8_t>(in.rules.symbols(in.Y), 1));
    all->prepare(method);
    return plain_n_best_spelled(*all, method, work, reading, n, most);
  }
  std::vector<Answer> answers;
  RuleSet of_symbols = in.rules;  // the rules on the result of symbols_of
  of_symbols.symbol.clear();
  of_symbols.joined.clear();
  auto solve = [&](std::unique_ptr<Problem> relaxed, std::vector<int>& breaks) {
    answers = plain_n_best_spelled(*relaxed, method, work, reading, n, most);
    for (const Answer& answer : answers) {
      const auto symbols = symbols_of(answer.segments, reading, in);
      for (const std::int32_t k : of_symbols.broken_by(symbols, in.rules.symbols(in.Y)))
        ++breaks[k];
    }
  };
  if (!relax_limits(problem, method, std::min(in.rules.limits(), kMostTracked), true, solve)) {
    throw TooLarge("constrain",
                   "the best segmentations break more than " + std::to_string(kMostTracked) +
                       " limits to one occurrence, and the sets of labels that can have occurred "
                       "are too many to track",
                   "limit fewer labels");
  }
  return answers;
}

}  // namespace caesura
