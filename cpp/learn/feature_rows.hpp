// From weights to the scores of rows, and from expected counts of rows to the gradient.
#pragma once

#include <algorithm>

#include "learn/segmental.hpp"

namespace caesura::CAESURA_ISA {

// Prefetches a row of the table some attributes before it is used, because rows are rarely in the
// cache.  The ids of a design are padded with kAhead zeros so that this never reads beyond their
// end.
inline void expect(const std::int32_t* ids, const real* table, int stride, int width) {
  const real* row = table + static_cast<std::ptrdiff_t>(ids[Design::kAhead]) * stride;
  for (int q = 0; q < width; q += 64 / static_cast<int>(sizeof(real))) __builtin_prefetch(row + q);
}

// out[q] = sum over k of table[ids[k]][q] values[k], for the B vectors of one panel, held in
// registers; without values all of them are 1.  table: [attributes][stride]
template <int B, bool kValues>
inline void gather_panel(const std::int32_t* ids, const double* values, int count,
                         const real* table, int stride, real* out) {
  vec sums[B];
  for (int b = 0; b < B; ++b) sums[b] = vec{};
  for (int k = 0; k < count; ++k) {
    const real* row = table + static_cast<std::ptrdiff_t>(ids[k]) * stride;
    expect(ids + k, table, stride, B * W);
    for (int b = 0; b < B; ++b) {
      if (kValues)
        sums[b] += load(row + b * W) * static_cast<real>(values[k]);
      else
        sums[b] += load(row + b * W);
    }
  }
  for (int b = 0; b < B; ++b) store(out + b * W, sums[b]);
}

// table[ids[k]][q] += row[q] values[k], for all k and one panel of B vectors: the transpose of
// gather_panel.  The row stays in registers, the table is read and written.
template <int B, bool kValues>
inline void scatter_panel(const std::int32_t* ids, const double* values, int count, const real* row,
                          int stride, real* table) {
  vec held[B];
  for (int b = 0; b < B; ++b) held[b] = load(row + b * W);
  for (int k = 0; k < count; ++k) {
    real* to = table + static_cast<std::ptrdiff_t>(ids[k]) * stride;
    expect(ids + k, table, stride, B * W);
    for (int b = 0; b < B; ++b) {
      if (kValues)
        store(to + b * W, load(to + b * W) + held[b] * static_cast<real>(values[k]));
      else
        store(to + b * W, load(to + b * W) + held[b]);
    }
  }
}

// gather_panel and scatter_panel as types, so that panels() can be written once for both.
struct Gather {
  template <int B, bool kValues, class... Rest>
  static void run(Rest... rest) {
    gather_panel<B, kValues>(rest...);
  }
};
struct Scatter {
  template <int B, bool kValues, class... Rest>
  static void run(Rest... rest) {
    scatter_panel<B, kValues>(rest...);
  }
};

// Gathers or scatters a whole row, panel by panel.
template <class Move, class From, class To>
inline void panels(const std::int32_t* ids, const double* values, int count, From* from, int stride,
                   To* to) {
  // Widths are compile-time constants, so that the compiler keeps the vectors of a panel in
  // registers.
  for (int begin = 0; begin < stride; begin += 6 * W) {
    const int width = std::min(6, (stride - begin) / W);
    From* f = from + begin;
    To* t = to + begin;
#define CAESURA_PANEL(B)                                                                \
  case B:                                                                               \
    values != nullptr ? Move::template run<B, true>(ids, values, count, f, stride, t)   \
                      : Move::template run<B, false>(ids, values, count, f, stride, t); \
    break;
    switch (width) {
      CAESURA_PANEL(1)
      CAESURA_PANEL(2)
      CAESURA_PANEL(3)
      CAESURA_PANEL(4)
      CAESURA_PANEL(5)
      CAESURA_PANEL(6)
    }
#undef CAESURA_PANEL
  }
}

// Scores and gradient of the rows of one sequence at a time.
struct FeatureRows {
  const Design& d;
  const Weights<real>& w;
  Gradient<real>* gradient;  // null if only the objective is computed
  Workspace& work;
  const int n;

