#include "infer/answers.hpp"

#include <algorithm>
#include <string>

#include "infer/limited.hpp"

namespace caesura {
namespace {

// Whether the kernel for chains applies: a first-order model whose segments have length 1, with
// scores in emission, transition, start and end only.
bool is_chain(const Lattice& g) {
  return g.plain_order && g.in_ptr == nullptr && g.unbounded == 0 && g.longest == 1 &&
         g.n_potentials == 0 && g.spans == nullptr && g.entry == nullptr &&
         g.by_position[g.T + 1] == 0 && g.T > 0;
}

// Limits probabilities to 1, which rounding may exceed slightly.  Expected counts of transitions
// and patterns may be larger than 1, and are not limited.  Probabilities of dense segments fill
// megabytes, which are prefetched 4 KiB ahead.
void clamp(Posterior& out) {
  auto limit = [](double* begin, const double* end) {
    for (; begin + 8 <= end; begin += 8) {
      __builtin_prefetch(begin + 512, 1);
      for (int i = 0; i < 8; ++i) begin[i] = std::min(begin[i], 1.0);
    }
    for (; begin != end; ++begin) *begin = std::min(*begin, 1.0);
  };
  limit(out.counts.tokens, out.counts.transitions);
  limit(out.counts.starts, out.patterns);
}

}  // namespace

double empty_log_z(const Problem& problem) {
  return problem.input().rules.kept_by({}, problem.input().Y) ? 0.0 : kMinusInfinity;
}

Posterior empty_posterior(const Problem& problem, const Lattice& g) {
  const ProblemInput& in = problem.input();
  return make_posterior(g.T, g.Y, g.spans == nullptr ? 0 : g.span_length,
                        static_cast<int>(in.potentials.size()), static_cast<int>(in.edges.size()),
                        static_cast<int>(in.static_targets.size()));
}

void clear(Posterior& out) {
  const double* end = out.patterns + out.n_patterns;
  std::fill(out.memory.get(), out.memory.get() + (end - out.memory.get()), 0.0);
}

// Must be called before all kernels except that for chains, which detects invalid scores itself
// among those that it reads.
void check_scores(const Problem& problem) {
  const std::string invalid = problem.invalid_score();
  if (!invalid.empty()) throw InvalidScore(invalid);
}

// Computes ln Z and, unless `counts` is null, expected counts with the kernel for chains.  Returns
// false if it does not apply.
bool answer_chain(const Problem& problem, const Lattice& g, Workspace& work, Counts* counts,
                  double* log_z) {
  if (!is_chain(g)) return false;
  // Scores of labels that are not allowed, of equal labels that may not be adjacent, and of
  // transitions where there are none, are not read.
  if (g.allowed != nullptr || !g.same_label_adjacent || g.T == 1) check_scores(problem);
  return kernels().chain(g, work, counts, log_z);
}

bool comes_first(const Answer& a, const Answer& b) {
  if (a.score != b.score) return a.score > b.score;
  auto x = a.segments.rbegin(), y = b.segments.rbegin();
  for (; x != a.segments.rend() && y != b.segments.rend(); ++x, ++y) {
    if (x->label != y->label) return x->label < y->label;
    if (x->start != y->start) return x->start > y->start;
  }
  return false;
}

Posterior make_posterior(int T, int Y, int span_length, int n_potentials, int n_edges,
                         int n_patterns) {
  Posterior out;
  out.T = T;
  out.Y = Y;
  out.span_length = span_length;
  out.n_potentials = n_potentials;
  out.n_edges = n_edges;
  out.n_patterns = n_patterns;
  const std::size_t tokens = static_cast<std::size_t>(T) * Y,
                    pairs = static_cast<std::size_t>(Y) * Y;
  const std::size_t spans = tokens * span_length;
  out.memory =
      pooled(tokens + (T + 1) + pairs + 2 * Y + spans + n_potentials + n_edges + n_patterns);
  double* at = out.memory.get();
  auto take = [&at](std::size_t count) {
    double* p = at;
    at += count;
    return p;
  };
  out.counts.tokens = take(tokens);
  out.counts.boundaries = take(T + 1);
  out.counts.transitions = take(pairs);
  out.counts.starts = take(Y);
  out.counts.ends = take(Y);
  out.counts.spans = spans == 0 ? nullptr : take(spans);
  out.counts.potentials = take(n_potentials);
  out.counts.edges = take(n_edges);
  out.patterns = take(n_patterns);
  std::fill(out.counts.potentials, at, 0.0);  // potentials that can never apply keep 0
  return out;
}

double answer_log_partition(const Problem& problem, Method method, Workspace& work, Tally* tally) {
  const Lattice& g = problem.lattice(method);
  if (g.T == 0) return empty_log_z(problem);
  double log_z;
  if (tally == nullptr && answer_chain(problem, g, work, nullptr, &log_z)) return log_z;
  check_scores(problem);
  return kernels().log_partition(g, work, nullptr, tally);
}

Posterior answer_posterior(const Problem& problem, Method method, Workspace& work,
                           bool want_entropy) {
  const Lattice& g = problem.lattice(method);
  Posterior out = empty_posterior(problem, g);
  if (g.T == 0) {
    out.log_z = empty_log_z(problem);
    clear(out);
    out.counts.boundaries[0] = 1.0;
    return out;
  }
  if (!want_entropy && answer_chain(problem, g, work, &out.counts, &out.log_z)) return out;
  check_scores(problem);
  clear(out);
  Tables tables = tables_in(g, work.doubles(tables_size(g)));
  out.log_z = kernels().log_partition(g, work, &tables, nullptr);
  if (out.log_z == kMinusInfinity) return out;
  out.counts.want_entropy = want_entropy;
  if (out.n_patterns > 0) {
    out.counts.entered = work.doubles(g.stride);
    std::fill(out.counts.entered, out.counts.entered + g.stride, 0.0);
  }
  kernels().posterior(g, work, tables, out.counts);
  out.entropy = std::max(0.0, out.counts.entropy);  // rounding may make it slightly negative
  if (out.n_patterns > 0) problem.static_counts(out.counts.entered, out.patterns);
  out.counts.entered = nullptr;
  clamp(out);
  return out;
}

Answer answer_best(const Problem& problem, Method method, Workspace& work) {
  check_scores(problem);
  return answer_finite_best(problem, method, work);
}

Answer answer_finite_best(const Problem& problem, Method method, Workspace& work) {
  constexpr double kLargestSummed = 1e300;  // sums over any number of tokens stay finite
  const std::string invalid = problem.invalid_score(kLargestSummed);
  if (!invalid.empty()) throw InvalidScore(invalid);
  Answer answer;
  if (problem.input().T == 0) {
    answer.score = empty_log_z(problem);
    answer.possible = answer.score == 0.0;
    return answer;
  }
  if (problem.input().rules.limits() > 0) {
    std::vector<Answer> found = n_best_within_limits(problem, method, work, 1);
    return found.empty() ? answer : std::move(found[0]);
  }
  return plain_best(problem, method, work);
}

Answer plain_best(const Problem& problem, Method method, Workspace& work) {
  const Lattice& g = problem.lattice(method);
  Answer answer;
  Back back;
  back.start = work.ints(table_size(g));
  back.previous = work.ints(table_size(g));
  int state = 0;
  if (kernels().best(g, work, nullptr, back, &state, nullptr) == kMinusInfinity) return answer;
  answer.segments = trace(g, back, state);
  answer.possible = true;
  answer.score = problem.score(answer.segments);
  return answer;
}

std::vector<Answer> answer_samples(const Problem& problem, Method method, Workspace& work, int n,
                                   std::uint64_t seed) {
  check_scores(problem);
  SegmentCount().check(n);
  if (problem.input().T == 0) {
    if (empty_log_z(problem) == kMinusInfinity) return {};
    return std::vector<Answer>(n, {true, 0.0, {}});
  }
  if (problem.input().rules.limits() > kMostTracked)
    return samples_within_limits(problem, method, work, n, seed);
  return plain_samples(problem, method, work, n, seed);
}

std::vector<Answer> plain_samples(const Problem& problem, Method method, Workspace& work, int n,
                                  std::uint64_t seed) {
  const Lattice& g = problem.lattice(method);
  std::vector<Answer> answers;
  Tables tables = tables_in(g, work.doubles(tables_size(g)));
  if (kernels().log_partition(g, work, &tables, nullptr) == kMinusInfinity) return {};
  const Walk walk(problem, g, tables);
  Random random(seed);
  SegmentCount count;
  for (int i = 0; i < n; ++i) {
    answers.push_back({true, 0.0, sample_one(walk, random)});
    count.add(answers.back().segments.size());
  }
  return answers;
}

}  // namespace caesura
