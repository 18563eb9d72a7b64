// Rows of states, and the potentials that are active in them.  The forward and the backward pass
// share this code.
#pragma once

#include "base/vector.hpp"
#include "base/workspace.hpp"
#include "lattice/lattice.hpp"

namespace caesura::CAESURA_ISA {

inline void fill(double* row, int n, double x) {
  for (int q = 0; q < n; q += W) store(row + q, splat(x));
}

inline void copy(double* to, const double* from, int n) {
  for (int q = 0; q < n; q += W) store(to + q, load(from + q));
}

// row[q] += x for every state q of a target.
inline void add_to(double* row, const Target& z, double x) {
  if (z.list != nullptr) {
    for (int i = z.begin; i < z.end; ++i) row[z.list[i]] += x;
  } else {
    for (int q = z.begin; q < z.end; ++q) row[q] += x;
  }
}

inline double sum_over(const double* row, const Target& z) {
  double total = 0.0;
  if (z.list != nullptr) {
    for (int i = z.begin; i < z.end; ++i) total += row[z.list[i]];
  } else {
    for (int q = z.begin; q < z.end; ++q) total += row[q];
  }
  return total;
}

// Writes the emission scores of token t to a row of states.
inline void emission_row(const Lattice& g, int t, double* row) {
  const double* scores = g.emission + static_cast<std::ptrdiff_t>(t) * g.Y;
  if (g.plain_order) {
    std::memcpy(row, scores, sizeof(double) * g.Y);
  } else {
    for (int r = 0; r < g.Y; ++r) {
      for (int q = g.first[r]; q < g.first[r + 1]; ++q) row[q] = scores[g.order[r]];
    }
  }
  if (g.allowed == nullptr) return;
  const std::uint8_t* allowed = g.allowed + static_cast<std::ptrdiff_t>(t) * g.Y;
  for (int r = 0; r < g.Y; ++r) {
    if (allowed[g.order[r]]) continue;
    for (int q = g.first[r]; q < g.first[r + 1]; ++q) row[q] = kMinusInfinity;
  }
}

// out = row + spans of the segment [s, e).
inline void add_spans(const Lattice& g, int s, int e, const double* row, double* out) {
  const double* scores =
      g.spans + (static_cast<std::ptrdiff_t>(s) * g.span_length + (e - s - 1)) * g.Y;
  // The start s is read again at the next boundary, one row further (or back), which the hardware
  // prefetcher does not predict.
  for (int y = -g.Y; y < 2 * g.Y; y += 8) __builtin_prefetch(scores + y);
  if (g.plain_order) {
    int q = 0;
    for (; q + W <= g.Y; q += W) store(out + q, load(row + q) + load(scores + q));
    if (q < g.Y) store(out + q, load(row + q) + load_part(scores + q, g.Y - q, 0.0));
    return;
  }
  for (int r = 0; r < g.Y; ++r) {
    for (int q = g.first[r]; q < g.first[r + 1]; ++q) out[q] = row[q] + scores[g.order[r]];
  }
}

// The states [begin, end).
struct Range {
  int begin, end;
};
// The states that sum over the segment [s, e) directly: the unbounded ones if s >= first_open, and
// the bounded ones that allow its length if s >= first_direct.
inline Range range_of(const Lattice& g, int s, int e, int first_open, int first_direct) {
  const int begin = s >= first_open ? 0 : g.unbounded;
  const int end = s >= first_direct && e - s <= g.longest ? g.fitting[e - s] : g.unbounded;
  return {begin, end};
}

// The starts that are summed directly at boundary e: those from `open` on for the unbounded states,
// from `direct` on for the bounded ones.  low is the smaller of the two.
struct Window {
  int open, direct, low;
};
inline Window window_of(const Lattice& g, int e) {
  const int fence = g.fence[e];
  int open = g.reach[e - 1] + 1;
  int direct = e - g.longest;
  if (g.unbounded == 0) open = e;
  if (g.unbounded == g.Q) direct = e;
  open = open < fence ? fence : open;
  direct = direct < fence ? fence : direct;
  return {open, direct, open < direct ? open : direct};
}

// The cases that a sweep distinguishes at boundary e.
struct Boundary {
  Window window;
  bool open;    // some states are unbounded
  bool forced;  // no segment crosses e
  bool same;    // O[e] = alpha[e]: A(e) = e - 1, and no score counts only for segments to e
  bool enters;  // the starts from window.open to A(e) enter the open row
  int reach;    // A(e)
};
inline Boundary boundary_of(const Lattice& g, int e) {
  Boundary at;
  at.window = window_of(g, e);
  at.open = g.unbounded > 0;
  at.forced = (g.boundary[e] & kForced) != 0;
  at.reach = g.reach[e];
  at.same = at.open && !at.forced && !g.closes[e] && at.reach == e - 1;
  at.enters = at.open && !at.forced && !at.same && at.reach >= at.window.open;
  return at;
}

// a'[e]: the score that an open segment gains at e if it continues.
inline void step_row(const Lattice& g, int e, double* row) {
  fill(row, g.stride, 0.0);
  emission_row(g, e - 1, row);
  for (int i = g.by_end[e]; i < g.by_end[e + 1]; ++i) {
    const Potential& p = g.potentials[i];
    if (p.flags == (kOpenStart | kOpenEnd)) add_to(row, g.targets[p.target], p.score);
  }
}
// Adds the scores that it gains only if it ends at e, which turns a'[e] into a[e].
inline void close_step_row(const Lattice& g, int e, double* row) {
  for (int i = g.by_end[e]; i < g.by_end[e + 1]; ++i) {
    const Potential& p = g.potentials[i];
    if (p.flags == kOpenStart) add_to(row, g.targets[p.target], p.score);
  }
}

// The number of rows in a ring: the largest number of live starts, rounded up to a power of two.
inline int ring_size(const Lattice& g) {
  int widest = 1;
  for (int e = 1; e <= g.T; ++e) {
    const int width = e - window_of(g, e).low + 1;
    widest = width > widest ? width : widest;
  }
  int size = 2;
  while (size < widest) size *= 2;
  return size;
}

// For each live start a, the sums over the potentials with an open end whose core starts at a and
// ends at or before the current boundary:
//   shared[a]  those that also apply to earlier starts (open start; the emission of token a is one)
//   own[a]     those that apply to the start a alone (closed start)
// The flags alone determine the row of a potential: it is added when the boundary reaches the end
// of its core, so `applies` of lattice.hpp holds for exactly the segments that read the row, and
// need not be evaluated.
struct Active {
  const Lattice& g;
  int mask;        // ring size - 1
  double* shared;  // [ring][stride]
  double* own;     // [ring][stride]
  bool* has_own;   // [ring]

