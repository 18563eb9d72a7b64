#include "learn/scorer.hpp"

#include <algorithm>
#include <cmath>

#include "infer/lookup.hpp"
#include "infer/spelled.hpp"
#include "learn/rows_walk.hpp"

namespace caesura {
namespace {

// The paths of single sequences, concatenated.
struct PathParts {
  std::vector<std::vector<LabelledSegment>> segments;
  std::vector<std::vector<double>> probabilities;
  std::vector<std::uint8_t> possible;
  explicit PathParts(int n) : segments(n), probabilities(n), possible(n, 1) {}

  Paths joined() const {
    Paths out;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      out.segments.insert(out.segments.end(), segments[i].begin(), segments[i].end());
      out.probabilities.insert(out.probabilities.end(), probabilities[i].begin(),
                               probabilities[i].end());
      out.ptr.push_back(static_cast<std::int64_t>(out.segments.size()));
    }
    out.possible = possible;
    return out;
  }
};

const Condition* condition_of(const Conditions& conditions, int i) {
  return conditions.empty() ? nullptr : conditions[i];
}

// Whether sequence i has a value so large that sums of scores may overflow, given that weights are
// at most 1e10.  Most attributes have no values, for which this check costs nothing.
bool has_huge_values(const Design& d, int i) {
  constexpr double kHuge = 1e200;
  auto any_huge = [](const Mapped<double>& values, const Mapped<std::int64_t>& ptr,
                     std::int64_t first, std::int64_t rows) {
    if (values.empty()) return false;
    return std::any_of(values.begin() + ptr[first], values.begin() + ptr[first + rows],
                       [](double value) { return std::abs(value) > kHuge; });
  };
  auto any_run = [](const Mapped<Run>& runs, const Mapped<std::int64_t>& ptr, std::int64_t first,
                    std::int64_t rows) {
    if (ptr.empty()) return false;
    return std::any_of(runs.begin() + ptr[first], runs.begin() + ptr[first + rows],
                       [](const Run& run) { return std::abs(run.value) > kHuge; });
  };
  const std::int64_t first = d.first_row(i), rows = d.length(i) + d.n_sites(i);
  return any_huge(d.dense_value, d.dense_ptr, first, rows) ||
         any_huge(d.sparse_value, d.sparse_ptr, first, rows) ||
         any_run(d.pattern_run, d.pattern_ptr, first, rows) ||
         any_run(d.edge_run, d.edge_ptr, d.tokens[i], d.length(i));
}

// Calls work(i, workspace) for each sequence; an InvalidScore is made to name its sequence.
template <class Work>
void for_sequences(const Design& d, int n_threads, Work work) {
  for_each(d.n_sequences(), n_threads,
           [&](int i, Workspace& workspace) { about_sequence(i, [&] { work(i, workspace); }); });
}

}  // namespace

Scorer::Scorer(const Parameters& parameters, const double* w, LabelRules rules) {
  auto layout = std::make_shared<Layout>(*parameters.layout());
  layout->bounds = std::move(rules.bounds);
  layout->barred = std::move(rules.barred);
  layout->barred_start = std::move(rules.barred_start);
  layout->barred_end = std::move(rules.barred_end);
  layout->entry_bias = std::move(rules.entry_bias);
  const Layout& trained = *parameters.layout();
  if (!layout->rules.empty() &&
      (layout->barred != trained.barred || layout->barred_start != trained.barred_start))
    make_program(*layout);  // it has the states that sequences that are not barred reach
  const Design none;
  const int width = trainer<double>().width;
  near_ = weights_.set(*layout, none, places_of(*layout, none, width), w, width, 1);
  order_ = labels_by_length(layout->bounds);
  automaton_ = automaton_of(*layout, order_);
  layout_ = std::move(layout);
}

std::unique_ptr<ScoredProblem> Scorer::problem(const Design& d, int i, Workspace& work,
                                               const Condition* condition, int most_limits) const {
  const Known known = condition == nullptr ? Known{} : condition->known();
  const bool own =
      condition != nullptr && !(condition->rules.empty() && condition->histories.empty());
  auto made = scored_problem(*layout_, d, weights_, i, known, own ? nullptr : automaton_, order_,
                             false, work, condition);
  if (made->problem->input().rules.limits() <= most_limits)
    made->problem->prepare(Method::kOverlapping);
  work.clear();
  return made;
}

