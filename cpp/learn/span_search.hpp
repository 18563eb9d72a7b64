// The best segmentation with features that look back, found by agenda search.
//
// agenda[e] holds the best k of the segmentations of the first e tokens that extend an item of some
// agenda[b] by a segment [b, e):
//
//   score(item, [b, e), y) = score(item) + span(b, e, y) + transition(y', y) + pairs(item, b, e, y)
//
// Among items that agree in everything that later features can see, only the best can become part
// of the best segmentation; the others are dropped before the best k are taken.  With features of
// pairs these are the items with the same last segment, and with features of triples those with the
// same two last segments.  With a k that is large enough, the search is therefore exact: it is the
// recursion of the span graph for pairs, and that over pairs of spans for triples.  If a feature
// sees all earlier segments, no items are merged.
//
// agenda[e] is filled once, so an item that was dropped is never created again.
//
// With features of pairs, the span graph (span_graphs.cpp) has the same answer, but needs an arc
// for each pair of spans before it can be searched: this finds it 1.5 times as fast (line "pairs of
// segments best" of bench/twins.py).
#pragma once

#include <limits>
#include <vector>

#include "learn/span_features.hpp"

namespace caesura {

// The scores of all spans and transitions of one sequence.
struct SpanScores {
  int Y = 1;
  std::vector<double> spans;       // [spans][Y]; -inf beyond the length bound of a label
  std::vector<double> transition;  // [Y + 1][Y], the last row from the beginning; -inf: forbidden
  std::vector<double> ending;      // [Y]
  std::vector<double> edges;       // [T][Y][Y], or empty

  void of(const SpanModel& model, const SpanKeys& keys, const SpanCorpus& corpus,
          const SpanRules& rules, const double* w);

 private:
  std::vector<double> groups_;  // [groups][T][Y]
  std::vector<double> running_;
};

enum class Update : std::uint8_t { kEarly, kMaxViolation, kStandard };

// Operation counts of a search, for the tests of its cost.
struct SearchTally {
  std::int64_t candidates = 0;  // scored
  std::int64_t items = 0;       // kept
};

class SpanSearch {
 public:
  static constexpr int kUnlimited = std::numeric_limits<int>::max();
  struct Item {
    double score;
    std::int32_t span, label, back;  // back: index of the previous item, -1 for the beginning
  };
  // The prefix that the gold prefix is compared with in an update.
  struct Against {
    int boundary = -1;       // end of the prefixes, or -1 for no update
    int n_gold = 0;          // number of gold segments up to there
    std::int32_t item = -1;  // the best item there, or -1 for no update
    double violation = 0.0;  // kMaxViolation: its score minus that of the gold prefix
  };

  // own: the user-written feature, or null.
  void run(const SpanModel& model, const SpanKeys& keys, const SpanScores& scores, const double* w,
           int k, Incremental* own, int sequence);
  // The same in training.  Returns the update to make; kEarly stops the search there.
  Against train(const SpanModel& model, const SpanKeys& keys, const SpanScores& scores,
                const double* w, int k, Incremental* own, int sequence,
                const std::vector<LabelledSegment>& gold, Update update);

  bool possible() const { return !agenda_[keys_->T].empty(); }
  // path() returns the segments of an item, best() those of the best item at the end.
  std::vector<LabelledSegment> path(std::int32_t item) const;
  std::vector<LabelledSegment> best() const { return path(agenda_[keys_->T][0]); }

  SearchTally tally;

 private:
  void start(const SpanModel&, const SpanKeys&, const SpanScores&, const double* w, int k,
             Incremental* own, int sequence);
  void fill(int e);
  void extend(int b, int e);
  void close(int b);
  void group(int b);
  void add_pairs(int b, int e);
  void add_own(std::int32_t i, int b, int e);
  bool is_before(const Item& a, const Item& c) const;
  void add_pending(std::vector<double>& rows);
  double gold_step(const std::vector<LabelledSegment>& gold, std::size_t j);
  double ending(int span, int label, int previous, int previous_label) const;
  int previous_of(const Item& item) const { return item.back < 0 ? -1 : items_[item.back].span; }

  const SpanModel* model_ = nullptr;
  const SpanKeys* keys_ = nullptr;
  const SpanScores* scores_ = nullptr;
  const double* w_ = nullptr;
  Incremental* own_ = nullptr;
  int k_ = 0, depth_ = 0, sequence_ = 0;
  std::vector<Item> items_;
  std::vector<std::vector<std::int32_t>> agenda_;  // [T + 1] indices of items, the best first
  std::vector<std::vector<double>> joined_;  // [T + 1][items][Y] score of transition and joints
  std::vector<std::vector<std::int32_t>> groups_;  // [T + 1][items]
  std::vector<Item> candidates_;
  std::vector<double> row_;  // [items][Y]
  struct Pending {
    std::uint64_t key;
    std::int32_t item;
  };
  std::vector<Pending> pending_;
  std::vector<std::int32_t> order_;
  std::vector<std::uint64_t> own_keys_;
};

}  // namespace caesura
