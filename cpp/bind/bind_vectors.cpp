// Bindings of vectors of parameters: check, release the GIL, call.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind/bindings.hpp"
#include "optimise/vectors.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace caesura;

namespace {

using In = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The size of all arrays, which must be equal.
template <class First, class... Rest>
std::int64_t size_of(const First& first, const Rest&... rest) {
  if (((rest.shape(0) != first.shape(0)) || ...)) throw nb::value_error("vectors: sizes differ");
  return static_cast<std::int64_t>(first.shape(0));
}

Penalty penalty_of(const In& c, std::int64_t n) {
  const auto size = static_cast<std::int64_t>(c.shape(0));
  if (size > 1 && size != n) throw nb::value_error("penalty: expected 0, 1 or n values");
  return Penalty{c.data(), size};
}

using Products = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using ProductsOut = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Rows of correction pairs are arrays of float32, or of uint16 that represent Half.
template <class Row>
using Stored = std::conditional_t<std::is_same_v<Row, float>, float, std::uint16_t>;
template <class Row>
using RowIn = nb::ndarray<const Stored<Row>, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class Row>
using RowOut = nb::ndarray<Stored<Row>, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Row>
PairRows<Row> pairs_of(const std::vector<RowIn<Row>>& s, const std::vector<RowIn<Row>>& y,
                       std::int64_t n) {
  if (s.size() != y.size()) throw nb::value_error("pairs: sizes differ");
  PairRows<Row> pairs;
  for (const auto* rows : {&s, &y}) {
    for (const RowIn<Row>& row : *rows) {
      if (static_cast<std::int64_t>(row.shape(0)) != n)
        throw nb::value_error("vectors: sizes differ");
      pairs.push_back(reinterpret_cast<const Row*>(row.data()));
    }
  }
  return pairs;
}

template <class Row>
double bound_direction(In gradient, const std::vector<RowIn<Row>>& s,
                       const std::vector<RowIn<Row>>& y, Products products, In w, In c1,
                       int n_threads, Out out) {
  const std::int64_t n = size_of(gradient, w, out);
  if (products.shape(0) != 2 || products.shape(1) != s.size() || products.shape(2) != s.size())
    throw nb::value_error("products: expected the shape (2, pairs, pairs)");
  const PairRows<Row> pairs = pairs_of<Row>(s, y, n);
  const Penalty l1 = penalty_of(c1, n);
  const Released release;
  return direction(gradient.data(), pairs, products.data(), w.data(), l1, n, n_threads, out.data());
}

template <class Row>
void bound_pair_products(const std::vector<RowIn<Row>>& s, const std::vector<RowIn<Row>>& y,
                         int n_threads, ProductsOut out) {
  if (s.empty() || out.shape(0) != 2 || out.shape(1) != s.size())
    throw nb::value_error("pairs: expected some, and an array of the shape (2, pairs)");
  const auto n = static_cast<std::int64_t>(s[0].shape(0));
  const PairRows<Row> pairs = pairs_of<Row>(s, y, n);
  const Released release;
  pair_products(pairs, n, n_threads, out.data());
}

template <class Row>
std::tuple<double, double, double> bound_correction_pair(In w, In w0, In g, In g0, int n_threads,
                                                         RowOut<Row> s, RowOut<Row> y) {
  const std::int64_t n = size_of(w, w0, g, g0, s, y);
  const Released release;
  const PairProducts found =
      correction_pair(w.data(), w0.data(), g.data(), g0.data(), n, n_threads,
                      reinterpret_cast<Row*>(s.data()), reinterpret_cast<Row*>(y.data()));
  return {found.ss, found.yy, found.sy};
}

// Binds the functions that read or write correction pairs.
template <class Row>
void bind_pairs(nb::module_& m) {
  m.def("direction", &bound_direction<Row>, "gradient"_a, "s"_a.noconvert(), "y"_a.noconvert(),
        "products"_a, "w"_a, "c1"_a, "n_threads"_a, "out"_a.noconvert(),
        "out = -H gradient by the pairs, oldest first, with their products s[i].y[j], i <= j, and "
        "y[i].y[j], and 0 where c1 keeps a weight w = 0 at zero; returns gradient.out.");
  m.def("pair_products", &bound_pair_products<Row>, "s"_a.noconvert(), "y"_a.noconvert(),
        "n_threads"_a, "out"_a.noconvert(), "out[0] = s[i].y[-1], out[1] = y[i].y[-1].");
  m.def("correction_pair", &bound_correction_pair<Row>, "w"_a, "w0"_a, "g"_a, "g0"_a, "n_threads"_a,
        "s"_a.noconvert(), "y"_a.noconvert(),
        "s = w - w0, y = g - g0, rounded to float32, or to its upper half in uint16; returns s.s, "
        "y.y and s.y.");
}

}  // namespace

void caesura::bind_vectors(nb::module_& m) {
  m.def(
      "dot",
      [](In a, In b, int n_threads) {
        const std::int64_t n = size_of(a, b);
        const Released release;
        return dot(a.data(), b.data(), n, n_threads);
      },
      "a"_a, "b"_a, "n_threads"_a, "a.b, the same on any number of threads.");
  bind_pairs<float>(m);
  bind_pairs<Half>(m);
  m.def(
      "penalise",
      [](In w, In gradient, In c1, In c2, int n_threads, Out out) {
        const std::int64_t n = size_of(w, gradient, out);
        const Penalty l1 = penalty_of(c1, n), l2 = penalty_of(c2, n);
        Penalised found;
        {
          const Released release;
          found = penalise(w.data(), gradient.data(), l1, l2, n, n_threads, out.data());
        }
        return std::make_tuple(found.penalty, found.ww, found.gg, found.active);
      },
      "w"_a, "gradient"_a, "c1"_a, "c2"_a, "n_threads"_a, "out"_a.noconvert(),
      "out = gradient + 2 c2 w; returns the penalty, w.w, g.g of the (pseudo-)gradient, the "
      "weights not 0.");
  m.def(
      "pseudo_gradient",
      [](In w, In gradient, In c1, int n_threads, Out out) {
        const std::int64_t n = size_of(w, gradient, out);
        const Penalty l1 = penalty_of(c1, n);
        const Released release;
        pseudo_gradient(w.data(), gradient.data(), l1, n, n_threads, out.data());
      },
      "w"_a, "gradient"_a, "c1"_a, "n_threads"_a, "out"_a.noconvert(),
      "out = the gradient with c1 |w|_1, its least where there are two.");
  m.def(
      "move",
      [](In w, In d, double step, In gradient, In c1, int n_threads, Out out) {
        const std::int64_t n = size_of(w, d, gradient, out);
        const Penalty l1 = penalty_of(c1, n);
        const Released release;
        return move(w.data(), d.data(), step, gradient.data(), l1, n, n_threads, out.data());
      },
      "w"_a, "d"_a, "step"_a, "gradient"_a, "c1"_a, "n_threads"_a, "out"_a.noconvert(),
      "out = w + step d, kept in its orthant where c1 > 0; returns gradient.(out - w).");
}
