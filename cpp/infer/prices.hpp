// Prices on the occurrences of limited labels: the Lagrangian relaxation of limited.hpp, step 3.
#pragma once

#include <cstdint>
#include <vector>

#include "infer/answers.hpp"

namespace caesura {

// The lattice of a problem with a price on each occurrence of some symbols.
class Priced {
 public:
  // bit: [symbols] the index of the price of a symbol, or -1 if it has none.
  Priced(const Problem& problem, Method method, const std::vector<int>& bit, int n_bits)
      : rules(problem.input().rules),
        g(problem.lattice(method)),
        price(n_bits, 0.0),
        problem_(problem),
        bit_(bit),
        memory_(tables_size(g)),
        back_start_(table_size(g)),
        back_previous_(table_size(g)) {
    tables = tables_in(g, memory_.data());
    set_prices();
  }

  const RuleSet& rules;
  Lattice g;
  std::vector<double> price;  // [bits]
  Tables tables;

  // The bit of the symbol that label y begins after label `previous`, which is -1 at the start; or
  // -1 if there is none.
  int bit(int previous, int y) const {
    return rules.begins(previous, y, g.Y) ? bit_[rules.symbol_of(y)] : -1;
  }

  // The bit of the symbol that is used by going from a node back to one of its terms, or -1.  If
  // every label begins a segment, the symbol is counted at the end of the segment.
  int bit(const Node& node, const Node& from) const {
    auto label = [&](const Node& one) { return g.order[g.rank[one.state]]; };
    if (rules.joined.empty()) return from.kind == NodeKind::kClosed ? bit(-1, label(from)) : -1;
    if (node.kind == NodeKind::kBegun) return bit(label(from), label(node));
    return at_start(from) ? bit(-1, label(from)) : -1;
  }

  // Subtracts from transitions and starts the prices of the symbols that they begin.
  void set_prices() {
    const ProblemInput& in = problem_.input();
    transition_.assign(in.transition, in.transition + static_cast<std::ptrdiff_t>(g.Y) * g.Y);
    start_.assign(in.start, in.start + g.Y);
    for (int y = 0; y < g.Y; ++y) {
      if (const int b = bit(-1, y); b >= 0) start_[y] -= price[b];
      for (int x = 0; x < g.Y; ++x) {
        const int b = bit(x, y);
        if (b < 0) continue;
        // A symbol that may occur once cannot follow itself.
        double& score = transition_[x * g.Y + y];
        score = rules.symbol_of(x) == rules.symbol_of(y) ? kMinusInfinity : score - price[b];
      }
    }
    g.transition = transition_.data();
    g.start = start_.data();
  }

  // Finds the best segmentation at the current prices, and its score less the prices,
  //
  //   max over x of score(x) - sum over y of lambda_y n_y(x)
  //
  // by the general sweep over the priced transitions.  Returns false if no segmentation is
  // possible.
  bool sweep(std::vector<LabelledSegment>& segments, double* score) {
    Back back{back_start_.data(), back_previous_.data()};
    int state = 0;
    work_.clear();
    *score = kernels().best(g, work_, &tables, back, &state, nullptr);
    if (*score == kMinusInfinity) return false;
    segments = trace(g, back, state);
    return true;
  }

 private:
  const Problem& problem_;
  const std::vector<int>& bit_;
  std::vector<double> memory_, transition_, start_;
  std::vector<std::int32_t> back_start_, back_previous_;
  Workspace work_;
};

// Lowers the upper bound U(lambda) by subgradient steps.  Afterwards, the tables of `priced` are
// those of the best prices found.  limit: [bits] Limit.  Returns false if no segmentation is
// possible, even without limits.
bool lower_prices(const Problem& problem, Priced& priced, const std::vector<std::uint8_t>& limit,
                  int most_steps);

}  // namespace caesura
