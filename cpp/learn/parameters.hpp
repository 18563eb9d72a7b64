// The combinations of attributes with labels, label pairs and label patterns that have a weight.
#pragma once

#include <memory>
#include <vector>

#include "encode/corpus.hpp"
#include "learn/gold.hpp"

namespace caesura {

// The combinations that have a weight, in the order of the weights.
struct Pairs {
  std::vector<std::int32_t> attribute, label;  // on rows; label: a label, or Y + pattern
  // At boundaries; edge_pair: previous * Y + label, or Y * Y + pattern.
  std::vector<std::int32_t> edge_attribute, edge_pair;
  std::vector<double> frequency, edge_frequency;  // observed frequencies, or empty
};

struct Choice {
  int Y = 0;
  double min_frequency = 0.0;
  bool all_states = false;  // whether every attribute has a weight with every label
  bool all_transitions = true;
};

// Returns the combinations that occur in a corpus.  Sets the transitions of `layout`, and adds the
// patterns that only attributes have weights with to its patterns.
Pairs observed_pairs(const Corpus& corpus, const Gold& gold, const Choice& choice,
                     const Planes& planes, Layout& layout);

class Parameters {
 public:
  // layout: must have Y, transitions, patterns, rules, starts, ends, bounds and forbidden pairs;
  // the rest is set here.
  Parameters(Pairs pairs, Layout layout, Planes planes);
  // Returns the same row and edge weights with other bounds, transitions and starts.
  std::shared_ptr<Parameters> with(std::vector<std::int32_t> bounds,
                                   std::vector<std::int32_t> transition,
                                   std::vector<std::int32_t> start) const;

  // Returns the same weights with rules that every segmentation must keep.  Throws TooLarge.
  std::shared_ptr<Parameters> with_rules(RuleSet rules) const;

  const std::shared_ptr<Layout>& layout() const { return layout_; }
  const Pairs& pairs() const { return pairs_; }
  // Translates a corpus into a design.  If `folder` is not null, its arrays are stored in files
  // there.
  std::shared_ptr<const Design> compile(const Corpus& corpus, Folder folder = nullptr) const;

  // Adds the weights of an attribute on rows, times `value`, to a row of scores, [Y].  Requires
  // has_word_rows(), and that the attribute has no weights with patterns.
  void add_weights(std::int32_t attribute, double value, const Weights<double>& w,
                   double* row) const;
  // Whether the scores of words can be precomputed.
  bool has_word_rows() const { return layout_->planes == 1; }

  // Returns the counts of all weights in the gold segments of the sequences some[0 .. n), or 0 .. n
  // if `some` is null, each times the weight of its sequence.  Sequences with partial labels are
  // skipped.
  std::vector<double> count(const Design& design, const Gold& gold, const double* weight,
                            const std::int32_t* some, int n) const;

 private:
  // The least number of weights that make an attribute a row of the table: two if a row fits into a
  // cache line.
  int least_dense() const { return layout_->planes * layout_->Y <= 8 ? 2 : 3; }
  static constexpr int kLanes = 16;  // the longest row with several planes
  struct Group {
    std::int32_t first = 0;  // row of the table, first single weight or first edge weight
    std::int32_t count = 0;
    enum { kSingle, kDense, kPatterns } kind = kSingle;
  };
  void place_weights();
  void make_histories();
  int plane_of(std::int32_t attribute) const {
    return planes_.plane.empty() ? 0 : planes_.plane[attribute];
  }

  Pairs pairs_;
  std::shared_ptr<Layout> layout_;
  Planes planes_;
  // [attributes] An attribute on another plane than the first belongs to the group of its base.
  std::vector<Group> groups_;
  std::vector<Group> edge_groups_;          // [attributes], or empty
  std::vector<std::uint16_t> sparse_lane_;  // [single weights]
  // [single weights], or null if there are no patterns.
  std::shared_ptr<std::vector<std::int32_t>> pattern_state_;
  std::shared_ptr<const std::vector<std::int32_t>> edge_code_;
};

}  // namespace caesura