// Finds the best segmentation if the best one of the fast kernels violates the condition; usually
// one of the next few satisfies it.
std::vector<LabelledSegment> Scorer::best_kept(const Design& d, int i, const Condition& condition,
                                               Workspace& work) const {
  const Known known = condition.known();
  BestTables tables;
  if (is_fast(nullptr) && walks(d, i) &&
      predictor().best_tables(d, weights_.view(), i, known, &tables, work)) {
    const RowsWalk walk(d, weights_.view(), i, known, tables);
    std::vector<LabelledSegment> found = rows_best_kept(walk, condition);
    if (!found.empty()) return found;
  }
  work.clear();
  const auto made = problem(d, i, work, &condition, 0);
  return answer_finite_best(*made->problem, Method::kOverlapping, work).segments;
}

bool Scorer::find_best(const Design& d, int i, const Condition* condition,
                       std::vector<LabelledSegment>& segments, Workspace& work) const {
  const int T = d.length(i);
  if (T == 0) {  // only rules about whole segmentations can be violated
    const bool own = condition != nullptr && !condition->rules.empty();
    return (own ? condition->rules : layout_->rules).kept_by({}, layout_->Y);
  }
  // The general sweeps check all scores, and track limits only where an answer breaks them.  With
  // more than a few states that is faster than a sweep over the sets of labels that occurred.
  constexpr std::int64_t kFew = 100'000;  // states, over all tokens
  const ArcProgram* program = layout_->program.get();
  const std::int64_t rows = T + 1 + (weights_.view().by_state ? d.n_sites(i) : 0);
  const bool possible =
      layout_->histories == nullptr || (program != nullptr && program->fits(rows));
  const bool fast =
      possible && (program == nullptr || program->plain || rows * program->lanes <= kFew);
  if (!fast || has_huge_values(d, i)) {
    try {
      const auto made = problem(d, i, work, condition, 0);
      segments = answer_finite_best(*made->problem, Method::kOverlapping, work).segments;
      return !segments.empty();
    } catch (const TooLarge&) {
      if (fast || !possible) throw;
      work.clear();  // the sweep over all sets of labels is slow, but it does not give up
    }
  }
  segments.resize(T);
  const Known known = condition == nullptr ? Known{} : condition->known();
  int count = predictor().best(d, weights_.view(), i, known, segments.data(), work);
  if (condition != nullptr && count > 0 &&
      !condition->kept_by(segments.data(), count, layout_->Y)) {
    segments = best_kept(d, i, *condition, work);
    count = static_cast<int>(segments.size());
  }
  segments.resize(count);
  return count > 0;
}

Paths Scorer::best(const Design& d, const Reading* reading, int n_threads,
                   const Conditions& conditions) const {
  PathParts parts(d.n_sequences());
  for_sequences(d, n_threads, [&](int i, Workspace& work) {
    std::vector<LabelledSegment>& segments = parts.segments[i];
    parts.possible[i] = find_best(d, i, condition_of(conditions, i), segments, work);
    if (reading == nullptr) return;
    segments.resize(read_segments(*reading, segments.data(), static_cast<int>(segments.size())));
  });
  return parts.joined();
}

