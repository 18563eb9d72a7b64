// The door to learning.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "bind/bindings.hpp"
#include "infer/answers.hpp"
#include "learn/parameters.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {
namespace {

std::shared_ptr<Gold> make_gold(Vector<std::int64_t> lengths, int n_labels,
                                Vector<std::int64_t> ptr, Vector<std::int32_t> starts,
                                Vector<std::int32_t> ends, Vector<std::int32_t> labels) {
  auto gold = std::make_shared<Gold>();
  require(ptr.shape(0) == lengths.shape(0) + 1, "ptr: wrong length");
  gold->ptr = copied(ptr);
  gold->lengths = copied(lengths);
  gold->n_labels = n_labels;
  gold->hints.resize(lengths.shape(0));
  for (std::size_t i = 0; i < lengths.shape(0); ++i) {
    std::int64_t at = 0;
    for (std::int64_t k = ptr(i); k < ptr(i + 1); ++k) {
      require(starts(k) == at && ends(k) > at && labels(k) >= 0 && labels(k) < n_labels,
              "segments: must cover the sequence");
      at = ends(k);
      gold->segments.push_back({starts(k), ends(k), labels(k)});
    }
    require(ptr(i) == ptr(i + 1) || at == lengths(i), "segments: must cover the sequence");
  }
  return gold;
}

Layout make_layout(int n_labels, Vector<std::int32_t> bounds,
                   const std::optional<Matrix<std::uint8_t>>& barred,
                   const std::optional<Vector<std::uint8_t>>& barred_start,
                   const std::optional<Vector<std::uint8_t>>& barred_end) {
  const auto Y = static_cast<std::size_t>(n_labels);
  require(n_labels > 0 && n_labels < 65536 && bounds.shape(0) == Y,
          "bounds: expected one for each label");
  require(!barred || (barred->shape(0) == Y && barred->shape(1) == Y), "barred: wrong shape");
  require(!barred_start || barred_start->shape(0) == Y, "barred_start: wrong shape");
  require(!barred_end || barred_end->shape(0) == Y, "barred_end: wrong shape");
  Layout layout;
  layout.Y = n_labels;
  layout.bounds = copied(bounds);
  if (barred) layout.barred.assign(barred->data(), barred->data() + Y * Y);
  if (barred_start) layout.barred_start = copied(*barred_start);
  if (barred_end) layout.barred_end = copied(*barred_end);
  return layout;
}

using Patterns = std::vector<std::vector<std::int32_t>>;

void add_patterns(Layout& layout, const Patterns& patterns, std::int64_t n_plain,
                  std::size_t shortest) {
  require(n_plain >= 0 && n_plain <= static_cast<std::int64_t>(patterns.size()),
          "n_plain: out of range");
  for (const auto& pattern : patterns) {
    require(pattern.size() >= shortest && pattern.size() <= 256, "patterns: too short or too long");
    for (const std::int32_t y : pattern)
      require(y >= 0 && y < layout.Y, "patterns: label out of range");
  }
  Patterns sorted = patterns;
  std::sort(sorted.begin(), sorted.end());
  require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
          "patterns: one comes twice");
  layout.patterns = patterns;
  layout.n_plain = n_plain;
}

// Weights for the first and last labels that may be there.
void add_ends(Layout& layout) {
  for (int y = 0; y < layout.Y; ++y) {
    if (layout.barred_start.empty() || !layout.barred_start[y]) layout.start.push_back(y);
    if (layout.barred_end.empty() || !layout.barred_end[y]) layout.end.push_back(y);
  }
}

// Fixed weights, for prediction.
struct Scorer {
  std::shared_ptr<const Layout> layout;
  Unpacked<double> weights;
  std::shared_ptr<const Automaton> automaton;
  std::vector<std::int32_t> order;

  std::unique_ptr<ScoredProblem> problem(const Design& d, int i, Workspace& work) const {
    return scored_problem(*layout, d, weights, i, Known{}, automaton, order, work);
  }
};

