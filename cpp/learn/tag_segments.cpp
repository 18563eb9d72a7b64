#include "learn/tag_segments.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "automaton/rules.hpp"
#include "infer/answers.hpp"

namespace caesura {
namespace {

// The problem over states y (m = 0) and Y + y (m = 1), without the loss.
struct Doubled {
  const ProblemInput& from;
  const int Y;
  ProblemInput in;
  std::vector<double> emission, transition, start, end;
  std::vector<std::vector<std::int32_t>> targets;  // [labels and histories] their copies

  explicit Doubled(const ProblemInput& from) : from(from), Y(from.Y) {
    in.T = from.T;
    in.Y = 2 * Y;
    in.bounds.assign(2 * Y, 1);
    in.boundary = from.boundary;
    for (int t = 0; t < from.T; ++t) {
      for (int m = 0; m < 2; ++m)
        emission.insert(emission.end(), from.emission + t * Y, from.emission + (t + 1) * Y);
    }
    for (int y = 0; y < 2 * Y; ++y) {
      start.push_back(from.start[y % Y]);
      end.push_back(from.end[y % Y]);
      for (int next = 0; next < 2 * Y; ++next)
        transition.push_back(from.transition[y % Y * Y + next % Y]);
    }
    double_histories();
    for (const Potential& p : from.potentials) {
      for (const std::int32_t target : targets[p.target]) {
        const auto id = static_cast<std::int32_t>(in.potentials.size());
        in.potentials.push_back({p.start, p.end, target, p.flags, id, p.score});
      }
    }
    for (std::size_t k = 0; k < from.static_targets.size(); ++k) {
      for (const std::int32_t target : targets[from.static_targets[k]]) {
        in.static_targets.push_back(target);
        in.static_scores.push_back(from.static_scores[k]);
      }
    }
    for (const Edge& e : from.edges) {
      for (int twin = 0; twin < 4; ++twin)
        add_edge(e.position, e.previous + twin / 2 * Y, e.label + twin % 2 * Y, e.score);
    }
    double_rules();
  }

  void add_edge(int t, int previous, int label, double score) {
    in.edges.push_back({t, previous, label, static_cast<std::int32_t>(in.edges.size()), score});
  }

  // A history of k labels has 2^k copies.
  void double_histories() {
    constexpr std::size_t kLongest = 16;
    for (int y = 0; y < Y; ++y) targets.push_back({y, Y + y});
    for (const std::vector<std::int32_t>& history : from.histories) {
      if (history.size() > kLongest) {
        throw TooLarge("loss",
                       "with 'segments', a pattern of " + std::to_string(history.size()) +
                           " tags has 2^" + std::to_string(history.size()) + " states",
                       "at most " + std::to_string(kLongest) + " tags",
                       "shorten the pattern, or use loss='hamming'");
      }
      targets.emplace_back();
      for (std::uint32_t bits = 0; bits < 1u << history.size(); ++bits) {
        targets.back().push_back(2 * Y + static_cast<std::int32_t>(in.histories.size()));
        in.histories.push_back(history);
        for (std::size_t k = 0; k < history.size(); ++k)
          in.histories.back()[k] += (bits >> k & 1) * Y;
      }
    }
  }

  void double_rules() {
    in.rules = from.rules;
    if (from.rules.empty()) return;
    in.rules.symbol.clear();
    in.rules.joined.clear();
    for (int y = 0; y < 2 * Y; ++y) {
      in.rules.symbol.push_back(from.rules.symbol_of(y % Y));
      for (int next = 0; next < 2 * Y && !from.rules.joined.empty(); ++next)
        in.rules.joined.push_back(from.rules.joined[y % Y * Y + next % Y]);
    }
  }
};

// Adds the loss times `scale` to a doubled problem.
void add_loss(Doubled& both, const std::vector<LabelledSegment>& gold, const Reading& reading,
              double scale) {
  const int Y = both.Y, T = both.in.T;
  auto is_joined = [&](int y0, int y) { return reading.joined[y0 * Y + y] != 0; };
  auto inside = [&](int y) { return reading.label[y] >= 0; };
  for (int y = 0; y < 2 * Y; ++y) {
    both.start[y] += inside(y % Y) ? scale : 0.0;
    if (y >= Y) both.end[y] -= 2.0 * scale;
    for (int y0 = 0; y0 < 2 * Y; ++y0) {
      if (inside(y % Y) && !is_joined(y0 % Y, y % Y)) both.transition[y0 * 2 * Y + y] += scale;
    }
  }
  std::vector<int> at(T, -1);  // the gold segment of each token
  for (std::size_t g = 0; g < gold.size(); ++g) {
    for (int t = gold[g].start; t < gold[g].end; ++t) at[t] = static_cast<int>(g);
  }
  // Whether m = 1 is possible: y has the gold label.
  auto fits = [&](int t, int y) {
    return at[t] >= 0 && inside(y) && reading.label[y] == reading.label[gold[at[t]].label];
  };
  auto begins = [&](int t) { return at[t] >= 0 && gold[at[t]].start == t; };
  auto& allowed = both.in.allowed;
  allowed.assign(static_cast<std::size_t>(T) * 2 * Y, 1);
  for (int t = 0; t < T; ++t) {
    for (int y = 0; y < Y; ++y) {
      allowed[(2 * t + 1) * Y + y] = fits(t, y) && (t > 0 || begins(0));
      if (t == 0 && fits(0, y) && begins(0)) allowed[y] = 0;
    }
  }
  for (int t = 1; t < T; ++t) {
    const bool goes_on = at[t] >= 0 && at[t] == at[t - 1];
    for (int y0 = 0; y0 < 2 * Y; ++y0) {
      const int m0 = y0 / Y;
      if (m0 == 1 && !fits(t - 1, y0 % Y)) continue;
      for (int y = 0; y < Y; ++y) {
        const bool joined = is_joined(y0 % Y, y), could = fits(t, y);
        const bool m = could && (joined ? m0 == 1 && goes_on : begins(t));
        // A segment that is gold up to its end: the gold segment ends here too.
        if (m0 == 1 && !joined && !goes_on) both.add_edge(t, y0, m ? Y + y : y, -2.0 * scale);
        if (could) both.add_edge(t, y0, m ? y : Y + y, kMinusInfinity);
      }
    }
  }
}

// A doubled problem with the loss times `scale`.
struct Costed {
  Doubled both;
  std::vector<LabelledSegment> gold;
  std::unique_ptr<Problem> problem;

