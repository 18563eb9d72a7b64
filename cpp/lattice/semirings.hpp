// The semirings, which define what a sweep computes.  A sweep defines which terms a row consists of
// and in which order rows are computed; a semiring defines how two alternatives are combined (plus)
// and how a path is extended (times).  A new question is a new semiring type, and every sweep that
// is a template can answer it.
//
// All values are logarithms of weights.  The laws that a sweep relies on:
//
//   plus is associative and commutative, and kZero is its neutral element;
//   times is associative, kOne is its neutral element, and kZero annihilates.  Here times is always
//     the sum of two logarithms, written `+` in the sweeps, with kOne = 0 and kZero = -inf;
//   times distributes over plus.  Therefore a sweep may add the base of a row, or a score that many
//     terms share, once for all of them.
//
// Each semiring has
//
//   kSelects   whether plus returns one of its arguments, so that back-pointers are defined
//   plus(a, b) of two values
//   Sum        the plus of many values, one at a time:
//                add(value, from), value() = most + rest(), from() where kSelects
//   Rows       the plus of many rows of states at once, on ranges of states that may differ:
//                reset(); add(a, b, shift, range, from) adds the row a + b + shift, where `from` is
//                the same for all states; add_open(a, b, range, froms), where each state has its
//                own; finish(out, froms) writes the result, kZero where nothing was added
//   step(arcs, alpha, hat[, previous, comes_first])
//              hat[q] = entry[q] + plus over the arcs (p, q) of alpha[p] + transition[p, q]; where
//              kSelects, previous[q] is the chosen p, and comes_first(a, b) breaks ties
#pragma once

#include <cmath>

#include "lattice/lattice.hpp"

namespace caesura {

// The Sum of LogSum, also for sources that are compiled once for all instruction sets: those see
// nothing else of this file.  total = sum of exp(value - most) over the values so far.  Always
// inlined, for the same reason as Total.
struct LogTotal {
  double most = kMinusInfinity, total = 0.0;
  [[gnu::always_inline]] void add(double value, int = 0) {
    if (value == kMinusInfinity) return;
    if (value > most) {
      total = total * std::exp(most - value) + 1.0;
      most = value;
    } else {
      total += std::exp(value - most);
    }
  }
  [[gnu::always_inline]] double rest() const { return std::log(total); }
  [[gnu::always_inline]] double value() const {
    return most == kMinusInfinity ? most : most + rest();
  }
  [[gnu::always_inline]] int from() const { return 0; }
};

}  // namespace caesura

#ifdef CAESURA_ISA
#include "base/vector.hpp"
#include "base/workspace.hpp"
#include "lattice/rows.hpp"

namespace caesura::CAESURA_ISA {

// plus(a, b) = ln(e^a + e^b): sums over all segmentations.
struct LogSum {
  static constexpr bool kSelects = false;
  static constexpr double kZero = kMinusInfinity, kOne = 0.0;

  static double plus(double a, double b) {
    const double most = a > b ? a : b, least = a > b ? b : a;
    return least == kZero ? most : most + std::log1p(std::exp(least - most));
  }

  using Sum = LogTotal;

  // Sums a block of rows at a time, with one exp for each term and one log for each sum.
  struct Rows {
    static constexpr int kBlock = 8;
    int stride;
    double* most;   // [stride] largest term so far
    double* total;  // [stride] sum of exp(term - most)
    double* block;  // [kBlock][stride]
    Range ranges[kBlock];
    int rows = 0;
    bool flushed = false;

    Rows(int row_stride, Workspace& work)
        : stride(row_stride),
          most(work.doubles(row_stride)),
          total(work.doubles(row_stride)),
          block(work.doubles(static_cast<std::size_t>(kBlock) * row_stride)) {}

    void reset() {
      rows = 0;
      flushed = false;
    }

    // Adds the row a + b + shift on a range of states.
    void add(const double* a, const double* b, double shift, Range range, double) {
      if (rows == kBlock) flush();
      double* row = block + static_cast<std::ptrdiff_t>(rows) * stride;
      for (int q = range.begin / W * W; q < range.end; q += W) {
        vec v = load(a + q) + load(b + q) + shift;
        if (q < range.begin || q + W > range.end) {
          v = lanes_in(q, range.begin, range.end) ? v : splat(kMinusInfinity);
        }
        store(row + q, v);
      }
      ranges[rows++] = range;
    }