  // Returns the values of the attributes from k on, or null if all values are 1.
  const double* dense_values(std::int64_t k) const {
    return d.dense_value.empty() ? nullptr : d.dense_value.data() + k;
  }

  // The distance between two rows of scores: with several planes these are adjacent, and with
  // patterns the scores of states come after those of labels.
  int apart() const { return w.by_state ? w.row : w.wide; }

  // Computes the scores of rows by state from their pattern weights: out[r][stride + q] = sum of
  // weight times value over the attributes of row r that have a weight with the pattern of state q.
  void gather_patterns(std::int64_t first, std::int64_t rows, real* out) const {
    fill(out, rows * w.row, 0);
    for (std::int64_t r = 0; r < rows; ++r) {
      real* states = out + r * w.row + w.stride;
      d.for_patterns(first + r, [&](std::int32_t id, std::int32_t q, double value) {
        states[q] += w.sparse[id] * static_cast<real>(value);
      });
    }
  }

  // Word rows exist in double precision only.
  static const real* word_row(const double* row) { return reinterpret_cast<const real*>(row); }

  // Adds the precomputed scores of words:
  //
  //   out[r][y] += sum over the words of row r of the score of the word with label y
  void add_words(std::int64_t first, std::int64_t rows, real* out) const {
    // Word rows are scattered in memory: prefetch those that are needed soon.
    constexpr std::int64_t kSoon = 12;
    const auto n_words = static_cast<std::int64_t>(d.word.size());
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t begin = d.word_ptr[first + r], end = d.word_ptr[first + r + 1];
      for (std::int64_t k = begin + kSoon; k < std::min(end + kSoon, n_words); ++k) {
        for (int q = 0; q < n; q += 8) __builtin_prefetch(d.word[k] + q);
      }
      real* row = out + r * apart();
      for (int q = 0; q < n && begin < end; q += W) {
        vec sum = load(row + q);
        for (std::int64_t k = begin; k < end; ++k) sum += load(word_row(d.word[k]) + q);
        store(row + q, sum);
      }
    }
  }

