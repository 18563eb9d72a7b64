// Bindings of queries on problems: check, release the GIL, call.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <stdexcept>
#include <unordered_map>

#include "bind/bindings.hpp"
#include "bind/tuples.hpp"
#include "infer/packed_answers.hpp"
#include "infer/spelled.hpp"
#include "infer/without.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace caesura;

namespace {

using Problems = std::vector<OwnedProblem*>;

// Runs a query on each problem, on several threads.  Raises ValueError if a score is invalid.
// most_limits: problems with more limits are not prepared, because the query does not use the
// automaton that tracks all limits.
constexpr int kAnyLimits = 1 << 30;
template <class Work>
void ask(const Problems& problems, int method, int n_threads, Work work,
         int most_limits = kAnyLimits) {
  const auto chosen = static_cast<Method>(method);
  for (OwnedProblem* p : problems) {
    if (p->problem->input().rules.limits() <= most_limits) p->prepare(chosen);
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
    throw RefusedScore(invalid[i], count == 1 ? std::nullopt : std::make_optional(i));
  }
}

// Makes segments kind(start, end, name).  The answers for one sequence have most of their segments
// in common, and share the tuples.
class SegmentTuples {
 public:
  // names: a list with the name of each label
  SegmentTuples(nb::handle kind, nb::handle names) : kind_(kind), names_(names) {}
  nb::list operator()(const std::vector<LabelledSegment>& segments) {
    nb::list out = sized_list(segments.size());
    for (std::size_t k = 0; k < segments.size(); ++k) {
      const LabelledSegment& s = segments[k];
      nb::object& made = made_[{s.start, s.end, s.label}];
      if (!made.is_valid()) made = segment_of(s, kind_, names_);
      put(out, k, made);
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
  nb::handle kind_, names_;
  std::unordered_map<Key, nb::object, Hash> made_;
};

// Checks what segments are made of: the type of a named tuple, and the names of the labels of each
// problem.
void check_names(const Problems& problems, nb::handle kind, nb::list names) {
  check_kind(kind);
  require(nb::len(names) == problems.size(), "names: one list for each problem");
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const nb::object some = names[i];
    require(nb::isinstance<nb::list>(some) &&
                static_cast<int>(nb::len(some)) == problems[i]->problem->input().Y,
            "names: one for each label");
  }
}

nb::list to_python(const std::vector<LabelledSegment>& segments) {
  nb::list out;
  for (const LabelledSegment& s : segments) out.append(nb::make_tuple(s.start, s.end, s.label));
  return out;
}

nb::object to_python(const Answer& answer) {
  if (!answer.possible) return nb::none();
  return nb::make_tuple(to_python(answer.segments), answer.score);
}

// One answer for each of several sequences; None if no segmentation is possible.
nb::list to_python(const std::vector<Answer>& answers) {
  nb::list out;
  for (const Answer& answer : answers) out.append(to_python(answer));
  return out;
}
// Several answers for one sequence.
nb::list ranked_to_python(const std::vector<Answer>& answers) {
  nb::list out;
  for (const Answer& answer : answers)
    out.append(nb::make_tuple(to_python(answer.segments), answer.score));
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

// Returns answers path(segments, score), whose attribute _origin is the element of `origins` for
// the problem.
nb::list best_n(const Problems& problems, int n, int method, int n_threads, nb::handle kind,
                nb::list names, nb::handle path, nb::list origins) {
  check_names(problems, kind, names);
  check_kind(path);
  require(nb::len(origins) == problems.size(), "origins: one for each problem");
  std::vector<PackedAnswers> answers(problems.size());
  ask(
      problems, method, n_threads,
      [&](int i, const Problem& p, Method m, Workspace& w) {
        answers[i] = packed_n_best(p, m, w, n);
      },
      0);
  const NoCollection meanwhile;
  const nb::str origin("_origin");
  nb::list out = sized_list(answers.size());
  std::vector<LabelledSegment> segments;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    SegmentTuples tuples(kind, names[i]);
    nb::list ranked = sized_list(answers[i].size());
    for (std::size_t k = 0; k < answers[i].size(); ++k) {
      if (k % 4096 == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
      answers[i].unpack(k, segments);
      nb::object score = nb::float_(answers[i].score(k));
      nb::object made =
          named_tuple(path, {tuples(segments).release().ptr(), score.release().ptr()});
      nb::setattr(made, origin, origins[i]);
      put(ranked, k, std::move(made));
    }
    put(out, i, std::move(ranked));
  }
  return out;
}

// The n best segmentations of chains, where the weight of a segmentation is summed over the tag
// sequences that encode it.  Labels of segments are those of the reading.
nb::list best_n_spelled(const Problems& problems, const Reading& reading, int n, int method,
                        int n_threads) {
  std::vector<std::vector<Answer>> answers(problems.size());
  for (const OwnedProblem* p : problems) {
    const ProblemInput& in = p->problem->input();
    const bool is_chain =
        std::all_of(in.bounds.begin(), in.bounds.end(), [](int b) { return b == 1; });
    require(is_chain && reading.tags() && static_cast<int>(reading.label.size()) == in.Y,
            "reading: not that of a chain");
  }
  ask(
      problems, method, n_threads,
      [&](int i, const Problem& p, Method m, Workspace& w) {
        answers[i] = n_best_spelled(p, m, w, reading, n);
      },
      0);
  nb::list out;
  for (const auto& list : answers) out.append(ranked_to_python(list));
  return out;
}

nb::list samples(const Problems& problems, int n, const std::vector<std::uint64_t>& seeds,
                 int method, int n_threads, nb::handle kind, nb::list names) {
  require(seeds.size() == problems.size(), "seeds: expected one for each problem");
  check_names(problems, kind, names);
  std::vector<std::vector<Answer>> answers(problems.size());
  ask(
      problems, method, n_threads,
      [&](int i, const Problem& p, Method m, Workspace& w) {
        answers[i] = answer_samples(p, m, w, n, seeds[i]);
      },
      kMostTracked);
  const NoCollection meanwhile;
  nb::list out = sized_list(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    SegmentTuples tuples(kind, names[i]);
    nb::list drawn = sized_list(answers[i].size());
    for (std::size_t k = 0; k < answers[i].size(); ++k)
      put(drawn, k, tuples(answers[i][k].segments));
    put(out, i, std::move(drawn));
  }
  return out;
}

// For each given segment, how the best segmentation without it differs from `path`.
nb::list best_without(OwnedProblem& problem, int method, const Reading& reading, nb::list path,
                      const std::vector<std::tuple<int, int, int>>& given) {
  const ProblemInput& in = problem.problem->input();
  require(static_cast<int>(reading.label.size()) == in.Y, "reading: not that of the labels");
  std::vector<LabelledSegment> segments;
  for (const auto& [s, e, y] : given) {
    require(s >= (segments.empty() ? 0 : segments.back().end) && s < e && e <= in.T,
            "segments: not sorted and disjoint");
    segments.push_back({s, e, y});
  }
  const std::vector<LabelledSegment> whole = segments_from(problem, path);
  std::vector<Detour> found;
  ask(
      {&problem}, method, 1,
      [&](int, const Problem& p, Method m, Workspace& w) {
        found = answer_without(p, m, w, reading, whole, segments);
      },
      0);
  nb::list out;
  for (const Detour& one : found) {
    if (one.possible)
      out.append(nb::make_tuple(one.same_first, to_python(one.segments), one.same_last));
    else
      out.append(nb::none());
  }
  return out;
}

}  // namespace

void caesura::bind_engine(nb::module_& m) {
  m.def("log_partition", &log_partition, "problems"_a, "method"_a, "n_threads"_a,
        nb::sig("def log_partition(problems: Sequence[Problem], method: int, n_threads: int) -> "
                "list[float]"));
  m.def("posterior", &posterior, "problems"_a, "method"_a, "n_threads"_a, "want_entropy"_a,
        nb::sig("def posterior(problems: Sequence[Problem], method: int, n_threads: int, "
                "want_entropy: bool) -> list[Posterior]"));
  m.def("best", &best, "problems"_a, "method"_a, "n_threads"_a,
        nb::sig("def best(problems: Sequence[Problem], method: int, n_threads: int) -> "
                "list[tuple[list[tuple[int, int, int]], float] | None]"));
  m.def("n_best", &best_n, "problems"_a, "n"_a, "method"_a, "n_threads"_a, "kind"_a, "names"_a,
        "path"_a, "origins"_a,
        nb::sig("def n_best(problems: Sequence[Problem], n: int, method: int, n_threads: int, "
                "kind: type[tuple], names: list[list[str]], path: type[tuple], origins: "
                "list[object]) -> list[list]"));
  m.def("n_best_spelled", &best_n_spelled, "problems"_a, "reading"_a, "n"_a, "method"_a,
        "n_threads"_a,
        nb::sig("def n_best_spelled(problems: Sequence[Problem], reading: Reading, n: int, method: "
                "int, n_threads: int) -> list[list[tuple[list[tuple[int, int, int]], float]]]"));
  m.def("best_without", &best_without, "problem"_a, "method"_a, "reading"_a, "path"_a, "segments"_a,
        nb::sig("def best_without(problem: Problem, method: int, reading: Reading, path: "
                "list[tuple[int, int, int]], segments: Sequence[tuple[int, int, int]]) -> "
                "list[tuple[int, list[tuple[int, int, int]], int] | None]"));
  m.def(
      "sample", &samples, "problems"_a, "n"_a, "seeds"_a, "method"_a, "n_threads"_a, "kind"_a,
      "names"_a,
      nb::sig("def sample(problems: Sequence[Problem], n: int, seeds: Sequence[int], method: int, "
              "n_threads: int, kind: type[tuple], names: list[list[str]]) -> list[list[list]]"));
}
