// The terms of single sequences, in double precision.
#include <stdexcept>
#include <string>

#include "base/interrupt.hpp"
#include "infer/answers.hpp"
#include "learn/gold.hpp"
#include "learn/objective.hpp"
#include "learn/terms.hpp"

namespace caesura {

// Returns the sum of weight * ln Z over the parts, computed by the general sweeps.
double Objective::add_fallback(const Design& d, const std::vector<Part>& parts,
                               const Unpacked<double>& weights, Gradient<double>* gradient,
                               Workspace& work) {
  double loss = 0.0;
  SequenceCounts counts;
  for (const Part& part : parts) {
    check_interrupt();
    const int i = part.sequence;
    const auto scored =
        scored_problem(*layout_, d, weights, i, known_of(part), automaton, order, true, work);
    scored->problem->prepare(Method::kOverlapping);
    const double log_z = expected_counts(*layout_, d, i, *scored->problem, counts, work);
    if (log_z == kMinusInfinity) throw NoAgreement(i);
    loss += part.weight * log_z;
    if (gradient != nullptr)
      add_counts(*layout_, d, i, counts, part.weight, weights.view(), *gradient, work);
  }
  return loss;
}

double Objective::add_log_z(const Design& d, const std::vector<Part>& parts, bool with_gold,
                            const Unpacked<double>& weights, bool near, Gradient<double>* gradient,
                            Workspace& work) {
  std::vector<Part> failed;
  double loss = 0.0;
  if (near)
    loss = add_kernels(d, parts, with_gold, weights.view(), gradient, work, failed);
  else
    failed = parts;
  n_careful_ += static_cast<std::int64_t>(failed.size());
  loss += add_fallback(d, failed, weights, gradient, work);
  for (const Part& part : layout_->histories == nullptr ? failed : parts) {
    if (with_gold && !part.constrained) loss += add_gold(d, part.sequence, weights, gradient, work);
  }
  return loss;
}

// Returns weight * score(path).
double Objective::add_path(const Design& d, int i, const LabelledSegment* segments,
                           std::int64_t count, double weight, const Unpacked<double>& weights,
                           Gradient<double>* gradient, Workspace& work) {
  const SequenceCounts counts = path_counts(*layout_, d, i, segments, count);
  if (gradient != nullptr)
    add_counts(*layout_, d, i, counts, weight, weights.view(), *gradient, work);
  return weight * counted_score(*layout_, d, i, counts, weights, work);
}

double Objective::add_gold(const Design& d, int i, const Unpacked<double>& weights,
                           Gradient<double>* gradient, Workspace& work) {
  const std::int64_t count = gold_->ptr[i + 1] - gold_->ptr[i];
  if (gold_->hint(i) != nullptr || count == 0) return 0.0;
  return add_path(d, i, gold_->segments.data() + gold_->ptr[i], count, -weight_[i], weights,
                  gradient, work);
}

// Returns weight * max over s of score(s) for a sequence with partial labels, and adds the counts
// of the best s.
double Objective::add_best(const Design& d, const Part& part, bool costed,
                           const Unpacked<double>& weights, Gradient<double>* gradient,
                           Workspace& work) {
  const int i = part.sequence, T = d.length(i);
  if (T == 0) return 0.0;
  std::vector<LabelledSegment> best(T);
  const Known known = known_of(part, costed);
  best.resize(predictor().best(d, weights.view(), i, known, best.data(), work));
  if (best.empty()) throw NoAgreement(i);
  const auto count = static_cast<int>(best.size());
  const double cost = costed && !part.constrained ? cost_of(i, best.data(), count) : 0.0;
  return part.weight * cost +
         add_path(d, i, best.data(), count, part.weight, weights, gradient, work);
}

// Returns weight * max over s of (score(s) - score(gold) + cost(s)), and adds the difference of the
// counts.
double Objective::add_hinge(const Design& d, int i, bool costed, const Unpacked<double>& weights,
                            Gradient<double>* gradient, Workspace& work) const {
  if (d.length(i) == 0) return 0.0;
  const LabelledSegment* gold = gold_->segments.data() + gold_->ptr[i];
  const std::int64_t n_gold = gold_->ptr[i + 1] - gold_->ptr[i];
  const std::vector<LabelledSegment> best = best_path(d, i, costed, weights, work);
  const auto count = static_cast<int>(best.size());
  const double cost = costed ? cost_of(i, best.data(), count) : 0.0;
  if (same_path(best, gold, n_gold)) return weight_[i] * cost;
  SequenceCounts counts = path_counts(*layout_, d, i, best.data(), count);
  subtract(counts, path_counts(*layout_, d, i, gold, n_gold));
  if (gradient != nullptr)
    add_counts(*layout_, d, i, counts, weight_[i], weights.view(), *gradient, work);
  return weight_[i] * (cost + counted_score(*layout_, d, i, counts, weights, work));
}

double Objective::add_sequences(const Design& d, const std::int32_t* some, int count,
                                const Unpacked<double>& weights, bool near,
                                Gradient<double>* gradient, Workspace& work) {
  return add_log_z(d, parts_of(some, 0, count), true, weights, near, gradient, work);
}

}  // namespace caesura
