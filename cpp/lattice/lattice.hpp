// What the kernels read and write: plain views of memory that the caller owns.
//
//   Potentials (Python) --> Problem --> Lattice --> sweep --> Tables, Back, Counts
//
// T tokens have T + 1 boundaries 0..T; a segment [s, e) joins boundary s to boundary e.  A state q
// of the label-history automaton represents the labels so far and therefore has a last label.
// States are sorted by last label, and labels by their longest segment: unbounded labels first,
// then in decreasing order.  The states that allow a segment of length k thus form a single range.
#pragma once

#include <cstdint>
#include <limits>

namespace caesura {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

enum PotentialFlags : std::uint8_t { kOpenStart = 1, kOpenEnd = 2 };
enum BoundaryMarks : std::uint8_t { kForced = 1, kBarred = 2 };

// Whether a potential with the core span [start, end) applies to the segment [a, b): a closed side
// must coincide with the end of the segment, an open side may lie inside it.  The kernels have no
// other definition.  The sweeps do not evaluate it: they sort potentials by their flags and add
// each to the rows of exactly those segments for which it holds (see lattice/rows.hpp and
// learn/live_starts.hpp).  Always inlined, for the same reason as Total below.
[[gnu::always_inline]] inline bool applies(int start, int end, std::uint8_t flags, int a, int b) {
  return (a == start || ((flags & kOpenStart) != 0 && a <= start)) &&
         (b == end || ((flags & kOpenEnd) != 0 && b >= end));
}

// A log-potential with the core span [start, end), for the segments for which applies() holds.
struct Potential {
  std::int32_t start, end;
  std::int32_t target;  // a label y, or Y + h for history h
  std::uint8_t flags;
  std::int32_t id;  // index of its expected count
  double score;
};

// A log-potential at one inner boundary.  previous and label are ranks (see Lattice::order), but
// labels in a ProblemInput.
struct Edge {
  std::int32_t position, previous, label;
  std::int32_t id;
  double score;
};

// The states of the target of a potential: list[begin .. end), or the states begin .. end - 1 if
// `list` is null.
struct Target {
  std::int32_t begin, end;
  const std::int32_t* list;
};

struct Lattice {
  int T = 0, Y = 0, Q = 0;
  int stride = 0;        // doubles in a row of states, a multiple of 8, at least Q
  int label_stride = 0;  // the same for a row of labels

  // Scores by label.
  const double* emission = nullptr;       // [T][Y]
  const std::uint8_t* allowed = nullptr;  // [T][Y], or null
  const double* transition = nullptr;     // [Y][Y], previous label first
  const double* start = nullptr;          // [Y]
  const double* end = nullptr;            // [Y]
  const double* spans = nullptr;          // [T][span_length][Y], or null
  int span_length = 0;
  const std::uint8_t* boundary = nullptr;  // [T + 1] BoundaryMarks
  bool same_label_adjacent = true;

  // Labels and states.  Rank r is the place of label order[r] among the labels.
  bool plain_order = true;                    // order[r] == r and Q == Y: rows need no permutation
  const std::int32_t* order = nullptr;        // [Y] rank -> label
  const std::int32_t* rank = nullptr;         // [Q] state -> rank
  const std::int32_t* first = nullptr;        // [Y + 1] rank -> its first state
  const std::int32_t* start_state = nullptr;  // [Y] rank -> state after a first segment, or -1
  const std::uint8_t* accepting = nullptr;    // [Q]
  const double* entry = nullptr;              // [Q] score of entering a state, or null
  const Target* targets = nullptr;            // [Y + histories]

  // Arcs by target state; null for a first-order model (all pairs of labels).
  const std::int32_t* in_ptr = nullptr;    // [Q + 1]
  const std::int32_t* in_state = nullptr;  // [arcs]

  // Windows.  States [0, unbounded) use the open term; the others sum over all their starts.
  int unbounded = 0;
  int longest = 0;                        // longest segment of the directly summed states
  const std::int32_t* fitting = nullptr;  // [longest + 1] end of the states that allow length k
  const std::int32_t* reach = nullptr;    // [T + 1] A(e), see reach.hpp
  const std::int32_t* fence = nullptr;    // [T + 1] last forced boundary before e, or 0

  // Potentials, sorted by end and then by start, later starts first.
  const Potential* potentials = nullptr;
  const std::int32_t* by_end = nullptr;    // [T + 2]
  const std::uint8_t* closes = nullptr;    // [T + 1] some scores count only for segments to e
  const std::int32_t* starting = nullptr;  // potentials sorted by start and then by end
  const std::int32_t* by_start = nullptr;  // [T + 1]
  const Edge* edges = nullptr;
  const std::int32_t* by_position = nullptr;  // [T + 2]
  int n_potentials = 0;
};

// The rows of a forward pass, kept for the backward pass.  Row t is relative to base(t) =
// increment[1] + ... + increment[t], so that no precision is lost on long inputs.
struct Tables {
  double* alpha = nullptr;      // [T + 1][stride] segments that end at t
  double* hat = nullptr;        // [T + 1][stride] segments that start at t
  double* open = nullptr;       // [T + 1][stride] segments begun by A(t) that continue beyond t
  double* increment = nullptr;  // [T + 1]
};

// Back-pointers of the best segmentation.
struct Back {
  std::int32_t* start = nullptr;     // [T + 1][stride] start of the best segment that ends at t
  std::int32_t* previous = nullptr;  // [T + 1][stride] best previous state of a segment from t
};

// Expected counts.  spans, entered, closed and begun may be null if they are not needed.  The
// caller zeroes the arrays.
struct Counts {
  double* tokens = nullptr;       // [T][Y]
  double* boundaries = nullptr;   // [T + 1]
  double* transitions = nullptr;  // [Y][Y]
  double* starts = nullptr;       // [Y]
  double* ends = nullptr;         // [Y]
  double* spans = nullptr;        // [T][span_length][Y]
  double* potentials = nullptr;   // [by id]
  double* edges = nullptr;        // [by id]
  double* entered = nullptr;      // [Q] segments in state q
  double* closed = nullptr;       // [T + 1][stride] probability that a segment in q ends at t
  double* begun = nullptr;        // [T + 1][stride] probability that a segment in q starts at t
  double entropy = 0.0;
  bool want_entropy = false;
};

// A compensated sum.  Always inlined: the linker might otherwise keep a copy that was compiled for
// an instruction set that the machine lacks.
struct Total {
  double high = 0.0, low = 0.0;
  [[gnu::always_inline]] void add(double x) {
    const double sum = high + x;
    const double part = sum - high;
    low += (high - (sum - part)) + (x - part);
    high = sum;
  }
  [[gnu::always_inline]] double value() const { return high + low; }
};

// Operation counts of a sweep, for the tests of its cost.
struct Tally {
  std::int64_t terms = 0;       // rows summed into alpha, over all boundaries
  std::int64_t most_terms = 0;  // largest number at one boundary
  std::int64_t touched = 0;     // potentials read
};

}  // namespace caesura
