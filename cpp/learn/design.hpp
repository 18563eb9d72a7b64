// Input and output of the learning kernels: an encoded corpus, weights, and the gradient.
//
//   Corpus (attributes on rows) --> Design (weights on rows) --> scores of rows --> segmental.hpp
//
// A row is a place where features fire: a core span [start, end) with open or closed ends, like
// that of a potential.  The rows of a sequence are its tokens, which are open at both ends,
// followed by its sites, sorted by end and then by descending start.  A row has one score for each
// label.
//
// If there are few labels, the weights of features that fire at the first, last or only token of a
// segment are stored beside those of the token itself: the row of the token then consists of
// several planes of labels, and the additional planes become the scores of the sites over this
// token.  If there are no other sites, each token can be tagged as the beginning, inside, end or
// unit of a segment, and the design is a chain over tags, with tag = position * Y + label.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "automaton/program.hpp"
#include "base/mapped.hpp"
#include "lattice/label_weights.hpp"

namespace caesura {

struct LabelledSegment;

struct Site {
  std::int32_t start, end;
  std::uint8_t flags;      // PotentialFlags
  std::uint8_t plane = 0;  // plane of the first token's row that is added to this row; 0: none
};

struct Sum {
  std::int32_t row, first, second;
};

// The weights of an attribute with patterns or label pairs: `count` weights from `first` on.
// value: the value of the attribute.
struct Run {
  std::int32_t first, count;
  double value;
};

// Attributes that occur with several labels have a row in a dense table; each label of any other
// attribute has a single weight.
struct Design {
  Design() = default;
  explicit Design(Folder place) : folder(std::move(place)) {}
  Folder folder;  // where large arrays are stored, see base/mapped.hpp
  template <class T>
  Mapped<T> array(std::size_t size = 0) const {
    return Mapped<T>(size, Mapping<T>(folder));
  }

  int Y = 0, planes = 1;
  std::uint8_t plane_flags[4] = {};
  bool tagged = false;  // whether the design is a chain over tags
  std::int64_t n_dense = 0, n_sparse = 0, n_edges = 0;

  Mapped<std::int64_t> tokens = array<std::int64_t>(1);  // [sequences + 1]
  Mapped<std::int64_t> sites = array<std::int64_t>(1);   // [sequences + 1]
  Mapped<Site> site = array<Site>();

  Mapped<std::int64_t> dense_ptr = array<std::int64_t>(1);  // [rows + 1]
  static constexpr int kAhead = 12, kFarAhead = 32;
  // Rows of the table, and kAhead zeros at the end.
  Mapped<std::int32_t> dense = array<std::int32_t>();
  Mapped<double> dense_value = array<double>();  // empty if all are 1
  Mapped<Sum> sums = array<Sum>();  // rows that are the sum of two others, in order of creation
  // [n_dense] the place of each row in the table; empty if rows are in order.
  Mapped<std::int32_t> place = array<std::int32_t>();
  // [table rows] the row at each place, or -1 - k for sum k; empty if rows are in order.
  Mapped<std::int32_t> content = array<std::int32_t>();
  Mapped<std::int64_t> sparse_ptr = array<std::int64_t>(1);  // [rows + 1]
  Mapped<std::int32_t> sparse = array<std::int32_t>();       // single weights, and kFarAhead zeros
  Mapped<std::uint16_t> sparse_lane = array<std::uint16_t>();  // plane * Y + label
  Mapped<double> sparse_value = array<double>();               // empty if all are 1

  // Precomputed scores of words (see word_rows.hpp); empty if there are none.
  Mapped<std::int64_t> word_ptr = array<std::int64_t>();  // [rows + 1]
  Mapped<const double*> word = array<const double*>();    // [stride] each
  std::shared_ptr<const void> word_memory;