    // Adds the row of open segments.  Their starts matter only to a semiring that selects.
    void add_open(const double* a, const double* b, Range range, const double*) {
      add(a, b, 0.0, range, 0.0);
    }

    void flush() {
      if (!flushed) {
        fill(most, stride, kMinusInfinity);
        fill(total, stride, 0.0);
        flushed = true;
      }
      // From the lowest to the highest state in any range: the new maximum, then the sum relative
      // to it.
      int begin = stride, end = 0;
      for (int i = 0; i < rows; ++i) {
        begin = ranges[i].begin < begin ? ranges[i].begin : begin;
        end = ranges[i].end > end ? ranges[i].end : end;
      }
      for (int q = begin / W * W; q < end; q += W) {
        const vec before = load(most + q);
        vec top = before;
        for (int i = 0; i < rows; ++i) {
          if (q + W > ranges[i].begin && q < ranges[i].end)
            top = max(top, load(block + i * stride + q));
        }
        const vec safe = top == kMinusInfinity ? vec{} : top;
        vec sum = load(total + q);
        if (max_of(sum) > 0.0) sum *= exp(before - safe);
        for (int i = 0; i < rows; ++i) {
          if (q + W > ranges[i].begin && q < ranges[i].end)
            sum += exp(load(block + i * stride + q) - safe);
        }
        store(total + q, sum);
        store(most + q, top);
      }
      rows = 0;
    }

    void finish(double* out, double*) {
      if (!flushed && rows == 1) {  // a single term needs no sum
        fill(out, stride, kMinusInfinity);
        for (int q = ranges[0].begin / W * W; q < ranges[0].end; q += W)
          store(out + q, load(block + q));
        return;
      }
      flush();
      for (int q = 0; q < stride; q += W) {
        const vec top = load(most + q);
        const vec value = top + log(load(total + q));
        store(out + q, top == kMinusInfinity ? top : value);
      }
    }
  };

  template <class Arcs>
  static void step(const Arcs& arcs, const double* alpha, double* hat) {
    arcs.forward(alpha, hat);
  }
};

// plus(a, b) = max(a, b): the best segmentation, with back-pointers.  Among equal values the first
// one added is kept.
struct Maximum {
  static constexpr bool kSelects = true;
  static constexpr double kZero = kMinusInfinity, kOne = 0.0;

  static double plus(double a, double b) { return b > a ? b : a; }

  struct Sum {
    double most = kZero;
    int chosen = 0;
    void add(double value, int from) {
      if (value > most) most = value, chosen = from;
    }
    double rest() const { return 0.0; }
    double value() const { return most; }
    int from() const { return chosen; }
  };

  struct Rows {
    int stride;
    double* most;  // [stride]
    double* from;  // [stride] a start, as a double

    Rows(int row_stride, Workspace& work)
        : stride(row_stride), most(work.doubles(row_stride)), from(work.doubles(row_stride)) {}

    void reset() {
      fill(most, stride, kMinusInfinity);
      fill(from, stride, 0.0);
    }

    void add(const double* a, const double* b, double shift, Range range, double start) {
      add_from(a, b, shift, range, [start](int) { return splat(start); });
    }
    // Adds the row of open segments, where each state has its own start.
    void add_open(const double* a, const double* b, Range range, const double* starts) {
      add_from(a, b, 0.0, range, [starts](int q) { return load(starts + q); });
    }
    template <class From>
    void add_from(const double* a, const double* b, double shift, Range range, From start) {
      for (int q = range.begin / W * W; q < range.end; q += W) {
        const vec v = load(a + q) + load(b + q) + shift;
        ivec better = v > load(most + q);
        if (q < range.begin || q + W > range.end) better &= lanes_in(q, range.begin, range.end);
        store(most + q, better ? v : load(most + q));
        store(from + q, better ? start(q) : load(from + q));
      }
    }

    void finish(double* out, double* starts) {
      copy(out, most, stride);
      copy(starts, from, stride);
    }
  };

  template <class Arcs, class First>
  static void step(const Arcs& arcs, const double* alpha, double* hat, std::int32_t* previous,
                   First comes_first) {
    arcs.forward_best(alpha, hat, previous, comes_first);
  }
};

}  // namespace caesura::CAESURA_ISA
#endif
