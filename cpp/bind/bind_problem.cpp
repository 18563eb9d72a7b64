// Bindings of problems: the potentials of one sequence are checked, copied where they must outlive
// the call, and indexed for the kernels.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind/bindings.hpp"
#include "infer/answers.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace caesura;

// Converts rules that are given by name and symbols.  A table consists of next[state, symbol], row
// by row, and accepting[state].
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
      std::uint8_t& limit = rules.once[labels[0]];  // exactly once is stricter
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
  self->owned = std::make_shared<Problem>(std::move(in), nullptr, std::move(order));
  self->problem = self->owned.get();
}

// Operation counts of the forward pass of one problem.
nb::dict tally(OwnedProblem& self, int method) {
  const auto chosen = static_cast<Method>(method);
  self.prepare(chosen);
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

}  // namespace

std::vector<LabelledSegment> caesura::segments_from(const OwnedProblem& self, nb::list given) {
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

void caesura::bind_problem(nb::module_& m) {
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
            if (!invalid.empty()) throw RefusedScore(invalid);
            return self.problem->score(segments_from(self, segments));
          },
          "segments"_a)
      .def("tally", &tally, "method"_a, nb::sig("def tally(self, method: int) -> dict[str, int]"));
}
