// Queries on one encoded sequence with fixed weights: rows of features become scores, on which
// best.hpp and segmental.hpp run their sweeps.
#include "learn/best.hpp"
#include "learn/feature_rows.hpp"
#include "learn/high_order_best.hpp"
#include "learn/segmental_back.hpp"
#include "learn/trainers.hpp"

namespace caesura::CAESURA_ISA {
namespace {

struct Asking : FeatureRows {
  int i;
  const Known& known;

  Asking(const Design& d, const Weights<real>& w, int i, const Known& known, Workspace& work)
      : FeatureRows{d, w, nullptr, work, w.stride}, i(i), known(known) {}

  int length() const { return d.length(i); }
  int n_rows() const { return d.length(i) + d.n_sites(i); }
  const Site* sites() const { return d.site.data() + d.sites[i]; }

  // -- costs of segments ---------------------------------------------------------------------

  // The sites of the sequence merged with those of the costs, in the order of sites.
  struct Merged {
    const Site* sites;
    int count;
  };
  // Adds the costs of segments to the scores: each cost is added to the row of the exact site with
  // its span, or becomes a new exact site if there is none.  x: [rows][c] scores, with room for one
  // more row for each cost.  label_of(q): the label of lane q, or -1.  Rows are moved in descending
  // order, so that none is overwritten before it has been moved.
  template <class LabelOf>
  Merged merge_costs(real* x, int c, LabelOf label_of) const {
    const int T = length(), own = d.n_sites(i);
    if (known.n_cost_sites == 0) return {sites(), own};
    auto before = [](const Site& a, const Site& b) {
      return a.end != b.end ? a.end < b.end : a.start > b.start;
    };
    auto same = [&](const Site& a, const Site& b) { return a.start == b.start && a.end == b.end; };
    auto is_exact = [](const Site& site) { return site.flags == 0; };
    int* partner = work.ints(known.n_cost_sites);  // the exact site of a cost, or -1
    int added = 0;
    for (int j = 0; j < known.n_cost_sites; ++j) {
      const Site& cost = known.cost_sites[j];
      const Site* at = std::lower_bound(sites(), sites() + own, cost, before);
      while (at != sites() + own && same(*at, cost) && !is_exact(*at)) ++at;
      const bool there = at != sites() + own && same(*at, cost);
      partner[j] = there ? static_cast<int>(at - sites()) : -1;
      added += !there;
    }
    Site* out = reinterpret_cast<Site*>(work.ints(3 * static_cast<std::size_t>(own + added)));
    auto row = [&](int k) { return x + static_cast<std::ptrdiff_t>(T + k) * c; };
    auto add_cost = [&](int j, real* to) {
      for (int q = 0; q < c; ++q) {
        const int y = label_of(q);
        if (y >= 0)
          to[q] += static_cast<real>(known.cost_rows[static_cast<std::ptrdiff_t>(j) * d.Y + y]);
      }
    };
    for (int j = 0; j < known.n_cost_sites; ++j) {
      if (partner[j] >= 0) add_cost(j, row(partner[j]));
    }
    int k = own - 1, j = known.n_cost_sites - 1;
    for (int to = own + added - 1; to >= 0; --to) {
      while (j >= 0 && partner[j] >= 0) --j;
      if (j < 0 || (k >= 0 && !before(sites()[k], known.cost_sites[j]))) {
        out[to] = sites()[k];
        if (to != k) std::memcpy(row(to), row(k), sizeof(real) * c);
        --k;
      } else {
        out[to] = known.cost_sites[j];
        fill(row(to), c, 0);
        add_cost(j--, row(to));
      }
    }
    return {out, own + added};
  }

  // -- first order ---------------------------------------------------------------------------

