// Bindings of prediction: the answers of a trained model as Python objects.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "bind/bindings.hpp"
#include "bind/tuples.hpp"
#include "infer/answers.hpp"
#include "learn/scorer.hpp"
#include "learn/word_rows.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {
namespace {

Reading make_reading(Vector<std::int32_t> label,
                     const std::optional<Matrix<std::uint8_t>>& joined) {
  const std::size_t Y = label.shape(0);
  require(!joined || (joined->shape(0) == Y && joined->shape(1) == Y), "joined: wrong shape");
  Reading reading;
  reading.label = copied(label);
  if (joined) reading.joined.assign(joined->data(), joined->data() + Y * Y);
  for (std::size_t y = 0; y < Y; ++y) {
    if (label(y) < 0) continue;
    require(label(y) < 65536, "label: out of range");
    if (reading.states.size() <= static_cast<std::size_t>(label(y)))
      reading.states.resize(label(y) + 1);
    reading.states[label(y)].push_back(static_cast<std::int32_t>(y));
  }
  for (std::size_t k = 0; k < reading.joined.size(); ++k)
    require(!reading.joined[k] || label(k / Y) == label(k % Y), "joined: states of two labels");
  return reading;
}

Scorer make_scorer(const Parameters& parameters, Vector<double> w, Vector<std::int32_t> bounds,
                   Matrix<std::uint8_t> barred, Vector<std::uint8_t> barred_start,
                   Vector<std::uint8_t> barred_end,
                   const std::optional<Vector<double>>& entry_bias) {
  const std::size_t Y = parameters.layout()->Y;
  require(static_cast<std::int64_t>(w.shape(0)) == parameters.layout()->size(), "w: wrong length");
  require(bounds.shape(0) == Y && barred.shape(0) == Y && barred.shape(1) == Y &&
              barred_start.shape(0) == Y && barred_end.shape(0) == Y &&
              (!entry_bias || entry_bias->shape(0) == Y),
          "bounds, barred, entry_bias: expected one for each label");
  LabelRules rules{copied(bounds),
                   {barred.data(), barred.data() + Y * Y},
                   copied(barred_start),
                   copied(barred_end),
                   {}};
  if (entry_bias) rules.entry_bias = copied(*entry_bias);
  const Released release;  // with rules, there may be millions of states to find
  return Scorer(parameters, w.data(), std::move(rules));
}

// ---- Conditions on the answers ----

Condition make_condition(int Y, const std::optional<Matrix<std::uint8_t>>& allowed,
                         const std::optional<Vector<std::uint8_t>>& boundary,
                         Matrix<std::int32_t> pairs, Matrix<std::int32_t> forbidden,
                         const std::vector<std::tuple<int, int, std::vector<std::int32_t>>>& runs,
                         const NamedRules& rules, const std::optional<Spelling>& spelling) {
  require(pairs.shape(1) == 3 && forbidden.shape(1) == 3, "pairs, forbidden: expected rows of 3");
  auto is_label = [&](std::int32_t y) { require(y >= 0 && y < Y, "labels: out of range"); };
  Condition out;
  if (allowed) {
    require(allowed->shape(1) == static_cast<std::size_t>(Y), "allowed: wrong shape");
    out.allowed.assign(allowed->data(), allowed->data() + allowed->size());
  }
  if (boundary) out.boundary = copied(*boundary);
  for (std::size_t k = 0; k < pairs.shape(0); ++k) {
    is_label(pairs(k, 1));
    is_label(pairs(k, 2));
    out.pairs.push_back({pairs(k, 0), pairs(k, 1), pairs(k, 2), 0, kMinusInfinity});
  }
  for (std::size_t k = 0; k < forbidden.shape(0); ++k) {
    is_label(forbidden(k, 2));
    out.forbidden.push_back({forbidden(k, 0), forbidden(k, 1), forbidden(k, 2)});
  }
  for (const auto& [start, end, labels] : runs) {
    require(labels.size() > 1, "histories: expected two labels or more");
    std::for_each(labels.begin(), labels.end(), is_label);
    out.histories.push_back({start, end, labels});
  }
  out.rules = rules_from(rules, Y, spelling);
  return out;
}

// Returns the given conditions, after a check that they fit the sequences of a design.
Conditions checked(const Scorer& self, const Design& d,
                   const std::optional<std::vector<const Condition*>>& given) {
  if (!given) return {};
  require(static_cast<int>(given->size()) == d.n_sequences(), "conditions: one for each sequence");
  for (int i = 0; i < d.n_sequences(); ++i) {
    const Condition* one = (*given)[i];
    if (one == nullptr) continue;
    const int T = d.length(i);
    const auto size = static_cast<std::size_t>(T) * self.layout().Y;
    auto inside = [&](int start, int end) {
      require(start >= 0 && start < end && end <= T, "conditions: a place is out of range");
    };
    require(one->allowed.empty() || one->allowed.size() == size, "allowed: wrong shape");
    require(one->boundary.empty() || static_cast<int>(one->boundary.size()) == T + 1,
            "boundary: wrong length");
    for (const Edge& pair : one->pairs) inside(pair.position - 1, pair.position + 1);
    for (const auto& [start, end, label] : one->forbidden) inside(start, end);
    for (const auto& history : one->histories) inside(history.start, history.end);
  }
  return *given;
}
using GivenConditions = std::optional<std::vector<const Condition*>>;

// ---- Answers as Python objects ----

void check_kinds(const Paths& paths, nb::handle kind, nb::list names) {
  check_kind(kind);
  for (const LabelledSegment& s : paths.segments)
    require(s.label < static_cast<int>(nb::len(names)), "names: one for each state");
}

// For each sequence the list of item(k) for its segments, or None if no segmentation is possible.
template <class Item>
nb::list lists_of(const Paths& paths, Item item) {
  nb::list out = sized_list(paths.possible.size());
  for (std::size_t i = 0; i < paths.possible.size(); ++i) {
    if (!paths.possible[i]) {
      put(out, i, nb::none());
      continue;
    }
    const std::int64_t first = paths.ptr[i], last = paths.ptr[i + 1];
    nb::list row = sized_list(last - first);
    for (std::int64_t k = first; k < last; ++k) put(row, k - first, item(k));
    put(out, i, std::move(row));
  }
  return out;
}

nb::list segments(const Paths& self, nb::handle kind, nb::list names) {
  check_kinds(self, kind, names);
  return lists_of(self, [&](std::int64_t k) { return segment_of(self.segments[k], kind, names); });
}

// Segments as outer(kind(start, end, name), probability, calibrated, probability < least).
nb::list confident_segments(const Paths& self, nb::handle outer, nb::handle kind, nb::list names,
                            Vector<double> probabilities, bool calibrated, double least) {
  check_kinds(self, kind, names);
  check_kinds({}, outer, names);
  require(probabilities.shape(0) == self.segments.size(), "probabilities: one for each segment");
  return lists_of(self, [&](std::int64_t k) {
    nb::object segment = segment_of(self.segments[k], kind, names);
    const double p = probabilities(k);
    return named_tuple(outer, {segment.release().ptr(), PyFloat_FromDouble(p),
                               PyBool_FromLong(calibrated), PyBool_FromLong(p < least)});
  });
}

// The name of the state of each token; None for a sequence with no possible segmentation.
nb::list token_names(const Paths& self, nb::list names) {
  check_kinds(self, nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)), names);
  nb::list out = sized_list(self.possible.size());
  for (std::size_t i = 0; i < self.possible.size(); ++i) {
    if (!self.possible[i]) {
      put(out, i, nb::none());
      continue;
    }
    const std::int64_t first = self.ptr[i], last = self.ptr[i + 1];
    nb::list row = sized_list(first == last ? 0 : self.segments[last - 1].end);
    for (std::int64_t k = first; k < last; ++k) {
      const LabelledSegment& s = self.segments[k];
      const nb::object name = nb::borrow(PyList_GET_ITEM(names.ptr(), s.label));
      for (int t = s.start; t < s.end; ++t) put(row, t, name);
    }
    put(out, i, std::move(row));
  }
  return out;
}