Paths Scorer::confident(const Design& d, const Reading& reading, int n_threads,
                        const Conditions& conditions) const {
  PathParts parts(d.n_sequences());
  for_sequences(d, n_threads, [&](int i, Workspace& work) {
    const Condition* condition = condition_of(conditions, i);
    std::vector<LabelledSegment>& segments = parts.segments[i];
    std::vector<double>& chances = parts.probabilities[i];
    const bool fast = is_fast(condition) && d.length(i) > 0;
    chances.resize(d.length(i));
    int kept;
    if (fast) {
      const Known known = condition == nullptr ? Known{} : condition->known();
      segments.resize(d.length(i));
      parts.possible[i] = predictor().confident(d, weights_.view(), i, known, reading,
                                                segments.data(), chances.data(), &kept, work) > 0;
    } else {
      parts.possible[i] = find_best(d, i, condition, segments, work);
      kept = read_segments(reading, segments.data(), static_cast<int>(segments.size()));
    }
    segments.resize(kept);
    chances.resize(kept);
    if (kept == 0 || (fast && !std::isnan(chances[0]))) return;
    work.clear();
    const auto made = problem(d, i, work, condition);
    const Lookup lookup(*made->problem, Method::kOverlapping);
    for (int k = 0; k < kept; ++k) {
      const auto [start, end, state] = segments[k];
      const double chance =
          reading.tags()
              ? lookup.run(start, end, reading.states[reading.label[state]], reading.joined.data())
              : lookup.segment(start, end, state);
      chances[k] = std::min(chance, 1.0);
    }
  });
  return parts.joined();
}

// The posterior from the rows of the fast kernels.  Potentials are the scores of sites that are not
// zero, as in problem().
Posterior Scorer::fast_posterior(const Design& d, int i, const Known& known, Workspace& work,
                                 bool* good) const {
  const Weights<double>& w = weights_.view();
  const int T = d.length(i), Y = layout_->Y, stride = w.stride, n_sites = d.n_sites(i);
  const std::size_t size = static_cast<std::size_t>(T + n_sites) * stride;
  int n_edges = 0;
  for (int t = 1; t < T; ++t) {
    d.for_edges(i, t, [&](std::int32_t, std::int32_t, double) { ++n_edges; });
  }
  RowCounts counts;
  double log_z;
  counts.log_z = &log_z;
  counts.scores = work.doubles(size);
  counts.rows = work.doubles(size);
  counts.boundaries = work.doubles(T + 1);
  counts.transitions = work.doubles(static_cast<std::size_t>(stride) * stride);
  counts.starts = work.doubles(stride);
  counts.ends = work.doubles(stride);
  counts.edges = work.doubles(n_edges + 1);
  std::fill(counts.boundaries, counts.boundaries + T + 1, 1.0);  // a chain has all of them
  *good = predictor().posterior(d, w, i, known, counts, work);
  if (!*good) return {};
  int n_potentials = 0;
  auto for_sites = [&](auto visit) {
    for (int k = 0; k < n_sites; ++k) {
      const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(T + k) * stride;
      for (int y = 0; y < Y; ++y) {
        if (counts.scores[row + y] != 0.0) visit(counts.rows[row + y]);
      }
    }
  };
  for_sites([&](double) { ++n_potentials; });
  Posterior out = make_posterior(T, Y, 0, n_potentials, n_edges, 0);
  auto copy_rows = [&](const double* from, int rows, double* to) {
    for (int r = 0; r < rows; ++r) {
      const double* row = from + static_cast<std::ptrdiff_t>(r) * stride;
      for (int y = 0; y < Y; ++y) *to++ = std::clamp(row[y], 0.0, 1.0);
    }
  };
  out.log_z = log_z;
  copy_rows(counts.rows, T, out.counts.tokens);
  std::transform(counts.boundaries, counts.boundaries + T + 1, out.counts.boundaries,
                 [](double p) { return std::min(p, 1.0); });
  for (int a = 0; a < Y; ++a) {
    std::copy_n(counts.transitions + static_cast<std::ptrdiff_t>(a) * stride, Y,
                out.counts.transitions + static_cast<std::ptrdiff_t>(a) * Y);
  }
  copy_rows(counts.starts, 1, out.counts.starts);
  copy_rows(counts.ends, 1, out.counts.ends);
  double* potential = out.counts.potentials;
  for_sites([&](double count) { *potential++ = count; });
  std::copy_n(counts.edges, n_edges, out.counts.edges);
  return out;
}

