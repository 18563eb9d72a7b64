// Objective and gradient of single sequences: from weights to scores of rows, through the sweeps of
// segmental.hpp, and from expected counts of rows to the gradient.
#include "learn/gold.hpp"
#include "learn/lane_batches.hpp"
#include "learn/segmental_back.hpp"
#include "learn/trainers.hpp"

namespace caesura::CAESURA_ISA {
namespace {

// Offsets of the planes in the row of a token.  The offset of a missing plane is 0, and its has_
// factor makes the value 0 as well.
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
  // Computes the scores of tags from those of planes: features of first tokens fire at begin and
  // unit, features of last tokens at end and unit.  A label whose segments have length 1 has no tag
  // but unit.  kY: the number of labels, or 0 if it is not a constant.
  //
  //   begin[y]  = token[y] + first[y]           unit[y] = token[y] + first[y] + last[y] + single[y]
  //   inside[y] = token[y]                      end[y]  = token[y] + last[y]
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
  // The transpose of to_tags: from expected counts of tags to those of planes.
  //
  //   token[y] = begin[y] + inside[y] + end[y] + unit[y]
  //   first[y] = begin[y] + unit[y],   last[y] = end[y] + unit[y],   single[y] = unit[y]
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

  // The following functions deal with the path of `known`.  Each returns the score of the path in
  // one part of the model, and adds `count` to the rows or weights that the path uses.  Rows hold
  // scores before the sweeps and expected counts after them.
  double path_rows(int i, const Known& known, real count, real* x) const {
    if (known.path == nullptr) return 0.0;
    const int T = d.length(i);
    std::int32_t* at = work.ints(T);  // the segment of each token
    double score = 0.0;
    // score = sum over the rows that apply to a segment of the path of x[row][its label]
    for (int s = 0; s < known.n_path; ++s) {
      for (int t = known.path[s].start; t < known.path[s].end; ++t) {
        real* cell = x + static_cast<std::ptrdiff_t>(t) * n + known.path[s].label;
        at[t] = s;
        score += *cell;
        *cell += count;
      }
    }
    for (int k = 0; k < d.n_sites(i); ++k) {
      const int s = segment_at(d.site[d.sites[i] + k], known.path, at);
      if (s < 0) continue;
      real* cell = x + static_cast<std::ptrdiff_t>(T + k) * n + known.path[s].label;
      score += *cell;
      *cell += count;
    }
    return score;
  }
  // The same over planes: features of every token, and of first, last and only tokens.
  double tagged_path(const Known& known, real count, real* wide) const {
    const Lanes at(d);
    double score = 0.0;
    auto use = [&](int t, int lane) {
      real* cell = wide + static_cast<std::ptrdiff_t>(t) * w.wide + lane;
      score += *cell;
      *cell += count;
    };
    for (int s = 0; s < known.n_path; ++s) {
      const LabelledSegment& segment = known.path[s];
      for (int t = segment.start; t < segment.end; ++t) use(t, segment.label);
      if (at.has_first != 0) use(segment.start, at.first + segment.label);
      if (at.has_last != 0) use(segment.end - 1, at.last + segment.label);
      if (at.has_single != 0 && segment.end == segment.start + 1)
        use(segment.start, at.single + segment.label);
    }
    return score;
  }
  // score = sum over the boundaries t of the path of the edge weights of its two labels there
  double path_edges(int i, const Known& known, real count) const {
    double score = 0.0;
    if (d.edge_ptr.empty()) return score;
    for (int s = 1; s < known.n_path; ++s) {
      const int pair = known.path[s - 1].label * n + known.path[s].label;
      for_edges(i, known.path[s].start, [&](std::int32_t id, int at, real value) {
        if (at != pair) return;
        score += w.edge[id] * value;
        if (count != 0) gradient->edge[id] += count * value;
      });
    }
    return score;
  }
  // score = first[y_1] + last[y_n] + sum over s of transition[y_(s - 1), y_s]
  double path_labels(const Known& known) const {
    if (known.n_path == 0) return 0.0;
    // Forbidden transitions have no weight: gold labels may violate the model's constraints.
    auto score = [](real x) { return x > -kInfinity ? static_cast<double>(x) : 0.0; };
    double total = score(w.log_first[known.path[0].label]) +
                   score(w.log_last[known.path[known.n_path - 1].label]);
    for (int s = 1; s < known.n_path; ++s)
      total += score(w.log_transition[known.path[s - 1].label * n + known.path[s].label]);
    return total;
  }
  void count_path_labels(const Known& known, real count) const {
    if (known.n_path == 0) return;
    gradient->starts[known.path[0].label] += count;
    gradient->ends[known.path[known.n_path - 1].label] += count;
    for (int s = 1; s < known.n_path; ++s)
      gradient->pairs[known.path[s - 1].label * n + known.path[s].label] += count;
  }