// For each sequence (segments, probability) in decreasing order of probability; empty if no
// segmentation is possible.
nb::list ranked_answers(const Scorer& self, const Design& d, const Reading& reading,
                        nb::handle kind, nb::list names, int n, int n_threads,
                        const std::optional<std::vector<const Condition*>>& given) {
  std::vector<std::vector<Answer>> answers;
  std::vector<double> log_z;
  const Conditions conditions = checked(self, d, given);
  {
    const Released release;
    answers = self.n_best(d, n, n_threads, &log_z, conditions);
  }
  auto item = [&](std::size_t i, nb::list path, double score) -> nb::object {
    return nb::make_tuple(std::move(path), std::exp(std::min(score - log_z[i], 0.0)));
  };
  return answers_to_python(answers, reading, kind, names, item);
}

// The same for chains, where probabilities are summed over the tag sequences that encode the same
// segmentation.  names: those of the labels, not of the states.
nb::list spelled_answers(const Scorer& self, const Design& d, const Reading& reading,
                         nb::handle kind, nb::list names, int n, int n_threads,
                         const GivenConditions& given) {
  const std::vector<std::int32_t>& bounds = self.layout().bounds;
  require(std::all_of(bounds.begin(), bounds.end(), [](int b) { return b == 1; }) &&
              reading.tags() && reading.label.size() == bounds.size() &&
              nb::len(names) >= reading.states.size(),
          "reading: not that of a chain");
  check_kind(kind);
  std::vector<std::vector<Answer>> answers;
  std::vector<double> log_z;
  const Conditions conditions = checked(self, d, given);
  {
    const Released release;
    answers = self.n_best_spelled(d, reading, n, n_threads, &log_z, conditions);
  }
  const NoCollection meanwhile;
  nb::list out = sized_list(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    SharedSegments shared(kind, names);
    nb::list row = sized_list(answers[i].size());
    for (std::size_t k = 0; k < answers[i].size(); ++k) {
      const auto& [possible, score, segments] = answers[i][k];
      nb::list path = shared.list(segments.data(), static_cast<int>(segments.size()));
      put(row, k, nb::make_tuple(std::move(path), std::exp(std::min(score - log_z[i], 0.0))));
    }
    put(out, i, std::move(row));
  }
  return out;
}

