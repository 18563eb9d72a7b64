// The questions that are asked of problems: check, release the GIL, call.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <stdexcept>
#include <unordered_map>

#include "bind/bindings.hpp"
#include "infer/limited.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace caesura;

namespace {

using Problems = std::vector<OwnedProblem*>;

// Ask one question of each problem, on threads.  A score that is NaN or +inf is an error.
// most_limits: problems with more limits answer without the automaton of all of them.
constexpr int kAnyLimits = 1 << 30;
template <class Work>
void ask(const Problems& problems, int method, int n_threads, Work work,
         int most_limits = kAnyLimits) {
  const auto chosen = static_cast<Method>(method);
  for (OwnedProblem* p : problems) {
    if (p->problem->input().rules.limits() <= most_limits) p->problem->prepare(chosen);
  }
  const int count = static_cast<int>(problems.size());
  std::vector<std::string> invalid(count);
  {
    const Released release;
    for_each(count, n_threads, [&](int i, Workspace& workspace) {
      try {
        work(i, *problems[i]->problem, chosen, workspace);
      } catch (const InvalidScore& error) {
        invalid[i] = error.what();
      }
    });
  }
  for (int i = 0; i < count; ++i) {
    if (invalid[i].empty()) continue;
    const std::string which = count == 1 ? "" : " of sequence " + std::to_string(i);
    throw nb::value_error((invalid[i] + which + kInvalidScore).c_str());
  }
}

// Segments as tuples.  Many answers about one sequence share most of their segments, and so share
// the tuples.
class SegmentTuples {
 public:
  nb::list operator()(const std::vector<LabelledSegment>& segments) {
    nb::list out;
    for (const LabelledSegment& s : segments) {
      nb::object& made = made_[{s.start, s.end, s.label}];
      if (!made.is_valid()) made = nb::make_tuple(s.start, s.end, s.label);
      out.append(made);
    }
    return out;
  }

 private:
  using Key = std::array<std::int32_t, 3>;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t h = 0;
      for (const std::int32_t part : key) h = (h ^ part) * 0x9e3779b97f4a7c15;
      return static_cast<std::size_t>(h ^ (h >> 32));
    }
  };
  std::unordered_map<Key, nb::object, Hash> made_;
};

nb::list to_python(const std::vector<LabelledSegment>& segments) {
  nb::list out;
  for (const LabelledSegment& s : segments) out.append(nb::make_tuple(s.start, s.end, s.label));
  return out;
}

nb::object to_python(const Answer& answer) {
  if (!answer.possible) return nb::none();
  return nb::make_tuple(to_python(answer.segments), answer.score);
}

// The best answers about several sequences, and several answers about one.
nb::list to_python(const std::vector<Answer>& answers) {
  nb::list out;
  for (const Answer& answer : answers) out.append(to_python(answer));
  return out;
}
nb::list ranked_to_python(const std::vector<Answer>& answers) {
  SegmentTuples tuples;
  nb::list out;
  for (const Answer& answer : answers)
    out.append(nb::make_tuple(tuples(answer.segments), answer.score));
  return out;
}

nb::list log_partition(const Problems& problems, int method, int n_threads) {
  std::vector<double> values(problems.size());
  ask(problems, method, n_threads, [&](int i, const Problem& p, Method m, Workspace& w) {
    values[i] = answer_log_partition(p, m, w);
  });
  nb::list out;
  for (const double value : values) out.append(value);
  return out;
}

nb::list posterior(const Problems& problems, int method, int n_threads, bool want_entropy) {
  std::vector<Posterior> values(problems.size());
  ask(problems, method, n_threads, [&](int i, const Problem& p, Method m, Workspace& w) {
    values[i] = answer_posterior(p, m, w, want_entropy);
  });
  nb::list out;
  for (Posterior& value : values) out.append(nb::cast(std::move(value)));
  return out;
}

nb::list best(const Problems& problems, int method, int n_threads) {
  std::vector<Answer> answers(problems.size());
  ask(
      problems, method, n_threads,
      [&](int i, const Problem& p, Method m, Workspace& w) { answers[i] = answer_best(p, m, w); },
      0);
  return to_python(answers);
}

