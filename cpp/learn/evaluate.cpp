// Objective and gradient of a shard of a corpus: rows of features to scores, segmental.hpp, and
// back.
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

void add(const Design& d, const Weights<real>& w, int i, const real* rows, Gradient<real>& gradient,
         Workspace& work) {
  Evaluator{{d, w, &gradient, work, w.stride}}.add_gradient(i, rows);
}

}  // namespace caesura::CAESURA_ISA

namespace caesura {
extern const Trainer<CAESURA_ISA::real> CAESURA_TRAINER = {
    CAESURA_ISA::W, CAESURA_ISA::evaluate, CAESURA_ISA::evaluate_many, CAESURA_ISA::add};
}  // namespace caesura
