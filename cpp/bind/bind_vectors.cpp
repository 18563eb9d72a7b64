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
using FloatsIn = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatsOut = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

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

double bound_direction(In gradient, const std::vector<FloatsIn>& s, const std::vector<FloatsIn>& y,
                       In rho, In w, In c1, int n_threads, Out out) {
  const std::int64_t n = size_of(gradient, w, out);
  if (s.size() != y.size() || s.size() != rho.shape(0))
    throw nb::value_error("pairs: sizes differ");
  std::vector<const float*> s_data, y_data;
  for (std::size_t i = 0; i < s.size(); ++i) {
    size_of(gradient, s[i], y[i]);
    s_data.push_back(s[i].data());
    y_data.push_back(y[i].data());
  }
  const Penalty l1 = penalty_of(c1, n);
  const Released release;
  return direction(gradient.data(), s_data.data(), y_data.data(), rho.data(),
                   static_cast<int>(s.size()), w.data(), l1, n, n_threads, out.data());
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
  m.def("direction", &bound_direction, "gradient"_a, "s"_a, "y"_a, "rho"_a, "w"_a, "c1"_a,
        "n_threads"_a, "out"_a.noconvert(),
        nb::sig(
            "def direction(gradient: NDArray[numpy.float64], s: Sequence[NDArray[numpy.float32]], "
            "y: Sequence[NDArray[numpy.float32]], rho: NDArray[numpy.float64], "
            "w: NDArray[numpy.float64], c1: NDArray[numpy.float64], n_threads: int, "
            "out: NDArray[numpy.float64]) -> float"),
        "out = -H gradient by the two-loop recursion over the pairs, oldest first, and 0 where c1 "
        "keeps a weight w = 0 at zero; returns gradient.out.");
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
  m.def(
      "correction_pair",
      [](In w, In w0, In g, In g0, int n_threads, FloatsOut s, FloatsOut y) {
        const std::int64_t n = size_of(w, w0, g, g0, s, y);
        PairProducts found;
        {
          const Released release;
          found = correction_pair(w.data(), w0.data(), g.data(), g0.data(), n, n_threads, s.data(),
                                  y.data());
        }
        return std::make_tuple(found.ss, found.yy, found.sy);
      },
      "w"_a, "w0"_a, "g"_a, "g0"_a, "n_threads"_a, "s"_a.noconvert(), "y"_a.noconvert(),
      "s = w - w0, y = g - g0, in single precision; returns s.s, y.y and s.y.");
}