nb::list drawn_answers(const Scorer& self, const Design& d, const Reading& reading, nb::handle kind,
                       nb::list names, int n, std::uint64_t seed, int n_threads,
                       const std::optional<std::vector<const Condition*>>& given) {
  std::vector<std::vector<Answer>> answers;
  const Conditions conditions = checked(self, d, given);
  {
    const Released release;
    answers = self.samples(d, n, seed, n_threads, conditions);
  }
  auto item = [](std::size_t, nb::list path, double) -> nb::object { return std::move(path); };
  return answers_to_python(answers, reading, kind, names, item);
}

// ---- Potentials ----

template <class T, class Values, class Value>
Array<T> column(const Values& values, Value value) {
  std::vector<T> out;
  out.reserve(values.size());
  for (const auto& one : values) out.push_back(static_cast<T>(value(one)));
  return given(std::move(out));
}

// Returns (emission, potentials, number of potentials that come from rows, edges).  Potentials are
// (start, end, target, score, flags), and edges are (position, previous label, label, score).
nb::tuple potentials(const Scorer& self, const Design& d, int i) {
  require(i >= 0 && i < d.n_sequences(), "i: out of range");
  Workspace work;
  const auto made = self.problem(d, i, work);
  const auto& added = made->problem->input().potentials;
  const auto& edges = made->problem->input().edges;
  return nb::make_tuple(
      given(std::move(made->emission)),
      nb::make_tuple(column<std::int32_t>(added, [](const Potential& p) { return p.start; }),
                     column<std::int32_t>(added, [](const Potential& p) { return p.end; }),
                     column<std::int32_t>(added, [](const Potential& p) { return p.target; }),
                     column<double>(added, [](const Potential& p) { return p.score; }),
                     column<std::uint8_t>(added, [](const Potential& p) { return p.flags; })),
      made->n_on_rows,
      nb::make_tuple(column<std::int32_t>(edges, [](const Edge& e) { return e.position; }),
                     column<std::int32_t>(edges, [](const Edge& e) { return e.previous; }),
                     column<std::int32_t>(edges, [](const Edge& e) { return e.label; }),
                     column<double>(edges, [](const Edge& e) { return e.score; })));
}

// The problem of sequence i.  given: the conditions of all sequences.
nb::typed<nb::object, OwnedProblem> problem(const Scorer& self, const Design& d, int i,
                                            const GivenConditions& given) {
  require(i >= 0 && i < d.n_sequences(), "i: out of range");
  const Conditions conditions = checked(self, d, given);
  Workspace work;
  auto* made = new OwnedProblem;
  nb::object held = nb::cast(made, nb::rv_policy::take_ownership);
  const Condition* condition = conditions.empty() ? nullptr : conditions[i];
  made->scored = self.problem(d, i, work, condition, given ? 0 : Scorer::kAnyLimits);
  made->problem = made->scored->problem.get();
  return nb::borrow<nb::typed<nb::object, OwnedProblem>>(held);
}

}  // namespace