  // Computes the scores of the rows first .. first + rows:
  //
  //   out[r][y] = scale (sum of dense weights + words + single weights),   out: [rows][apart()]
  //
  // Attributes with a few labels or more are rows of the dense table (see Parameters::least_dense);
  // the others have single weights, each with the lane of its label.
  void gather(std::int64_t first, std::int64_t rows, real* out) const {
    const int wide = apart();
    if (w.by_state) gather_patterns(first, rows, out);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t begin = d.dense_ptr[first + r], end = d.dense_ptr[first + r + 1];
      panels<Gather>(d.dense.data() + begin, dense_values(begin), static_cast<int>(end - begin),
                     w.dense, w.wide, out + r * wide);
    }
    if (!d.word_ptr.empty()) add_words(first, rows, out);
    if (d.sparse_ptr[first] < d.sparse_ptr[first + rows]) gather_single(first, rows, out);
    if (w.scale == 1) return;
    for (std::int64_t q = 0; q < rows * wide; q += W) store(out + q, load(out + q) * w.scale);
  }

  // out[r][lane] += weight times value, over the single weights of row r.
  void gather_single(std::int64_t first, std::int64_t rows, real* out) const {
    const int wide = apart();
    // Adjacent weights often have the same label, so every second weight is added to a second row.
    // Consecutive additions then do not depend on each other.
    real* second = reals(work, rows * wide);
    fill(second, rows * wide, 0);
    const bool values = !d.sparse_value.empty();
    for (std::int64_t r = 0; r < rows; ++r) {
      real *even = out + r * wide, *odd = second + r * wide;
      const std::int64_t begin = d.sparse_ptr[first + r];
      for (std::int64_t k = begin; k < d.sparse_ptr[first + r + 1]; ++k) {
        __builtin_prefetch(w.sparse + d.sparse[k + Design::kFarAhead]);
        real weight = w.sparse[d.sparse[k]];
        if (values) weight *= static_cast<real>(d.sparse_value[k]);
        // Counted from the first weight of the row, so that sums do not depend on the rest of the
        // batch.
        ((k - begin) % 2 == 0 ? even : odd)[d.sparse_lane[k]] += weight;
      }
    }
    caesura::CAESURA_ISA::add(out, second, rows * wide);
  }

  // The transpose of gather: each weight gains the expected count of its label in each row that it
  // is part of, times its value there.  expected: [rows][apart()].  If gradient->rows is not null,
  // the counts are added there, and the caller distributes them to the weights later.
  void scatter(std::int64_t first, std::int64_t rows, const real* expected) const {
    const int wide = apart();
    if (gradient->rows != nullptr) {
      caesura::CAESURA_ISA::add(gradient->rows + (first - gradient->first_row) * wide, expected,
                                rows * wide);
      return;
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t begin = d.dense_ptr[first + r], end = d.dense_ptr[first + r + 1];
      panels<Scatter>(d.dense.data() + begin, dense_values(begin), static_cast<int>(end - begin),
                      expected + r * wide, w.wide, gradient->dense);
      for (std::int64_t k = d.sparse_ptr[first + r]; k < d.sparse_ptr[first + r + 1]; ++k) {
        const real value = d.sparse_value.empty() ? 1 : static_cast<real>(d.sparse_value[k]);
        __builtin_prefetch(gradient->sparse + d.sparse[k + Design::kFarAhead], 1);
        gradient->sparse[d.sparse[k]] += expected[r * wide + d.sparse_lane[k]] * value;
      }
      const real* states = expected + r * wide + w.stride;
      d.for_patterns(first + r, [&](std::int32_t id, std::int32_t q, double value) {
        gradient->sparse[id] += states[q] * static_cast<real>(value);
      });
    }
  }

  // Computes the scores of the rows of sequence i, tokens first and then sites.  out:
  // [T + sites][row], padded.
  //
  // With several planes, the attributes of a token score the token (plane 0) and the sites over
  // this token (the other planes): the row is gathered once for all planes, and then each such site
  // takes its plane from the row of its first token.
  void scores(int i, real* out) const {
    const int T = d.length(i), sites = d.n_sites(i), Y = d.Y;
    const std::int64_t first = d.first_row(i);
    if (d.planes == 1) {
      gather(first, T + sites, out);
      return;
    }
    real* wide = reals(work, static_cast<std::size_t>(T + 1) * w.wide);
    real* own = wide + static_cast<std::ptrdiff_t>(T) * w.wide;
    gather(first, T, wide);
    fill(out, static_cast<std::ptrdiff_t>(T + sites) * n, 0);
    for (int t = 0; t < T; ++t) std::memcpy(out + t * n, wide + t * w.wide, sizeof(real) * Y);
    for (int k = 0; k < sites; ++k) {
      const Site& site = d.site[d.sites[i] + k];
      real* to = out + static_cast<std::ptrdiff_t>(T + k) * n;
      if (!d.is_empty(first + T + k)) {
        gather(first + T + k, 1, own);
        std::memcpy(to, own, sizeof(real) * Y);
      }
      if (site.plane == 0) continue;
      const real* from = wide + static_cast<std::ptrdiff_t>(site.start) * w.wide + site.plane * Y;
      for (int y = 0; y < Y; ++y) to[y] += from[y];
    }
  }

  // Calls visit(weight, index in a padded matrix of labels, value) for the weights of label pairs
  // at boundary t.
  template <class Visit>
  void for_edges(int i, int t, Visit visit) const {
    d.for_edges(i, t, [&](std::int32_t id, std::int32_t pair, double value) {
      visit(id, pair / d.Y * n + pair % d.Y, static_cast<real>(value));
    });
  }

  // Returns exp(transition[y0, y] + score of the edge attributes at boundary t for this pair), as
  // [T][n][n], or null if the transitions are the same at all boundaries.  The attributes at a
  // boundary have weights with few pairs of labels, so exps are computed for these pairs only and
  // multiply a copy of the transitions.  Sets *far if a sum is out of the kernels' range.
  real* edges(int i, bool* far) const {
    if (d.edge_ptr.empty()) return nullptr;
    ivec beyond = ivec{};
    const int T = d.length(i), size = n * n;
    real* out = reals(work, static_cast<std::size_t>(T) * size);
    real *added = reals(work, size), *scores = reals(work, size + W);
    std::int32_t* touched = work.ints(size);
    fill(added, size, 0);
    for (int t = 1; t < T; ++t) {
      int count = 0;
      // added[pair] = sum of scores at t; touched lists the pairs with a sum that is not 0
      for_edges(i, t, [&](std::int32_t id, int at, real value) {
        const real score = w.edge[id] * value;
        if (added[at] == 0 && score != 0) touched[count++] = at;
        added[at] += score;
      });
      for (int k = 0; k < count; ++k) scores[k] = added[touched[k]];
      for (int k = count; k % W != 0; ++k) scores[k] = 0;
      real* m = out + static_cast<std::ptrdiff_t>(t) * size;
      std::memcpy(m, w.transition, sizeof(real) * size);
      for (int k = 0; k < count; k += W) {
        const vec score = load(scores + k);
        beyond |= (score > kFarthest) | (score < -kFarthest);
        store(scores + k, exp(score));
      }
      for (int k = 0; k < count; ++k) {
        // A pair whose sum returned to 0 in between is listed twice, but its exp is applied once.
        if (added[touched[k]] == 0) continue;
        m[touched[k]] *= scores[k];
        added[touched[k]] = 0;
      }
    }
    *far = any(beyond);
    return out;
  }

  // The transpose of scores(): adds the expected counts of the rows of sequence i to the gradient.
  void add_gradient(int i, const real* expected) const {
    const int T = d.length(i), sites = d.n_sites(i), Y = d.Y;
    const std::int64_t first = d.first_row(i);
    if (d.planes == 1) {
      scatter(first, T + sites, expected);
      return;
    }
    real* wide = reals(work, static_cast<std::size_t>(T + 1) * w.wide);
    real* own = wide + static_cast<std::ptrdiff_t>(T) * w.wide;
    fill(wide, static_cast<std::ptrdiff_t>(T + 1) * w.wide, 0);
    for (int t = 0; t < T; ++t) std::memcpy(wide + t * w.wide, expected + t * n, sizeof(real) * Y);
    for (int k = 0; k < sites; ++k) {
      const Site& site = d.site[d.sites[i] + k];
      const real* from = expected + static_cast<std::ptrdiff_t>(T + k) * n;
      if (!d.is_empty(first + T + k)) {
        std::memcpy(own, from, sizeof(real) * Y);
        scatter(first + T + k, 1, own);
      }
      if (site.plane == 0) continue;
      std::memcpy(wide + static_cast<std::ptrdiff_t>(site.start) * w.wide + site.plane * Y, from,
                  sizeof(real) * Y);
    }
    scatter(first, T, wide);
  }

  // Computes the scores of states from those of labels and patterns:
  //
  //   out[q] = scores[label q] + sum of own[p] over the patterns p that q ends in
  //
  // Padding is -inf in the row of a token and 0 in the row of a site.
  void to_states(std::int64_t row, bool token, real* scores, real* out) const {
    const Histories& h = *w.histories;
    real* own = scores + w.stride;
    if (d.has_patterns(row)) h.add_shorter(own);
    for (int q = 0; q < h.lanes; ++q) {
      out[q] = h.label[q] < 0 ? (token ? -kInfinity : 0) : scores[h.label[q]] + own[q];
    }
  }
  // The transpose of to_states, from the expected counts of states:
  //
  //   out[y] = sum of counts over the states of label y
  //   own[p] = sum of counts over the states that end in p
  void from_states(std::int64_t row, const real* counts, real* out) const {
    const Histories& h = *w.histories;
    real* own = out + w.stride;
    fill(out, w.stride, 0);
    for (int y = 0; y < h.Y; ++y) {
      for (int q = h.first[y]; q < h.last[y]; ++q) out[y] += counts[q];
    }
    if (!d.has_patterns(row)) return;
    std::memcpy(own, counts, sizeof(real) * h.lanes);
    h.add_longer(own);
  }
};

}  // namespace caesura::CAESURA_ISA