  // Attributes of rows that have weights with label patterns; empty if there are none.
  Mapped<std::int64_t> pattern_ptr = array<std::int64_t>();  // [rows + 1]
  Mapped<Run> pattern_run = array<Run>();
  // [single weights] the state of the pattern of each weight.
  std::shared_ptr<const std::vector<std::int32_t>> pattern_state;

  // Attributes at the boundary before each token; empty if there are none.
  Mapped<std::int64_t> edge_ptr = array<std::int64_t>();  // [tokens + 1]
  Mapped<Run> edge_run = array<Run>();
  // [edge weights] previous label * Y + label, or Y * Y + pattern.
  std::shared_ptr<const std::vector<std::int32_t>> edge_code;

  // Call visit(weight, state, value) for the pattern weights of a row, and visit(weight, code,
  // value) for the edge weights at boundary t of sequence i.
  template <class Visit>
  void for_patterns(std::int64_t row, Visit visit) const {
    if (pattern_ptr.empty()) return;
    for_runs(pattern_run, pattern_ptr[row], pattern_ptr[row + 1], pattern_state->data(), visit);
  }
  template <class Visit>
  void for_edges(int i, int t, Visit visit) const {
    if (edge_ptr.empty()) return;
    for_runs(edge_run, edge_ptr[tokens[i] + t], edge_ptr[tokens[i] + t + 1], edge_code->data(),
             visit);
  }
  bool has_patterns(std::int64_t row) const {
    return !pattern_ptr.empty() && pattern_ptr[row] < pattern_ptr[row + 1];
  }

  bool has_words(std::int64_t row) const {
    return !word_ptr.empty() && word_ptr[row] < word_ptr[row + 1];
  }
  bool is_empty(std::int64_t row) const {
    return dense_ptr[row] == dense_ptr[row + 1] && sparse_ptr[row] == sparse_ptr[row + 1] &&
           !has_patterns(row) && !has_words(row);
  }
  std::int64_t table_rows() const { return n_dense + static_cast<std::int64_t>(sums.size()); }
  // Calls visit(row) for each row that is part of the sum at place `at` of the table.
  template <class Visit>
  void for_parts(std::int32_t at, Visit visit) const {
    if (content.empty()) {
      visit(at);
    } else if (content[at] >= 0) {
      visit(content[at]);
    } else {
      const Sum& sum = sums[-1 - content[at]];
      for_parts(sum.first, visit);
      for_parts(sum.second, visit);
    }
  }
  std::int64_t place_of(std::int64_t row) const { return place.empty() ? row : place[row]; }
  int n_sequences() const { return static_cast<int>(tokens.size()) - 1; }
  int length(int i) const { return static_cast<int>(tokens[i + 1] - tokens[i]); }
  int n_sites(int i) const { return static_cast<int>(sites[i + 1] - sites[i]); }
  std::int64_t first_row(int i) const { return tokens[i] + sites[i]; }
  std::int64_t n_rows(int i) const { return first_row(i + 1) - first_row(i); }

 private:
  template <class Visit>
  static void for_runs(const Mapped<Run>& runs, std::int64_t begin, std::int64_t end,
                       const std::int32_t* codes, Visit visit) {
    for (const Run *run = runs.data() + begin, *last = runs.data() + end; run != last; ++run) {
      for (std::int32_t k = run->first; k < run->first + run->count; ++k)
        visit(k, codes[k], run->value);
    }
  }
};

// The weights of one evaluation, in the precision of the kernel.
template <class Real>
struct Weights : LabelWeights<Real> {
  int wide = 0;                  // [planes][Y] in whole vectors; stride if there is one plane
  const Real* dense = nullptr;   // [table rows][wide]
  const Real* sparse = nullptr;  // [n_sparse]
  const Real* edge = nullptr;    // [n_edges]
  Real scale = 1;                // factor of the scores of rows

  const Panel* best_panels = nullptr;  // panels of the pairs that are not forbidden, narrower
  int n_best_panels = 0;
  const Real* log_transition = nullptr;  // [stride][stride] scores, padded with -inf
  const Real* log_first = nullptr;       // [stride]
  const Real* log_last = nullptr;        // [stride]

