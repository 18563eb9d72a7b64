// Bindings of learning: gold labels, weights and designs.
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
  gold->ptr.assign(ptr.data(), ptr.data() + ptr.shape(0));
  gold->lengths.assign(lengths.data(), lengths.data() + lengths.shape(0));
  gold->n_labels = n_labels;
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

std::optional<std::pair<int, int>> first_broken(const Gold& gold, const NamedRules& named,
                                                const std::optional<Spelling>& spelling) {
  std::optional<std::pair<int, int>> first;
  for (std::size_t k = 0; k < named.size(); ++k) {
    const RuleSet one = rules_from({named[k]}, gold.n_labels, spelling);
    const Rule rule = one.compiled(gold.n_labels).at(0);
    const int n = first ? first->first : static_cast<int>(gold.lengths.size());
    for (int i = 0; i < n; ++i) {
      if (gold.hint(i) != nullptr) continue;
      std::vector<std::int32_t> labels;
      for (std::int64_t s = gold.ptr[i]; s < gold.ptr[i + 1]; ++s)
        labels.push_back(gold.segments[s].label);
      if (one.keeps(rule, labels, gold.n_labels)) continue;
      first = {i, static_cast<int>(k)};
      break;
    }
  }
  return first;
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

// Adds weights for the possible first and last labels.
void add_ends(Layout& layout) {
  for (int y = 0; y < layout.Y; ++y) {
    if (layout.barred_start.empty() || !layout.barred_start[y]) layout.start.push_back(y);
    if (layout.barred_end.empty() || !layout.barred_end[y]) layout.end.push_back(y);
  }
}

}  // namespace

void bind_learning(nb::module_& m) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const NoAgreement& error) {  // LookupError(index of the sequence)
      PyErr_SetObject(PyExc_LookupError, nb::int_(error.sequence).ptr());
    } catch (const InvalidScore& error) {  // FloatingPointError(index of the sequence)
      if (error.sequence < 0) throw RefusedScore(error.what());
      PyErr_SetObject(PyExc_FloatingPointError, nb::int_(error.sequence).ptr());
    }
  });
  nb::class_<Gold>(m, "Gold", "The labels of a corpus.")
      .def(nb::new_(&make_gold), "lengths"_a, "n_labels"_a, "ptr"_a, "starts"_a, "ends"_a,
           "labels"_a)
      .def(
          "hint",
          [](Gold& self, int i, const std::optional<Matrix<std::uint8_t>>& allowed,
             const std::optional<Vector<std::uint8_t>>& boundary) {
            require(i >= 0 && i < static_cast<int>(self.lengths.size()), "i: out of range");
            const std::size_t T = self.lengths[i], Y = self.n_labels;
            require(!allowed || (allowed->shape(0) == T && allowed->shape(1) == Y),
                    "allowed: wrong shape");
            require(!boundary || boundary->shape(0) == T + 1, "boundary: wrong shape");
            auto hint = std::make_shared<Hint>();
            if (allowed) hint->allowed.assign(allowed->data(), allowed->data() + allowed->size());
            if (boundary) hint->boundary = copied(*boundary);
            self.hints.resize(self.lengths.size());
            self.hints[i] = std::move(hint);
          },
          "i"_a, "allowed"_a.none(), "boundary"_a.none())
      .def("first_broken", &first_broken, "rules"_a, "spelling"_a.none(),
           "The first fully labelled sequence that breaks a rule, and the number of that rule.");

  nb::class_<Design>(m, "Design", "A corpus with the places of its weights.")
      .def("__len__", &Design::n_sequences)
      .def_prop_ro("n_rows", [](const Design& self) { return self.dense_ptr.size() - 1; });

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
             const Released release;
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
            return std::make_shared<Parameters>(Pairs{copied(attribute),
                                                      copied(label),
                                                      copied(edge_attribute),
                                                      copied(edge_pair),
                                                      {},
                                                      {}},
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
          "with_rules",
          [](const Parameters& self, const NamedRules& rules,
             const std::optional<Spelling>& spelling) {
            RuleSet set = rules_from(rules, self.layout()->Y, spelling);
            const Released release;
            return self.with_rules(std::move(set));
          },
          "rules"_a, "spelling"_a.none(), "The same weights where every segmentation keeps rules.")
      .def(
          "ruled_like",
          [](const Parameters& self, const Parameters& other) {
            const Released release;
            return self.with_rules(other.layout()->rules);
          },
          "other"_a, "The same weights where every segmentation keeps the rules of another model.")
      .def(
          "compile",
          [](const Parameters& self, const Corpus& corpus,
             const std::optional<std::string>& folder) {
            const Released release;
            Folder place = folder ? std::make_shared<const std::string>(*folder) : nullptr;
            return std::const_pointer_cast<Design>(self.compile(corpus, std::move(place)));
          },
          "corpus"_a, "folder"_a.none() = nb::none(),
          "The corpus with the places of its weights; in memory, or in files of a folder.")
      .def_prop_ro(
          "frequency",
          [](const Parameters& self) { return given(std::vector<double>(self.pairs().frequency)); },
          nb::rv_policy::automatic, "How often each pair of `attribute` and `label` was observed.")
      .def_prop_ro(
          "edge_frequency",
          [](const Parameters& self) {
            return given(std::vector<double>(self.pairs().edge_frequency));
          },
          nb::rv_policy::automatic)
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
      .def_prop_ro("n_states",
                   [](const Parameters& self) {
                     const Layout& l = *self.layout();
                     return l.program != nullptr     ? l.program->Q
                            : l.histories != nullptr ? l.histories->Q
                                                     : l.Y;
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
}

}  // namespace caesura