  // The best path: the scores of label pairs at boundary t are
  //
  //   m[y0, y] = transition[y0, y] + sum of the edge weights of the attributes at t for (y0, y)
  //
  // x: [rows][n] scores, with room for the costs of segments
  int best(real* x, LabelledSegment* out) const {
    const Merged all = merge_costs(x, n, [&](int q) { return q < d.Y ? q : -1; });
    Best kernel(w, length(), all.sites, all.count, x, known, work);
    if (d.edge_ptr.empty()) return kernel.run([&](int) { return w.log_transition; }, out);
    // A copy of the transitions, in which only the pairs with edge weights change: those of the
    // boundary before are restored first, which touches less than a copy for each boundary.
    real* m = reals(work, static_cast<std::size_t>(n) * n);
    std::memcpy(m, w.log_transition, sizeof(real) * n * n);
    return kernel.run(
        [&](int t) -> const real* {
          for_edges(i, t - 1, [&](std::int32_t, int at, real) { m[at] = w.log_transition[at]; });
          for_edges(i, t,
                    [&](std::int32_t id, int at, real value) { m[at] += w.edge[id] * value; });
          return m;
        },
        out);
  }

  // Returns the scores of label pairs, [T][n][n], or those of the transitions, [n][n], if they are
  // the same at all boundaries.
  const real* edge_scores() const {
    if (d.edge_ptr.empty()) return w.log_transition;
    const std::ptrdiff_t size = static_cast<std::ptrdiff_t>(n) * n;
    real* out = reals(work, length() * size);
    // out[t][y0, y] = transition[y0, y] + sum of the edge weights at t
    for (int t = 1; t < length(); ++t) {
      real* m = out + t * size;
      std::memcpy(m, w.log_transition, sizeof(real) * size);
      for_edges(i, t, [&](std::int32_t id, int at, real value) { m[at] += w.edge[id] * value; });
    }
    return out;
  }

  // Runs the forward and backward pass on a copy of the scores, and then calls use(kernel).
  // Returns false if a value is out of range.
  template <class Use>
  bool sweep(const real* x, const Asked& asked, Gradient<real>& gradient, real* counts, real* m,
             double* log_z, Use use) const {
    std::memcpy(counts, x, sizeof(real) * n_rows() * n);
    Segmental kernel(w, length(), sites(), d.n_sites(i), known, work);
    if (!kernel.run(counts, m, log_z, 1, &gradient, &asked)) return false;
    use(kernel);
    return true;
  }

  // Returns a gradient with zeroed counts of starts and ends, of pairs at boundaries with edge
  // weights (edges) and of other pairs (outer); the arrays that are not requested are null.
  Gradient<real> zero_gradient(bool edges, bool outer) const {
    const std::size_t square = static_cast<std::size_t>(n) * n;
    auto zeros = [&](std::size_t count) {
      real* memory = reals(work, count);
      fill(memory, static_cast<std::ptrdiff_t>(count), 0);
      return memory;
    };
    Gradient<real> gradient;
    gradient.starts = zeros(n);
    gradient.ends = zeros(n);
    if (edges) gradient.pairs = zeros(square);
    if (outer) gradient.outer = zeros(square);
    return gradient;
  }

  // -- label histories -----------------------------------------------------------------------

  // Computes the score of entering each history at boundary t from the attributes there: the sum
  // over the pairs and patterns that the history ends in.
  void entry_scores(int t, real* out) const {
    const Histories& h = *w.histories;
    const int square = d.Y * d.Y;
    fill(out, h.lanes, 0);
    d.for_edges(i, t, [&](std::int32_t id, std::int32_t code, double value) {
      out[code < square ? h.pair[code] : h.pattern[code - square]] +=
          w.edge[id] * static_cast<real>(value);
    });
    h.add_shorter(out);
  }

  // Copies values by history to states; lanes without a state get `none`.
  void spread(const real* histories, real none, real* states) const {
    const ArcProgram& p = *w.program;
    for (int q = 0; q < p.lanes; ++q) states[q] = p.history[q] < 0 ? none : histories[p.history[q]];
  }

