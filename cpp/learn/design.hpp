// Input and output of the learning kernels: an encoded corpus, weights, and the gradient.
//
//   Corpus (attributes on rows) --> Design (weights on rows) --> scores of rows --> segmental.hpp
//
// A row is a place where features fire: a core span [start, end) with open or closed ends, like a
// potential.  The rows of a sequence are its tokens, open at both ends, then its sites, sorted
// by end and then by start, later starts first.  A row has one score for each label.
//
// Where labels are few, features of a token that is first, last or alone in its segment have their
// weights beside those of the token itself: the token's row is then wider, a plane of labels for
// each, and the planes become the scores of the sites over this token.  Where there are no other
// sites, each token can be tagged as begin, inside, end or unit of a segment, and the design is a
// chain over tags: position * Y + label.
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
  std::uint8_t plane = 0;  // plane of the row of token `start` that is added to this row; 0: none
};

struct Sum {
  std::int32_t row, first, second;
};

// An attribute combined with patterns or pairs of labels; its weights are contiguous.
struct Run {
  std::int32_t first, count;
  double value;
};

// Attributes seen with several labels have a row of a dense table; the others are single weights.
struct Design {
  Design() = default;
  explicit Design(Folder place) : folder(std::move(place)) {}
  Folder folder;  // where the arrays are stored
  template <class T>
  Mapped<T> array(std::size_t size = 0) const {
    return Mapped<T>(size, Mapping<T>(folder));
  }

  int Y = 0, planes = 1;
  std::uint8_t plane_flags[4] = {};
  bool tagged = false;  // it is a chain over tags
  std::int64_t n_dense = 0, n_sparse = 0, n_edges = 0;

  Mapped<std::int64_t> tokens = array<std::int64_t>(1);  // [sequences + 1]
  Mapped<std::int64_t> sites = array<std::int64_t>(1);   // [sequences + 1]
  Mapped<Site> site = array<Site>();

  Mapped<std::int64_t> dense_ptr = array<std::int64_t>(1);  // [rows + 1]
  static constexpr int kAhead = 12, kFarAhead = 32;
  Mapped<std::int32_t> dense =
      array<std::int32_t>();                     // rows of the table, and kAhead zeros at the end
  Mapped<double> dense_value = array<double>();  // empty: all are 1
  Mapped<Sum> sums = array<Sum>();  // rows that are sums of two others, in the order of creation
  Mapped<std::int32_t> place =
      array<std::int32_t>();  // [n_dense] where in the table a row is; empty: in order
  Mapped<std::int32_t> content = array<std::int32_t>();  // [table rows] the row that is there, or
                                                         // -1 - its sum; empty: in order
  Mapped<std::int64_t> sparse_ptr = array<std::int64_t>(1);  // [rows + 1]
  Mapped<std::int32_t> sparse = array<std::int32_t>();  // weights, and kFarAhead zeros at the end
  Mapped<std::uint16_t> sparse_lane = array<std::uint16_t>();  // plane * Y + label
  Mapped<double> sparse_value = array<double>();               // empty: all are 1

  // Precomputed scores of words (see word_rows.hpp); empty where there are none.
  Mapped<std::int64_t> word_ptr = array<std::int64_t>();  // [rows + 1]
  Mapped<const double*> word = array<const double*>();    // [stride] each
  std::shared_ptr<const void> word_memory;

  // Attributes of rows combined with label patterns; may be empty.
  Mapped<std::int64_t> pattern_ptr = array<std::int64_t>();  // [rows + 1]
  Mapped<Run> pattern_run = array<Run>();
  std::shared_ptr<const std::vector<std::int32_t>>
      pattern_state;  // [single weights] the state of their pattern

  // Attributes at the boundary before each token; may be empty.
  Mapped<std::int64_t> edge_ptr = array<std::int64_t>();  // [tokens + 1]
  Mapped<Run> edge_run = array<Run>();
  std::shared_ptr<const std::vector<std::int32_t>>
      edge_code;  // [weights of edges] previous label * Y + label, or Y * Y + pattern