  // Length bounds.
  bool has_open = false;       // whether some label has no bound
  const Real* open = nullptr;  // [stride] 1 for labels without a bound
  int longest = 0;             // the largest bound
  const Real* fits = nullptr;  // [longest + 1][stride] 1 for labels that may have length k, else 0
  const std::int32_t* bounds = nullptr;  // [Y] longest segment of each label, or 0 for no bound
  const Weights* tags = nullptr;         // the weights of the chain over tags, or null

  // Label patterns and rules.  If there are any, pairs of labels that are histories are not
  // transitions.
  const Histories* histories = nullptr;  // null for a first-order model without rules
  const ArcProgram* program = nullptr;   // its states also have a memory of the rules
  bool by_state = false;                 // whether some row has weights with patterns
  int row = 0;  // length of a row of scores: stride, and the lanes of histories if by_state
  const Real* entry = nullptr;  // [states] exp(score of entering a history of several labels), or 0
  const Real* log_entry = nullptr;   // [states]
  const Real* ending = nullptr;      // [states] exp of the end score, 0 if not accepting
  const Real* log_ending = nullptr;  // [states]
  // Arcs of the pairs of labels that are transitions; PairArc::pair is an index into `transition`.
  // `base` is sorted by target and `base_back` by source.  `weighted` has the arcs of pairs with a
  // weight, sorted by pair; PairArc::from is an index into ArcProgram::singles there.  An arc of -1
  // ends each list.
  const PairArc* base = nullptr;
  const PairArc* base_back = nullptr;
  const PairArc* weighted = nullptr;
  int n_weighted = 0;  // distinct pairs in `weighted`
};

template <class Real>
struct Gradient {
  Real* dense = nullptr;
  Real* sparse = nullptr;
  Real* edge = nullptr;
  Real* outer = nullptr;     // [stride][stride] sums that `transition` multiplies to give counts
  Real* pairs = nullptr;     // [stride][stride] other expected counts of pairs
  Real* starts = nullptr;    // [stride]
  Real* ends = nullptr;      // [stride]
  Real* entered = nullptr;   // [lanes of histories] expected segments by state, except first ones
  Real* patterns = nullptr;  // [plain patterns] expected counts that are not in `entered`
  Gradient* tags = nullptr;  // outer, starts and ends of tags
  // [rows from first_row on][wide] If not null, receives the expected counts of rows; otherwise
  // these are added to the weights of their attributes in dense and sparse.
  Real* rows = nullptr;
  std::int64_t first_row = 0;
};

enum Position { kBegin, kInside, kEnd, kUnit, kPositions };

// Constraints and costs of one sequence; null pointers where there are none.
struct Known {
  const std::uint8_t* allowed = nullptr;   // [T][Y]
  const std::uint8_t* boundary = nullptr;  // [T + 1] BoundaryMarks
  const double* cost = nullptr;            // [T][Y] added to the scores of tokens
  // Costs of single segments: cost_rows[k][y] is added to the score of the segment that has exactly
  // the span of cost_sites[k] and label y.  The flags and planes of these sites are 0, and they are
  // sorted like those of a Design, without duplicates.
  const Site* cost_sites = nullptr;   // [n_cost_sites]
  const double* cost_rows = nullptr;  // [n_cost_sites][Y]
  int n_cost_sites = 0;
  const double* entry = nullptr;  // [Y] added to the score of every segment with this label
  // A segmentation whose score is subtracted from ln Z, or null; it does not constrain the sum.
  const LabelledSegment* path = nullptr;  // [n_path]
  int n_path = 0;
  bool any() const {
    return allowed != nullptr || boundary != nullptr || cost != nullptr || n_cost_sites > 0 ||
           entry != nullptr;
  }
};

}  // namespace caesura
