// Learning and prediction with features that look back: beam search and the span graph.
//
//   SpanCorpus, SpanModel --> SpanKeys, SpanScores --> SpanSearch    best path, perceptrons
//                                                 \--> span graph    ln Z, marginals, n-best,
//                                                                    samples, log-likelihood
//
// The graph has a node for each labelled span and an arc for each two adjacent spans, so it
// supports features of pairs; features of triples and of all earlier segments require beam search.
#pragma once

#include <memory>
#include <vector>

#include "infer/answers.hpp"
#include "infer/graph_answers.hpp"
#include "learn/scorer.hpp"
#include "learn/span_search.hpp"

namespace caesura {

using SpanGold = std::vector<std::vector<LabelledSegment>>;

// The rows of all pairs of adjacent spans of a sequence.
struct SpanPairs {
  struct Pair {
    std::int32_t previous, span, label, row;  // label: of the previous span, or -1 for any
    double value;
  };
  struct End {
    std::int32_t span, label, row;  // of a span at the end of the sequence
  };
  std::vector<Pair> pairs;
  std::vector<SpanKeys::Of> firsts;  // of spans at the beginning of the sequence
  std::vector<End> ends;

  void find(const SpanModel& model, const SpanKeys& keys);
};

// The span graph of one sequence, and the weight of each arc.
struct PairGraph {
  SpanGraphInput input;
  std::vector<std::int32_t> node;    // [spans][Y] index into input.spans, or -1
  std::vector<std::int64_t> weight;  // [arcs] index of its weight: row * Y + label
  std::vector<double> value;         // [arcs]

  void of(const SpanKeys& keys, const SpanPairs& pairs, const SpanScores& scores, const double* w);
};

// Probabilities of one sequence.
struct SpanPosterior {
  int T = 0, L = 0, Y = 0;
  double log_z = kMinusInfinity, entropy = 0.0;
  std::vector<double> spans;  // [T][L][Y] of the segment [b, b + k + 1)
  std::vector<double> transitions, starts, ends;
};

// The negative log-likelihood and its gradient, for the weights of the features of the gold
// segmentations.
class SpanObjective {
 public:
  SpanObjective(std::shared_ptr<SpanModel> model, std::shared_ptr<const SpanCorpus> corpus,
                SpanGold gold, SpanRules rules, std::vector<double> sample_weight, double min_freq,
                int n_threads);
  std::int64_t size() const { return static_cast<std::int64_t>(place_.size()); }
  int n_sequences() const { return corpus_->n_sequences(); }
  // Returns - sum_i weight_i ln P(gold_i), and writes its gradient.
  double evaluate(const double* w, int n_threads, double* gradient) const;
  // Writes the weights into the model.
  void put(const double* w) const;

 private:
  struct Sequence {
    SpanKeys keys;
    SpanPairs pairs;
  };
  double add(int i, const double* w, Workspace& work, double* gradient) const;
  static constexpr int kShards = 4;

  std::shared_ptr<SpanModel> model_;
  std::shared_ptr<const SpanCorpus> corpus_;
  SpanRules rules_;
  std::vector<double> sample_weight_;
  std::vector<Sequence> sequences_;
  std::vector<double> counts_;       // [size] weighted counts of the gold segmentations
  std::vector<std::int64_t> place_;  // [size] index into the weights of the model
};

// The averaged perceptron.
class SpanPerceptron {
 public:
  SpanPerceptron(std::shared_ptr<SpanModel> model, std::shared_ptr<const SpanCorpus> corpus,
                 SpanGold gold, SpanRules rules, std::vector<double> sample_weight, int k,
                 Update update);
  int n_sequences() const { return static_cast<int>(sample_weight_.size()); }
  // Takes a step for each of order[begin .. count), until all are done or `seconds` have passed.
  // Returns the position where the next call should begin.  own: the user-written feature, or null.
  int run(const std::int32_t* order, int count, int begin, double seconds, Incremental* own);
  // Returns the model with averaged weights, without rows of zeros.
  SpanModel averaged() const;
  // What the averages need in addition to the weights: the sum of date times change, and the date.
  const std::vector<double>& sums() const { return model_->weighted; }
  double date() const { return model_->date; }
  void resume(std::vector<double> sums, double date, std::int64_t updates);

