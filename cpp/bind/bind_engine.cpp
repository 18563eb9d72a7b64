// The door from Python: check, release the GIL, call.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <unordered_map>

#include "bind/bindings.hpp"
#include "bind/tuples.hpp"
#include "infer/limited.hpp"
#include "infer/spelled.hpp"
#include "infer/without.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace caesura;

// Rules by name and symbols.  A table holds next[state, symbol] row by row, then which states
// accept.
RuleSet caesura::rules_from(const NamedRules& named, int Y,
                            const std::optional<Spelling>& spelling) {
  RuleSet rules;
  if (spelling && !named.empty()) {
    const auto& [symbol, joined] = *spelling;
    const auto size = static_cast<std::size_t>(Y);
    require(symbol.size() == size && joined.shape(0) == size && joined.shape(1) == size,
            "spelling: wrong shape");
    for (const std::int32_t k : symbol) require(k >= 0, "spelling: out of range");
    rules.symbol = symbol;
    rules.joined.assign(joined.data(), joined.data() + joined.size());
  }
  const int n_labels = rules.symbols(Y);
  for (const auto& [name, labels] : named) {
    if (name == "table") {
      Rule rule;
      rule.states = static_cast<int>(labels.size()) / (n_labels + 1);
      const auto end = labels.begin() + static_cast<std::ptrdiff_t>(rule.states) * n_labels;
      require(static_cast<std::size_t>(rule.states) * (n_labels + 1) == labels.size(),
              "rules: a table must be (states, labels), and then (states,)");
      rule.next.assign(labels.begin(), end);
      rule.accepting.assign(end, labels.end());
      for (const std::int32_t to : rule.next)
        require(to >= -1 && to < rule.states, "rules: state out of range");
      rules.tables.push_back(std::move(rule));
      continue;
    }
    Rule rule = named_rule(name, labels, n_labels);  // checks the labels
    if (name == "ordered") {
      rules.ordered.push_back(labels);
    } else if (name == "at most once" || name == "exactly once") {
      rules.once.resize(n_labels, kNoLimit);
      std::uint8_t& limit = rules.once[labels[0]];  // exactly once is the stricter
      limit = std::max<std::uint8_t>(limit, name == "at most once" ? kAtMostOnce : kExactlyOnce);
    } else {
      rules.tables.push_back(std::move(rule));
    }
  }
  return rules;
}

