// Samples and the n best paths of any sweep whose sums can be listed term by term.
//
// Each value of a forward sweep is the plus of its terms, so the values are the nodes of an acyclic
// graph, and a path from the final node back to the start is one answer.  A walker lists the terms
// of a node; see Walk (walk.hpp), GraphWalk (graph_answers.hpp) and learn/rows_walk.hpp:
//
//   Node final() const                              the node at which every path begins
//   bool is_start(const Node&) const                whether a path is complete
//   void terms(const Node&, vector<Term>&) const    the terms, without impossible ones
//   uint64_t key(const Node&) const                 different for different nodes
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/interrupt.hpp"
#include "lattice/lattice.hpp"

namespace caesura {

enum class NodeKind : std::uint8_t { kFinal, kClosed, kOpen, kBegun, kSpan, kStart };

struct Node {
  NodeKind kind;
  std::int32_t at;     // a boundary, a place in a list of boundaries, or a span
  std::int32_t state;  // a state or a label
};

struct Term {
  Node from;
  double value;  // log weight, comparable among the terms of one node
};

// A small random number generator (xoshiro256**), which gives the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  double uniform();  // [0, 1)
  std::uint64_t next();

 private:
  std::uint64_t state_[4];
};

// Draws a path from the distribution: at each node, a term with the probability exp(term - sum).
// The walker must list the tables of a LogSum sweep.
template <class Walker>
std::vector<Node> sample_path(const Walker& walk, Random& random) {
  std::vector<Node> path{walk.final()};
  std::vector<Term> terms;
  std::vector<double> weights;
  while (!walk.is_start(path.back())) {
    if (path.size() % 16 == 0) check_interrupt();
    walk.terms(path.back(), terms);
    double most = kMinusInfinity, total = 0.0;
    for (const Term& term : terms) most = std::max(most, term.value);
    weights.clear();
    for (const Term& term : terms) {
      weights.push_back(std::exp(term.value - most));
      total += weights.back();
    }
    double left = random.uniform() * total;
    std::size_t chosen = 0;
    while (chosen + 1 < terms.size() && (weights[chosen] == 0.0 || left >= weights[chosen])) {
      left -= weights[chosen++];
    }
    // Rounding may run past the last term with a positive weight.
    while (chosen > 0 && weights[chosen] == 0.0) --chosen;
    path.push_back(terms[chosen].from);
  }
  return path;
}

// A way to a node is a path to it from the start.  Its last step is `term`, and before that it is
// the way number `rank` (from 0, best first) to the node that the term comes from.
struct Way {
  double loss;
  std::int32_t term, rank;
};

// The ways to one node, as far as they have been found.
struct Ways {
  Node node{};
  std::vector<Term> terms;
  std::vector<Ways*> before;     // [terms] ways to the node of each term; null until looked up
  double most = kMinusInfinity;  // largest value of a term
  std::vector<Way> found;        // best first
  std::vector<Way> heap;         // the next way through each term
  bool advanced = true;          // the successor of found.back() is in the heap
  bool exhausted = false;        // `found` is complete

  void clear() {
    terms.clear();
    before.clear();
    found.clear();
    heap.clear();
    most = kMinusInfinity;
    advanced = true;
    exhausted = false;
  }
};

// The ways to all nodes visited so far, by their keys.  The next enumeration reuses the memory,
// because allocating it would take most of the time for short sequences.
class EnumerationMemory {
 public:
  void clear() {
    if (n_used_ > kMostKept) *this = EnumerationMemory();
    std::fill(slots_.begin(), slots_.end(), Slot{});
    n_used_ = 0;
  }
  // The ways to one node; *added says whether it is visited for the first time.  References remain
  // valid until clear().
  Ways& at(std::uint64_t key, bool* added) {
    if (2 * (n_used_ + 1) > slots_.size()) grow();
    const std::size_t at = find(key);
    *added = slots_[at].place == kNone;
    if (!*added) return ways_[slots_[at].place];
    if (n_used_ == ways_.size()) ways_.emplace_back();
    slots_[at] = {key, static_cast<std::int64_t>(n_used_)};
    ways_[n_used_].clear();
    return ways_[n_used_++];
  }
  std::vector<Ways*> stack;
  std::vector<Node> path;

 private:
  static constexpr std::int64_t kNone = -1;
  static constexpr std::size_t kMostKept = 4096;  // nodes whose memory is kept
  struct Slot {
    std::uint64_t key = 0;
    std::int64_t place = kNone;
  };
  std::size_t find(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = key * 0x9e3779b97f4a7c15 >> 32 & mask;
    while (slots_[at].place != kNone && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(256, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.place != kNone) slots_[find(slot.key)] = slot;
    }
  }
  std::vector<Slot> slots_;  // a hash table whose size is a power of two
  std::deque<Ways> ways_;
  std::size_t n_used_ = 0;
};

// The n best paths, by the recursive enumeration of Jimenez and Marzal (1999).  The walker must
// list the tables of a Maximum sweep.
//
//   loss(v, k) = k-th smallest (from 0) of  most(v) - value(term)  +  loss(from(term), rank)
//
// over the terms of node v and the ranks of the ways to the nodes that they come from.  Ways are
// found on demand: the best way through each term has rank 0 and loss(from(term), 0) = 0, and after
// way k to a node, the only new candidate is the next way through the term of way k.  Ways are
// shared between paths, because each is a term and a rank.
//
// order(enumeration, node, ways, a, b) returns whether way a comes after way b of equal loss.
template <class Walker, class Order>
class Enumeration {
 public:
  // most: the largest number of paths that will be requested.
  Enumeration(const Walker& walk, Order order, EnumerationMemory& memory, int most)
      : walk_(walk), order_(order), memory_(memory), most_(most) {
    memory_.clear();
  }

