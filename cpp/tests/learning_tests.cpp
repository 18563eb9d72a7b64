// Runs random small corpora through encoding and learning, for the sanitizers.  The results are
// tested thoroughly from Python; here the gradient is checked against finite differences of the
// objective, one thread against several, and single precision against double.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "encode/interner.hpp"
#include "encode/trie.hpp"
#include "infer/kernels.hpp"
#include "learn/dual_pass.hpp"
#include "learn/parameters.hpp"
#include "learn/path_pass.hpp"
#include "learn/row_sums.hpp"

using namespace caesura;

namespace {

int failures = 0;

void check(bool ok, const char* what, int seed) {
  if (ok) return;
  std::printf("FAILED: %s (seed %d)\n", what, seed);
  ++failures;
}

struct Case {
  std::mt19937 random;
  int Y, order;
  std::vector<std::int64_t> offsets{0};
  std::unique_ptr<Extractor> extractor;
  Corpus corpus;
  Gold gold;
  std::shared_ptr<Parameters> parameters;
  std::unique_ptr<Objective> objective;
  std::vector<double> w;

  int below(int n) { return static_cast<int>(random() % n); }

  Case(int seed, int n_sequences, int order) : random(seed), Y(1 + below(5)), order(order) {
    std::vector<Template> templates;
    for (int k = 1 + below(5); k > 0; --k) {
      Template one;
      for (int parts = 1 + below(2); parts > 0; --parts)
        one.parts.push_back({below(2), below(5) - 2});
      one.place = static_cast<Place>(below(9));
      if (order > 1) one.order = below(order + 1);
      templates.push_back(one);
    }
    templates.push_back({});
    extractor = std::make_unique<Extractor>(templates);
    for (int i = 0; i < n_sequences; ++i) offsets.push_back(offsets.back() + below(8));
    encode(static_cast<int>(templates.size()) - 1);
    label();
    const std::int64_t size = parameters->layout()->size();
    for (std::int64_t k = 0; k < size; ++k) w.push_back(std::normal_distribution<double>()(random));
  }

  void encode(int source) {
    const std::int64_t N = offsets.back();
    std::vector<std::int32_t> words(N), bag;
    for (auto& word : words) word = below(4);
    std::vector<std::int64_t> ptr{0};
    for (std::int64_t t = 0; t < N; ++t) {
      for (int k = below(3); k > 0; --k) bag.push_back(below(3));
      ptr.push_back(static_cast<std::int64_t>(bag.size()));
    }
    std::vector<double> values(bag.size(), 0.5);
    std::vector<Firing> firings;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      for (std::int64_t t = offsets[i]; t < offsets[i + 1]; ++t) {
        if (below(3) != 0) continue;
        const auto end = t + 1 + below(static_cast<int>(offsets[i + 1] - t));
        firings.push_back({static_cast<std::int32_t>(t), static_cast<std::int32_t>(end),
                           static_cast<std::uint8_t>(below(4)), source, below(3), -1.0});
      }
    }
    const std::vector<Column> columns{{nullptr, words.data(), nullptr},
                                      {ptr.data(), bag.data(), values.data()}};
    extractor->extract(offsets.data(), static_cast<int>(offsets.size()) - 1, columns, firings, true,
                       corpus);
  }

