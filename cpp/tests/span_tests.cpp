// Runs models with features of previous segments through the search, the perceptron and the
// log-likelihood, for the sanitizers.  The results are tested from Python against enumeration.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "learn/span_model.hpp"

using namespace caesura;

namespace {

void check(bool ok, const char* what) {
  if (ok) return;
  std::printf("failed: %s\n", what);
  std::exit(1);
}

// Random sequences with two columns of few values, and one firing for each token.
SpanCorpus make_corpus(std::mt19937& random) {
  SpanCorpus corpus;
  corpus.columns.resize(2);
  for (int c = 0; c < 2; ++c)
    for (std::uint64_t v = 0; v < 4; ++v) corpus.columns[c].hashes.push_back(mix(v, 17 + c));
  corpus.columns[1].ptr.push_back(0);
  for (const int T : {0, 1, 2, 5, 9, 30}) {
    for (int t = 0; t < T; ++t) {
      corpus.columns[0].ids.push_back(static_cast<int>(random() % 4));
      for (unsigned k = random() % 3; k > 0; --k)
        corpus.columns[1].ids.push_back(static_cast<int>(random() % 5) - 1);
      corpus.columns[1].ptr.push_back(static_cast<std::int64_t>(corpus.columns[1].ids.size()));
    }
    for (int s = 0; s < T; ++s) {
      const int e = std::min(T, s + 1 + static_cast<int>(random() % 3));
      corpus.fired.push_back({s, e, static_cast<std::uint8_t>(random() % 4), mix(s % 3, 5), 1.0});
    }
    corpus.fired_ptr.push_back(static_cast<std::int64_t>(corpus.fired.size()));
    corpus.offsets.push_back(corpus.offsets.back() + T);
  }
  return corpus;
}

std::shared_ptr<SpanModel> make_model(int Y, int depth) {
  auto model = std::make_shared<SpanModel>();
  SpanFeatures& f = model->features;
  f.n_columns = 2;
  f.n_labels = Y;
  for (int place = 0; place <= static_cast<int>(Place::kEdge); ++place) {
    f.add_tokens({{0, -1}, {0, 1}}, static_cast<Place>(place), 100 + place);
    f.add_tokens({{1, 0}}, static_cast<Place>(place), 200 + place);
  }
  for (int said = 0; said <= static_cast<int>(Said::kLabel); ++said) {
    f.add_segments({{0, static_cast<Said>(said), 0}}, 300 + said);
    for (int role = 1; role <= depth; ++role) {
      f.add_segments({{role, static_cast<Said>(said), 1}, {0, Said::kText, 0}},
                     400 + 10 * role + said);
      f.add_segments({{role, static_cast<Said>(said), 0}, {0, Said::kFirst, 1}},
                     500 + 10 * role + said);
    }
  }
  model->texts.resize(f.text_columns.size());
  return model;
}

SpanRules make_rules(int Y) {
  SpanRules rules;
  for (int y = 0; y < Y; ++y) rules.bounds.push_back(3 + y);
  rules.barred.assign(static_cast<std::size_t>(Y) * Y, 0);
  rules.barred_start.assign(Y, 0);
  rules.barred_end.assign(Y, 0);
  return rules;
}

SpanGold make_gold(const SpanCorpus& corpus, int Y, std::mt19937& random) {
  SpanGold gold;
  for (int i = 0; i < corpus.n_sequences(); ++i) {
    std::vector<LabelledSegment> path;
    for (int b = 0; b < corpus.length(i);) {
      const int e = std::min(corpus.length(i), b + 1 + static_cast<int>(random() % 3));
      path.push_back({b, e, static_cast<int>(random() % Y)});
      b = e;
    }
    gold.push_back(path);
  }
  return gold;
}

void test_learning(int Y, int depth) {
  std::mt19937 random(static_cast<unsigned>(10 * Y + depth));
  auto corpus = std::make_shared<SpanCorpus>(make_corpus(random));
  const SpanGold gold = make_gold(*corpus, Y, random);
  const int n = corpus->n_sequences();
  std::vector<std::int32_t> order;
  for (int i = 0; i < 3 * n; ++i) order.push_back(i % n);
  for (const Update update : {Update::kEarly, Update::kMaxViolation, Update::kStandard}) {
    for (const int k : {1, 4, SpanSearch::kUnlimited}) {
      SpanPerceptron learner(make_model(Y, depth), corpus, gold, make_rules(Y),
                             std::vector<double>(n, 1.0), k, update);
      check(learner.run(order.data(), 3 * n, 0, 1e9, nullptr) == 3 * n, "a whole pass");
      auto made = std::make_shared<SpanModel>(learner.averaged());
      const SpanScorer scorer(made, make_rules(Y), k);
      const Paths paths = scorer.best(*corpus, nullptr, 2, nullptr);
      check(paths.segments[paths.ptr[n] - 1].end == corpus->length(n - 1), "covers the sequence");
    }
  }
  if (depth > 1) return;
  auto model = make_model(Y, depth);
  const SpanObjective objective(model, corpus, gold, make_rules(Y), std::vector<double>(n, 1.0),
                                -1e300, 2);
  std::vector<double> w(objective.size(), 0.1), gradient(objective.size());
  check(std::isfinite(objective.evaluate(w.data(), 2, gradient.data())), "a finite loss");
  const SpanScorer scorer(model, make_rules(Y), SpanSearch::kUnlimited);
  for (const SpanPosterior& one : scorer.posterior(*corpus, true, 2))
    check(one.T == 0 || one.log_z > kMinusInfinity, "something is possible");
  check(scorer.n_best(*corpus, 3, 2)[n - 1].size() == 3, "three answers");
  check(scorer.samples(*corpus, 2, 1, 2)[n - 1].size() == 2, "two draws");
}

}  // namespace

int main() {
  for (const int Y : {1, 3})
    for (const int depth : {0, 1, 2}) test_learning(Y, depth);
  std::printf("ok\n");
}