std::vector<Posterior> Scorer::posterior(const Design& d, bool want_entropy, int n_threads,
                                         const Conditions& conditions) const {
  std::vector<Posterior> out(d.n_sequences());
  for_sequences(d, n_threads, [&](int i, Workspace& work) {
    const Condition* condition = condition_of(conditions, i);
    if (is_fast(condition) && !want_entropy && d.length(i) > 0) {
      bool good;
      const Known known = condition == nullptr ? Known{} : condition->known();
      out[i] = fast_posterior(d, i, known, work, &good);
      if (good) return;
      work.clear();
    }
    const auto made = problem(d, i, work, condition);
    out[i] = answer_posterior(*made->problem, Method::kOverlapping, work, want_entropy);
  });
  return out;
}

std::vector<double> Scorer::log_partition(const Design& d, int n_threads,
                                          const Conditions& conditions) const {
  std::vector<double> out(d.n_sequences());
  for_sequences(d, n_threads, [&](int i, Workspace& work) {
    const Condition* condition = condition_of(conditions, i);
    const Known known = condition == nullptr ? Known{} : condition->known();
    if (is_fast(condition) && d.length(i) > 0 &&
        predictor().log_partition(d, weights_.view(), i, known, &out[i], work))
      return;
    work.clear();
    const auto made = problem(d, i, work, condition);
    out[i] = answer_log_partition(*made->problem, Method::kOverlapping, work);
  });
  return out;
}

// Whether the n best segmentations are found directly on the rows of the best sweep.
bool Scorer::walks(const Design& d, int i) const {
  const std::vector<std::int32_t>& bounds = layout_->bounds;
  auto is_short = [](std::int32_t bound) { return bound > 0 && bound < kLongestWalked; };
  const int T = d.length(i);
  return T > 0 && (T <= kLongestWalked || std::all_of(bounds.begin(), bounds.end(), is_short));
}

std::vector<std::vector<Answer>> Scorer::n_best(const Design& d, int n, int n_threads,
                                                std::vector<double>* log_z,
                                                const Conditions& conditions) const {
  std::vector<std::vector<Answer>> out(d.n_sequences());
  log_z->assign(d.n_sequences(), 0.0);
  for_sequences(d, n_threads, [&](int i, Workspace& work) {
    BestTables tables;
    const Condition* condition = condition_of(conditions, i);
    const Known known = condition == nullptr ? Known{} : condition->known();
    // The general sweeps refuse a larger n early if so many answers could not be returned.
    constexpr int kMany = 100'000;
    if (n <= kMany && is_fast(condition) && walks(d, i) &&
        predictor().best_tables(d, weights_.view(), i, known, &tables, work)) {
      out[i] = rows_n_best(RowsWalk(d, weights_.view(), i, known, tables), n);
      (*log_z)[i] = tables.log_z;
      return;
    }
    work.clear();
    const auto made = problem(d, i, work, condition);
    out[i] = answer_n_best(*made->problem, Method::kOverlapping, work, n);
    work.clear();
    (*log_z)[i] = answer_log_partition(*made->problem, Method::kOverlapping, work);
  });
  return out;
}

std::vector<std::vector<Answer>> Scorer::n_best_spelled(const Design& d, const Reading& reading,
                                                        int n, int n_threads,
                                                        std::vector<double>* log_z,
                                                        const Conditions& conditions) const {
  std::vector<std::vector<Answer>> out(d.n_sequences());
  *log_z = log_partition(d, n_threads, conditions);
  for_sequences(d, n_threads, [&](int i, Workspace& work) {
    if ((*log_z)[i] == kMinusInfinity) return;
    const auto made = problem(d, i, work, condition_of(conditions, i), 0);
    out[i] = caesura::n_best_spelled(*made->problem, Method::kOverlapping, work, reading, n);
  });
  return out;
}

std::vector<std::vector<Answer>> Scorer::samples(const Design& d, int n, std::uint64_t first_seed,
                                                 int n_threads,
                                                 const Conditions& conditions) const {
  std::vector<std::vector<Answer>> out(d.n_sequences());
  for_sequences(d, n_threads, [&](int i, Workspace& work) {
    const auto made = problem(d, i, work, condition_of(conditions, i), kMostTracked);
    out[i] = answer_samples(*made->problem, Method::kOverlapping, work, n, first_seed + i);
  });
  return out;
}

}  // namespace caesura
