// Tables and counts of the sweeps over a span graph; the caller owns all memory.
#pragma once

#include "base/workspace.hpp"
#include "lattice/span_graph.hpp"

namespace caesura {

// Values of a forward sweep.  Rows of stop j, and of gates whose window ends with stop j, are
// relative to base(j), so that no digits are lost on long inputs.  Bases have high and low parts.
struct GraphTables {
  int stride = 0;
  double* value = nullptr;         // [n] paths that end with a span, relative to its stop
  double* inside = nullptr;        // [n] the same without its score, relative to its gate's window
  double* ended = nullptr;         // [K + 1][stride] spans that end at a stop, by label
  double* front = nullptr;         // [K + 1][stride] see WindowSums in graph_sweep.cpp
  double* rear = nullptr;          // [K + 1][stride]
  double* window = nullptr;        // [S + 1][stride] spans that may come before a gate, by label
  double* begun = nullptr;         // [S + 1][stride] spans that start at a gate, by label
  double* base_high = nullptr;     // [K + 1]
  double* base_low = nullptr;      // [K + 1]
  std::int32_t* middle = nullptr;  // [S + 1] the state of WindowSums at a gate
  std::int32_t* summed = nullptr;  // [S + 1]

  // base(from) - base(to)
  [[gnu::always_inline]] double offset(int from, int to) const {
    return (base_high[from] - base_high[to]) + (base_low[from] - base_low[to]);
  }
};

// Operation counts of a sweep, for the tests of its cost.
struct GraphTally {
  std::int64_t spans = 0;  // spans summed into a stop
  std::int64_t arcs = 0;   // predecessors listed for spans whose arcs have scores
  std::int64_t rows = 0;   // rows of labels added for the windows
  std::int64_t steps = 0;  // steps over the transitions, Y^2 each
};

// Expected counts, zeroed by the caller.
struct GraphCounts {
  double* spans = nullptr;        // [n] by place in the input
  double* arcs = nullptr;         // [arcs] by place in the input
  double* transitions = nullptr;  // [Y][Y]
  double* starts = nullptr;       // [Y]
  double* ends = nullptr;         // [Y]
  double entropy = 0.0;
  bool want_entropy = false;
};

}  // namespace caesura
