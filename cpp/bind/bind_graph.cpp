// Bindings of span graphs: check, release the GIL, call.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/bindings.hpp"
#include "infer/graph_batch.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace caesura;

namespace {

void make_graph(OwnedSpanGraph* self, int length, int n_labels, int rule,
                Matrix<std::int32_t> spans, Vector<double> scores, Matrix<double> transition,
                Vector<double> start, Vector<double> end, Matrix<std::int32_t> arcs,
                Vector<double> arc_scores) {
  SpanGraphInput in;
  in.T = length;
  in.Y = n_labels;
  in.rule = static_cast<ArcRule>(rule);
  const std::size_t n = spans.shape(0), Y = n_labels;
  require(n_labels > 0 && length >= 0, "labels, length: out of range");
  require(spans.shape(1) == 3 && scores.shape(0) == n, "spans: wrong shape");
  require(transition.shape(0) == Y && transition.shape(1) == Y, "transition: wrong shape");
  require(start.shape(0) == Y && end.shape(0) == Y, "start, end: wrong shape");
  require(arcs.shape(1) == 2 && arcs.shape(0) == arc_scores.shape(0), "arcs: wrong shape");
  for (std::size_t i = 0; i < n; ++i) {
    const Span span{spans(i, 0), spans(i, 1), spans(i, 2), scores(i)};
    require(span.start >= 0 && span.start < span.end && span.end <= length && span.label >= 0 &&
                span.label < n_labels,
            "spans: out of range");
    in.spans.push_back(span);
  }
  for (std::size_t i = 0; i < arcs.shape(0); ++i) {
    const SpanArc arc{arcs(i, 0), arcs(i, 1), arc_scores(i)};
    require(arc.from >= 0 && arc.to >= 0 && arc.from < static_cast<int>(n) &&
                arc.to < static_cast<int>(n),
            "arcs: out of range");
    in.arcs.push_back(arc);
  }
  in.transition.assign(transition.data(), transition.data() + transition.size());
  in.start = copied(start);
  in.end = copied(end);
  new (self) OwnedSpanGraph(std::move(in));
}

nb::list paths_to_python(const std::vector<GraphPath>& paths, const OwnedSpanGraph& self) {
  nb::list out;
  for (const GraphPath& path : paths) {
    nb::list items;
    for (const std::int32_t item : path) items.append(item);
    out.append(nb::make_tuple(items, self.score(path)));
  }
  return out;
}

template <class Ask>
auto without_gil(Ask ask) {
  const Released release;
  Workspace work;
  return ask(work);
}

// Returns (ln Z, entropy, counts of spans, arcs, transitions, starts and ends).
nb::tuple counts_of(const OwnedSpanGraph& self, bool want_entropy) {
  GraphPosterior p = without_gil([&](Workspace& work) {
    return graph_posterior(self.graph(), self.n_arcs(), work, want_entropy);
  });
  return nb::make_tuple(p.log_z, p.entropy, given(std::move(p.spans)), given(std::move(p.arcs)),
                        given(std::move(p.transitions)), given(std::move(p.starts)),
                        given(std::move(p.ends)));
}

// ---- Batches of graphs ----

void make_graphs(GraphBatch* self, Vector<std::int32_t> lengths, Vector<std::int64_t> offsets,
                 int n_labels, int rule, Matrix<std::int32_t> spans, Vector<double> scores,
                 Matrix<double> transition, Vector<double> start, Vector<double> end,
                 int n_threads) {
  const std::size_t B = lengths.shape(0), n = spans.shape(0), Y = n_labels;
  require(n_labels > 0, "labels: out of range");
  require(
      offsets.shape(0) == B + 1 && offsets(0) == 0 && offsets(B) == static_cast<std::int64_t>(n),
      "offsets: wrong shape");
  require(spans.shape(1) == 3 && scores.shape(0) == n, "spans: wrong shape");
  require(transition.shape(0) == Y && transition.shape(1) == Y, "transition: wrong shape");
  require(start.shape(0) == Y && end.shape(0) == Y, "start, end: wrong shape");
  for (std::size_t b = 0; b < B; ++b) {
    require(lengths(b) >= 0 && offsets(b) <= offsets(b + 1), "lengths, offsets: out of range");
    for (std::int64_t i = offsets(b); i < offsets(b + 1); ++i) {
      require(spans(i, 0) >= 0 && spans(i, 0) < spans(i, 1) && spans(i, 1) <= lengths(b) &&
                  spans(i, 2) >= 0 && spans(i, 2) < n_labels,
              "spans: out of range");
    }
  }
  GraphBatchInput in;
  in.B = static_cast<int>(B);
  in.Y = n_labels;
  in.rule = static_cast<ArcRule>(rule);
  in.lengths = lengths.data();
  in.offsets = offsets.data();
  in.spans = spans.data();
  in.scores = scores.data();
  in.transition = transition.data();
  in.start = start.data();
  in.end = end.data();
  const Released release;
  new (self) GraphBatch(in, n_threads);
}

// Returns (ln Z, entropy, counts of spans, counts of transitions).  Without want_entropy, the array
// of entropies is empty.
nb::tuple batch_counts(const GraphBatch& self, bool want_entropy, int n_threads) {
  const std::size_t B = self.size(), Y = self.n_labels();
  std::vector<double> log_z(B), entropy(want_entropy ? B : 0), spans(self.n_spans()),
      transitions(B * Y * Y);
  {
    const Released release;
    self.posterior(n_threads, {log_z.data(), want_entropy ? entropy.data() : nullptr, spans.data(),
                               transitions.data()});
  }
  return nb::make_tuple(given(std::move(log_z)), given(std::move(entropy)), given(std::move(spans)),
                        given(std::move(transitions)));
}

// Returns (sequences, offsets, spans, scores).
nb::tuple batch_paths(GraphBatchPaths paths) {
  return nb::make_tuple(given(std::move(paths.sequences)), given(std::move(paths.offsets)),
                        given(std::move(paths.spans)), given(std::move(paths.scores)));
}

void bind_graph_batch(nb::module_& m) {
  nb::class_<GraphBatch>(m, "SpanGraphs", "The graphs of labelled spans of a batch of sequences.")
      .def("__init__", &make_graphs, "lengths"_a, "offsets"_a, "n_labels"_a, "rule"_a, "spans"_a,
           "scores"_a, "transition"_a, "start"_a, "end"_a, "n_threads"_a)
      .def(
          "arcs", [](const GraphBatch& self) { return given(self.arcs()); },
          nb::sig("def arcs(self) -> NDArray[numpy.int64]"))
      .def(
          "log_partition",
          [](const GraphBatch& self, int n_threads) {
            std::vector<double> out(self.size());
            {
              const Released release;
              self.log_partition(n_threads, out.data());
            }
            return given(std::move(out));
          },
          "n_threads"_a,
          nb::sig("def log_partition(self, n_threads: int) -> "
                  "NDArray[numpy.float64]"))
      .def("posterior", &batch_counts, "want_entropy"_a, "n_threads"_a,
           nb::sig("def posterior(self, want_entropy: bool, n_threads: int) -> "
                   "tuple[NDArray[numpy.float64], NDArray[numpy.float64], "
                   "NDArray[numpy.float64], NDArray[numpy.float64]]"))
      .def(
          "n_best",
          [](const GraphBatch& self, int n, int n_threads) {
            return batch_paths([&] {
              const Released release;
              return self.n_best(n, n_threads);
            }());
          },
          "n"_a, "n_threads"_a,
          nb::sig("def n_best(self, n: int, n_threads: int) -> tuple[NDArray[numpy.int64], "
                  "NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.float64]]"))
      .def(
          "sample",
          [](const GraphBatch& self, int n, std::uint64_t seed, int n_threads) {
            return batch_paths([&] {
              const Released release;
              return self.samples(n, seed, n_threads);
            }());
          },
          "n"_a, "seed"_a, "n_threads"_a,
          nb::sig("def sample(self, n: int, seed: int, n_threads: int) -> "
                  "tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], "
                  "NDArray[numpy.float64]]"));
}

}  // namespace

