// Objective and gradient of a shard of a corpus: rows of features to scores, segmental.hpp, and
// back.
#include "learn/best.hpp"
#include "learn/high_order_best.hpp"
#include "learn/lane_batches.hpp"
#include "learn/segmental_back.hpp"
#include "learn/trainers.hpp"

namespace caesura::CAESURA_ISA {
namespace {

// Where the planes are in the row of a token; those that are not there are the first, times 0.
struct Lanes {
  int first = 0, last = 0, single = 0;
  real has_first = 0, has_last = 0, has_single = 0;
  explicit Lanes(const Design& d) {
    auto put = [&](int p, int& lane, real& has) {
      lane = p * d.Y;
      has = 1;
    };
    for (int p = 1; p < d.planes; ++p) {
      if (d.plane_flags[p] == kOpenEnd)
        put(p, first, has_first);
      else if (d.plane_flags[p] == kOpenStart)
        put(p, last, has_last);
      else
        put(p, single, has_single);
    }
  }
};

struct Evaluator : FeatureRows {
  // Scores of tags from those of planes: a feature of first tokens fires at begin and unit, and so
  // on. A label of one token has no other tag than unit.  kY: the number of labels, or 0 where it
  // is not known.
  template <int kY>
  void to_tags(int T, const real* wide, real* out) const {
    const int Y = kY > 0 ? kY : d.Y;
    const Lanes at(d);
    for (int t = 0; t < T; ++t, wide += w.wide, out += w.tags->stride) {
      for (int y = 0; y < Y; ++y) {
        const real token = wide[y], first = at.has_first * wide[at.first + y],
                   last = at.has_last * wide[at.last + y];
        const real inner = w.open[y] != 0 ? token : -kInfinity;
        out[kBegin * Y + y] = inner + first;
        out[kInside * Y + y] = inner;
        out[kEnd * Y + y] = inner + last;
        out[kUnit * Y + y] = token + first + last + at.has_single * wide[at.single + y];
      }
    }
  }
  template <int kY>
  void from_tags(int T, const real* tags, real* wide) const {
    const int Y = kY > 0 ? kY : d.Y;
    const Lanes at(d);
    for (int t = 0; t < T; ++t, wide += w.wide, tags += w.tags->stride) {
      for (int y = 0; y < Y; ++y) {
        const real unit = tags[kUnit * Y + y], begin = tags[kBegin * Y + y],
                   end = tags[kEnd * Y + y];
        const real covered = unit + begin + end + tags[kInside * Y + y];
        if (at.has_first != 0) wide[at.first + y] = unit + begin;
        if (at.has_last != 0) wide[at.last + y] = unit + end;
        if (at.has_single != 0) wide[at.single + y] = unit;
        wide[y] = covered;
      }
    }
  }

  // As add, over tags.
  bool add_tagged(int i, double weight, double* objective) const {
    const int T = d.length(i);
    real* wide = reals(work, static_cast<std::size_t>(T) * w.wide);
    real* x = reals(work, static_cast<std::size_t>(T) * w.tags->stride);
    gather(d.first_row(i), T, wide);
    const bool two = d.Y == 2;  // an entity and none: common, and much faster if known
    two ? to_tags<2>(T, wide, x) : to_tags<0>(T, wide, x);
    const Known nothing;
    Segmental kernel(*w.tags, T, nullptr, 0, nothing, work);
    double log_z;
    if (!kernel.forward(x, nullptr, &log_z)) return false;
    *objective += weight * log_z;
    if (gradient == nullptr) return true;
    kernel.backward(static_cast<real>(weight), *gradient->tags);
    two ? from_tags<2>(T, x, wide) : from_tags<0>(T, x, wide);
    scatter(d.first_row(i), T, wide);
    return true;
  }