nb::list best_n(const Problems& problems, int n, int method, int n_threads) {
  std::vector<std::vector<Answer>> answers(problems.size());
  ask(
      problems, method, n_threads,
      [&](int i, const Problem& p, Method m, Workspace& w) {
        answers[i] = answer_n_best(p, m, w, n);
      },
      0);
  nb::list out;
  for (const auto& list : answers) out.append(ranked_to_python(list));
  return out;
}

// The same with other limits of the search than those that answer_n_best has.
nb::list best_n_limited(OwnedProblem& problem, int n, int method, int most_tracked,
                        std::int64_t most_entries) {
  std::vector<Answer> answers;
  SearchLimits limits;
  limits.few = 0;
  limits.most_tracked = most_tracked;
  limits.most_entries = most_entries;
  ask(
      {&problem}, method, 1,
      [&](int, const Problem& p, Method m, Workspace& w) {
        answers = n_best_within_limits(p, m, w, n, limits);
      },
      -1);
  return ranked_to_python(answers);
}

nb::list samples(const Problems& problems, int n, const std::vector<std::uint64_t>& seeds,
                 int method, int n_threads) {
  require(seeds.size() == problems.size(), "seeds: expected one for each problem");
  std::vector<std::vector<Answer>> answers(problems.size());
  ask(
      problems, method, n_threads,
      [&](int i, const Problem& p, Method m, Workspace& w) {
        answers[i] = answer_samples(p, m, w, n, seeds[i]);
      },
      kMostTracked);
  nb::list out;
  for (const auto& list : answers) {
    nb::list drawn;
    SegmentTuples tuples;
    for (const Answer& answer : list) drawn.append(tuples(answer.segments));
    out.append(drawn);
  }
  return out;
}

struct OwnedLookup {
  nb::object problem;
  std::unique_ptr<Lookup> lookup;
};

using Array = nb::ndarray<nb::numpy, double, nb::c_contig>;
Array view(nb::handle self, double* data, std::initializer_list<std::size_t> shape) {
  return Array(data, shape, self);
}

}  // namespace

void caesura::bind_engine(nb::module_& m) {
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
            owned.problem->prepare(static_cast<Method>(method));
            new (self) OwnedLookup{nb::borrow(problem), nullptr};
            const Released release;
            try {
              self->lookup = std::make_unique<Lookup>(*owned.problem, static_cast<Method>(method));
            } catch (const InvalidScore& error) {
              throw std::invalid_argument(std::string(error.what()) + kInvalidScore);
            }
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
  m.def("log_partition", &log_partition, "problems"_a, "method"_a, "n_threads"_a,
        nb::sig("def log_partition(problems: Sequence[Problem], method: int, n_threads: int) -> "
                "list[float]"));
  m.def("posterior", &posterior, "problems"_a, "method"_a, "n_threads"_a, "want_entropy"_a,
        nb::sig("def posterior(problems: Sequence[Problem], method: int, n_threads: int, "
                "want_entropy: bool) -> list[Posterior]"));
  m.def("best", &best, "problems"_a, "method"_a, "n_threads"_a,
        nb::sig("def best(problems: Sequence[Problem], method: int, n_threads: int) -> "
                "list[tuple[list[tuple[int, int, int]], float] | None]"));
  m.def("n_best", &best_n, "problems"_a, "n"_a, "method"_a, "n_threads"_a,
        nb::sig("def n_best(problems: Sequence[Problem], n: int, method: int, n_threads: int) -> "
                "list[list[tuple[list[tuple[int, int, int]], float]]]"));
  m.def("n_best_limited", &best_n_limited, "problem"_a, "n"_a, "method"_a, "most_tracked"_a,
        "most_entries"_a,
        nb::sig("def n_best_limited(problem: Problem, n: int, method: int, most_tracked: int, "
                "most_entries: int) -> list[tuple[list[tuple[int, int, int]], float]]"));
  m.def(
      "sample", &samples, "problems"_a, "n"_a, "seeds"_a, "method"_a, "n_threads"_a,
      nb::sig("def sample(problems: Sequence[Problem], n: int, seeds: Sequence[int], method: int, "
              "n_threads: int) -> list[list[list[tuple[int, int, int]]]]"));
}