  void label() {
    Layout layout;
    layout.Y = Y;
    for (int y = 0; y < Y; ++y) {
      layout.bounds.push_back(below(4));
      layout.start.push_back(y);
      layout.end.push_back(y);
    }
    if (order > 1) layout.patterns = {{0, Y - 1, 0}, {Y - 1, 0, Y - 1, Y / 2}};
    if (Y == 1 && order > 1) layout.patterns = {{0, 0, 0}, {0, 0, 0, 0}};
    layout.n_plain = static_cast<std::int64_t>(layout.patterns.size());
    for (int i = 0; i < corpus.n_sequences(); ++i) {
      for (int t = 0; t < corpus.length(i);) {
        const int y = below(Y), bound = layout.bounds[y] == 0 ? 8 : layout.bounds[y];
        const int end = std::min(corpus.length(i), t + 1 + below(bound));
        gold.segments.push_back({t, end, y});
        t = end;
      }
      gold.ptr.push_back(static_cast<std::int64_t>(gold.segments.size()));
    }
    const Choice choice{Y, 0.0, below(2) == 0, true};
    Pairs pairs = observed_pairs(corpus, gold, choice, extractor->planes(), layout);
    parameters =
        std::make_shared<Parameters>(std::move(pairs), std::move(layout), extractor->planes());
    auto design = std::const_pointer_cast<Design>(parameters->compile(corpus));
    const std::vector<double> weight(corpus.n_sequences(), 1.0);
    std::vector<double> observed =
        parameters->count(*design, gold, weight.data(), nullptr, corpus.n_sequences());
    objective = std::make_unique<Objective>(parameters->layout(), design,
                                            std::make_shared<Gold>(gold), weight, observed);
    for (int y = 0; y < Y; ++y) objective->order.push_back(y);
    const auto& bounds = parameters->layout()->bounds;
    std::stable_sort(objective->order.begin(), objective->order.end(), [&](int a, int b) {
      const auto length = [&](int y) { return bounds[y] == 0 ? 1000 : bounds[y]; };
      return length(a) > length(b);
    });
    objective->automaton = automaton_of(*parameters->layout(), objective->order);
  }

  double loss(const std::vector<double>& at, std::vector<double>* gradient, bool single = false,
              int threads = 1) {
    if (gradient != nullptr) gradient->resize(at.size());
    return objective->evaluate(at.data(), nullptr, corpus.n_sequences(), single, threads,
                               gradient == nullptr ? nullptr : gradient->data());
  }
};

void check_case(int seed, int order) {
  Case one(seed, 1 + seed % 4, order);
  std::vector<double> gradient, near;
  const double loss = one.loss(one.w, &gradient);
  check(std::isfinite(loss) && loss > -1e-9, "the loss of gold labels is not negative", seed);
  const double single = one.loss(one.w, &near, true);
  check(std::fabs(single - loss) <= 1e-3 * (1.0 + std::fabs(loss)), "single precision", seed);
  for (int trial = 0; trial < 4 && !one.w.empty(); ++trial) {
    const int k = one.below(static_cast<int>(one.w.size()));
    std::vector<double> up = one.w, down = one.w;
    up[k] += 1e-5;
    down[k] -= 1e-5;
    const double numeric = (one.loss(up, nullptr) - one.loss(down, nullptr)) / 2e-5;
    check(std::fabs(numeric - gradient[k]) <= 1e-5 * (1.0 + std::fabs(numeric)), "gradient", seed);
  }
  for (double& x : one.w) x *= 500.0;  // beyond the range of the fast kernels
  check(std::isfinite(one.loss(one.w, &gradient)), "large weights", seed);
}