  Active(const Lattice& lattice, int ring, Workspace& work)
      : g(lattice),
        mask(ring - 1),
        shared(work.doubles(static_cast<std::size_t>(ring) * lattice.stride)),
        own(work.doubles(static_cast<std::size_t>(ring) * lattice.stride)),
        has_own(reinterpret_cast<bool*>(work.ints(ring))) {}

  double* shared_row(int a) const {
    return shared + static_cast<std::ptrdiff_t>(a & mask) * g.stride;
  }
  double* own_row(int a) const { return own + static_cast<std::ptrdiff_t>(a & mask) * g.stride; }
  bool& owns(int a) const { return has_own[a & mask]; }

  void begin(int a) const {
    double* row = shared_row(a);
    fill(row, g.stride, 0.0);
    emission_row(g, a, row);
    owns(a) = false;
  }
  void add(const Potential& p) const {
    if (p.flags & kOpenStart) {
      add_to(shared_row(p.start), g.targets[p.target], p.score);
      return;
    }
    double* row = own_row(p.start);
    if (!owns(p.start)) {
      fill(row, g.stride, 0.0);
      owns(p.start) = true;
    }
    add_to(row, g.targets[p.target], p.score);
  }
};

// Scores of the segments [s, e) that end at e, for decreasing s:
//   running = sum over a >= s of shared[a]
//             + the potentials [a, e) with a >= s, an open start and a closed end
//   theta   = running + own[s] + spans[s, e) + the potentials [s, e) that are closed on both sides
struct Thetas {
  const Lattice& g;
  const Active& active;
  int e, next, last;  // next .. last - 1: the potentials that end at e and are not yet added
  double* running;    // [stride]
  double* theta;      // [stride]
  std::int64_t touched = 0;

  Thetas(const Lattice& lattice, const Active& rows, Workspace& work)
      : g(lattice),
        active(rows),
        e(0),
        next(0),
        last(0),
        running(work.doubles(lattice.stride)),
        theta(work.doubles(lattice.stride)) {}

  void begin(int end) {
    e = end;
    next = g.by_end[end];
    last = g.by_end[end + 1];
    fill(running, g.stride, 0.0);
  }

  // Returns theta for s.  Call it for s = e - 1, e - 2, ... in turn; the row is valid only on
  // `range`.  Inlined because it is called for every start and end: out of line, ln Z and marginals
  // of the cases of bench/peers.py took a tenth longer.
  __attribute__((always_inline)) const double* row(int s, Range range) {
    const int low = range.begin / W * W;
    const double* shared = active.shared_row(s);
    for (int q = low; q < range.end; q += W)
      store(running + q, load(running + q) + load(shared + q));
    while (next < last && g.potentials[next].start > s) ++next;
    const int first = next;
    while (next < last && g.potentials[next].start == s) {
      const Potential& p = g.potentials[next++];
      ++touched;
      if ((p.flags & kOpenEnd) == 0 && (p.flags & kOpenStart)) {
        add_to(running, g.targets[p.target], p.score);
      }
    }
    const double* sum = running;
    if (active.owns(s)) {
      const double* own = active.own_row(s);
      for (int q = low; q < range.end; q += W) store(theta + q, load(sum + q) + load(own + q));
      sum = theta;
    }
    if (g.spans != nullptr) {
      add_spans(g, s, e, sum, theta);
      sum = theta;
    }
    for (int i = first; i < next; ++i) {
      const Potential& p = g.potentials[i];
      if (p.flags != 0) continue;
      if (sum == running) copy(theta, running, g.stride);
      sum = theta;
      add_to(theta, g.targets[p.target], p.score);
    }
    return sum;
  }
};

}  // namespace caesura::CAESURA_ISA
