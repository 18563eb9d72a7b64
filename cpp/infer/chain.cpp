// Marginals and ln Z of a linear chain, by scaled_chain.hpp: all segments have length 1, and states
// are labels.
//
// The kernel returns false if a score is too large or a number leaves its range; the general sweeps
// are used then.
#include <cmath>
#include <limits>

#include "infer/kernels.hpp"
#include "infer/scaled_chain.hpp"
#include "lattice/rows.hpp"

namespace caesura::CAESURA_ISA {
namespace {

// The exponentials of the start, end and transition scores of a lattice, each relative to the
// largest of its kind.
struct ChainWeights {
  const Lattice& g;
  const int n, stride;
  LabelWeights<double> view;
  double top = 0.0;  // the largest transition

  explicit ChainWeights(const Lattice& lattice)
      : g(lattice), n(lattice.Y), stride((lattice.Y + W - 1) / W * W) {}

  // Computes the exponentials and adds the largest scores to *log_z, that of the transitions T - 1
  // times.  Returns false if a largest score is too large or -inf, or another one is too far below
  // it.  NaN may pass here, but makes the sweeps return false.
  bool set(Workspace& work, Total* log_z) {
    view.Y = n;
    view.stride = stride;
    double *first = work.doubles(stride), *last = work.doubles(stride), start, end;
    const RowExps<false> exps{n, stride};
    if (!exps.scaled_exp(g.start, first, &start)) return false;
    if (!exps.scaled_exp(g.end, last, &end)) return false;
    view.first = first;
    view.last = last;
    log_z->add(start);
    log_z->add(end);
    if (std::abs(start) > exps.kLarge || std::abs(end) > exps.kLarge) return false;
    if (g.T == 1) return true;
    if (!transitions(work)) return false;
    log_z->add(top * (g.T - 1));
    return std::abs(top) <= exps.kLarge;
  }

  // Computes weight[i, j] = exp(transition[i, j] - top), its transpose and their panels.  The
  // sequences of a batch mostly share their transitions, so the last ones are cached in memory that
  // outlives the call:
  //
  //   weight [stride][stride] | transposed [stride][stride] | panels | raw [Y][Y] | facts [3] |
  //   sources [Y]
  bool transitions(Workspace& work) {
    constexpr int kWidest = 6;  // vectors of a panel
    const int size = stride * stride, vectors = stride / W,
              n_panels = (vectors + kWidest - 1) / kWidest;
    const std::size_t square = static_cast<std::size_t>(n) * n;
    constexpr std::size_t kPanel = sizeof(Panel) / sizeof(double);
    static_assert(sizeof(Panel) % sizeof(double) == 0, "panels are kept among doubles");
    bool fresh;
    double* weight = work.kept(3 + square + 2 * size + kPanel * n_panels + n, &fresh);
    double* transposed = weight + size;
    Panel* panels = reinterpret_cast<Panel*>(transposed + size);
    double* raw = transposed + size + kPanel * n_panels;  // [Y][Y] as given
    double* facts = raw + square;  // whether the rest is valid, same_label_adjacent, top
    std::int32_t* sources = reinterpret_cast<std::int32_t*>(facts + 3);
    const double repeats = g.same_label_adjacent ? 1.0 : 0.0;
    view.transition = weight;
    view.transposed = transposed;
    view.panels = view.back_panels = panels;
    view.n_panels = view.n_back_panels = n_panels;
    if (fresh || facts[0] != 1.0 || facts[1] != repeats ||
        std::memcmp(raw, g.transition, sizeof(double) * square) != 0) {
      facts[0] = 0.0;
      facts[1] = repeats;
      std::memcpy(raw, g.transition, sizeof(double) * square);
      if (!set_weights(weight, transposed, &facts[2])) return false;
      for (int i = 0; i < n; ++i) sources[i] = i;  // all panels are dense
      for (int p = 0; p < n_panels; ++p) {
        const int begin = p * kWidest, left = vectors - begin;
        panels[p] = {begin, left < kWidest ? left : kWidest, sources, n, true};
      }
      facts[0] = 1.0;
    }
    top = facts[2];
    return true;
  }

