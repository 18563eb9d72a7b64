#include "learn/span_model.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace caesura {
namespace {

int longest_of(const SpanRules& rules) {
  return *std::max_element(rules.bounds.begin(), rules.bounds.end());
}

}  // namespace

// -- averaged perceptron -------------------------------------------------------------------------

SpanPerceptron::SpanPerceptron(std::shared_ptr<SpanModel> model,
                               std::shared_ptr<const SpanCorpus> corpus, SpanGold gold,
                               SpanRules rules, std::vector<double> sample_weight, int k,
                               Update update)
    : model_(std::move(model)),
      corpus_(std::move(corpus)),
      gold_(std::move(gold)),
      rules_(std::move(rules)),
      sample_weight_(std::move(sample_weight)),
      k_(k),
      longest_(longest_of(rules_)),
      update_(update) {
  model_->weighted.assign(model_->w.size(), 0.0);
  model_->date = 1.0;
}

void SpanPerceptron::resume(std::vector<double> sums, double date, std::int64_t n) {
  model_->weighted.assign(sums.begin(), sums.end());
  model_->date = date;
  updates = n;
}

int SpanPerceptron::run(const std::int32_t* order, int count, int begin, double seconds,
                        Incremental* own) {
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::duration<double>(seconds);
  int at = begin;
  while (at < count) {
    learn(order[at++], own);
    if (Clock::now() >= limit) break;
  }
  return at;
}

// w += phi(gold prefix) - phi(best prefix), at the boundary that the update method selects
void SpanPerceptron::learn(int i, Incremental* own) {
  keys_.prepare(*model_, *corpus_, i, longest_);
  scores_.of(*model_, keys_, *corpus_, rules_, model_->w.data());
  const SpanSearch::Against against =
      search_.train(*model_, keys_, scores_, model_->w.data(), k_, own, i, gold_[i], update_);
  if (against.item >= 0 && sample_weight_[i] > 0.0) {
    const std::vector<LabelledSegment> found = search_.path(against.item);
    const std::vector<LabelledSegment> right(gold_[i].begin(), gold_[i].begin() + against.n_gold);
    std::size_t same = 0;  // shared first segments have the same features
    while (same < found.size() && same < right.size() && found[same].end == right[same].end &&
           found[same].label == right[same].label)
      ++same;
    const bool whole = against.boundary == keys_.T;
    ++updates;
    add(right, same, whole, sample_weight_[i], own, i);
    add(found, same, whole, -sample_weight_[i], own, i);
  }
  model_->date += 1.0;
}

void SpanPerceptron::add(const std::vector<LabelledSegment>& segments, std::size_t from, bool whole,
                         double by, Incremental* own, int sequence) {
  for_path(keys_, model_->features, segments, from, whole, model_.get(),
           [&](std::uint64_t key, int label, double value) { add(key, label, by * value); });
  if (own == nullptr) return;
  std::vector<std::uint64_t> keys;
  for (std::size_t j = from; j < segments.size(); ++j) {
    keys.clear();
    own->keys(sequence, {segments.begin(), segments.begin() + static_cast<std::ptrdiff_t>(j)},
              segments[j], keys);
    for (const std::uint64_t key : keys) add(key, segments[j].label, by);
  }
}

// The average of w over the examples is w - weighted / date, where `weighted` is the sum of each
// update times the date at which it was made; so each weight is written only when it changes.
void SpanPerceptron::add(std::uint64_t key, int label, double by) {
  const std::size_t Y = model_->features.n_labels;
  const std::size_t row = model_->table.add(key);
  if (row * Y >= model_->w.size()) {
    model_->w.resize((row + 1) * Y);
    model_->weighted.resize((row + 1) * Y);
  }
  model_->w[row * Y + label] += by;
  model_->weighted[row * Y + label] += by * model_->date;
}

SpanModel SpanPerceptron::averaged() const {
  SpanModel out;
  out.features = model_->features;
  out.texts = model_->texts;
  const std::size_t Y = model_->features.n_labels;
  std::vector<double> row(Y);
  for (std::size_t r = 0; r < model_->table.keys().size(); ++r) {
    bool any = false;
    for (std::size_t y = 0; y < Y; ++y) {
      row[y] = model_->w[r * Y + y] - model_->weighted[r * Y + y] / model_->date;
      any = any || row[y] != 0.0;
    }
    if (!any) continue;
    out.table.add(model_->table.keys()[r]);
    out.w.insert(out.w.end(), row.begin(), row.end());
  }
  return out;
}

// -- queries -------------------------------------------------------------------------------------

SpanScorer::SpanScorer(std::shared_ptr<const SpanModel> model, SpanRules rules, int k)
    : model_(std::move(model)), rules_(std::move(rules)), k_(k), longest_(longest_of(rules_)) {}