  // Calls visit(weight, state, value) for the patterns of a row, and visit(weight, code, value) for
  // a boundary.
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
  // Calls visit(row) for the rows whose sum is a row of the table.
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
  int wide = 0;                  // [planes][Y] in whole vectors; stride where there is one plane
  const Real* dense = nullptr;   // [n_dense][wide]
  const Real* sparse = nullptr;  // [n_sparse]
  const Real* edge = nullptr;    // [n_edges]
  Real scale = 1;                // factor of row weights and single weights

  const Panel* best_panels = nullptr;  // also of transition, but narrower
  int n_best_panels = 0;
  const Real* log_transition = nullptr;  // [stride][stride] scores, padded with -inf
  const Real* log_first = nullptr;       // [stride]
  const Real* log_last = nullptr;        // [stride]

  // Longest segments.
  bool has_open = false;       // some label has no longest segment
  const Real* open = nullptr;  // [stride] 1 for labels without a bound
  int longest = 0;             // of the labels with a bound
  const Real* fits = nullptr;  // [longest + 1][stride] 1 for labels that may have length k
  const std::int32_t* bounds = nullptr;  // [Y] longest segment, 0: no bound
  const Weights* tags = nullptr;         // the same for the chain over tags, or null

  // Patterns of labels and rules.  Pairs that are histories are no transitions then.
  const Histories* histories = nullptr;  // null: first order without rules
  const ArcProgram* program = nullptr;   // its states are label histories and states of the rules
  bool by_state = false;                 // some row has weights of patterns
  int row = 0;  // numbers in a row of scores: stride, and the lanes of histories if by_state
  const Real* entry = nullptr;       // [states] exp(score of its patterns), 0 where it is forbidden
  const Real* log_entry = nullptr;   // [states]
  const Real* ending = nullptr;      // [states] exp of the end score of its label, 0: not accepting
  const Real* log_ending = nullptr;  // [states]
  // Arcs of pairs of labels that are transitions, numbers in transition: by their target, and by
  // their source; and those that have a weight, by their pair.  An arc of -1 ends the list.
  const PairArc* base = nullptr;
  const PairArc* base_back = nullptr;
  const PairArc* weighted = nullptr;
  int n_weighted = 0;  // pairs that have a weight
};

template <class Real>
struct Gradient {
  Real* dense = nullptr;
  Real* sparse = nullptr;
  Real* edge = nullptr;
  Real* outer = nullptr;    // [stride][stride] expected pairs, still to be multiplied by transition
  Real* pairs = nullptr;    // [stride][stride] expected pairs where edges have weights
  Real* starts = nullptr;   // [stride]
  Real* ends = nullptr;     // [stride]
  Real* entered = nullptr;  // [lanes of histories] expected segments, but for first ones
  Real* patterns = nullptr;  // [plain patterns] expected counts that are not in `entered`
  Gradient* tags = nullptr;  // outer, starts and ends of tags
  // Set where expected counts of rows are wanted in place of the gradient of the weights of their
  // attributes: [rows from first_row on][wide].  Null: in dense and sparse.
  Real* rows = nullptr;
  std::int64_t first_row = 0;
};

enum Position { kBegin, kInside, kEnd, kUnit, kPositions };

// Constraints and costs of one sequence; null: none.
struct Known {
  const std::uint8_t* allowed = nullptr;   // [T][Y]
  const std::uint8_t* boundary = nullptr;  // [T + 1] BoundaryMarks
  const double* cost = nullptr;            // [T][Y] added to the scores of tokens
  // What is added to the score of one segment: the cost of exactly [start, end) with label y is
  // cost_rows[k][y], where the flags and the plane of cost_sites[k] are 0.  Sites are sorted as
  // those of a Design, without duplicates.
  const Site* cost_sites = nullptr;   // [n_cost_sites]
  const double* cost_rows = nullptr;  // [n_cost_sites][Y]
  int n_cost_sites = 0;
  const double* entry = nullptr;  // [Y] added to the score of every segment of a label
  // A segmentation whose score is subtracted from ln Z, or null; it does not constrain the sum.
  const LabelledSegment* path = nullptr;  // [n_path]
  int n_path = 0;
  bool any() const {
    return allowed != nullptr || boundary != nullptr || cost != nullptr || n_cost_sites > 0 ||
           entry != nullptr;
  }
};

}  // namespace caesura
