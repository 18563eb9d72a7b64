#include "learn/tag_segments.hpp"

#include "infer/answers.hpp"

namespace caesura {
namespace {

// From labels y to states y (m = 0) and Y + y (m = 1), everything but the loss.
struct Doubled {
  const ProblemInput& from;
  const int Y;
  ProblemInput in;
  std::vector<double> emission, transition, start, end;
  std::vector<std::vector<std::int32_t>> targets;  // [labels and histories] their twins

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

  // A history of k labels has 2^k twins.
  void double_histories() {
    for (int y = 0; y < Y; ++y) targets.push_back({y, Y + y});
    for (const std::vector<std::int32_t>& history : from.histories) {
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

// The loss, added to a doubled problem.
void add_loss(Doubled& both, const std::vector<LabelledSegment>& gold, const Reading& reading) {
  const int Y = both.Y, T = both.in.T;
  auto is_joined = [&](int y0, int y) { return reading.joined[y0 * Y + y] != 0; };
  auto inside = [&](int y) { return reading.label[y] >= 0; };
  for (int y = 0; y < 2 * Y; ++y) {
    both.start[y] += inside(y % Y);
    if (y >= Y) both.end[y] -= 2.0;
    for (int y0 = 0; y0 < 2 * Y; ++y0) {
      if (inside(y % Y) && !is_joined(y0 % Y, y % Y)) both.transition[y0 * 2 * Y + y] += 1.0;
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
        // A segment that was gold so far ends with its gold one.
        if (m0 == 1 && !joined && !goes_on) both.add_edge(t, y0, m ? Y + y : y, -2.0);
        if (could) both.add_edge(t, y0, m ? y : Y + y, kMinusInfinity);
      }
    }
  }
}

}  // namespace

std::vector<LabelledSegment> best_tag_segments(const Layout& layout, const Design& d, int i,
                                               const Gold& gold, const Reading& reading,
                                               const Unpacked<double>& weights, Workspace& work) {
  const std::vector<std::int32_t> order = labels_by_length(layout.bounds);
  const auto scored = scored_problem(layout, d, weights, i, Known{}, nullptr, order, false, work);
  Doubled both(scored->problem->input());
  std::vector<LabelledSegment> segments(gold.segments.begin() + gold.ptr[i],
                                        gold.segments.begin() + gold.ptr[i + 1]);
  segments.resize(read_segments(reading, segments.data(), static_cast<int>(segments.size())));
  add_loss(both, segments, reading);
  both.in.emission = both.emission.data();
  both.in.transition = both.transition.data();
  both.in.start = both.start.data();
  both.in.end = both.end.data();
  Problem problem(std::move(both.in), nullptr,
                  labels_by_length(std::vector<std::int32_t>(2 * layout.Y, 1)));
  problem.prepare(Method::kOverlapping);
  work.clear();
  std::vector<LabelledSegment> path = about_sequence(
      i, [&] { return answer_finite_best(problem, Method::kOverlapping, work).segments; });
  for (LabelledSegment& s : path) s.label %= layout.Y;
  return path;
}

}  // namespace caesura