void make_scorer(Scorer* self, const Parameters& parameters, Vector<double> w,
                 const std::optional<Matrix<std::uint8_t>>& barred,
                 const std::optional<Vector<std::uint8_t>>& barred_start,
                 const std::optional<Vector<std::uint8_t>>& barred_end,
                 std::shared_ptr<const Automaton> automaton, Vector<std::int32_t> order) {
  require(static_cast<std::int64_t>(w.shape(0)) == parameters.layout()->size(), "w: wrong length");
  new (self) Scorer;
  Layout layout = *parameters.layout();
  const std::size_t Y = layout.Y;
  require(!barred || (barred->shape(0) == Y && barred->shape(1) == Y), "barred: wrong shape");
  require(!barred_start || barred_start->shape(0) == Y, "barred_start: wrong shape");
  require(!barred_end || barred_end->shape(0) == Y, "barred_end: wrong shape");
  if (barred) layout.barred.assign(barred->data(), barred->data() + Y * Y);
  if (barred_start) layout.barred_start = copied(*barred_start);
  if (barred_end) layout.barred_end = copied(*barred_end);
  const Design none;
  const int width = trainer<double>().width;
  self->weights.set(layout, none, places_of(layout, none, width), w.data(), width, 1);
  self->layout = std::make_shared<Layout>(std::move(layout));
  self->order = copied(order);
  self->automaton = self->layout->histories == nullptr ? std::move(automaton)
                                                       : automaton_of(*self->layout, self->order);
}

std::vector<Answer> answers_of(const Scorer& self, const Design& d, int n_threads) {
  const int n = d.n_sequences();
  std::vector<Answer> answers(n);
  const std::vector<std::int32_t>& bounds = self.layout->bounds;
  const bool chain =
      d.site.empty() && d.edge_ptr.empty() && d.planes == 1 && self.layout->histories == nullptr &&
      std::all_of(bounds.begin(), bounds.end(), [](std::int32_t bound) { return bound == 1; });
  {
    const nb::gil_scoped_release release;
    for_each(n, n_threads, [&](int i, Workspace& work) {
      if (d.length(i) == 0) return;
      if (chain) {
        std::vector<std::int32_t> labels(d.length(i));
        answers[i].possible =
            trainer<double>().best_chain(d, self.weights.view(), i, labels.data(), work);
        for (int t = 0; t < d.length(i); ++t) answers[i].segments.push_back({t, t + 1, labels[t]});
        return;
      }
      std::vector<LabelledSegment>& segments = answers[i].segments;
      segments.resize(d.length(i));
      segments.resize(trainer<double>().best(d, self.weights.view(), i, segments.data(), work));
      answers[i].possible = !segments.empty();
    });
  }
  return answers;
}

// For each token of each sequence the name of its state.
nb::list names(const Scorer& self, const Design& d, nb::list states, int n_threads) {
  require(static_cast<int>(nb::len(states)) == self.layout->Y, "states: one for each label");
  nb::list out;
  int i = 0;
  for (const Answer& answer : answers_of(self, d, n_threads)) {
    if (d.length(i++) > 0 && !answer.possible) {
      out.append(nb::none());
      continue;
    }
    nb::list tokens;
    for (const LabelledSegment& s : answer.segments) {
      for (int t = s.start; t < s.end; ++t) tokens.append(states[s.label]);
    }
    out.append(std::move(tokens));
  }
  return out;
}

