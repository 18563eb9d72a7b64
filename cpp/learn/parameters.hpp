// The combinations of attribute and label that have a weight.
#pragma once

#include <memory>
#include <vector>

#include "encode/corpus.hpp"
#include "learn/gold.hpp"

namespace caesura {

// Pairs that have a weight, in the order of the weights.
struct Pairs {
  std::vector<std::int32_t> attribute, label;  // attributes on rows; a label, or Y + a pattern
  std::vector<std::int32_t> edge_attribute,
      edge_pair;  // at boundaries; previous * Y + label, or Y * Y + a pattern
  std::vector<double> frequency, edge_frequency;  // how often they were observed, or empty
};

struct Choice {
  int Y = 0;
  double min_frequency = 0.0;
  bool all_states = false;  // every attribute with every label
  bool all_transitions = true;
};

// The pairs that occur in a corpus.  Fills the transitions of `layout` too, and adds to its
// patterns those that only attributes go with.
Pairs observed_pairs(const Corpus& corpus, const Gold& gold, const Choice& choice,
                     const Planes& planes, Layout& layout);

class Parameters {
 public:
  // layout: Y, transitions, patterns, starts, ends, bounds and bars; the rest is made here.
  Parameters(Pairs pairs, Layout layout, Planes planes);
  // The same weights of rows and edges with other bounds, transitions and starts.
  std::shared_ptr<Parameters> with(std::vector<std::int32_t> bounds,
                                   std::vector<std::int32_t> transition,
                                   std::vector<std::int32_t> start) const;

  // The same weights where every segmentation keeps rules.  Throws TooLarge.
  std::shared_ptr<Parameters> with_rules(RuleSet rules) const;

  const std::shared_ptr<Layout>& layout() const { return layout_; }
  const Pairs& pairs() const { return pairs_; }
  // With a folder, the arrays of the design lie in files there.
  std::shared_ptr<const Design> compile(const Corpus& corpus, Folder folder = nullptr) const;

  // Adds the weights of an attribute on rows to a row of scores, [Y].  One plane, and no patterns.
  void add_weights(std::int32_t attribute, double value, const Weights<double>& w,
                   double* row) const;
  // Whether the weights of words can be summed in advance.
  bool has_word_rows() const { return layout_->planes == 1; }

  // Counts of all weights in the labels of some sequences (null: all), each times its weight.
  std::vector<double> count(const Design& design, const Gold& gold, const double* weight,
                            const std::int32_t* some, int n) const;

 private:
  // So many weights make a row of the table: two where a row fits into a cache line.
  int least_dense() const { return layout_->planes * layout_->Y <= 8 ? 2 : 3; }
  static constexpr int kLanes = 16;  // planes are used where a row has no more
  struct Group {
    std::int32_t first = 0;  // row of the table, or first single weight, or first weight of edges
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
  std::vector<Group>
      groups_;  // [attributes] those on another plane than the first are at their base
  std::vector<Group> edge_groups_;          // [attributes], or empty
  std::vector<std::uint16_t> sparse_lane_;  // [single weights]
  std::shared_ptr<std::vector<std::int32_t>>
      pattern_state_;  // [single weights], where there are patterns
  std::shared_ptr<const std::vector<std::int32_t>> edge_code_;
};

}  // namespace caesura