void SpanScorer::search(const SpanCorpus& corpus, int i, Incremental* own, SpanKeys& keys,
                        SpanScores& scores, SpanSearch& search) const {
  keys.prepare(*model_, corpus, i, longest_);
  scores.of(*model_, keys, corpus, rules_, model_->w.data());
  search.run(*model_, keys, scores, model_->w.data(), k_, own, i);
}

Paths SpanScorer::best(const SpanCorpus& corpus, const Reading* reading, int n_threads,
                       Incremental* own) const {
  const int n = corpus.n_sequences();
  std::vector<std::vector<LabelledSegment>> found(n);
  Paths out;
  out.possible.assign(n, 1);
  for_each(n, n_threads, [&](int i, Workspace&) {
    static thread_local SpanKeys keys;
    static thread_local SpanScores scores;
    static thread_local SpanSearch searched;
    search(corpus, i, own, keys, scores, searched);
    out.possible[i] = searched.possible();
    if (searched.possible()) found[i] = searched.best();
    if (reading != nullptr) {
      const int count = read_segments(*reading, found[i].data(), static_cast<int>(found[i].size()));
      found[i].resize(count);
    }
  });
  for (const auto& one : found) {
    out.segments.insert(out.segments.end(), one.begin(), one.end());
    out.ptr.push_back(static_cast<std::int64_t>(out.segments.size()));
  }
  return out;
}

PairGraph SpanScorer::graph(const SpanCorpus& corpus, int i) const {
  SpanKeys keys;
  SpanScores scores;
  SpanPairs pairs;
  PairGraph made;
  keys.prepare(*model_, corpus, i, longest_);
  scores.of(*model_, keys, corpus, rules_, model_->w.data());
  pairs.find(*model_, keys);
  made.of(keys, pairs, scores, model_->w.data());
  return made;
}

std::vector<SpanPosterior> SpanScorer::posterior(const SpanCorpus& corpus, bool want_entropy,
                                                 int n_threads) const {
  const int n = corpus.n_sequences(), Y = n_labels();
  std::vector<SpanPosterior> out(n);
  for_each(n, n_threads, [&](int i, Workspace& work) {
    SpanPosterior& one = out[i];
    one.T = corpus.length(i);
    one.L = std::max(1, std::min(longest_, one.T));
    one.Y = Y;
    PairGraph made = graph(corpus, i);
    const OwnedSpanGraph owned(std::move(made.input));
    GraphPosterior p = graph_posterior(owned.graph(), owned.n_arcs(), work, want_entropy);
    one.log_z = p.log_z;
    one.entropy = p.entropy;
    one.spans.assign(made.node.size(), 0.0);
    for (std::size_t k = 0; k < made.node.size(); ++k)
      if (made.node[k] >= 0) one.spans[k] = p.spans[made.node[k]];
    one.transitions = std::move(p.transitions);
    one.starts = std::move(p.starts);
    one.ends = std::move(p.ends);
  });
  return out;
}

namespace {

// Returns the graph of a chain restricted to the paths on which the tags of [start, end) spell this
// segment.  The decrease of ln Z is minus the logarithm of the segment's probability.
SpanGraphInput saying(const PairGraph& made, const LabelledSegment& segment,
                      const Reading& reading) {
  SpanGraphInput out = made.input;
  const int Y = out.Y, label = reading.label[segment.label];
  for (int t = segment.start; t < segment.end; ++t) {
    for (int y = 0; y < Y; ++y) {
      const std::int32_t node = made.node[static_cast<std::size_t>(t) * Y + y];
      if (node >= 0 && reading.label[y] != label) out.spans[node].score = kMinusInfinity;
    }
  }
  for (int t = std::max(segment.start, 1); t <= std::min(segment.end, out.T - 1); ++t) {
    const bool inside = t > segment.start && t < segment.end;
    for (int k = 0; k < Y * Y; ++k) {
      const std::int32_t from = made.node[static_cast<std::size_t>(t - 1) * Y + k / Y];
      const std::int32_t to = made.node[static_cast<std::size_t>(t) * Y + k % Y];
      if (from >= 0 && to >= 0 && (reading.joined[k] != 0) != inside)
        out.arcs.push_back({from, to, kMinusInfinity});
    }
  }
  return out;
}

}  // namespace