void caesura::bind_graph(nb::module_& m) {
  bind_graph_batch(m);
  nb::class_<OwnedSpanGraph>(m, "SpanGraph", "A graph of labelled spans, indexed for the kernels.")
      .def("__init__", &make_graph, "length"_a, "n_labels"_a, "rule"_a, "spans"_a, "scores"_a,
           "transition"_a, "start"_a, "end"_a, "arcs"_a, "arc_scores"_a)
      .def_prop_ro("broken_arc", &OwnedSpanGraph::broken_arc)
      .def("score", &OwnedSpanGraph::score, "path"_a)
      .def("log_partition",
           [](const OwnedSpanGraph& self) {
             return without_gil(
                 [&](Workspace& work) { return graph_log_partition(self.graph(), work); });
           })
      .def("posterior", &counts_of, "want_entropy"_a,
           nb::sig("def posterior(self, want_entropy: bool) -> tuple[float, float, "
                   "NDArray[numpy.float64], "
                   "NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], "
                   "NDArray[numpy.float64]]"))
      .def(
          "n_best",
          [](const OwnedSpanGraph& self, int n) {
            return paths_to_python(
                without_gil([&](Workspace& work) { return graph_n_best(self.graph(), work, n); }),
                self);
          },
          "n"_a, nb::sig("def n_best(self, n: int) -> list[tuple[list[int], float]]"))
      .def(
          "sample",
          [](const OwnedSpanGraph& self, int n, std::uint64_t seed) {
            return paths_to_python(without_gil([&](Workspace& work) {
                                     return graph_samples(self.graph(), work, n, seed);
                                   }),
                                   self);
          },
          "n"_a, "seed"_a,
          nb::sig("def sample(self, n: int, seed: int) -> list[tuple[list[int], float]]"))
      .def(
          "tally",
          [](const OwnedSpanGraph& self) {
            GraphTally tally;
            without_gil(
                [&](Workspace& work) { return graph_log_partition(self.graph(), work, &tally); });
            nb::dict out;
            out["spans"] = tally.spans;
            out["arcs"] = tally.arcs;
            out["rows"] = tally.rows;
            out["steps"] = tally.steps;
            return out;
          },
          nb::sig("def tally(self) -> dict[str, int]"));
}
