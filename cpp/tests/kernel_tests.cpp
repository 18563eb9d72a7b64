// Runs random small problems through every kernel, for the address, undefined behaviour and thread
// sanitizers.  The results are tested thoroughly from Python; here ln Z is checked against
// enumeration, and the other answers against ln Z and each other.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "infer/answers.hpp"
#include "infer/limited.hpp"
#include "infer/lookup.hpp"
#include "infer/spelled.hpp"
#include "infer/without.hpp"

using namespace caesura;

namespace {

int failures = 0;

void check(bool ok, const char* what, int seed) {
  if (ok) return;
  std::printf("FAILED: %s (seed %d)\n", what, seed);
  ++failures;
}

bool close(double a, double b) {
  return a == b || std::fabs(a - b) <= 1e-9 * std::max(1.0, std::fabs(a));
}

// A problem together with the arrays that it points into.
struct Made {
  std::vector<double> emission, transition, start, end, spans;
  std::unique_ptr<Problem> problem;
};

class Maker {
 public:
  explicit Maker(int seed, bool limited = false) : random_(seed), limited_(limited) {}
  int below(int n) { return static_cast<int>(random_() % n); }
  double score() {
    const int kind = below(12);
    const double x = std::uniform_real_distribution<double>(-2.0, 2.0)(random_);
    return kind == 0 ? kMinusInfinity : kind == 1 ? 500.0 * x : x;
  }
  std::vector<double> scores(int n) {
    std::vector<double> out(n);
    for (double& x : out) x = score();
    return out;
  }

  Made make() {
    const int T = 1 + below(6), Y = 1 + below(3);
    Made made;
    made.emission = scores(T * Y);
    made.transition = scores(Y * Y);
    made.start = scores(Y);
    made.end = scores(Y);
    ProblemInput in;
    in.T = T;
    in.Y = Y;
    const int bounds = below(3);  // none, all, some
    for (int y = 0; y < Y; ++y)
      in.bounds.push_back(bounds == 0 ? 0 : below(3) + (bounds == 1 ? 1 : 0));
    if (bounds == 1 && below(2) == 0) {
      in.span_length = std::min(T, *std::max_element(in.bounds.begin(), in.bounds.end()));
      made.spans = scores(T * in.span_length * Y);
    }
    in.emission = made.emission.data();
    in.transition = made.transition.data();
    in.start = made.start.data();
    in.end = made.end.data();
    in.spans = made.spans.empty() ? nullptr : made.spans.data();
    in.same_label_adjacent = below(3) != 0;
    in.boundary.assign(T + 1, 0);
    for (int t = 1; t < T; ++t) in.boundary[t] = below(8) == 0 ? 1 + below(2) : 0;
    if (below(4) == 0) {
      for (int i = 0; i < T * Y; ++i) in.allowed.push_back(below(6) != 0);
    }
    if (below(2) == 0) {
      for (int h = below(3); h > 0; --h) {
        std::vector<std::int32_t> history;
        for (int k = 2 + below(2); k > 0; --k) history.push_back(below(Y));
        if (std::find(in.histories.begin(), in.histories.end(), history) == in.histories.end()) {
          in.histories.push_back(history);
        }
      }
    }
    const int targets = Y + static_cast<int>(in.histories.size());
    for (int i = below(8); i > 0; --i) {
      const int s = below(T), e = s + 1 + below(T - s);
      in.potentials.push_back({s, e, below(targets), static_cast<std::uint8_t>(below(4)),
                               static_cast<std::int32_t>(in.potentials.size()), score()});
    }
    for (int i = below(3); i > 0 && T > 1; --i) {
      in.edges.push_back({1 + below(T - 1), below(Y), below(Y),
                          static_cast<std::int32_t>(in.edges.size()), score()});
    }
    for (int i = below(3); i > 0; --i) {
      in.static_targets.push_back(below(targets));
      in.static_scores.push_back(score());
    }
    in.rules.once.assign(Y, kNoLimit);
    for (int y = 0; y < Y && (limited_ || below(3) == 0); ++y)
      in.rules.once[y] = limited_ && below(4) == 0 ? kExactlyOnce : kAtMostOnce;
    finish(made, std::move(in));
    return made;
  }

