// Bindings of prediction with look-back features.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include <cmath>

#include "bind/bound_spans.hpp"
#include "bind/tuples.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {

SpanRules span_rules(Vector<std::int32_t> bounds, Matrix<std::uint8_t> barred,
                     Vector<std::uint8_t> start, Vector<std::uint8_t> end,
                     const std::optional<Vector<double>>& bias, int Y) {
  const std::size_t n = Y;
  require(bounds.shape(0) == n && barred.shape(0) == n && barred.shape(1) == n &&
              start.shape(0) == n && end.shape(0) == n && (!bias || bias->shape(0) == n),
          "bounds, barred: expected one for each label");
  for (std::size_t y = 0; y < n; ++y) require(bounds(y) >= 1, "bounds: expected 1 or more");
  SpanRules rules{
      copied(bounds), {barred.data(), barred.data() + n * n}, copied(start), copied(end), {}};
  if (bias) rules.bias = copied(*bias);
  return rules;
}

namespace {

std::vector<LabelledSegment> span_path(Matrix<std::int32_t> rows) {
  std::vector<LabelledSegment> out;
  for (std::size_t k = 0; k < rows.shape(0); ++k)
    out.push_back({rows(k, 0), rows(k, 1), rows(k, 2)});
  return out;
}

nb::list ranked(const SpanScorer& self, const SpanCorpus& corpus, const Reading& reading,
                nb::handle kind, nb::list names, int n, int n_threads) {
  std::vector<std::vector<Answer>> answers;
  std::vector<double> log_z;
  {
    const Released release;
    answers = self.n_best(corpus, n, n_threads);
    log_z = self.log_partition(corpus, n_threads);
  }
  auto item = [&](std::size_t i, nb::list path, double score) -> nb::object {
    return nb::make_tuple(std::move(path), std::exp(std::min(score - log_z[i], 0.0)));
  };
  return answers_to_python(answers, reading, kind, names, item);
}

nb::list drawn(const SpanScorer& self, const SpanCorpus& corpus, const Reading& reading,
               nb::handle kind, nb::list names, int n, std::uint64_t seed, int n_threads) {
  std::vector<std::vector<Answer>> answers;
  {
    const Released release;
    answers = self.samples(corpus, n, seed, n_threads);
  }
  auto item = [](std::size_t, nb::list path, double) -> nb::object { return std::move(path); };
  return answers_to_python(answers, reading, kind, names, item);
}

}  // namespace

void bind_span_answers(nb::module_& m) {
  nb::class_<SpanPosterior>(m, "SpanPosterior", "Probabilities of the spans of one sequence.")
      .def_ro("log_partition", &SpanPosterior::log_z)
      .def_ro("entropy", &SpanPosterior::entropy)
      .def_prop_ro(
          "shape", [](const SpanPosterior& p) { return nb::make_tuple(p.T, p.L, p.Y); },
          nb::sig("def shape(self) -> tuple[int, int, int]"))
      .def_prop_ro(
          "spans", [](const SpanPosterior& p) { return given(p.spans); }, nb::rv_policy::move)
      .def_prop_ro(
          "transitions", [](const SpanPosterior& p) { return given(p.transitions); },
          nb::rv_policy::move)
      .def_prop_ro(
          "starts", [](const SpanPosterior& p) { return given(p.starts); }, nb::rv_policy::move)
      .def_prop_ro(
          "ends", [](const SpanPosterior& p) { return given(p.ends); }, nb::rv_policy::move);

  nb::class_<SpanScorer>(m, "SpanScorer", "A model with features that look back, which answers.")
      .def(
          "__init__",
          [](SpanScorer* self, std::shared_ptr<SpanModel> model, Vector<std::int32_t> bounds,
             Matrix<std::uint8_t> barred, Vector<std::uint8_t> start, Vector<std::uint8_t> end,
             const std::optional<Vector<double>>& bias, std::optional<int> beam) {
            require(!beam || *beam >= 1, "beam: out of range");
            SpanRules rules =
                span_rules(bounds, barred, start, end, bias, model->features.n_labels);
            new (self) SpanScorer(std::move(model), std::move(rules),
                                  beam.value_or(SpanSearch::kUnlimited));
          },
          "model"_a, "bounds"_a, "barred"_a, "barred_start"_a, "barred_end"_a,
          "entry_bias"_a.none(), "beam"_a.none())
      .def_prop_ro("depth", &SpanScorer::depth)
      .def(
          "best",
          [](const SpanScorer& self, const SpanCorpus& corpus, const Reading* reading,
             int n_threads, std::optional<nb::object> own) {
            if (own) {
              OwnFeatures features(*own);
              return self.best(corpus, reading, 1, &features);
            }
            const Released release;
            return self.best(corpus, reading, n_threads, nullptr);
          },
          "design"_a, "reading"_a.none(), "n_threads"_a, "own"_a.none() = nb::none())
      .def("confident", &SpanScorer::confident, "design"_a, "reading"_a, "n_threads"_a,
           nb::call_guard<Released>())
      .def(
          "posterior",
          [](const SpanScorer& self, const SpanCorpus& corpus, bool want_entropy, int n_threads) {
            std::vector<SpanPosterior> rows;
            {
              const Released release;
              rows = self.posterior(corpus, want_entropy, n_threads);
            }
            nb::list out;
            for (SpanPosterior& row : rows) out.append(nb::cast(std::move(row)));
            return out;
          },
          "design"_a, "want_entropy"_a, "n_threads"_a,
          nb::sig("def posterior(self, design: SpanCorpus, want_entropy: bool, n_threads: int) -> "
                  "list[SpanPosterior]"))
      .def(
          "log_partition",
          [](const SpanScorer& self, const SpanCorpus& corpus, int n_threads) {
            return self.log_partition(corpus, n_threads);
          },
          "design"_a, "n_threads"_a, nb::call_guard<Released>())
      .def("n_best", &ranked, "design"_a, "reading"_a, "kind"_a, "names"_a, "n"_a, "n_threads"_a)
      .def("sample", &drawn, "design"_a, "reading"_a, "kind"_a, "names"_a, "n"_a, "seed"_a,
           "n_threads"_a)
      .def(
          "score",
          [](const SpanScorer& self, const SpanCorpus& corpus, int i, Matrix<std::int32_t> rows) {
            require(i >= 0 && i < corpus.n_sequences(), "i: out of range");
            return self.score(corpus, i, span_path(rows));
          },
          "design"_a, "i"_a, "segments"_a)
      .def(
          "said",
          [](const SpanScorer& self, const SpanCorpus& corpus, int i, Matrix<std::int32_t> rows) {
            require(i >= 0 && i < corpus.n_sequences(), "i: out of range");
            nb::list out;
            for (const SpanScorer::Said& one : self.said(corpus, i, span_path(rows)))
              out.append(nb::make_tuple(one.key, one.label, one.value));
            return out;
          },
          "design"_a, "i"_a, "segments"_a,
          nb::sig("def said(self, design: SpanCorpus, i: int, segments: NDArray[numpy.int32]) -> "
                  "list[tuple[int, int, float]]"))
      .def(
          "tally",
          [](const SpanScorer& self, const SpanCorpus& corpus, int i) {
            require(i >= 0 && i < corpus.n_sequences(), "i: out of range");
            const SearchTally tally = self.tally(corpus, i);
            return nb::make_tuple(tally.candidates, tally.items);
          },
          "design"_a, "i"_a,
          nb::sig("def tally(self, design: SpanCorpus, i: int) -> tuple[int, int]"));
}

}  // namespace caesura
