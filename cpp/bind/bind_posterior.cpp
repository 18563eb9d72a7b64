// Bindings of expected counts, and of the probabilities of single segments and transitions.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "bind/bindings.hpp"
#include "infer/answers.hpp"
#include "infer/lookup.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace caesura;

namespace {

struct OwnedLookup {
  nb::object problem;
  std::shared_ptr<Problem> looked_at;  // kept alive, because `problem` may replace it by a new one
  std::unique_ptr<Lookup> lookup;
};

using Counted = nb::ndarray<nb::numpy, double, nb::c_contig>;
Counted view(nb::handle self, double* data, std::initializer_list<std::size_t> shape) {
  return Counted(data, shape, self);
}

}  // namespace

void caesura::bind_posterior(nb::module_& m) {
  nb::class_<Posterior>(m, "Posterior", "ln Z and expected counts.")
      .def_ro("log_partition", &Posterior::log_z)
      .def_ro("entropy", &Posterior::entropy)
      .def_prop_ro("tokens",
                   [](nb::handle_t<Posterior> self) {
                     const auto& p = nb::cast<const Posterior&>(self);
                     return view(self, p.counts.tokens, {std::size_t(p.T), std::size_t(p.Y)});
                   })
      .def_prop_ro("boundaries",
                   [](nb::handle_t<Posterior> self) {
                     const auto& p = nb::cast<const Posterior&>(self);
                     return view(self, p.counts.boundaries, {std::size_t(p.T) + 1});
                   })
      .def_prop_ro("transitions",
                   [](nb::handle_t<Posterior> self) {
                     const auto& p = nb::cast<const Posterior&>(self);
                     return view(self, p.counts.transitions, {std::size_t(p.Y), std::size_t(p.Y)});
                   })
      .def_prop_ro("starts",
                   [](nb::handle_t<Posterior> self) {
                     const auto& p = nb::cast<const Posterior&>(self);
                     return view(self, p.counts.starts, {std::size_t(p.Y)});
                   })
      .def_prop_ro("ends",
                   [](nb::handle_t<Posterior> self) {
                     const auto& p = nb::cast<const Posterior&>(self);
                     return view(self, p.counts.ends, {std::size_t(p.Y)});
                   })
      .def_prop_ro("spans",
                   [](nb::handle_t<Posterior> self) {
                     const auto& p = nb::cast<const Posterior&>(self);
                     return view(self, p.counts.spans,
                                 {std::size_t(p.T), std::size_t(p.span_length), std::size_t(p.Y)});
                   })
      .def_prop_ro("potentials",
                   [](nb::handle_t<Posterior> self) {
                     const auto& p = nb::cast<const Posterior&>(self);
                     return view(self, p.counts.potentials, {std::size_t(p.n_potentials)});
                   })
      .def_prop_ro("edges",
                   [](nb::handle_t<Posterior> self) {
                     const auto& p = nb::cast<const Posterior&>(self);
                     return view(self, p.counts.edges, {std::size_t(p.n_edges)});
                   })
      .def_prop_ro("patterns", [](nb::handle_t<Posterior> self) {
        const auto& p = nb::cast<const Posterior&>(self);
        return view(self, p.patterns, {std::size_t(p.n_patterns)});
      });

  nb::class_<OwnedLookup>(m, "Lookup", "Probabilities of single segments and transitions.")
      .def(
          "__init__",
          [](OwnedLookup* self, nb::handle_t<OwnedProblem> problem, int method) {
            auto& owned = nb::cast<OwnedProblem&>(problem);
            owned.prepare(static_cast<Method>(method));
            std::unique_ptr<Lookup> lookup;  // what throws comes first, so that nothing is left
            try {
              const Released release;
              lookup = std::make_unique<Lookup>(*owned.problem, static_cast<Method>(method));
            } catch (const InvalidScore& error) {
              throw RefusedScore(error.what());
            }
            new (self) OwnedLookup{nb::borrow(problem), owned.owned, std::move(lookup)};
          },
          "problem"_a, "method"_a)
      .def_prop_ro("log_partition", [](const OwnedLookup& self) { return self.lookup->log_z(); })
      .def(
          "segment",
          [](const OwnedLookup& self, int start, int end, int label) {
            return self.lookup->segment(start, end, label);
          },
          "start"_a, "end"_a, "label"_a, nb::call_guard<Released>())
      .def(
          "run",
          [](const OwnedLookup& self, int start, int end, const std::vector<std::int32_t>& tags,
             Matrix<std::uint8_t> joined) {
            const OwnedProblem& owned = nb::cast<const OwnedProblem&>(self.problem);
            const ProblemInput& in = owned.problem->input();
            const auto Y = static_cast<std::size_t>(in.Y);
            require(joined.shape(0) == Y && joined.shape(1) == Y, "joined: wrong shape");
            require(0 <= start && start < end && end <= in.T, "start, end: out of range");
            for (const std::int32_t tag : tags) require(tag >= 0 && tag < in.Y, "tags: not known");
            const Released release;
            return self.lookup->run(start, end, tags, joined.data());
          },
          "start"_a, "end"_a, "tags"_a, "joined"_a,
          "The probability that these tags say a segment of a chain.")
      .def(
          "transition",
          [](const OwnedLookup& self, int position, int previous, int label) {
            return self.lookup->transition(position, previous, label);
          },
          "position"_a, "previous"_a, "label"_a, nb::call_guard<Released>())
      .def(
          "likely_segments",
          [](const OwnedLookup& self, std::int64_t most, int skipped) {
            std::vector<Lookup::Found> all;
            {
              const Released release;
              all = self.lookup->likely_segments(most, skipped);
            }
            std::vector<std::int32_t> starts, ends, labels;
            std::vector<double> probabilities;
            for (const auto& [s, probability] : all) {
              starts.push_back(s.start);
              ends.push_back(s.end);
              labels.push_back(s.label);
              probabilities.push_back(probability);
            }
            return nb::make_tuple(given(std::move(starts)), given(std::move(ends)),
                                  given(std::move(labels)), given(std::move(probabilities)));
          },
          "most"_a, "skipped"_a,
          nb::sig(
              "def likely_segments(self, most: int, skipped: int) -> tuple[NDArray[numpy.int32], "
              "NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.float64]]"))
      .def(
          "segments",
          [](const OwnedLookup& self, double min_probability) {
            std::vector<Lookup::Found> all;
            {
              const Released release;
              all = self.lookup->segments(min_probability);
            }
            nb::list out;
            for (const auto& found : all) {
              const LabelledSegment& s = found.segment;
              out.append(nb::make_tuple(s.start, s.end, s.label, found.probability));
            }
            return out;
          },
          "min_probability"_a,
          nb::sig(
              "def segments(self, min_probability: float) -> list[tuple[int, int, int, float]]"));

  // Segments are (start, end, label index).
}