  // The transitions at each boundary of a sequence, or null where they are the same everywhere.
  real* edges(int i, bool* far) const {
    if (d.edge_ptr.empty()) return nullptr;
    ivec beyond = ivec{};
    const int T = d.length(i), size = n * n;
    real* out = reals(work, static_cast<std::size_t>(T) * size);
    for (int t = 1; t < T; ++t) {
      real* m = out + static_cast<std::ptrdiff_t>(t) * size;
      fill(m, size, 0);
      for_edges(i, t, [&](std::int32_t id, int at, real value) { m[at] += w.edge[id] * value; });
      for (int q = 0; q < size; q += W) {
        const vec score = load(m + q);
        beyond |= (score > kFarthest) | (score < -kFarthest);
        store(m + q, exp(score) * load(w.transition + q));
      }
    }
    *far = any(beyond);
    return out;
  }
  template <class Visit>
  void for_edges(int i, int t, Visit visit) const {
    d.for_edges(i, t, [&](std::int32_t id, std::int32_t pair, double value) {
      visit(id, pair / d.Y * n + pair % d.Y, static_cast<real>(value));
    });
  }

  void entry_scores(int i, int t, real* out) const {
    const Histories& h = *w.histories;
    const int square = d.Y * d.Y;
    fill(out, h.lanes, 0);
    d.for_edges(i, t, [&](std::int32_t id, std::int32_t code, double value) {
      out[code < square ? h.pair[code] : h.pattern[code - square]] +=
          w.edge[id] * static_cast<real>(value);
    });
    h.add_shorter(out);
  }

  // The scores of sequence i as BestHistory wants them.
  template <bool kByState>
  const real* history_scores(int i) const {
    const int T = d.length(i), rows = T + d.n_sites(i), lanes = w.histories->lanes;
    const std::int64_t first = d.first_row(i);
    real* raw = reals(work, static_cast<std::size_t>(rows) * w.row);
    gather(first, rows, raw);
    if (!kByState) return raw;
    real* x = reals(work, static_cast<std::size_t>(rows) * lanes);
    for (std::ptrdiff_t r = 0; r < rows; ++r)
      to_states(first + r, r < T, raw + r * w.row, x + r * lanes);
    return x;
  }

  template <bool kByState>
  int best_history(int i, LabelledSegment* out) const {
    real* scores = reals(work, w.histories->lanes);
    const real* x = history_scores<kByState>(i);
    BestHistory<kByState> kernel(w, d.length(i), d.site.data() + d.sites[i], d.n_sites(i), x, work);
    if (d.edge_ptr.empty()) return kernel.run([&](int) { return w.log_entry; }, out);
    return kernel.run(
        [&](int t) -> const real* {
          entry_scores(i, t, scores);
          caesura::CAESURA_ISA::add(scores, w.log_entry, w.histories->lanes);
          return scores;
        },
        out);
  }