Paths SpanScorer::confident_tags(const SpanCorpus& corpus, const Reading& reading,
                                 int n_threads) const {
  Paths out = best(corpus, &reading, n_threads, nullptr);
  out.probabilities.assign(out.segments.size(), 0.0);
  for_each(corpus.n_sequences(), n_threads, [&](int i, Workspace& work) {
    const PairGraph made = graph(corpus, i);
    const double log_z = graph_log_partition(OwnedSpanGraph(made.input).graph(), work);
    for (std::int64_t k = out.ptr[i]; k < out.ptr[i + 1]; ++k) {
      const OwnedSpanGraph some(saying(made, out.segments[k], reading));
      const double with = graph_log_partition(some.graph(), work);
      out.probabilities[k] = std::exp(std::min(with - log_z, 0.0));
    }
  });
  return out;
}

Paths SpanScorer::confident(const SpanCorpus& corpus, const Reading& reading, int n_threads) const {
  if (reading.tags()) return confident_tags(corpus, reading, n_threads);
  Paths out = best(corpus, &reading, n_threads, nullptr);
  const std::vector<SpanPosterior> all = posterior(corpus, false, n_threads);
  for (int i = 0; i < corpus.n_sequences(); ++i) {
    for (std::int64_t k = out.ptr[i]; k < out.ptr[i + 1]; ++k) {
      const LabelledSegment& s = out.segments[k];
      const std::size_t span = static_cast<std::size_t>(s.start) * all[i].L + (s.end - s.start - 1);
      out.probabilities.push_back(std::min(1.0, all[i].spans[span * all[i].Y + s.label]));
    }
  }
  return out;
}

std::vector<double> SpanScorer::log_partition(const SpanCorpus& corpus, int n_threads) const {
  std::vector<double> out(corpus.n_sequences());
  for_each(corpus.n_sequences(), n_threads, [&](int i, Workspace& work) {
    const OwnedSpanGraph owned(graph(corpus, i).input);
    out[i] = graph_log_partition(owned.graph(), work);
  });
  return out;
}

namespace {

template <class Ask>
std::vector<std::vector<Answer>> paths_of(int n, int n_threads,
                                          const std::function<PairGraph(int)>& graph, Ask ask) {
  std::vector<std::vector<Answer>> out(n);
  for_each(n, n_threads, [&](int i, Workspace& work) {
    const PairGraph made = graph(i);
    const OwnedSpanGraph owned(made.input);
    for (const GraphPath& path : ask(i, owned.graph(), work)) {
      Answer answer;
      answer.possible = true;
      answer.score = owned.score(path);
      for (const std::int32_t k : path) {
        const Span& span = made.input.spans[k];
        answer.segments.push_back({span.start, span.end, span.label});
      }
      out[i].push_back(std::move(answer));
    }
  });
  return out;
}

}  // namespace

std::vector<std::vector<Answer>> SpanScorer::n_best(const SpanCorpus& corpus, int n,
                                                    int n_threads) const {
  auto out = paths_of(
      corpus.n_sequences(), n_threads, [&](int i) { return graph(corpus, i); },
      [&](int, const SpanGraph& g, Workspace& work) { return graph_n_best(g, work, n); });
  for (auto& answers : out)  // rounding may have swapped neighbours
    std::stable_sort(answers.begin(), answers.end(),
                     [](const Answer& a, const Answer& b) { return a.score > b.score; });
  return out;
}

std::vector<std::vector<Answer>> SpanScorer::samples(const SpanCorpus& corpus, int n,
                                                     std::uint64_t seed, int n_threads) const {
  return paths_of(
      corpus.n_sequences(), n_threads, [&](int i) { return graph(corpus, i); },
      [&](int i, const SpanGraph& g, Workspace& work) {
        return graph_samples(g, work, n, seed + static_cast<std::uint64_t>(i));
      });
}

std::vector<SpanScorer::Said> SpanScorer::said(const SpanCorpus& corpus, int i,
                                               const std::vector<LabelledSegment>& segments) const {
  SpanKeys keys;
  keys.prepare(*model_, corpus, i, longest_);
  std::vector<Said> out;
  for_path(keys, model_->features, segments, 0, true, nullptr,
           [&](std::uint64_t key, int label, double value) { out.push_back({key, label, value}); });
  return out;
}

double SpanScorer::score(const SpanCorpus& corpus, int i,
                         const std::vector<LabelledSegment>& segments) const {
  double sum = 0.0;
  for (const Said& one : said(corpus, i, segments)) {
    const std::int32_t row = model_->table.find(one.key);
    if (row >= 0)
      sum += one.value * model_->w[static_cast<std::size_t>(row) * n_labels() + one.label];
  }
  for (const LabelledSegment& one : segments)
    if (!rules_.bias.empty()) sum += rules_.bias[one.label];
  return sum;
}

SearchTally SpanScorer::tally(const SpanCorpus& corpus, int i) const {
  SpanKeys keys;
  SpanScores scores;
  SpanSearch searched;
  search(corpus, i, nullptr, keys, scores, searched);
  return searched.tally;
}

}  // namespace caesura