// joined: [Y][Y] whether a segment goes on with the one before it, which then has its label.
nb::list best(const Scorer& self, const Design& d, int n_threads,
              const std::optional<Matrix<std::uint8_t>>& joined) {
  const int n = d.n_sequences();
  const auto Y = static_cast<std::size_t>(self.layout->Y);
  require(!joined || (joined->shape(0) == Y && joined->shape(1) == Y), "joined: wrong shape");
  std::vector<Answer> answers = answers_of(self, d, n_threads);
  for (Answer& answer : answers) {
    std::size_t kept = 0;
    for (std::size_t k = 0; joined && k < answer.segments.size(); ++k) {
      const LabelledSegment& segment = answer.segments[k];
      if (kept == 0 || !(*joined)(answer.segments[k - 1].label, segment.label)) {
        answer.segments[kept++] = segment;
      } else {
        answer.segments[kept - 1].end = segment.end;
      }
    }
    if (joined) answer.segments.resize(kept);
  }
  nb::list out;
  for (int i = 0; i < n; ++i) {
    if (!answers[i].possible && d.length(i) > 0) {
      out.append(nb::none());
      continue;
    }
    nb::list segments;
    for (const LabelledSegment& s : answers[i].segments)
      segments.append(nb::make_tuple(s.start, s.end, s.label));
    out.append(std::move(segments));
  }
  return out;
}

nb::list problems(const Scorer& self, const Design& d) {
  nb::list out;
  Workspace work;
  for (int i = 0; i < d.n_sequences(); ++i) {
    auto* made = new OwnedProblem;
    nb::object held = nb::cast(made, nb::rv_policy::take_ownership);
    made->scored = self.problem(d, i, work);
    made->problem = made->scored->problem.get();
    out.append(std::move(held));
  }
  return out;
}

// The scores of all rows of one sequence, (rows, labels and row_patterns), and the sites.
nb::tuple rows(const Scorer& self, const Design& d, int i) {
  require(i >= 0 && i < d.n_sequences(), "i: out of range");
  const Layout& l = *self.layout;
  const int Y = l.Y, stride = self.weights.view().row, n = d.length(i) + d.n_sites(i);
  std::vector<double> padded(static_cast<std::size_t>(n) * stride), scores;
  Workspace work;
  trainer<double>().scores(d, self.weights.view(), i, padded.data(), work);
  for (int r = 0; r < n; ++r) {
    const auto row = padded.begin() + static_cast<std::ptrdiff_t>(r) * stride;
    scores.insert(scores.end(), row, row + Y);
    for (const std::int32_t p : l.row_patterns)
      scores.push_back(row[self.weights.view().stride + l.histories->pattern[p]]);
  }
  std::vector<std::int32_t> starts, ends, flags;
  for (std::int64_t k = d.sites[i]; k < d.sites[i + 1]; ++k) {
    starts.push_back(d.site[k].start);
    ends.push_back(d.site[k].end);
    flags.push_back(d.site[k].flags);
  }
  return nb::make_tuple(given(std::move(scores)), given(std::move(starts)), given(std::move(ends)),
                        given(std::move(flags)));
}

nb::tuple edges(const Scorer& self, const Design& d, int i) {
  require(i >= 0 && i < d.n_sequences(), "i: out of range");
  std::vector<std::int32_t> positions, pairs;
  std::vector<double> scores;
  for (int t = 1; t < d.length(i); ++t) {
    d.for_edges(i, t, [&](std::int32_t id, std::int32_t code, double value) {
      positions.push_back(t);
      pairs.push_back(code);
      scores.push_back(self.weights.view().edge[id] * value);
    });
  }
  return nb::make_tuple(given(std::move(positions)), given(std::move(pairs)),
                        given(std::move(scores)));
}

}  // namespace

