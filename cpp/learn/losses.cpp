#include "learn/losses.hpp"

#include <algorithm>

#include "infer/answers.hpp"
#include "learn/gold.hpp"
#include "learn/tag_segments.hpp"
#include "learn/terms.hpp"

namespace caesura {

int wrong_tokens(const std::vector<LabelledSegment>& a, const LabelledSegment* b) {
  int wrong = 0;
  for (const LabelledSegment& s : a) {
    for (int t = s.start; t < s.end; ++t) {
      while (b->end <= t) ++b;
      wrong += b->label != s.label;
    }
  }
  return wrong;
}

int wrong_segments(std::vector<LabelledSegment> a, std::vector<LabelledSegment> b,
                   const Reading& reading) {
  for (std::vector<LabelledSegment>* path : {&a, &b}) {
    path->resize(read_segments(reading, path->data(), static_cast<int>(path->size())));
    for (LabelledSegment& s : *path) s.label = reading.label[s.label];
  }
  int common = 0;
  for (std::size_t j = 0, k = 0; j < a.size() && k < b.size();) {
    common += a[j].start == b[k].start && a[j].end == b[k].end && a[j].label == b[k].label;
    (a[j].end < b[k].end ? j : k)++;  // if the ends are equal, the other advances next
  }
  return static_cast<int>(a.size() + b.size()) - 2 * common;
}

void Objective::set_loss(Loss loss) {
  const std::lock_guard<std::mutex> lock(guard_);
  const int Y = layout_->Y, n = design_->n_sequences();
  cost.clear();
  segment_costs.clear();
  entry_cost.clear();
  loss_ = std::move(loss);
  auto for_gold = [&](int i, auto visit) {
    for (std::int64_t k = gold_->ptr[i]; k < gold_->ptr[i + 1]; ++k) visit(gold_->segments[k]);
  };
  if (loss_.kind == Loss::kTokens) {
    cost.assign(static_cast<std::size_t>(design_->tokens[n]) * Y, 0.0);
    for (int i = 0; i < n; ++i) {
      for_gold(i, [&](const LabelledSegment& s) {
        const double weight = loss_.weight.empty() ? 1.0 : loss_.weight[s.label];
        for (int t = s.start; t < s.end; ++t) {
          double* row = cost.data() + (design_->tokens[i] + t) * Y;
          std::fill_n(row, Y, weight);
          row[s.label] = 0.0;
        }
      });
    }
  }
  if (loss_.kind != Loss::kSegments || loss_.reading.tags()) return;
  for (int y = 0; y < Y; ++y) entry_cost.push_back(loss_.reading.label[y] < 0 ? 0.0 : 1.0);
  for (int i = 0; i < n; ++i) {
    auto costs = std::make_shared<SegmentCosts>();
    for_gold(i, [&](const LabelledSegment& s) {
      if (loss_.reading.label[s.label] < 0) return;
      costs->sites.push_back({s.start, s.end, 0});
      costs->rows.resize(costs->rows.size() + Y, 0.0);
      costs->rows[costs->rows.size() - Y + s.label] = -2.0;
      costs->constant += 1.0;
    });
    segment_costs.push_back(std::move(costs));
  }
}

double Objective::cost_of(int i, const LabelledSegment* segments, int count) const {
  const LabelledSegment* gold = gold_->segments.data() + gold_->ptr[i];
  const std::int64_t n_gold = gold_->ptr[i + 1] - gold_->ptr[i];
  if (loss_.kind == Loss::kSequence)
    return same_path({segments, segments + count}, gold, n_gold) ? 0.0 : 1.0;
  if (loss_.kind == Loss::kSegments && loss_.reading.tags())
    return wrong_segments({segments, segments + count}, {gold, gold + n_gold}, loss_.reading);
  const int Y = layout_->Y;
  const SegmentCosts* costs = segment_costs.empty() ? nullptr : segment_costs[i].get();
  double total = costs == nullptr ? 0.0 : costs->constant;
  std::size_t k = 0;
  for (const LabelledSegment *s = segments, *last = segments + count; s != last; ++s) {
    if (!entry_cost.empty()) total += entry_cost[s->label];
    for (int t = s->start; t < s->end && !cost.empty(); ++t)
      total += cost[(design_->tokens[i] + t) * Y + s->label];
    if (costs == nullptr) continue;
    // The sites that end where the segment ends.
    while (k < costs->sites.size() && costs->sites[k].end < s->end) ++k;
    for (std::size_t j = k; j < costs->sites.size() && costs->sites[j].end == s->end; ++j) {
      if (costs->sites[j].start == s->start) total += costs->rows[j * Y + s->label];
    }
  }
  return total;
}

// Returns the best path other than the gold one, or an empty path if there is no other.
std::vector<LabelledSegment> Objective::second_path(const Design& d, int i,
                                                    const Unpacked<double>& weights,
                                                    Workspace& work) const {
  const auto scored =
      scored_problem(*layout_, d, weights, i, Known{}, automaton, order, false, work);
  scored->problem->prepare(Method::kOverlapping);
  work.clear();
  const LabelledSegment* gold = gold_->segments.data() + gold_->ptr[i];
  std::vector<Answer> answers = about_sequence(
      i, [&] { return answer_n_best(*scored->problem, Method::kOverlapping, work, 2); });
  for (Answer& answer : answers) {
    if (!same_path(answer.segments, gold, gold_->ptr[i + 1] - gold_->ptr[i]))
      return std::move(answer.segments);
  }
  return {};
}

std::vector<LabelledSegment> Objective::best_path(const Design& d, int i, bool costed,
                                                  const Unpacked<double>& weights,
                                                  Workspace& work) const {
  const int T = d.length(i);
  if (T == 0) return {};
  const bool whole = costed && loss_.kind == Loss::kSequence;
  if (costed && loss_.kind == Loss::kSegments && loss_.reading.tags()) {
    std::vector<LabelledSegment> path =
        best_tag_segments(*layout_, d, i, *gold_, loss_.reading, weights, work);
    if (path.empty()) throw NoAgreement(i);
    return path;
  }
  std::vector<LabelledSegment> best(T);
  best.resize(
      predictor().best(d, weights.view(), i, known_of({i, false, 1.0}, costed), best.data(), work));
  if (best.empty()) throw NoAgreement(i);
  const LabelledSegment* gold = gold_->segments.data() + gold_->ptr[i];
  const std::int64_t n_gold = gold_->ptr[i + 1] - gold_->ptr[i];
  if (!whole || !same_path(best, gold, n_gold)) return best;
  // score(second) + 1 against score(gold)
  std::vector<LabelledSegment> second = second_path(d, i, weights, work);
  if (second.empty()) return best;
  SequenceCounts counts =
      path_counts(*layout_, d, i, second.data(), static_cast<std::int64_t>(second.size()));
  subtract(counts, path_counts(*layout_, d, i, gold, n_gold));
  return 1.0 + counted_score(*layout_, d, i, counts, weights, work) > 0.0 ? second : best;
}

}  // namespace caesura