  // Returns the scores in the form that BestHistory needs.
  template <bool kByState>
  real* history_scores() const {
    const int T = length(), rows = n_rows(), lanes = w.program->lanes;
    const std::int64_t first = d.first_row(i);
    real* raw = reals(work, static_cast<std::size_t>(rows + known.n_cost_sites) * w.row);
    gather(first, rows, raw);
    if (!kByState) return raw;
    real* x = reals(work, static_cast<std::size_t>(rows + known.n_cost_sites) * lanes);
    real* states = reals(work, w.histories->lanes);
    for (std::ptrdiff_t r = 0; r < rows; ++r) {
      to_states(first + r, r < T, raw + r * w.row, states);
      spread(states, r < T ? -kInfinity : 0, x + r * lanes);
    }
    return x;
  }

  template <bool kByState>
  int best_history(LabelledSegment* out) const {
    real* x = history_scores<kByState>();
    const ArcProgram& p = *w.program;
    const Merged all = merge_costs(x, kByState ? p.lanes : w.row, [&](int q) {
      const int y = kByState ? p.label[q] : q;
      return y < d.Y ? y : -1;
    });
    BestHistory<kByState> kernel(w, length(), all.sites, all.count, x, known, work);
    if (d.edge_ptr.empty()) return kernel.run([&](int) { return w.log_entry; }, out);
    real *histories = reals(work, w.histories->lanes), *scores = reals(work, w.program->lanes);
    return kernel.run(
        [&](int t) -> const real* {
          entry_scores(t, histories);
          spread(histories, 0, scores);
          caesura::CAESURA_ISA::add(scores, w.log_entry, w.program->lanes);
          return scores;
        },
        out);
  }
};

}  // namespace

void scores(const Design& d, const Weights<real>& w, int i, real* rows, Workspace& work) {
  FeatureRows{d, w, nullptr, work, w.stride}.scores(i, rows);
}

int best(const Design& d, const Weights<real>& w, int i, const Known& known, LabelledSegment* out,
         Workspace& work) {
  work.clear();
  const Asking asking(d, w, i, known, work);
  if (w.histories != nullptr)
    return w.by_state ? asking.best_history<true>(out) : asking.best_history<false>(out);
  real* x = reals(work, static_cast<std::size_t>(asking.n_rows() + known.n_cost_sites) * w.stride);
  asking.scores(i, x);
  return asking.best(x, out);
}

// The best segments, and P(segment) for each of those that `reading` keeps: expected counts of
// the segment sweep, or for tags the probability of the run of tags that spells the segment.
int confident(const Design& d, const Weights<real>& w, int i, const Known& known,
              const Reading& reading, LabelledSegment* out, double* probabilities, int* n_kept,
              Workspace& work) {
  work.clear();
  const Asking asking(d, w, i, known, work);
  const std::size_t size = static_cast<std::size_t>(asking.n_rows()) * w.stride;
  real *x = reals(work, size), *counts = reals(work, size);
  asking.scores(i, x);
  const int count = asking.best(x, out);
  const int kept = *n_kept = read_segments(reading, out, count);
  if (kept == 0) return count;
  Asked asked;
  if (!reading.tags()) asked = {out, kept, probabilities, nullptr};
  double log_z;
  bool far = false;
  real* m = asking.edges(i, &far);
  Gradient<real> gradient = asking.zero_gradient(m != nullptr, false);
  bool chain = true;  // else the general sweeps sum over tags
  auto read_runs = [&](const Segmental& kernel) {
    chain = kernel.is_chain() || !reading.tags();
    if (!chain || !reading.tags()) return;
    real* apart = reals(work, w.stride);
    fill(apart, w.stride, 1);
    for (int k = 0; k < kept; ++k) {
      const auto& states = reading.states[reading.label[out[k].label]];
      probabilities[k] =
          kernel.run_probability(out[k].start, out[k].end, states, reading.joined.data(), apart);
    }
  };
  const bool good = !far && asking.sweep(x, asked, gradient, counts, m, &log_z, read_runs) && chain;
  for (int k = 0; k < kept; ++k)
    probabilities[k] = good ? std::min(probabilities[k], 1.0) : std::nan("");
  return count;
}

// ln Z, or false if a value is out of range.
bool log_partition(const Design& d, const Weights<real>& w, int i, const Known& known,
                   double* log_z, Workspace& work) {
  work.clear();
  const Asking asking(d, w, i, known, work);
  real* x = reals(work, static_cast<std::size_t>(asking.n_rows()) * w.stride);
  asking.scores(i, x);
  bool far = false;
  real* m = asking.edges(i, &far);
  Segmental kernel(w, d.length(i), asking.sites(), d.n_sites(i), known, work);
  return !far && kernel.run(x, m, log_z);
}

// The tables of the best path, from which the n best are enumerated, and ln Z, which turns their
// scores into probabilities.
bool best_tables(const Design& d, const Weights<real>& w, int i, const Known& known,
                 BestTables* out, Workspace& work) {
  work.clear();
  const Asking asking(d, w, i, known, work);
  const int T = d.length(i), n = w.stride;
  const std::size_t size = static_cast<std::size_t>(asking.n_rows()) * n;
  real *x = reals(work, size), *copy = reals(work, size);
  asking.scores(i, x);
  std::memcpy(copy, x, sizeof(real) * size);
  bool far = false;
  real* m = asking.edges(i, &far);
  Segmental kernel(w, T, asking.sites(), d.n_sites(i), known, work);
  double log_z;
  if (far || !kernel.run(copy, m, &log_z)) return false;
  const real* scores = asking.edge_scores();
  const std::ptrdiff_t apart = scores == w.log_transition ? 0 : static_cast<std::ptrdiff_t>(n) * n;
  LabelledSegment* best = reinterpret_cast<LabelledSegment*>(work.ints(3 * T));
  Best sweep(w, T, asking.sites(), d.n_sites(i), x, known, work, out);
  if (sweep.run([&](int t) { return scores + t * apart; }, best) == 0) return false;
  for (int t = 0; t < T && known.any(); ++t) apply(known, t, w.Y, x + t * n);
  out->rows = x;
  out->transition = scores;
  out->apart = apart;
  out->log_z = log_z;
  return true;
}

// Expected counts of rows, starts, ends, label pairs and edge weights.  Pairs at boundaries without
// edge weights were summed as products of rows, outer[y0, y], and still lack their transition:
//
//   transitions[y0, y] = outer[y0, y] exp(transition[y0, y]) + pairs[y0, y]
bool posterior(const Design& d, const Weights<real>& w, int i, const Known& known,
               const RowCounts& out, Workspace& work) {
  const Asking asking(d, w, i, known, work);
  const int T = d.length(i), square = w.stride * w.stride;
  asking.scores(i, out.scores);
  Asked asked;
  asked.boundaries = out.boundaries;
  Gradient<real> gradient = asking.zero_gradient(true, true);
  bool far = false;
  real* m = asking.edges(i, &far);
  if (far ||
      !asking.sweep(out.scores, asked, gradient, out.rows, m, out.log_z, [](const Segmental&) {}))
    return false;
  for (int q = 0; q < square; q += W) {
    const vec pairs = load(gradient.outer + q) * load(w.transition + q) + load(gradient.pairs + q);
    store(out.transitions + q, pairs);
  }
  std::memcpy(out.starts, gradient.starts, sizeof(real) * w.stride);
  std::memcpy(out.ends, gradient.ends, sizeof(real) * w.stride);
  double* edge = out.edges;
  for (int t = 1; m != nullptr && t < T; ++t) {
    const real* pairs = m + static_cast<std::ptrdiff_t>(t) * square;
    asking.for_edges(i, t, [&](std::int32_t, int at, real) { *edge++ = pairs[at]; });
  }
  return true;
}

}  // namespace caesura::CAESURA_ISA

namespace caesura {
extern const Predictor CAESURA_PREDICTOR = {CAESURA_ISA::scores,      CAESURA_ISA::best,
                                            CAESURA_ISA::confident,   CAESURA_ISA::log_partition,
                                            CAESURA_ISA::best_tables, CAESURA_ISA::posterior};
}  // namespace caesura