  // The same as add(), over tags.
  bool add_tagged(int i, const Known& known, double weight, double* objective) const {
    const int T = d.length(i);
    real* wide = reals(work, static_cast<std::size_t>(T) * w.wide);
    real* x = reals(work, static_cast<std::size_t>(T) * w.tags->stride);
    gather(d.first_row(i), T, wide);
    const double score = path_labels(known) + tagged_path(known, 0, wide);
    // Two labels (one entity type) are common, and much faster if their number is a constant.
    const bool two = d.Y == 2;
    two ? to_tags<2>(T, wide, x) : to_tags<0>(T, wide, x);
    const Known nothing;
    Segmental kernel(*w.tags, T, nullptr, 0, nothing, work);
    double log_z;
    Gradient<real>* counts = gradient == nullptr ? nullptr : gradient->tags;
    if (!kernel.run(x, nullptr, &log_z, static_cast<real>(weight), counts)) return false;
    *objective += weight * (log_z - score);
    if (gradient == nullptr) return true;
    two ? from_tags<2>(T, x, wide) : from_tags<0>(T, x, wide);
    tagged_path(known, static_cast<real>(-weight), wide);
    count_path_labels(known, static_cast<real>(-weight));
    scatter(d.first_row(i), T, wide);
    return true;
  }

  // Adds weight * (ln Z - score of the path) to the objective, and its gradient
  //
  //   weight (expected counts - counts of the path)
  //
  // The sweeps replace the scores in x and m by weight times the expected counts; then the path is
  // subtracted, and the sums are distributed to the weights of the rows.  Returns false, with
  // nothing added, if a value is out of range.
  bool add(int i, const Known& known, double weight, double* objective) const {
    const int T = d.length(i);
    if (T == 0) return true;
    if (d.tagged && !known.any()) return add_tagged(i, known, weight, objective);
    const std::int64_t rows = T + d.n_sites(i);
    real* x = reals(work, rows * n);
    scores(i, x);
    bool far = false;
    real* m = edges(i, &far);
    if (far) return false;
    const double score = path_labels(known) + path_rows(i, known, 0, x) + path_edges(i, known, 0);
    Segmental kernel(w, T, d.site.data() + d.sites[i], d.n_sites(i), known, work);
    double log_z;
    if (!kernel.run(x, m, &log_z, static_cast<real>(weight), gradient)) return false;
    *objective += weight * (log_z - score);
    if (gradient == nullptr) return true;
    path_rows(i, known, static_cast<real>(-weight), x);
    path_edges(i, known, static_cast<real>(-weight));
    count_path_labels(known, static_cast<real>(-weight));
    add_gradient(i, x);
    // edge[id] += value times the expected count of its pair of labels at t
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

#ifndef CAESURA_FLOAT  // label patterns and prediction exist in double precision only

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

void exps(const double* scores, std::int64_t count, double* out) {
  std::int64_t k = 0;
  for (; k + W <= count; k += W) store(out + k, exp(load(scores + k)));
  const int rest = static_cast<int>(count - k);
  if (rest > 0) store_part(out + k, exp(load_part(scores + k, rest, 0)), rest);
}

#endif

}  // namespace caesura::CAESURA_ISA

namespace caesura {
#ifdef CAESURA_FLOAT
extern const Trainer<float> CAESURA_TRAINER = {CAESURA_ISA::W, CAESURA_ISA::evaluate, nullptr,
                                               nullptr, nullptr};
#else
extern const Trainer<double> CAESURA_TRAINER = {CAESURA_ISA::W, CAESURA_ISA::evaluate,
                                                CAESURA_ISA::evaluate_many, CAESURA_ISA::add,
                                                CAESURA_ISA::exps};
#endif
}  // namespace caesura
