#include "infer/answers.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "infer/limited.hpp"

namespace caesura {
namespace {

double empty_log_z(const Problem& problem) {
  return problem.input().rules.kept_by({}, problem.input().Y) ? 0.0 : kMinusInfinity;
}

// Whether the kernel for chains applies: a first-order model whose segments have length 1, with
// scores in emission, transition, start and end only.
bool is_chain(const Lattice& g) {
  return g.plain_order && g.in_ptr == nullptr && g.unbounded == 0 && g.longest == 1 &&
         g.n_potentials == 0 && g.spans == nullptr && g.entry == nullptr &&
         g.by_position[g.T + 1] == 0 && g.T > 0;
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

Lookup::Lookup(const Problem& problem, Method method)
    : problem_(problem), g_(problem.lattice(method)), log_z_(empty_log_z(problem)) {
  if (g_.T == 0) return;
  check_scores(problem);
  Workspace work;
  const std::size_t rows = tables_size(g_);
  memory_.reset(new double[rows + 2 * table_size(g_)]);
  tables_ = tables_in(g_, memory_.get());
  log_z_ = kernels().log_partition(g_, work, &tables_, nullptr);
  if (log_z_ == kMinusInfinity) return;
  posterior_ = empty_posterior(problem, g_);
  clear(posterior_);
  posterior_.counts.closed = memory_.get() + rows;
  posterior_.counts.begun = posterior_.counts.closed + table_size(g_);
  kernels().posterior(g_, work, tables_, posterior_.counts);
  walk_ = std::make_unique<Walk>(problem_, g_, tables_);
}

double Lookup::segment(int start, int end, int label) const {
  int r = 0;
  while (g_.order[r] != label) ++r;
  double total = 0.0;
  std::vector<double> shares;
  for (int q = g_.first[r]; q < g_.first[r + 1]; ++q) {
    const double closed =
        posterior_.counts.closed[static_cast<std::ptrdiff_t>(end) * g_.stride + q];
    if (closed == 0.0) continue;
    walk_->log_shares(start, end, q, shares);
    total += closed * std::exp(shares.back());
  }
  return std::min(total, 1.0);  // rounding may raise it slightly above 1
}

double Lookup::transition(int position, int previous, int label) const {
  double total = 0.0;
  for (int q = 0; q < g_.Q; ++q) {
    if (g_.order[g_.rank[q]] != label) continue;
    const double begun =
        posterior_.counts.begun[static_cast<std::ptrdiff_t>(position) * g_.stride + q];
    if (begun == 0.0) continue;
    auto add = [&](int p) {
      if (g_.order[g_.rank[p]] == previous)
        total += begun * std::exp(walk_->log_arc(position, p, q));
    };
    if (g_.in_ptr == nullptr) {
      for (int p = 0; p < g_.Q; ++p) add(p);
    } else {
      for (int k = g_.in_ptr[q]; k < g_.in_ptr[q + 1]; ++k) add(g_.in_state[k]);
    }
  }
  return std::min(total, 1.0);
}

// Goes from the last tag to the first, multiplying by P(state at t - 1 | state at t), so that only
// probabilities are multiplied.
double Lookup::run(int start, int end, const std::vector<std::int32_t>& group,
                   const std::uint8_t* joined) const {
  std::vector<std::uint8_t> member(g_.Y, 0);
  for (const std::int32_t y : group) member[y] = 1;
  auto label = [&](int q) { return g_.order[g_.rank[q]]; };
  auto table = [&](const double* rows, int t, int q) {
    return rows[static_cast<std::ptrdiff_t>(t) * g_.stride + q];
  };
  // Calls visit(p, P(state p at t - 1 | state q at t)) for the arcs into q.
  auto for_arcs = [&](int t, int q, auto visit) {
    if (g_.in_ptr == nullptr) {
      for (int p = 0; p < g_.Q; ++p) visit(p, std::exp(walk_->log_arc(t, p, q)));
    } else {
      for (int k = g_.in_ptr[q]; k < g_.in_ptr[q + 1]; ++k)
        visit(g_.in_state[k], std::exp(walk_->log_arc(t, g_.in_state[k], q)));
    }
  };
  std::vector<double> now(g_.Q, 0.0), before(g_.Q);
  for (int q = 0; q < g_.Q; ++q) {
    if (end == g_.T) {
      now[q] = member[label(q)] ? table(posterior_.counts.closed, g_.T, q) : 0.0;
      continue;
    }
    const double begun = table(posterior_.counts.begun, end, q);
    if (begun == 0.0) continue;
    for_arcs(end, q, [&](int p, double share) {
      if (member[label(p)] && !joined[label(p) * g_.Y + label(q)]) now[p] += begun * share;
    });
  }
  for (int t = end - 1; t >= start; --t) {
    std::fill(before.begin(), before.end(), 0.0);
    double total = 0.0;
    for (int q = 0; q < g_.Q; ++q) {
      if (now[q] == 0.0) continue;
      if (t == 0) total += now[q];
      if (t == 0) continue;
      for_arcs(t, q, [&](int p, double share) {
        const bool goes_on = joined[label(p) * g_.Y + label(q)];
        if (t > start && goes_on) before[p] += now[q] * share;
        if (t == start && !goes_on) total += now[q] * share;
      });
    }
    if (t == start) return std::min(total, 1.0);
    now.swap(before);
  }
  return 0.0;
}

// A segment is at most as probable as its label is at each of its tokens, and as all segments with
// its label that end at the same boundary are together.  These bounds, with a margin for rounding,
// limit the ends and starts that are tried.
std::vector<Lookup::Found> Lookup::segments(double min_probability) const {
  std::vector<Found> found;
  for (int y = 0; y < g_.Y && g_.T > 0; ++y) {
    int r = 0;
    while (g_.order[r] != y) ++r;
    auto mass = [&](const double* table, int t) {
      double total = 0.0;
      for (int q = g_.first[r]; q < g_.first[r + 1]; ++q) {
        total += table[static_cast<std::ptrdiff_t>(t) * g_.stride + q];
      }
      return total * (1.0 + 1e-9);
    };
    for (int e = 1; e <= g_.T; ++e) {
      check_interrupt();
      const double ends = mass(posterior_.counts.closed, e);
      if (ends == 0.0 || ends < min_probability) continue;
      int low = e;
      while (low > 0 && posterior_.counts.tokens[static_cast<std::ptrdiff_t>(low - 1) * g_.Y + y] *
                                (1.0 + 1e-9) >=
                            min_probability) {
        --low;
      }
      std::vector<double> totals(e - low, 0.0), shares;  // by start, the latest first
      for (int q = g_.first[r]; q < g_.first[r + 1]; ++q) {
        const double closed =
            posterior_.counts.closed[static_cast<std::ptrdiff_t>(e) * g_.stride + q];
        if (closed == 0.0) continue;
        walk_->log_shares(low, e, q, shares);
        for (std::size_t i = 0; i < shares.size(); ++i) totals[i] += closed * std::exp(shares[i]);
      }
      for (int i = 0; i < e - low; ++i) {
        if (totals[i] > 0.0 && totals[i] >= min_probability)
          found.push_back({{e - 1 - i, e, y}, std::min(totals[i], 1.0)});
      }
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.probability > b.probability; });
  return found;
}

// Tries starts from late to early until their probabilities nearly add up to that of a segment
// which ends at the boundary.  Longer segments are mostly less probable, so the number of starts is
// small compared with the length of the sequence.
std::vector<Lookup::Found> Lookup::likely_segments(std::int64_t most, int skipped) const {
  std::vector<Found> found;
  std::vector<double> totals, shares;  // by start, the latest first
  for (int r = 0; r < g_.Y && g_.T > 0; ++r) {
    const int y = g_.order[r];
    if (y == skipped) continue;
    for (int e = 1; e <= g_.T; ++e) {
      if (e % 16 == 0) check_interrupt();
      const double* closed = posterior_.counts.closed + static_cast<std::ptrdiff_t>(e) * g_.stride;
      double mass = 0.0;
      for (int q = g_.first[r]; q < g_.first[r + 1]; ++q) mass += closed[q];
      if (mass == 0.0) continue;
      for (int length = 8;; length *= 2) {  // until the listed segments are enough
        const int low = std::max(e - length, 0);
        totals.assign(e - low, 0.0);
        double listed = 0.0;
        for (int q = g_.first[r]; q < g_.first[r + 1]; ++q) {
          if (closed[q] == 0.0) continue;
          walk_->log_shares(low, e, q, shares);
          for (std::size_t i = 0; i < shares.size(); ++i) {
            const double probability = closed[q] * std::exp(shares[i]);
            totals[i] += probability;
            listed += probability;
          }
        }
        if (low == 0 || mass - listed <= kLeftOut * mass) break;
      }
      for (std::size_t i = 0; i < totals.size(); ++i) {
        const int start = e - 1 - static_cast<int>(i);
        if (totals[i] > 0.0) found.push_back({{start, e, y}, std::min(totals[i], 1.0)});
      }
      if (static_cast<std::int64_t>(found.size()) > most) {
        throw TooLarge("p: more than " + std::to_string(most) + " segments of " +
                       std::to_string(g_.T) + " tokens have probabilities that count; set " +
                       "max_length");
      }
    }
  }
  return found;
}

}  // namespace caesura
