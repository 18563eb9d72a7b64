// Samples and the n best paths of anything whose sums can be listed term by term.
//
// A forward sweep writes each of its values as a plus of terms, so its values are the nodes of an
// acyclic graph, and a path from the final node back to the start is one answer.  A walker lists
// the terms of a node; lattice (walk.hpp) and span graph (graph_walk.hpp) each have one:
//
//   Node final() const                              where every path begins
//   bool is_start(const Node&) const                whether a path is complete
//   void terms(const Node&, vector<Term>&) const    the terms, impossible ones left out
//   uint64_t key(const Node&) const                 different for different nodes
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <unordered_map>
#include <vector>

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

// A small generator of random numbers, the same on every machine (xoshiro256**).
class Random {
 public:
  explicit Random(std::uint64_t seed);
  double uniform();  // [0, 1)

 private:
  std::uint64_t next();
  std::uint64_t state_[4];
};

// A path drawn from the distribution: at each node a term with the probability exp(term - sum).
// The walker lists the tables of a LogSum sweep.
template <class Walker>
std::vector<Node> sample_path(const Walker& walk, Random& random) {
  std::vector<Node> path{walk.final()};
  std::vector<Term> terms;
  std::vector<double> weights;
  while (!walk.is_start(path.back())) {
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
    // Rounding may run past the last possible term.
    while (chosen > 0 && weights[chosen] == 0.0) --chosen;
    path.push_back(terms[chosen].from);
  }
  return path;
}

// At most n different paths, best first.  The walker lists the tables of a Maximum sweep.
//
// Each path but the best deviates from an earlier one at some node, and follows the best terms from
// there on; what it loses is the sum of what its deviations lose.  So candidates are taken from a
// heap by their loss, each gives one whole path, and its own deviations are put on the heap.
template <class Walker>
std::vector<std::vector<Node>> n_best_paths(const Walker& walk, int n) {
  struct Candidate {
    double loss;
    std::int32_t parent;  // path deviated from, -1 for none
    std::int32_t place;   // node of that path
    std::int32_t choice;  // rank of the term taken there
  };
  auto worse = [](const Candidate& a, const Candidate& b) { return a.loss > b.loss; };
  std::priority_queue<Candidate, std::vector<Candidate>, decltype(worse)> heap(worse);

  // Terms of a node, best first, made once.
  std::unordered_map<std::uint64_t, std::vector<Term>> known;
  auto sorted_terms = [&](const Node& node) -> const std::vector<Term>& {
    auto [found, added] = known.try_emplace(walk.key(node));
    if (added) {
      walk.terms(node, found->second);
      std::stable_sort(found->second.begin(), found->second.end(),
                       [](const Term& a, const Term& b) { return a.value > b.value; });
    }
    return found->second;
  };

  std::vector<std::vector<Node>> paths;
  const Node final = walk.final();
  if (!sorted_terms(final).empty()) heap.push({0.0, -1, 0, 0});
  while (!heap.empty() && static_cast<int>(paths.size()) < n) {
    const Candidate taken = heap.top();
    heap.pop();
    std::vector<Node> path;
    if (taken.parent < 0) {
      path.push_back(final);
    } else {
      const auto& parent = paths[taken.parent];
      path.assign(parent.begin(), parent.begin() + taken.place + 1);
    }
    const int number = static_cast<int>(paths.size());
    int choice = taken.choice;
    while (!walk.is_start(path.back())) {
      const std::vector<Term>& terms = sorted_terms(path.back());
      if (choice + 1 < static_cast<int>(terms.size())) {
        const double loss = terms[choice].value - terms[choice + 1].value;
        heap.push(
            {taken.loss + loss, number, static_cast<std::int32_t>(path.size()) - 1, choice + 1});
      }
      path.push_back(terms[choice].from);
      choice = 0;
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace caesura