  Costed(const Problem& from, int i, const Gold& all, const Reading& reading, double scale)
      : both(from.input()),
        gold(all.segments.begin() + all.ptr[i], all.segments.begin() + all.ptr[i + 1]) {
    gold.resize(read_segments(reading, gold.data(), static_cast<int>(gold.size())));
    add_loss(both, gold, reading, scale);
    ProblemInput in = both.in;
    in.emission = both.emission.data();
    in.transition = both.transition.data();
    in.start = both.start.data();
    in.end = both.end.data();
    problem = std::make_unique<Problem>(std::move(in), nullptr,
                                        labels_by_length(std::vector<std::int32_t>(2 * both.Y, 1)));
    problem->prepare(Method::kOverlapping);
  }

  // Returns the expected loss.
  double expected(const Counts& counts, const Reading& reading) const {
    const int Y = both.Y;
    auto total = static_cast<double>(gold.size());
    for (int y = 0; y < 2 * Y; ++y) {
      const bool inside = reading.label[y % Y] >= 0;
      if (inside) total += counts.starts[y];
      if (y >= Y) total -= 2.0 * counts.ends[y];
      for (int y0 = 0; inside && y0 < 2 * Y; ++y0) {
        if (reading.joined[y0 % Y * Y + y % Y] == 0) total += counts.transitions[y0 * 2 * Y + y];
      }
    }
    for (std::size_t k = 4 * both.from.edges.size(); k < both.in.edges.size(); ++k) {
      if (both.in.edges[k].score > kMinusInfinity) total -= 2.0 * counts.edges[k];
    }
    return total;
  }

  // Returns the counts of tags from those of states.
  Posterior folded(const Posterior& answer) const {
    const int Y = both.Y, T = both.in.T;
    const ProblemInput& from = both.from;
    Posterior out = make_posterior(T, Y, 0, static_cast<int>(from.potentials.size()),
                                   static_cast<int>(from.edges.size()),
                                   static_cast<int>(from.static_targets.size()));
    out.log_z = answer.log_z;
    auto add = [](double* to, int n, const double* a) {
      for (int k = 0; k < n; ++k) to[k] += a[k];
    };
    std::fill_n(out.counts.tokens, T * Y, 0.0);
    for (int r = 0; r < 2 * T; ++r)
      add(out.counts.tokens + r / 2 * Y, Y, answer.counts.tokens + r * Y);
    std::fill_n(out.counts.transitions, Y * Y, 0.0);
    for (int r = 0; r < 4 * Y; ++r)
      add(out.counts.transitions + r / 2 % Y * Y, Y, answer.counts.transitions + r * Y);
    for (auto [to, a] : {std::pair{out.counts.starts, answer.counts.starts},
                         {out.counts.ends, answer.counts.ends}}) {
      for (int y = 0; y < Y; ++y) to[y] = a[y] + a[Y + y];
    }
    std::size_t at = 0;
    for (std::size_t k = 0; k < from.potentials.size(); ++k) {
      for (std::size_t n = both.targets[from.potentials[k].target].size(); n > 0; --n)
        out.counts.potentials[k] += answer.counts.potentials[at++];
    }
    at = 0;
    for (std::size_t k = 0; k < from.static_targets.size(); ++k) {
      for (std::size_t n = both.targets[from.static_targets[k]].size(); n > 0; --n)
        out.patterns[k] += answer.patterns[at++];
    }
    for (std::size_t k = 0; k < 4 * from.edges.size(); ++k)
      out.counts.edges[k / 4] += answer.counts.edges[k];
    return out;
  }
};

}  // namespace

std::vector<LabelledSegment> best_tag_segments(const Layout& layout, const Design& d, int i,
                                               const Gold& gold, const Reading& reading,
                                               const Unpacked<double>& weights, Workspace& work) {
  const std::vector<std::int32_t> order = labels_by_length(layout.bounds);
  const auto scored = scored_problem(layout, d, weights, i, Known{}, nullptr, order, false, work);
  const Costed costed(*scored->problem, i, gold, reading, 1.0);
  work.clear();
  std::vector<LabelledSegment> path = about_sequence(
      i, [&] { return answer_finite_best(*costed.problem, Method::kOverlapping, work).segments; });
  for (LabelledSegment& s : path) s.label %= layout.Y;
  return path;
}

TagExpectation expected_tag_segments(const Layout& layout, const Design& d, int i,
                                     const Problem& problem, const Gold& gold,
                                     const Reading& reading, double scale, SequenceCounts& counts,
                                     Workspace& work) {
  const Costed costed(problem, i, gold, reading, scale);
  work.clear();
  const Posterior answer = about_sequence(
      i, [&] { return answer_posterior(*costed.problem, Method::kOverlapping, work, false); });
  if (answer.log_z == kMinusInfinity) return {};
  take_counts(layout, d, i, costed.folded(answer), counts);
  return {answer.log_z + scale * static_cast<double>(costed.gold.size()),
          costed.expected(answer.counts, reading)};
}

}  // namespace caesura
