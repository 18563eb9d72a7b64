// Declarations that all bindings share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/release.hpp"
#include "encode/types.hpp"
#include "learn/objective.hpp"

namespace caesura {

template <class T>
using Vector =
    nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using Matrix =
    nanobind::ndarray<const T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

template <class T>
std::vector<T> copied(const Vector<T>& v) {
  return std::vector<T>(v.data(), v.data() + v.shape(0));
}

inline void require(bool ok, const char* what) {
  if (!ok) throw nanobind::value_error(what);
}

inline nanobind::str decoded(std::string_view text) {
  return nanobind::steal<nanobind::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass"));
}

template <class T>
using Array = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>;

// Moves a vector into an array that owns it.
template <class T>
Array<T> given(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(kept->data(), {kept->size()}, owner);
}

// A problem with the arrays that it points into.
struct OwnedProblem {
  std::vector<nanobind::object> arrays;
  std::unique_ptr<ScoredProblem> scored;
  std::shared_ptr<Problem> owned;  // shared with objects that refer to it
  Problem* problem = nullptr;

  void prepare(Method method) {
    if (std::unique_ptr<Problem> renewed = problem->renewed()) {
      owned = std::move(renewed);
      problem = owned.get();
    }
    problem->prepare(method);
  }
};

// Returns the segments of a complete segmentation, after checks.
std::vector<LabelledSegment> segments_from(const OwnedProblem& self, nanobind::list given);

// Thrown for an array with a score that is NaN, +inf or too large; becomes the error that
// caesura.checks.refused_score returns.
struct RefusedScore : std::invalid_argument {
  std::string array;
  std::optional<int> sequence;  // of several

  explicit RefusedScore(std::string array_, std::optional<int> sequence_ = std::nullopt)
      : std::invalid_argument(array_), array(std::move(array_)), sequence(sequence_) {}
};

using NamedRules = std::vector<std::pair<std::string, std::vector<std::int32_t>>>;
// For labels that are tags: RuleSet::symbol and RuleSet::joined.
using Spelling = std::pair<std::vector<std::int32_t>, Matrix<std::uint8_t>>;
RuleSet rules_from(const NamedRules& named, int Y, const std::optional<Spelling>& spelling);

// Returns pairs (start, end) of Python as spans.
std::vector<CharacterSpan> spans_from(nanobind::handle pairs);
Tokeniser tokeniser_named(const std::string& name);

void bind_around(nanobind::module_& m);
void bind_problem(nanobind::module_& m);
void bind_engine(nanobind::module_& m);
void bind_posterior(nanobind::module_& m);
void bind_batch(nanobind::module_& m);
void bind_bags(nanobind::module_& m);
void bind_encoding(nanobind::module_& m);
void bind_graph(nanobind::module_& m);
void bind_learning(nanobind::module_& m);
void bind_scorer(nanobind::module_& m);
void bind_segments(nanobind::module_& m);
void bind_spans(nanobind::module_& m);
void bind_text(nanobind::module_& m);
void bind_objective(nanobind::module_& m);
void bind_paths(nanobind::module_& m);
void bind_vectors(nanobind::module_& m);

}  // namespace caesura
