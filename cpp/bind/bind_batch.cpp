// Bindings of batches of external scores: check, release the GIL, call.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "base/pool.hpp"
#include "bind/bindings.hpp"
#include "infer/batch.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace caesura;

namespace {

// Arrays of any shape: caesura.inference.batch has checked the shapes, and only the sizes are
// checked again here.
template <class T>
using In = std::optional<nb::ndarray<const T, nb::c_contig, nb::device::cpu>>;
template <class T>
using Out = std::optional<nb::ndarray<T, nb::c_contig, nb::device::cpu>>;

template <class Real>
struct OwnedBatch {
  std::vector<nb::object> arrays;
  std::unique_ptr<Batch<Real>> batch;
  std::int64_t n_rows = 0;
};

template <class Real>
void make_batch(OwnedBatch<Real>* self, int n_labels, std::int64_t n_rows,
                Vector<std::int32_t> lengths, Vector<std::int64_t> rows, In<Real> tokens,
                In<Real> segments, int longest, In<Real> starts, In<Real> ends,
                In<std::uint8_t> allowed, In<std::int8_t> boundaries, In<std::int32_t> span_index,
                In<Real> span_scores, In<Real> transition, In<Real> start, In<Real> end,
                Vector<std::int32_t> bounds, bool same_label_adjacent,
                std::vector<std::vector<std::int32_t>> patterns, In<Real> pattern_scores,
                const NamedRules& rules) {
  BatchInput<Real> in;
  in.B = static_cast<int>(lengths.shape(0));
  in.Y = n_labels;
  in.L = longest;
  const std::size_t B = in.B, Y = in.Y;
  require(rows.shape(0) == B && bounds.shape(0) == Y && in.Y > 0, "batch: sizes differ");
  in.lengths = copied(lengths);
  in.rows = copied(rows);
  for (std::size_t b = 0; b < B; ++b) {
    require(in.lengths[b] >= 0 && in.rows[b] >= 0 && in.rows[b] + in.lengths[b] <= n_rows,
            "lengths: out of range");
  }
  std::vector<nb::object> arrays;
  auto view = [&](const auto& given, std::size_t size, const char* what) {
    using Pointer = decltype(given->data());
    if (!given) return static_cast<Pointer>(nullptr);
    require(given->size() == size, what);
    arrays.push_back(nb::cast(*given));
    return given->data();
  };
  const std::size_t R = n_rows;
  in.tokens = view(tokens, R * Y, "tokens: wrong size");
  in.segments = view(segments, R * longest * Y, "segments: wrong size");
  in.starts = view(starts, R * Y, "starts: wrong size");
  in.ends = view(ends, R * Y, "ends: wrong size");
  in.allowed = view(allowed, R * Y, "allowed: wrong size");
  in.boundaries = view(boundaries, R, "boundaries: wrong size");
  in.n_spans = span_scores ? static_cast<std::int64_t>(span_scores->size()) : 0;
  in.span_scores = view(span_scores, in.n_spans, "span_scores: wrong size");
  in.span_index = view(span_index, 4 * in.n_spans, "spans: wrong size");
  require((in.span_index == nullptr) == (in.span_scores == nullptr), "spans: no scores");
  in.own_transition = transition && transition->ndim() == 3;
  in.own_start = start && start->ndim() == 2;
  in.own_end = end && end->ndim() == 2;
  in.transition = view(transition, (in.own_transition ? B : 1) * Y * Y, "transition: wrong size");
  in.start = view(start, (in.own_start ? B : 1) * Y, "start: wrong size");
  in.end = view(end, (in.own_end ? B : 1) * Y, "end: wrong size");
  in.bounds = copied(bounds);
  for (const std::int32_t bound : in.bounds) {
    require(bound >= 0 && (!segments || (bound > 0 && bound <= longest)), "bounds: out of range");
  }
  in.same_label_adjacent = same_label_adjacent;
  for (const auto& history : patterns) {
    require(history.size() > 1, "patterns: too short");
    for (const std::int32_t y : history) require(y >= 0 && y < in.Y, "patterns: out of range");
  }
  require(patterns.empty() == !pattern_scores, "patterns: no scores");
  in.pattern_scores = view(pattern_scores, patterns.size(), "pattern_scores: wrong size");
  in.patterns = std::move(patterns);
  in.rules = rules_from(rules, in.Y, std::nullopt);
  for (std::int64_t i = 0; i < in.n_spans; ++i) {
    const std::int32_t* span = in.span_index + 4 * i;
    require(span[0] >= 0 && span[0] < in.B && span[1] >= 0 && span[1] < span[2] &&
                span[2] <= in.lengths[span[0]] && span[3] >= 0 && span[3] < in.Y,
            "spans: out of range");
  }
  new (self)
      OwnedBatch<Real>{std::move(arrays), std::make_unique<Batch<Real>>(std::move(in)), n_rows};
}

// Runs a query without the GIL; the error for a bad score names its array and sequence.
template <class Ask>
auto ask(Ask ask) {
  try {
    const Released release;
    return ask();
  } catch (const InvalidBatch& error) {
    throw RefusedScore(error.what(), error.sequence);
  }
}

template <class Real>
void log_partition(const OwnedBatch<Real>& self, nb::ndarray<Real, nb::ndim<1>, nb::c_contig> out,
                   int n_threads) {
  require(static_cast<int>(out.shape(0)) == self.batch->input().B, "out: wrong size");
  ask([&] {
    self.batch->log_partition(n_threads, out.data());
    return 0;
  });
}

template <class Real>
void posterior(const OwnedBatch<Real>& self, Out<Real> log_z, Out<Real> entropy, Out<Real> tokens,
               Out<Real> segments, Out<Real> starts, Out<Real> ends, Out<Real> spans,
               Out<Real> transition, Out<Real> start, Out<Real> end, Out<Real> patterns,
               In<double> weights, int n_threads) {
  const BatchInput<Real>& in = self.batch->input();
  const std::size_t B = in.B, Y = in.Y, R = self.n_rows;
  auto view = [&](const Out<Real>& given, std::size_t size) {
    require(!given || given->size() == size, "counts: wrong size");
    return given ? given->data() : nullptr;
  };
  BatchCounts<Real> out;
  out.log_z = view(log_z, B);
  out.entropy = view(entropy, B);
  out.tokens = view(tokens, R * Y);
  out.segments = view(segments, R * in.L * Y);
  out.starts = view(starts, R * Y);
  out.ends = view(ends, R * Y);
  out.spans = view(spans, in.n_spans);
  out.transition = view(transition, (in.own_transition ? B : 1) * Y * Y);
  out.start = view(start, (in.own_start ? B : 1) * Y);
  out.end = view(end, (in.own_end ? B : 1) * Y);
  out.patterns = view(patterns, in.patterns.size());
  require(!weights || weights->size() == B, "weights: wrong size");
  out.weights = weights ? weights->data() : nullptr;
  ask([&] {
    self.batch->posterior(n_threads, out);
    return 0;
  });
}

// An array of zeros with memory from the pool: the page faults of a large new array of counts would
// cost as much as the sums of a chain.
template <class Real>
nb::ndarray<nb::numpy, Real> zeros(const std::vector<std::size_t>& shape) {
  std::size_t size = 1;
  for (const std::size_t n : shape) size *= n;
  auto* block =
      new PooledDoubles(pooled((size * sizeof(Real) + sizeof(double) - 1) / sizeof(double)));
  nb::capsule owner(block, [](void* p) noexcept { delete static_cast<PooledDoubles*>(p); });
  auto* data = reinterpret_cast<Real*>(block->get());
  std::fill(data, data + size, Real{0});
  return nb::ndarray<nb::numpy, Real>(data, shape.size(), shape.data(), owner);
}

// Returns (scores, offsets, starts, ends, labels, sequences).
nb::tuple to_python(BatchPaths paths) {
  return nb::make_tuple(given(std::move(paths.scores)), given(std::move(paths.offsets)),
                        given(std::move(paths.starts)), given(std::move(paths.ends)),
                        given(std::move(paths.labels)), given(std::move(paths.sequences)));
}

constexpr const char* kPaths =
    "tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int32], "
    "NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int64]]";

template <class Real>
void bind_one(nb::module_& m, const char* name) {
  using Owned = OwnedBatch<Real>;
  static const std::string best_sig = std::string("def best(self, n_threads: int) -> ") + kPaths;
  static const std::string n_best_sig =
      std::string("def n_best(self, n: int, n_threads: int) -> ") + kPaths;
  static const std::string sample_sig =
      std::string("def sample(self, n: int, seed: int, n_threads: int) -> ") + kPaths;
  nb::class_<Owned>(m, name, "The scores of a batch of sequences, read where they are.")
      .def("__init__", &make_batch<Real>, "n_labels"_a, "n_rows"_a, "lengths"_a, "rows"_a,
           "tokens"_a.none(), "segments"_a.none(), "longest"_a, "starts"_a.none(), "ends"_a.none(),
           "allowed"_a.none(), "boundaries"_a.none(), "span_index"_a.none(), "span_scores"_a.none(),
           "transition"_a.none(), "start"_a.none(), "end"_a.none(), "bounds"_a,
           "same_label_adjacent"_a, "patterns"_a, "pattern_scores"_a.none(), "rules"_a)
      .def_static("zeros", &zeros<Real>, "shape"_a)
      .def("log_partition", &log_partition<Real>, "out"_a.noconvert(), "n_threads"_a)
      .def("posterior", &posterior<Real>, "log_z"_a.noconvert().none(),
           "entropy"_a.noconvert().none(), "tokens"_a.noconvert().none(),
           "segments"_a.noconvert().none(), "starts"_a.noconvert().none(),
           "ends"_a.noconvert().none(), "spans"_a.noconvert().none(),
           "transition"_a.noconvert().none(), "start"_a.noconvert().none(),
           "end"_a.noconvert().none(), "patterns"_a.noconvert().none(), "weights"_a.none(),
           "n_threads"_a)
      .def(
          "best",
          [](const Owned& self, int n_threads) {
            return to_python(ask([&] { return self.batch->best(n_threads); }));
          },
          "n_threads"_a, nb::sig(best_sig.c_str()))
      .def(
          "n_best",
          [](const Owned& self, int n, int n_threads) {
            return to_python(ask([&] { return self.batch->n_best(n, n_threads); }));
          },
          "n"_a, "n_threads"_a, nb::sig(n_best_sig.c_str()))
      .def(
          "sample",
          [](const Owned& self, int n, std::uint64_t seed, int n_threads) {
            return to_python(ask([&] { return self.batch->samples(n, seed, n_threads); }));
          },
          "n"_a, "seed"_a, "n_threads"_a, nb::sig(sample_sig.c_str()));
}

}  // namespace

void caesura::bind_batch(nb::module_& m) {
  bind_one<float>(m, "Batch32");
  bind_one<double>(m, "Batch64");
}
