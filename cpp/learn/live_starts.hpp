// The live starts at each end of a segment, given the sites of a sequence.
#pragma once

#include "base/vector.hpp"
#include "base/workspace.hpp"
#include "lattice/lattice.hpp"
#include "lattice/reach.hpp"
#include "learn/design.hpp"

namespace caesura::CAESURA_ISA {

// The live starts at e, whose segments need terms of their own, are low[e] <= s < e.  Segments with
// s <= A(e - 1) are in the open term, except those of labels with a length bound.
struct Spans {
  const Site* sites;
  std::int32_t* by_end;  // [T + 2] first site that ends at e
  std::int32_t* reach;   // [T + 1] A(e), see reach.hpp
  std::int32_t* low;     // [T + 1] the first live start
  int widest = 1;        // the largest number of live starts
  bool closes = false;   // whether some site has an open start and a closed end

  // longest: the largest length bound.  has_open: whether some label has no bound.
  Spans(int T, const Site* sites, int n_sites, int longest, bool has_open, Workspace& work)
      : sites(sites), by_end(work.ints(T + 2)), reach(work.ints(T + 1)), low(work.ints(T + 1)) {
    std::int32_t* farthest = work.ints(T + 1);
    for (int t = 0; t <= T; ++t) farthest[t] = 0;
    // by_end[e]: the first site that ends at e or later; sites are sorted by end.
    int k = 0;
    for (int e = 0; e <= T + 1; ++e) {
      while (k < n_sites && sites[k].end < e) ++k;
      by_end[e] = k;
    }
    for (int i = 0; i < n_sites; ++i) {
      const Site& site = sites[i];
      if (site.end > farthest[site.start]) farthest[site.start] = site.end;
      closes |= site.flags == kOpenStart;
    }
    find_reach(T, farthest, reach);
    // low[e] = min(e - longest, A(e - 1) + 1), the latter if has_open, but at least one start is
    // live.
    for (int e = 0; e <= T; ++e) {
      low[e] = e - longest < 0 ? 0 : e - longest;
      if (e > 0 && has_open && reach[e - 1] + 1 < low[e]) low[e] = reach[e - 1] + 1;
      if (low[e] > e - 1) low[e] = e - 1;
      if (e == 0) low[e] = 0;
      if (e - low[e] > widest) widest = e - low[e];
    }
  }

  // Whether segments from s join the open term at e: A(e - 1) < s <= A(e).
  bool joins_at(int s, int e) const { return s <= reach[e] && s > reach[e - 1]; }

  // Calls visit(s, own, exact) for the live starts at e, in descending order.  own and exact are
  // the rows of the sites [s, e) with only the end open and with both ends closed, or null if there
  // is none.  The rows of sites with an open start apply to earlier starts too: before s is
  // visited, those with an open end are passed to open(row), and those with a closed end to
  // close(row).  With this distinction by flags, each site counts for exactly the segments for
  // which `applies` of lattice.hpp holds.
  template <class RowOf, class Open, class Close, class Visit>
  void for_starts(int e, RowOf row_of, Open open, Close close, Visit visit) const {
    int k = by_end[e];
    const int end = by_end[e + 1];
    for (int s = e - 1; s >= low[e]; --s) {
      const real *own = nullptr, *exact = nullptr;
      while (k < end && sites[k].start > s) ++k;
      for (; k < end && sites[k].start == s; ++k) {
        const real* row = row_of(k);
        if (sites[k].flags == (kOpenStart | kOpenEnd))
          open(row);
        else if (sites[k].flags == kOpenStart)
          close(row);
        else if (sites[k].flags == kOpenEnd)
          own = row;
        else
          exact = row;
      }
      visit(s, own, exact);
    }
  }

  // The smallest power of two that is at least the number of live starts.
  int ring() const {
    int size = 1;
    while (size < widest) size *= 2;
    return size;
  }
};

}  // namespace caesura::CAESURA_ISA