  std::int64_t updates = 0;  // how many steps changed the weights

 private:
  void learn(int i, Incremental* own);
  void add(const std::vector<LabelledSegment>& segments, std::size_t from, bool whole, double by,
           Incremental* own, int sequence);
  void add(std::uint64_t key, int label, double by);

  std::shared_ptr<SpanModel> model_;
  std::shared_ptr<const SpanCorpus> corpus_;
  SpanGold gold_;
  SpanRules rules_;
  std::vector<double> sample_weight_;
  int k_, longest_;
  Update update_;
  SpanKeys keys_;
  SpanScores scores_;
  SpanSearch search_;
};

// A trained model with constraints, for queries on sequences.
class SpanScorer {
 public:
  SpanScorer(std::shared_ptr<const SpanModel> model, SpanRules rules, int k);
  int n_labels() const { return model_->features.n_labels; }
  int depth() const { return model_->features.depth(); }

  Paths best(const SpanCorpus&, const Reading* reading, int n_threads, Incremental* own) const;
  Paths confident(const SpanCorpus&, const Reading& reading, int n_threads) const;
  std::vector<SpanPosterior> posterior(const SpanCorpus&, bool want_entropy, int n_threads) const;
  std::vector<double> log_partition(const SpanCorpus&, int n_threads) const;
  std::vector<std::vector<Answer>> n_best(const SpanCorpus&, int n, int n_threads) const;
  std::vector<std::vector<Answer>> samples(const SpanCorpus&, int n, std::uint64_t seed,
                                           int n_threads) const;
  // score() returns the score of a segmentation; tally() returns the cost of the search.
  double score(const SpanCorpus&, int i, const std::vector<LabelledSegment>& segments) const;
  SearchTally tally(const SpanCorpus&, int i) const;
  // The features of a segmentation: key, label, value.
  struct Said {
    std::uint64_t key;
    std::int32_t label;
    double value;
  };
  std::vector<Said> said(const SpanCorpus&, int i,
                         const std::vector<LabelledSegment>& segments) const;

 private:
  void search(const SpanCorpus&, int i, Incremental* own, SpanKeys&, SpanScores&,
              SpanSearch&) const;
  PairGraph graph(const SpanCorpus&, int i) const;
  Paths confident_tags(const SpanCorpus&, const Reading& reading, int n_threads) const;

  std::shared_ptr<const SpanModel> model_;
  SpanRules rules_;
  int k_, longest_;
};

// Calls visit(key, label of the weight, value) for all features of a segmentation from segment
// `from` on; whole: including those of the end.
template <class Visit>
void for_path(const SpanKeys& keys, const SpanFeatures& features,
              const std::vector<LabelledSegment>& segments, std::size_t from, bool whole,
              SpanModel* learn, Visit visit) {
  const LabelledSegment* all = segments.data();
  for (std::size_t j = from; j < segments.size(); ++j) {
    const LabelledSegment *previous = j > 0 ? all + j - 1 : nullptr,
                          *earlier = j > 1 ? all + j - 2 : nullptr;
    const int y = all[j].label;
    if (j > 0 || features.boundary_weights)
      visit(transition_key(j > 0 ? previous->label : -1), y, 1.0);
    keys.for_segment(all[j], previous, earlier, learn,
                     [&](std::uint64_t key, double value) { visit(key, y, value); });
  }
  if (!whole || segments.empty()) return;
  const std::size_t n = segments.size();
  if (features.boundary_weights) visit(ending_key(all[n - 1].label), 0, 1.0);
  keys.for_end(all[n - 1], n > 1 ? all + n - 2 : nullptr, learn,
               [&](std::uint64_t key, double value) { visit(key, 0, value); });
}

}  // namespace caesura