namespace {

using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void make_problem(OwnedProblem* self, const NamedRules& rules,
                  const std::optional<Spelling>& spelling, Matrix<double> emission,
                  Matrix<double> transition, Vector<double> start, Vector<double> end,
                  std::optional<Cube> spans, bool same_label_adjacent, Vector<std::int32_t> bounds,
                  Vector<std::uint8_t> boundary, std::optional<Matrix<std::uint8_t>> allowed,
                  Vector<std::int32_t> starts, Vector<std::int32_t> ends,
                  Vector<std::int32_t> targets, Vector<double> scores, Vector<std::uint8_t> flags,
                  Matrix<std::int32_t> edges, Vector<double> edge_scores,
                  const std::vector<std::vector<std::int32_t>>& histories,
                  Vector<std::int32_t> static_targets, Vector<double> static_scores) {
  ProblemInput in;
  in.T = static_cast<int>(emission.shape(0));
  in.Y = static_cast<int>(emission.shape(1));
  const std::size_t T = in.T, Y = in.Y, H = starts.shape(0);
  const int n_targets = in.Y + static_cast<int>(histories.size());
  require(bounds.shape(0) == Y, "bounds: wrong shape");
  require(transition.shape(0) == Y && transition.shape(1) == Y, "transition: wrong shape");
  require(start.shape(0) == Y && end.shape(0) == Y, "start, end: wrong shape");
  require(boundary.shape(0) == T + 1, "boundary: wrong shape");
  require(
      ends.shape(0) == H && targets.shape(0) == H && scores.shape(0) == H && flags.shape(0) == H,
      "potentials: sizes differ");
  require(edges.shape(1) == 3 && edges.shape(0) == edge_scores.shape(0), "edges: sizes differ");
  require(static_targets.shape(0) == static_scores.shape(0), "patterns: sizes differ");
  in.emission = emission.data();
  in.transition = transition.data();
  in.start = start.data();
  in.end = end.data();
  if (spans) {
    require(spans->shape(0) == T && spans->shape(2) == Y, "spans: wrong shape");
    in.spans = spans->data();
    in.span_length = static_cast<int>(spans->shape(1));
  }
  in.same_label_adjacent = same_label_adjacent;
  in.bounds = copied(bounds);
  in.boundary = copied(boundary);
  if (allowed) {
    require(allowed->shape(0) == T && allowed->shape(1) == Y, "allowed: wrong shape");
    in.allowed.assign(allowed->data(), allowed->data() + allowed->size());
  }
  in.potentials.reserve(H);
  for (std::size_t i = 0; i < H; ++i) {
    const Potential p{starts(i), ends(i), targets(i), flags(i), static_cast<std::int32_t>(i),
                      scores(i)};
    require(
        p.start >= 0 && p.start < p.end && p.end <= in.T && p.target >= 0 && p.target < n_targets,
        "potentials: out of range");
    in.potentials.push_back(p);
  }
  for (std::size_t i = 0; i < edges.shape(0); ++i) {
    const Edge edge{edges(i, 0), edges(i, 1), edges(i, 2), static_cast<std::int32_t>(i),
                    edge_scores(i)};
    require(edge.position > 0 && edge.position < in.T && edge.previous >= 0 &&
                edge.previous < in.Y && edge.label >= 0 && edge.label < in.Y,
            "edges: out of range");
    in.edges.push_back(edge);
  }
  in.histories = histories;
  in.static_targets = copied(static_targets);
  in.static_scores = copied(static_scores);
  for (const std::int32_t z : in.static_targets)
    require(z >= 0 && z < n_targets, "patterns: out of range");

  for (const auto& history : histories) {
    for (const std::int32_t y : history)
      require(y >= 0 && y < in.Y, "histories: label out of range");
  }
  in.rules = rules_from(rules, in.Y, spelling);
  std::vector<std::int32_t> order = labels_by_length(in.bounds);

  new (self) OwnedProblem;
  self->arrays = {nb::cast(emission), nb::cast(transition), nb::cast(start), nb::cast(end)};
  if (spans) self->arrays.push_back(nb::cast(*spans));
  self->owned = std::make_unique<Problem>(std::move(in), nullptr, std::move(order));
  self->problem = self->owned.get();
}

constexpr const char* kInvalidScore =
    ": holds NaN, +inf or a number beyond 1e10, expected numbers from -1e10 to 1e10, where sums "
    "are "
    "exact enough for probabilities, or -inf to forbid";

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

// Segments as kind(start, end, name).  Many answers about one sequence share most of their
// segments, and so share the tuples.
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

// How the segments of answers are made: a named tuple, and the names of each problem's labels.
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

// The best answers about several sequences, and several answers about one.
nb::list to_python(const std::vector<Answer>& answers) {
  nb::list out;
  for (const Answer& answer : answers) out.append(to_python(answer));
  return out;
}
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

nb::list best_n(const Problems& problems, int n, int method, int n_threads, nb::handle kind,
                nb::list names) {
  check_names(problems, kind, names);
  std::vector<std::vector<Answer>> answers(problems.size());
  ask(
      problems, method, n_threads,
      [&](int i, const Problem& p, Method m, Workspace& w) {
        answers[i] = answer_n_best(p, m, w, n);
      },
      0);
  const NoCollection meanwhile;
  nb::list out = sized_list(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    SegmentTuples tuples(kind, names[i]);
    nb::list ranked = sized_list(answers[i].size());
    for (std::size_t k = 0; k < answers[i].size(); ++k) {
      if (k % 4096 == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
      put(ranked, k, nb::make_tuple(tuples(answers[i][k].segments), answers[i][k].score));
      answers[i][k].segments = {};  // its memory is free for the next ones
    }
    put(out, i, std::move(ranked));
  }
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

// The n best of chains, summed over the tags that spell each; the labels are those of the reading.
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

std::vector<LabelledSegment> segments_from(const OwnedProblem& self, nb::list given) {
  std::vector<LabelledSegment> segments;
  int at = 0;
  for (nb::handle item : given) {
    const auto [s, e, y] = nb::cast<std::tuple<int, int, int>>(item);
    require(s == at && s < e && y >= 0 && y < self.problem->input().Y,
            "segments: not a segmentation");
    segments.push_back({s, e, y});
    at = e;
  }
  require(at == self.problem->input().T, "segments: do not cover the sequence");
  return segments;
}

// For each segment how the best segmentation without it differs from a path.
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

// What the forward sweep of one problem did.
nb::dict tally(OwnedProblem& self, int method) {
  const auto chosen = static_cast<Method>(method);
  self.problem->prepare(chosen);
  Workspace workspace;
  Tally counted;
  answer_log_partition(*self.problem, chosen, workspace, &counted);
  nb::dict out;
  out["terms"] = counted.terms;
  out["most_terms"] = counted.most_terms;
  out["touched"] = counted.touched;
  out["states"] = self.problem->automaton().Q;
  out["arcs"] = self.problem->automaton().first_order
                    ? self.problem->automaton().Q * self.problem->automaton().Q
                    : static_cast<int>(self.problem->automaton().out_state.size());
  out["bytes"] = static_cast<std::int64_t>(workspace.peak());
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

NB_MODULE(_kernels, m) {
  nb::set_leak_warnings(false);  // the cache of automata lives until the interpreter ends
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const TooLarge& error) {
      PyErr_SetString(nb::module_::import_("caesura.errors").attr("TooLarge").ptr(), error.what());
    }
  });
  m.doc() = "Compiled kernels; use them through caesura's functions.";
  watch_interpreter();
  kernels();  // a bad CAESURA_KERNELS is an error now, not later
  m.def("name", [] { return kernels().name; }, "The instruction set in use: plain or wide.");

  nb::class_<Automaton>(m, "Automaton", "Label history: patterns and rules over label sequences.")
      .def(nb::new_([](const std::vector<std::int32_t>& order) {
             std::vector<std::int32_t> sorted = order;
             std::sort(sorted.begin(), sorted.end());
             for (std::size_t y = 0; y < sorted.size(); ++y)
               require(sorted[y] == static_cast<std::int32_t>(y), "order: not a permutation");
             return std::const_pointer_cast<Automaton>(automaton_for(order, {}, {}, true));
           }),
           "order"_a, "The automaton of a first-order model without rules.")
      .def_prop_ro("n_states", [](const Automaton& a) { return a.Q; });

  nb::class_<OwnedProblem>(m, "Problem", "The potentials of one sequence, indexed for the kernels.")
      .def("__init__", &make_problem, "rules"_a, "spelling"_a.none(), "emission"_a, "transition"_a,
           "start"_a, "end"_a, "spans"_a.none(), "same_label_adjacent"_a, "bounds"_a, "boundary"_a,
           "allowed"_a.none(), "starts"_a, "ends"_a, "targets"_a, "scores"_a, "flags"_a, "edges"_a,
           "edge_scores"_a, "histories"_a, "static_targets"_a, "static_scores"_a)
      .def(
          "score",
          [](const OwnedProblem& self,
             nb::typed<nb::list, nb::typed<nb::tuple, int, int, int>> segments) {
            const std::string invalid = self.problem->invalid_score();
            if (!invalid.empty()) throw nb::value_error((invalid + kInvalidScore).c_str());
            return self.problem->score(segments_from(self, segments));
          },
          "segments"_a)
      .def("tally", &tally, "method"_a, nb::sig("def tally(self, method: int) -> dict[str, int]"));

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
        nb::sig("def n_best(problems: Sequence[Problem], n: int, method: int, n_threads: int, "
                "kind: type[tuple], names: list[list[str]]) -> list[list[tuple[list, float]]]"));
  m.def("n_best_limited", &best_n_limited, "problem"_a, "n"_a, "method"_a, "most_tracked"_a,
        "most_entries"_a,
        nb::sig("def n_best_limited(problem: Problem, n: int, method: int, most_tracked: int, "
                "most_entries: int) -> list[tuple[list[tuple[int, int, int]], float]]"));
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
  bind_batch(m);
  bind_encoding(m);
  bind_bags(m);
  bind_text(m);
  bind_segments(m);
  bind_graph(m);
  bind_learning(m);
  bind_scorer(m);
  bind_objective(m);
  bind_vectors(m);
}