void bind_learning(nb::module_& m) {
  nb::class_<Gold>(m, "Gold", "The labels of a corpus.")
      .def(nb::new_(&make_gold), "lengths"_a, "n_labels"_a, "ptr"_a, "starts"_a, "ends"_a,
           "labels"_a)
      .def(
          "hint",
          [](Gold& self, int i, const std::optional<Matrix<std::uint8_t>>& allowed,
             const std::optional<Vector<std::uint8_t>>& boundary) {
            require(i >= 0 && i < static_cast<int>(self.hints.size()), "i: out of range");
            const std::size_t T = self.lengths[i], Y = self.n_labels;
            require(!allowed || (allowed->shape(0) == T && allowed->shape(1) == Y),
                    "allowed: wrong shape");
            require(!boundary || boundary->shape(0) == T + 1, "boundary: wrong shape");
            auto hint = std::make_shared<Hint>();
            if (allowed) hint->allowed.assign(allowed->data(), allowed->data() + allowed->size());
            if (boundary) hint->boundary = copied(*boundary);
            self.hints[i] = std::move(hint);
          },
          "i"_a, "allowed"_a.none(), "boundary"_a.none());

  nb::class_<Design>(m, "Design", "A corpus with the places of its weights.")
      .def("__len__", &Design::n_sequences)
      .def_prop_ro("n_rows", [](const Design& self) { return self.dense_ptr.size() - 1; })
      .def_prop_ro("n_items",
                   [](const Design& self) { return self.dense.size() + self.sparse.size(); });

  nb::class_<Parameters>(m, "Parameters", "Which attribute has a weight with which label.")
      .def(nb::new_([](const Corpus& corpus, const Gold& gold, int n_labels, Extractor& attributes,
                       Vector<std::int32_t> bounds,
                       const std::optional<Matrix<std::uint8_t>>& barred,
                       const std::optional<Vector<std::uint8_t>>& barred_start,
                       const std::optional<Vector<std::uint8_t>>& barred_end, double min_frequency,
                       bool all_states, bool all_transitions, bool ends, const Patterns& patterns) {
             Layout layout = make_layout(n_labels, bounds, barred, barred_start, barred_end);
             add_patterns(layout, patterns, patterns.size(), 3);
             Planes planes = attributes.planes();
             if (ends) add_ends(layout);
             const nb::gil_scoped_release release;
             Pairs pairs = observed_pairs(corpus, gold,
                                          {n_labels, min_frequency, all_states, all_transitions},
                                          planes, layout);
             return std::make_shared<Parameters>(std::move(pairs), std::move(layout),
                                                 std::move(planes));
           }),
           "corpus"_a, "gold"_a, "n_labels"_a, "attributes"_a, "bounds"_a, "barred"_a.none(),
           "barred_start"_a.none(), "barred_end"_a.none(), "min_frequency"_a, "all_states"_a,
           "all_transitions"_a, "ends"_a, "patterns"_a = Patterns{})
      .def_static(
          "restore",
          [](int n_labels, Extractor& attributes, Vector<std::int32_t> bounds,
             const std::optional<Matrix<std::uint8_t>>& barred,
             const std::optional<Vector<std::uint8_t>>& barred_start,
             const std::optional<Vector<std::uint8_t>>& barred_end, Vector<std::int32_t> attribute,
             Vector<std::int32_t> label, Vector<std::int32_t> edge_attribute,
             Vector<std::int32_t> edge_pair, Vector<std::int32_t> transition,
             Vector<std::int32_t> start, Vector<std::int32_t> end, const Patterns& patterns,
             std::int64_t n_plain) {
            Layout layout = make_layout(n_labels, bounds, barred, barred_start, barred_end);
            add_patterns(layout, patterns, n_plain, 2);
            const auto n_patterns = static_cast<std::int64_t>(patterns.size());
            auto below = [](const Vector<std::int32_t>& values, std::int64_t limit,
                            const char* what) {
              for (std::size_t k = 0; k < values.shape(0); ++k)
                require(values(k) >= 0 && values(k) < limit, what);
            };
            const std::int64_t square = static_cast<std::int64_t>(n_labels) * n_labels;
            require(attribute.shape(0) == label.shape(0) &&
                        edge_attribute.shape(0) == edge_pair.shape(0),
                    "pairs: lengths differ");
            below(attribute, attributes.attributes.size(), "attribute: out of range");
            below(edge_attribute, attributes.attributes.size(), "edge_attribute: out of range");
            below(label, n_labels + n_patterns, "label: out of range");
            below(edge_pair, square + n_patterns, "edge_pair: out of range");
            below(transition, square, "transition: out of range");
            below(start, n_labels, "start: out of range");
            below(end, n_labels, "end: out of range");
            layout.transition = copied(transition);
            layout.start = copied(start);
            layout.end = copied(end);
            return std::make_shared<Parameters>(
                Pairs{copied(attribute), copied(label), copied(edge_attribute), copied(edge_pair)},
                std::move(layout), attributes.planes());
          },
          "n_labels"_a, "attributes"_a, "bounds"_a, "barred"_a.none(), "barred_start"_a.none(),
          "barred_end"_a.none(), "attribute"_a, "label"_a, "edge_attribute"_a, "edge_pair"_a,
          "transition"_a, "start"_a, "end"_a, "patterns"_a = Patterns{}, "n_plain"_a = 0)
      .def("__len__", [](const Parameters& self) { return self.layout()->size(); })
      .def(
          "with_structure",
          [](const Parameters& self, Vector<std::int32_t> bounds, Vector<std::int32_t> transition,
             Vector<std::int32_t> start) {
            require(static_cast<int>(bounds.shape(0)) == self.layout()->Y,
                    "bounds: one for each label");
            return self.with(copied(bounds), copied(transition), copied(start));
          },
          "bounds"_a, "transition"_a, "start"_a)
      .def(
          "compile",
          [](const Parameters& self, const Corpus& corpus) {
            const nb::gil_scoped_release release;
            return std::const_pointer_cast<Design>(self.compile(corpus));
          },
          "corpus"_a)
      .def_prop_ro(
          "attribute",
          [](const Parameters& self) {
            return given(std::vector<std::int32_t>(self.pairs().attribute));
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "label",
          [](const Parameters& self) {
            return given(std::vector<std::int32_t>(self.pairs().label));
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "edge_attribute",
          [](const Parameters& self) {
            return given(std::vector<std::int32_t>(self.pairs().edge_attribute));
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "edge_pair",
          [](const Parameters& self) {
            return given(std::vector<std::int32_t>(self.pairs().edge_pair));
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "transition",
          [](const Parameters& self) {
            return given(std::vector<std::int32_t>(self.layout()->transition));
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "patterns", [](const Parameters& self) { return self.layout()->patterns; },
          "Label sequences; the first n_plain have a weight of their own.")
      .def_prop_ro("n_plain", [](const Parameters& self) { return self.layout()->n_plain; })
      .def_prop_ro(
          "row_patterns",
          [](const Parameters& self) {
            return given(std::vector<std::int32_t>(self.layout()->row_patterns));
          },
          nb::rv_policy::automatic)
      .def_prop_ro("n_states",
                   [](const Parameters& self) {
                     return self.layout()->histories == nullptr ? self.layout()->Y
                                                                : self.layout()->histories->Q;
                   })
      .def_prop_ro(
          "start",
          [](const Parameters& self) {
            return given(std::vector<std::int32_t>(self.layout()->start));
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "end",
          [](const Parameters& self) {
            return given(std::vector<std::int32_t>(self.layout()->end));
          },
          nb::rv_policy::automatic);

  nb::class_<Scorer>(m, "Scorer", "Fixed weights, for prediction.")
      .def(
          "__init__",
          [](Scorer* self, const Parameters& parameters, Vector<double> w,
             const std::optional<Matrix<std::uint8_t>>& barred,
             const std::optional<Vector<std::uint8_t>>& barred_start,
             const std::optional<Vector<std::uint8_t>>& barred_end,
             std::shared_ptr<Automaton> automaton, Vector<std::int32_t> order) {
            make_scorer(self, parameters, w, barred, barred_start, barred_end, std::move(automaton),
                        order);
          },
          "parameters"_a, "w"_a, "barred"_a.none(), "barred_start"_a.none(), "barred_end"_a.none(),
          "automaton"_a, "order"_a)
      .def("best", &best, "design"_a, "n_threads"_a, "joined"_a.none() = nb::none(),
           "For each sequence its best segments, or None.")
      .def("names", &names, "design"_a, "states"_a, "n_threads"_a,
           "For each sequence the state of each token, or None.")
      .def("problems", &problems, "design"_a)
      .def("rows", &rows, "design"_a, "i"_a)
      .def("edges", &edges, "design"_a, "i"_a);
}

}  // namespace caesura