  // Before the exponential, the padding is -inf, and so is the diagonal if labels may not repeat.
  bool set_weights(double* weight, double* transposed, double* most) const {
    const int size = stride * stride;
    fill(weight, size, kMinusInfinity);
    for (int i = 0; i < n; ++i) {
      std::memcpy(weight + i * stride, g.transition + i * n, sizeof(double) * n);
      if (!g.same_label_adjacent) weight[i * stride + i] = kMinusInfinity;
    }
    if (!RowExps<true>{size, size}.scaled_exp(weight, weight, most)) return false;
    for (int i = 0; i < stride; ++i) {
      for (int j = 0; j < stride; ++j) transposed[j * stride + i] = weight[i * stride + j];
    }
    return true;
  }
};

// Contiguous rows of n numbers, written in order and in whole vectors: what a vector stores beyond
// the end of a row is overwritten by the next row.  Only the last row needs partial stores.
struct PackedRows {
  double* rows;
  double* end;
  int n;

  PackedRows(double* out, int count, int n)
      : rows(out), end(out + static_cast<std::ptrdiff_t>(count) * n), n(n) {}
  void put(int t, int q, vec value) const {
    double* to = rows + static_cast<std::ptrdiff_t>(t) * n + q;
    if (end - to >= W)
      store(to, value);
    else
      store_part(to, value, static_cast<int>(end - to));
  }
};

// E(i, j) = weight[i, j] times the kernel's sum over boundaries of forward and backward rows.
void put_transitions(const double* sums, const LabelWeights<double>& w, double* out) {
  const PackedRows expected(out, w.Y, w.Y);
  for (int i = 0; i < w.Y; ++i) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i) * w.stride;
    for (int q = 0; q < w.stride; q += W)
      expected.put(i, q, load(sums + at + q) * load(w.transition + at + q));
  }
}

}  // namespace

// Computes ln Z and, unless `counts` is null, P(label of token t) and the expected transitions:
//
//   alpha[t]  = (alpha[t-1]' W) * exp(emission[t]),    beta[t] = W (exp(emission[t+1]) * beta[t+1])
//   P(t, y)   = alpha[t][y] beta[t][y] / Z
//
// If a boundary is barred, no segmentation into single tokens exists; the general sweeps report it.
bool chain(const Lattice& g, Workspace& work, Counts* counts, double* log_z) {
  const int n = g.Y;
  // A segment ends at every boundary after the first, so none of them may be barred.
  for (int t = 0; t < g.T; ++t) {
    if (g.boundary[t + 1] & kBarred) return false;
  }
  Total total;
  ChainWeights weights(g);
  if (!weights.set(work, &total)) return false;
  double* allowed = work.doubles(g.stride);
  // The row of token t, with -inf for the labels that are not allowed there.
  auto scores = [&](int t) -> const double* {
    if (g.allowed == nullptr) return g.emission + static_cast<std::ptrdiff_t>(t) * n;
    emission_row(g, t, allowed);
    return allowed;
  };
  ScaledChain kernel(weights.view, g.T, work, counts != nullptr);
  if (!RowExps<false>{n, weights.stride}.all(g.T, scores, kernel.exps(), &total)) return false;
  if (counts == nullptr) {
    if (!kernel.forward(nullptr, &total)) return false;
    *log_z = total.value();
    return true;
  }
  // Rounding may raise a probability slightly above 1.
  const PackedRows tokens(counts->tokens, g.T, n);
  auto put = [&](int t, int q, vec probability) { tokens.put(t, q, min(probability, splat(1.0))); };
  double* sums = work.doubles(weights.stride * weights.stride);
  fill(sums, weights.stride * weights.stride, 0.0);
  if (!kernel.both(nullptr, 1.0, &total, put, sums)) return false;
  // The first and the last segment are the first and the last token.
  for (int t = 0; t <= g.T; ++t) counts->boundaries[t] = 1.0;
  std::memcpy(counts->starts, counts->tokens, sizeof(double) * n);
  std::memcpy(counts->ends, tokens.end - n, sizeof(double) * n);
  if (g.T == 1)
    std::memset(counts->transitions, 0, sizeof(double) * n * n);
  else
    put_transitions(sums, weights.view, counts->transitions);
  *log_z = total.value();
  return true;
}

}  // namespace caesura::CAESURA_ISA