void bind_scorer(nb::module_& m) {
  nb::class_<Reading>(m, "Reading", "What the states of a model say about segments.")
      .def(nb::new_(&make_reading), "label"_a, "joined"_a.none());

  nb::class_<Condition>(m, "Condition", "What the answers about one sequence must keep.")
      .def(nb::new_(&make_condition), "n_labels"_a, "allowed"_a.none(), "boundary"_a.none(),
           "pairs"_a, "forbidden"_a, "histories"_a, "rules"_a, "spelling"_a.none());

  nb::class_<Paths>(m, "Paths", "The best segments of many sequences.")
      .def("__len__", [](const Paths& self) { return self.possible.size(); })
      .def_prop_ro(
          "ptr", [](const Paths& self) { return given(self.ptr); }, nb::rv_policy::move)
      .def_prop_ro(
          "probabilities", [](const Paths& self) { return given(self.probabilities); },
          nb::rv_policy::move)
      .def("segments", &segments, "kind"_a, "names"_a,
           "For each sequence its segments, or None where no segmentation is possible.")
      .def("confident", &confident_segments, "outer"_a, "kind"_a, "names"_a, "probabilities"_a,
           "calibrated"_a, "least"_a, "The same, each with its probability.")
      .def("tokens", &token_names, "names"_a,
           "For each sequence the state of each token, or None.");

  nb::class_<Scorer>(m, "Scorer", "A trained model, which answers about encoded sequences.")
      .def(nb::new_(&make_scorer), "parameters"_a, "w"_a, "bounds"_a, "barred"_a, "barred_start"_a,
           "barred_end"_a, "entry_bias"_a.none())
      .def_prop_ro(
          "transition", [](const Scorer& self) { return given(self.weights().transition); },
          nb::rv_policy::move)
      .def_prop_ro(
          "start", [](const Scorer& self) { return given(self.weights().start); },
          nb::rv_policy::move)
      .def_prop_ro(
          "end", [](const Scorer& self) { return given(self.weights().end); }, nb::rv_policy::move)
      .def(
          "best",
          [](const Scorer& self, const Design& d, const Reading* reading, int n_threads,
             const GivenConditions& given) {
            const Conditions conditions = checked(self, d, given);
            const Released release;
            return self.best(d, reading, n_threads, conditions);
          },
          "design"_a, "reading"_a.none(), "n_threads"_a, "conditions"_a.none() = nb::none())
      .def(
          "confident",
          [](const Scorer& self, const Design& d, const Reading& reading, int n_threads,
             const GivenConditions& given) {
            const Conditions conditions = checked(self, d, given);
            const Released release;
            return self.confident(d, reading, n_threads, conditions);
          },
          "design"_a, "reading"_a, "n_threads"_a, "conditions"_a.none() = nb::none())
      .def(
          "posterior",
          [](const Scorer& self, const Design& d, bool want_entropy, int n_threads,
             const GivenConditions& given) {
            std::vector<Posterior> rows;
            const Conditions conditions = checked(self, d, given);
            {
              const Released release;
              rows = self.posterior(d, want_entropy, n_threads, conditions);
            }
            nb::list out;
            for (Posterior& row : rows) out.append(nb::cast(std::move(row)));
            return out;
          },
          "design"_a, "want_entropy"_a, "n_threads"_a, "conditions"_a.none() = nb::none())
      .def(
          "log_partition",
          [](const Scorer& self, const Design& d, int n_threads, const GivenConditions& given) {
            const Conditions conditions = checked(self, d, given);
            const Released release;
            return self.log_partition(d, n_threads, conditions);
          },
          "design"_a, "n_threads"_a, "conditions"_a.none() = nb::none())
      .def("n_best", &ranked_answers, "design"_a, "reading"_a, "kind"_a, "names"_a, "n"_a,
           "n_threads"_a, "conditions"_a.none() = nb::none())
      .def("sample", &drawn_answers, "design"_a, "reading"_a, "kind"_a, "names"_a, "n"_a, "seed"_a,
           "n_threads"_a, "conditions"_a.none() = nb::none())
      .def("n_best_spelled", &spelled_answers, "design"_a, "reading"_a, "kind"_a, "names"_a, "n"_a,
           "n_threads"_a, "conditions"_a.none() = nb::none())
      .def("problem", &problem, "design"_a, "i"_a, "conditions"_a.none() = nb::none())
      .def("potentials", &potentials, "design"_a, "i"_a);

  nb::class_<WordRows>(m, "WordRows", "What words score by themselves, added up beforehand.")
      .def(nb::init<std::shared_ptr<Parameters>, std::shared_ptr<const Scorer>, const Extractor&,
                    std::vector<std::int32_t>>(),
           "parameters"_a, "scorer"_a, "attributes"_a, "columns"_a)
      .def_prop_ro(
          "bytes", [](const WordRows& self) { return self.bytes(); },
          "Memory of the rows that words have now.")
      .def_prop_ro(
          "needed", [](const WordRows& self) { return self.needed(); },
          "For each column whether it is looked at beside these rows.");
}

}  // namespace caesura