// Runs a few passes of each learner with each of its losses.  The dual must not exceed the
// objective.
void check_margins(int seed, int order) {
  Case one(seed, 1 + seed % 4, order);
  const int n = one.corpus.n_sequences(), size = static_cast<int>(one.w.size());
  const bool chain = *std::max_element(one.parameters->layout()->bounds.begin(),
                                       one.parameters->layout()->bounds.end()) == 1 &&
                     *std::min_element(one.parameters->layout()->bounds.begin(),
                                       one.parameters->layout()->bounds.end()) == 1;
  std::shared_ptr<Objective> objective(std::move(one.objective));
  std::vector<std::int32_t> order_of(n);
  for (int i = 0; i < n; ++i) order_of[i] = i;
  Loss loss;
  for (int y = 0; y < one.Y; ++y) loss.reading.label.push_back(y + 1 < one.Y ? y : -1);
  if (chain) loss.reading.joined.assign(one.Y * one.Y, 0);
  for (int y = 0; chain && y + 1 < one.Y; ++y) loss.reading.joined[y * one.Y + y] = seed % 2;
  for (const auto kind : {Loss::kNone, Loss::kTokens, Loss::kSegments, Loss::kSequence}) {
    loss.kind = kind;
    objective->set_loss(loss);
    for (const auto rule : {PathRule::kPerceptron, PathRule::kPassive, PathRule::kArow}) {
      std::vector<double> w = one.w, sums(size, 0.0), variance(size, 1.0);
      PathRule chosen;
      chosen.kind = rule;
      PathPass pass(objective, chosen, {w.data(), sums.data(), variance.data()}, nullptr,
                    seed % 3 == 0 ? one.w.data() : nullptr, 0);
      for (int k = 0; k < 2; ++k) pass.run(order_of.data(), n, 0, 1e9);
      pass.finish({w.data(), sums.data(), variance.data()});
      check(pass.done() == 2 * n && std::isfinite(pass.loss), "steps", seed);
    }
    if (kind == Loss::kNone) continue;
    std::vector<double> w(size, 0.0);
    PathRule chosen;
    chosen.kind = PathRule::kFrankWolfe;
    chosen.c2 = {0.5};
    PathPass pass(objective, chosen, {w.data(), nullptr, nullptr}, nullptr, nullptr, 0);
    for (int k = 0; k < 3; ++k) pass.run(order_of.data(), n, 0, 1e9);
    const double primal = pass.penalty() + pass.hinge(2);
    check(pass.dual() <= primal + 1e-9 * (1.0 + std::fabs(primal)), "gap of the SVM", seed);
    const PathPass::Blocks blocks = pass.blocks();
    pass.finish({w.data(), nullptr, nullptr});
    PathPass again(objective, chosen, {w.data(), nullptr, nullptr}, &blocks, nullptr, 0);
    check(again.dual() == pass.dual(), "the SVM goes on", seed);
  }
  for (const bool log : {true, false}) {
    if (chain && !log) continue;
    loss.kind = log ? Loss::kNone : Loss::kSegments;
    objective->set_loss(loss);
    std::vector<double> w(size, 0.0), theta(DualPass::n_scores(*objective), 0.0), m(n, 0.0),
        eta(n, 0.5);
    DualPass pass(objective, {log, 1.0, {0.5}}, w.data(), {theta.data(), m.data(), eta.data()},
                  nullptr, true);
    for (int k = 0; k < 2; ++k) pass.run(order_of.data(), n, 0, 1e9);
    pass.finish(w.data(), {theta.data(), m.data(), eta.data()});
    const double value = log ? objective->evaluate(w.data(), nullptr, n, false, 1, nullptr)
                             : objective->maximum(w.data(), nullptr, n, true, 2, nullptr);
    check(pass.dual() <= pass.penalty() + value + 1e-7, "gap of exponentiated gradient", seed);
  }
}

// With enough sequences for several shards, the loss and the gradient must be bitwise the same on
// any number of threads.
void check_threads(int order) {
  Case many(7, order > 1 ? 2000 : 20000, order);
  std::vector<double> first, second;
  const double a = many.loss(many.w, &first, false, 1), b = many.loss(many.w, &second, false, 3);
  check(a == b && first == second, "threads give the same bits", 7);
}

void check_strings() {
  Interner strings;
  Trie trie;
  std::vector<std::int32_t> ids;
  for (int k = 0; k < 300; ++k) ids.push_back(strings.add(std::to_string(k % 100)));
  check(
      strings.size() == 100 && strings.find("42") == 42 && strings.find("x") == Interner::kMissing,
      "strings", 0);
  // The upper half of a hash may be 0, like the tags of unused slots.
  Interner zero;
  check(zero.add("first", 8) == 0 && zero.find("other", 8) == Interner::kMissing &&
            zero.add("other", 8) == 1 && zero.find("first", 8) == 0,
        "hashes below 2^32", 0);
  trie.add(ids.data() + 10, 3, 5);
  trie.add(ids.data() + 11, 1, 6);
  const std::int64_t offsets[] = {0, 100, 112, 300};
  const Trie::Found found = trie.scan(ids.data(), offsets, 3);
  check(found.starts.size() == 5, "entries inside documents", 0);
}

}  // namespace

int main() {
  const int count = 150;
  for (int seed = 0; seed < count; ++seed) check_case(seed, 1 + seed % 4);
  for (int seed = 0; seed < count; ++seed) check_margins(seed, 1 + seed % 3);
  for (const int order : {1, 3}) check_threads(order);
  check_strings();
  std::printf("%s kernels: %d corpora, %d failures\n", kernels().name, count, failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