  // Adds weight * ln Z to the objective, and its gradient.  False: out of range.
  bool add(int i, const Known& known, double weight, double* objective) const {
    const int T = d.length(i);
    if (T == 0) return true;
    if (d.tagged && !known.any()) return add_tagged(i, weight, objective);
    const std::int64_t rows = T + d.n_sites(i);
    real* x = reals(work, rows * n);
    scores(i, x);
    bool far = false;
    real* m = edges(i, &far);
    if (far) return false;
    Segmental kernel(w, T, d.site.data() + d.sites[i], d.n_sites(i), known, work);
    double log_z;
    if (!kernel.forward(x, m, &log_z)) return false;
    *objective += weight * log_z;
    if (gradient == nullptr) return true;
    kernel.backward(static_cast<real>(weight), *gradient);
    add_gradient(i, x);
    for (int t = 1; m != nullptr && t < T; ++t) {
      const real* pairs = m + static_cast<std::ptrdiff_t>(t) * n * n;
      for_edges(i, t, [&](std::int32_t id, int at, real value) {
        gradient->edge[id] += pairs[at] * value;
      });
    }
    return true;
  }
};

}  // namespace

bool evaluate(const Design& d, const Weights<real>& w, int i, const Known& known, double weight,
              double* objective, Gradient<real>* gradient, Workspace& work) {
  work.clear();
  return Evaluator{{d, w, gradient, work, w.stride}}.add(i, known, weight, objective);
}

#ifndef CAESURA_FLOAT  // what only double precision is asked for: label patterns and prediction

void evaluate_many(const Design& d, const Weights<real>& w, const std::int32_t* sequences,
                   const Known* known, const double* weights, int count, double* log_z,
                   Gradient<real>* gradient, Workspace& work) {
  work.clear();
  Batch batch{{d, w, gradient, work, w.stride}};
  for (int b = 0; b < count; ++b) batch.add(b, sequences[b], known[b]);
  if (w.by_state)
    batch.evaluate<true>(weights, log_z);
  else
    batch.evaluate<false>(weights, log_z);
}

void scores(const Design& d, const Weights<real>& w, int i, real* rows, Workspace& work) {
  Evaluator{{d, w, nullptr, work, w.stride}}.scores(i, rows);
}

bool best_chain(const Design& d, const Weights<real>& w, int i, std::int32_t* labels,
                Workspace& work) {
  work.clear();
  const int T = d.length(i), n = w.stride;
  real* x =
      reals(work, static_cast<std::size_t>(T) * n);  // scores, then those of the best way there
  real* from = reals(work, static_cast<std::size_t>(T) * n);
  real* reached = reals(work, n);
  Evaluator{{d, w, nullptr, work, n}}.gather(d.first_row(i), T, x);
  caesura::CAESURA_ISA::add(x, w.log_first, n);
  for (int t = 1; t < T; ++t) {
    const real* before = x + static_cast<std::ptrdiff_t>(t - 1) * n;
    real* back = from + static_cast<std::ptrdiff_t>(t) * n;
    best_step(before, w.log_transition, w.Y, n, reached, back);
    caesura::CAESURA_ISA::add(x + static_cast<std::ptrdiff_t>(t) * n, reached, n);
  }
  caesura::CAESURA_ISA::add(x + static_cast<std::ptrdiff_t>(T - 1) * n, w.log_last, n);
  int best = 0;
  const real* final = x + static_cast<std::ptrdiff_t>(T - 1) * n;
  for (int y = 1; y < w.Y; ++y) best = final[y] > final[best] ? y : best;
  if (final[best] == -kInfinity) return false;
  for (int t = T - 1; t >= 0; --t) {
    labels[t] = best;
    best = static_cast<int>(from[static_cast<std::ptrdiff_t>(t) * n + best]);
  }
  return true;
}

int best(const Design& d, const Weights<real>& w, int i, LabelledSegment* out, Workspace& work) {
  work.clear();
  const int T = d.length(i), n = w.stride, size = n * n;
  const Evaluator evaluator{{d, w, nullptr, work, n}};
  if (w.histories != nullptr)
    return w.by_state ? evaluator.best_history<true>(i, out)
                      : evaluator.best_history<false>(i, out);
  real* x = reals(work, static_cast<std::size_t>(T + d.n_sites(i)) * n);
  evaluator.scores(i, x);
  Best kernel(w, T, d.site.data() + d.sites[i], d.n_sites(i), x, work);
  if (d.edge_ptr.empty()) return kernel.run([&](int) { return w.log_transition; }, out);
  real* m = reals(work, size);
  return kernel.run(
      [&](int t) -> const real* {
        std::memcpy(m, w.log_transition, sizeof(real) * size);
        evaluator.for_edges(
            i, t, [&](std::int32_t id, int at, real value) { m[at] += w.edge[id] * value; });
        return m;
      },
      out);
}

void add(const Design& d, const Weights<real>& w, int i, const real* rows, Gradient<real>& gradient,
         Workspace& work) {
  Evaluator{{d, w, &gradient, work, w.stride}}.add_gradient(i, rows);
}

#endif

}  // namespace caesura::CAESURA_ISA

namespace caesura {
#ifdef CAESURA_FLOAT
extern const Trainer<float> CAESURA_TRAINER = {
    CAESURA_ISA::W, CAESURA_ISA::evaluate, nullptr, nullptr, nullptr, nullptr, nullptr};
#else
extern const Trainer<double> CAESURA_TRAINER = {
    CAESURA_ISA::W,      CAESURA_ISA::evaluate,   CAESURA_ISA::evaluate_many,
    CAESURA_ISA::scores, CAESURA_ISA::best_chain, CAESURA_ISA::best,
    CAESURA_ISA::add};
#endif
}  // namespace caesura