  // Finds the next way to the final node.  Returns false if there is none.
  bool extend() {
    Ways& last = ways(final_);
    const std::size_t before = last.found.size();
    extend(last);
    return last.found.size() > before;
  }

  // The last path that was found, from the final node to the start.
  const std::vector<Node>& last() {
    std::vector<Node>& path = memory_.path;
    path.assign(1, final_);
    Ways* all = &ways(final_);
    for (Way way = all->found.back();;) {
      path.push_back(all->terms[way.term].from);
      if (walk_.is_start(path.back())) return path;
      all = &before(*all, way.term);
      way = found(*all, way.rank);
    }
  }

  // The ways to a node.  On the first call, its terms are listed.
  Ways& ways(const Node& node) {
    bool added;
    Ways& made = memory_.at(walk_.key(node), &added);
    if (!added) return made;
    if (++n_listed_ % 16 == 0) check_interrupt();  // it reads a clock
    made.node = node;
    walk_.terms(node, made.terms);
    made.before.assign(made.terms.size(), nullptr);
    for (const Term& term : made.terms) made.most = std::max(made.most, term.value);
    fill_heap(made);
    return made;
  }

  // The way of this rank to a node.  It must have been found already unless the rank is 0.
  Way found(const Node& node, std::int32_t rank) { return found(ways(node), rank); }

 private:
  const Walker& walk_;
  Order order_;
  const Node final_ = walk_.final();
  EnumerationMemory& memory_;
  const int most_;
  int n_listed_ = 0;  // nodes whose terms have been listed

  // The ways to the node that a term comes from.  Every path needs about a hundred of these, so the
  // result of the look-up is kept.
  Ways& before(Ways& all, std::int32_t term) {
    Ways*& made = all.before[term];
    if (made == nullptr) made = &ways(all.terms[term].from);
    return *made;
  }

  Way found(Ways& all, std::int32_t rank) {
    if (all.found.empty()) take(all);
    return all.found[rank];
  }

  // Fills the heap with the best way through each term.  The first `most` ways to the node use only
  // the `most` best terms, so that if `most` is small only these are kept, in sorted order, which
  // is a heap.
  void fill_heap(Ways& made) {
    constexpr std::size_t kFew = 32;
    const auto later = Later{*this, made};
    const bool few = most_ < static_cast<int>(std::min(made.terms.size(), kFew));
    for (std::size_t i = 0; i < made.terms.size(); ++i) {
      const Way way{made.most - made.terms[i].value, static_cast<std::int32_t>(i), 0};
      if (few && made.heap.size() == static_cast<std::size_t>(most_)) {
        if (way.loss > made.heap.back().loss || later(way, made.heap.back())) continue;
        made.heap.pop_back();
      }
      made.heap.push_back(way);
      for (std::size_t k = made.heap.size() - 1;
           few && k > 0 && later(made.heap[k - 1], made.heap[k]); --k)
        std::swap(made.heap[k - 1], made.heap[k]);
    }
    if (!few) std::make_heap(made.heap.begin(), made.heap.end(), later);
  }

  // Moves the best way of the heap to `found`.
  void take(Ways& all) {
    all.exhausted = all.heap.empty();
    if (all.exhausted) return;
    std::pop_heap(all.heap.begin(), all.heap.end(), Later{*this, all});
    all.found.push_back(all.heap.back());
    all.heap.pop_back();
    all.advanced = false;
  }

  // Finds the next way to a node.  This may need the next way to the node that the last way came
  // from, and so on: a stack is used in place of recursion, which would be as deep as the sequence
  // is long.
  void extend(Ways& goal) {
    std::vector<Ways*>& stack = memory_.stack;
    stack.assign(1, &goal);
    while (!stack.empty()) {
      Ways& all = *stack.back();
      if (!all.advanced && !advance(all)) continue;
      take(all);
      stack.pop_back();
    }
  }

  // Pushes the next way through the term of the last one onto the heap, with
  //
  //   loss = most(v) - value(term) + loss(from(term), rank + 1)
  //
  // Returns false if that way to the node from(term) has not been found yet; the node was pushed
  // onto the stack then.
  bool advance(Ways& all) {
    const Way last = all.found.back();
    const Term& term = all.terms[last.term];
    all.advanced = true;
    if (walk_.is_start(term.from)) return true;
    Ways& source = before(all, last.term);
    if (source.found.empty()) take(source);
    const std::int32_t rank = last.rank + 1;
    if (static_cast<std::int32_t>(source.found.size()) <= rank) {
      if (source.exhausted) return true;
      all.advanced = false;
      memory_.stack.push_back(&source);
      return false;
    }
    all.heap.push_back({all.most - term.value + source.found[rank].loss, last.term, rank});
    std::push_heap(all.heap.begin(), all.heap.end(), Later{*this, all});
    return true;
  }

  // The order of the heaps: the way on top comes first.
  struct Later {
    Enumeration& self;
    const Ways& all;
    bool operator()(const Way& a, const Way& b) const {
      return a.loss != b.loss ? a.loss > b.loss : self.order_(self, all.node, all, a, b);
    }
  };
};

// Orders ways of equal loss by their terms.
struct ByTerm {
  template <class Every>
  bool operator()(Every&, const Node&, const Ways&, const Way& a, const Way& b) const {
    return a.term != b.term ? a.term > b.term : a.rank > b.rank;
  }
};

}  // namespace caesura