  // bound: of all labels.  With `limited`, each label may occur once.
  Made make_chain(int T, int Y, int bound = 1) {
    Made made;
    for (auto* array : {&made.emission, &made.transition, &made.start, &made.end}) {
      const int n = array == &made.emission ? T * Y : array == &made.transition ? Y * Y : Y;
      for (int i = 0; i < n; ++i) array->push_back(std::normal_distribution<double>()(random_));
    }
    ProblemInput in;
    in.T = T;
    in.Y = Y;
    in.emission = made.emission.data();
    in.transition = made.transition.data();
    in.start = made.start.data();
    in.end = made.end.data();
    in.bounds.assign(Y, bound);
    in.boundary.assign(T + 1, 0);
    in.rules.once.assign(Y, limited_ ? kAtMostOnce : kNoLimit);
    finish(made, std::move(in));
    return made;
  }

 private:
  static void finish(Made& made, ProblemInput in) {
    std::vector<std::int32_t> order = labels_by_length(in.bounds);
    made.problem = std::make_unique<Problem>(std::move(in), nullptr, std::move(order));
    if (made.problem->input().rules.limits() > kFewLimits) return;  // too many sets to track
    made.problem->prepare(Method::kOverlapping);
    made.problem->prepare(Method::kBounded);
  }

