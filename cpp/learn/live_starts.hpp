// Which starts are live at each end of a segment, given the sites of a sequence.
#pragma once

#include "base/vector.hpp"
#include "base/workspace.hpp"
#include "lattice/lattice.hpp"
#include "lattice/reach.hpp"
#include "learn/design.hpp"

namespace caesura::CAESURA_ISA {

// Segments [s, e) whose start may still matter have a term of their own at e: low[e] <= s < e.
// Those with s <= A(e - 1) are in the open sums, but for labels with a longest segment.
struct Spans {
  const Site* sites;
  std::int32_t* by_end;  // [T + 2] sites
  std::int32_t* reach;   // [T + 1] A(e), see reach.hpp
  std::int32_t* low;     // [T + 1] first live start
  int widest = 1;        // the largest number of live starts
  bool closes = false;   // a site with an open start and a closed end exists

  // longest: of the labels with a bound; has_open: some have none.
  Spans(int T, const Site* sites, int n_sites, int longest, bool has_open, Workspace& work)
      : sites(sites), by_end(work.ints(T + 2)), reach(work.ints(T + 1)), low(work.ints(T + 1)) {
    std::int32_t* farthest = work.ints(T + 1);
    for (int t = 0; t <= T; ++t) farthest[t] = 0;
    // by_end[e]: the first site whose end is e or later; sites are sorted by end, later starts
    // first.
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
    // low[e] = min(e - longest, A(e - 1) + 1), but at least one start is live.
    for (int e = 0; e <= T; ++e) {
      low[e] = e - longest < 0 ? 0 : e - longest;
      if (e > 0 && has_open && reach[e - 1] + 1 < low[e]) low[e] = reach[e - 1] + 1;
      if (low[e] > e - 1) low[e] = e - 1;
      if (e == 0) low[e] = 0;
      if (e - low[e] > widest) widest = e - low[e];
    }
  }

  // Whether segments from s join the open sums at e: A(e - 1) < s <= A(e).
  bool joins_at(int s, int e) const { return s <= reach[e] && s > reach[e - 1]; }

  // Calls visit(s, own, exact) for the live starts at e, the latest first, with the rows of the
  // sites from s to e that have a closed start and an open end, and that are closed on both sides;
  // null where there is none.  The rows of those with an open start go to open(row) before that, or
  // with a closed end to close(row): earlier starts have them too.  Sorting the sites by flags in
  // this way visits exactly the pairs for which `applies` of lattice.hpp holds.
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

  // A power of two that holds all live starts.
  int ring() const {
    int size = 1;
    while (size < widest) size *= 2;
    return size;
  }
};

}  // namespace caesura::CAESURA_ISA