  static constexpr int kFewLimits = 8;
  std::mt19937 random_;
  bool limited_;
};

// Appends the scores of all segmentations that begin with the segments `so_far`.
void enumerate(const Problem& problem, std::vector<LabelledSegment>& so_far,
               std::vector<double>& scores) {
  const int T = problem.input().T;
  const int at = so_far.empty() ? 0 : so_far.back().end;
  if (at == T) {
    scores.push_back(problem.score(so_far));
    return;
  }
  for (int e = at + 1; e <= T; ++e) {
    for (int y = 0; y < problem.input().Y; ++y) {
      so_far.push_back({at, e, y});
      enumerate(problem, so_far, scores);
      so_far.pop_back();
    }
  }
}

double log_sum(const std::vector<double>& scores) {
  double most = kMinusInfinity, total = 0.0;
  for (const double x : scores) most = std::max(most, x);
  if (most == kMinusInfinity) return most;
  for (const double x : scores) total += std::exp(x - most);
  return most + std::log(total);
}

void check_posterior(const Problem& problem, const Posterior& p, int seed) {
  for (int t = 0; t < p.T; ++t) {
    double total = 0.0;
    for (int y = 0; y < p.Y; ++y) total += p.counts.tokens[t * p.Y + y];
    check(close(total, 1.0), "each token lies in one segment", seed);
  }
  double inner = 0.0, pairs = 0.0;
  for (int t = 1; t < p.T; ++t) inner += p.counts.boundaries[t];
  for (int i = 0; i < p.Y * p.Y; ++i) pairs += p.counts.transitions[i];
  check(close(inner, pairs), "as many transitions as inner boundaries", seed);
  for (int i = 0; i < p.n_potentials; ++i) {
    const double count = p.counts.potentials[i];
    check(count >= 0.0 && count <= 1.0 + 1e-9, "a potential applies at most once", seed);
  }
  (void)problem;
}

// For each segment of the best segmentation, the best one without it must be the first of all
// ranked segmentations that does not contain it.
void check_without(const Problem& problem, Method method, const std::vector<Answer>& ranked,
                   int seed) {
  Reading reading;
  for (int y = 0; y < problem.input().Y; ++y) {
    reading.label.push_back(y);
    reading.states.push_back({y});
  }
  Workspace work;
  const std::vector<LabelledSegment>& best = ranked[0].segments;
  const auto detours = answer_without(problem, method, work, reading, best, best);
  auto has = [](const std::vector<LabelledSegment>& path, const LabelledSegment& one) {
    return std::any_of(path.begin(), path.end(), [&](const LabelledSegment& s) {
      return s.start == one.start && s.end == one.end && s.label == one.label;
    });
  };
  for (std::size_t i = 0; i < best.size(); ++i) {
    const auto other = std::find_if(ranked.begin(), ranked.end(),
                                    [&](const Answer& a) { return !has(a.segments, best[i]); });
    check(detours[i].possible == (other != ranked.end()), "a segmentation without", seed);
    if (!detours[i].possible || other == ranked.end()) continue;
    std::vector<LabelledSegment> whole(best.begin(), best.begin() + detours[i].same_first);
    whole.insert(whole.end(), detours[i].segments.begin(), detours[i].segments.end());
    whole.insert(whole.end(), best.end() - detours[i].same_last, best.end());
    check(!has(whole, best[i]), "the segment is avoided", seed);
    check(close(problem.score(whole), other->score), "the best without a segment", seed);
  }
}

// The weights of all segmentations that the tags B, I and O of one label spell must add up to Z.
void check_spelled(int seed) {
  Maker maker(seed);
  const Made made = maker.make_chain(1 + maker.below(8), 3);
  Reading reading;
  reading.label = {0, 0, -1};
  reading.joined = {0, 1, 0, 0, 1, 0, 0, 0, 0};
  reading.states = {{0, 1}};
  Workspace work;
  const Method method = Method::kOverlapping;
  std::vector<double> weights;
  for (const Answer& answer : n_best_spelled(*made.problem, method, work, reading, 1 << 20))
    weights.push_back(answer.score);
  check(std::is_sorted(weights.rbegin(), weights.rend()), "spelled in order", seed);
  work.clear();
  const double log_z = answer_log_partition(*made.problem, method, work);
  check(close(log_sum(weights), log_z), "spelled segmentations weigh ln Z", seed);
}

// Limits by search, by tracking, and by both must give the same scores as enumeration.
void check_limits(int seed) {
  Maker maker(seed, true);
  const Made made = maker.make();
  std::vector<LabelledSegment> so_far;
  std::vector<double> scores;
  enumerate(*made.problem, so_far, scores);
  std::sort(scores.rbegin(), scores.rend());
  const int n = 1 + maker.below(30);
  const auto possible = std::count_if(scores.begin(), scores.end(),
                                      [](double score) { return score > kMinusInfinity; });
  scores.resize(std::min<std::size_t>(n, possible));
  SearchLimits limits;
  limits.few = 0;
  for (const Method method : {Method::kOverlapping, Method::kBounded}) {
    for (const int tracked : {0, 1, 4}) {
      limits.most_tracked = tracked;
      Workspace work;
      const auto found = n_best_within_limits(*made.problem, method, work, n, limits);
      check(found.size() == scores.size(), "as many within limits", seed);
      for (std::size_t k = 0; k < found.size() && k < scores.size(); ++k) {
        check(close(found[k].score, scores[k]), "the best within limits", seed);
        check(close(made.problem->score(found[k].segments), found[k].score), "its score", seed);
        for (std::size_t j = 0; j < k; ++j) {
          const auto &a = found[j].segments, &b = found[k].segments;
          const bool same = std::equal(a.begin(), a.end(), b.begin(), b.end(),
                                       [](const LabelledSegment& s, const LabelledSegment& t) {
                                         return s.end == t.end && s.label == t.label;
                                       });
          check(!same, "answers within limits differ", seed);
        }
      }
    }
  }
}

// A search that passes its limit is refused if tracking all limits takes too many states.
void check_refusal() {
  const Made made = Maker(0, true).make_chain(30, 20, 0);
  SearchLimits limits;
  limits.few = limits.most_tracked = 0;
  limits.most_entries = 10;
  Workspace work;
  try {
    n_best_within_limits(*made.problem, Method::kOverlapping, work, 1, limits);
  } catch (const TooLarge& error) {
    check(std::string(error.what()).find("its limit of 10 partial answers") != std::string::npos,
          "the refusal names the limit", 0);
    return;
  }
  check(false, "a search that grows too large is refused", 0);
}

void check_problem(int seed) {
  Maker maker(seed);
  const Made made = maker.make();
  const Problem& problem = *made.problem;
  std::vector<LabelledSegment> so_far;
  std::vector<double> scores;
  enumerate(problem, so_far, scores);
  const double log_z = log_sum(scores);
  Workspace work;
  for (const Method method : {Method::kOverlapping, Method::kBounded}) {
    check(close(log_z, answer_log_partition(problem, method, work)), "ln Z", seed);
    work.clear();
    const Posterior posterior = answer_posterior(problem, method, work, true);
    check(close(log_z, posterior.log_z), "ln Z of the posterior", seed);
    work.clear();
    const Answer best = answer_best(problem, method, work);
    work.clear();
    const auto ranked = answer_n_best(problem, method, work, 5);
    work.clear();
    const auto drawn = answer_samples(problem, method, work, 3, seed);
    work.clear();
    if (log_z == kMinusInfinity) {
      check(!best.possible && ranked.empty() && drawn.empty(), "nothing is possible", seed);
      continue;
    }
    check_posterior(problem, posterior, seed);
    check(close(best.score, *std::max_element(scores.begin(), scores.end())), "best", seed);
    check(!ranked.empty() && close(ranked[0].score, best.score), "first of n best", seed);
    for (const Answer& sample : drawn) {
      check(problem.score(sample.segments) > kMinusInfinity, "a sample is possible", seed);
    }
    check_without(problem, method, answer_n_best(problem, method, work, 1 << 20), seed);
    work.clear();
    const Lookup lookup(problem, method);
    check(lookup.likely_segments(1 << 20, -1).size() <= lookup.segments(0.0).size(),
          "likely segments are some of all", seed);
    double first = 0.0;
    for (const auto& found : lookup.segments(0.0)) {
      if (found.segment.start == 0) first += found.probability;
    }
    check(close(first, 1.0), "one segment starts at 0", seed);
  }
}

// Chains must have bitwise the same ln Z on any number of threads.
void check_threads() {
  Maker maker(7);
  std::vector<Made> chains;
  for (int i = 0; i < 40; ++i)
    chains.push_back(maker.make_chain(1 + maker.below(30), 1 + maker.below(9)));
  std::vector<std::vector<double>> results;
  for (const int n_threads : {1, 2, 4}) {
    std::vector<double> log_z(chains.size());
    for_each(static_cast<int>(chains.size()), n_threads, [&](int i, Workspace& work) {
      log_z[i] = answer_posterior(*chains[i].problem, Method::kOverlapping, work, false).log_z;
    });
    results.push_back(log_z);
  }
  check(results[0] == results[1] && results[0] == results[2], "threads give the same bits", 0);
  Workspace work;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const Lattice& g = chains[i].problem->lattice(Method::kOverlapping);
    check(close(results[0][i], kernels().log_partition(g, work, nullptr, nullptr)),
          "the chain kernel and the general sweep agree", static_cast<int>(i));
    work.clear();
  }
}

}  // namespace

int main() {
  const int count = 400;
  for (int seed = 0; seed < count; ++seed) check_problem(seed);
  for (int seed = 0; seed < 50; ++seed) check_spelled(seed);
  for (int seed = 0; seed < 100; ++seed) check_limits(seed);
  check_refusal();
  check_threads();
  std::printf("%s kernels: %d problems, %d failures\n", kernels().name, count, failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
