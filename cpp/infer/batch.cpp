#include "infer/batch.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

namespace caesura {
namespace {

constexpr int kBlock = 256;  // sequences whose shared counts are stored before they are summed

// Returns the scores themselves if they are doubles, else a copy in scratch memory.
template <class Real>
const double* widened(const Real* from, std::size_t count, Workspace& work) {
  if constexpr (std::is_same_v<Real, double>) {
    return from;
  } else {
    double* to = work.doubles(count);
    std::copy(from, from + count, to);
    return to;
  }
}

// The given scores as doubles; zeros if they are null or if each sequence has its own.
template <class Real>
std::vector<double> shared_scores(const Real* given, bool own, std::size_t count) {
  std::vector<double> scores(count, 0.0);
  if (given != nullptr && !own) std::copy(given, given + count, scores.begin());
  return scores;
}

// to[i] = factor * from[i]
template <class Real>
void scaled(const double* from, std::size_t count, double factor, Real* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Real>(factor * from[i]);
}

// The name in BatchInput of an array of a Problem.
std::string batch_name(const std::string& name) {
  return name == "emission" ? "tokens" : name == "spans" ? "segments" : name;
}

}  // namespace

template <class Real>
Batch<Real>::Batch(BatchInput<Real> input) : in_(std::move(input)) {
  const std::size_t Y = in_.Y;
  order_ = labels_by_length(in_.bounds);
  try {
    automaton_ = automaton_for(order_, in_.patterns, in_.rules, in_.same_label_adjacent);
  } catch (const TooLarge&) {
    automaton_ = nullptr;  // each sequence gets one for the labels that it can have
  }
  transition_ = shared_scores(in_.transition, in_.own_transition, Y * Y);
  start_ = shared_scores(in_.start, in_.own_start, Y);
  end_ = shared_scores(in_.end, in_.own_end, Y);
  pattern_scores_ = shared_scores(in_.pattern_scores, false, in_.patterns.size());
  targets_.resize(in_.patterns.size());
  std::iota(targets_.begin(), targets_.end(), in_.Y);
  // Group the spans by sequence, in the order given, by a counting sort.
  span_ptr_.assign(in_.B + 1, 0);
  for (std::int64_t i = 0; i < in_.n_spans; ++i) ++span_ptr_[in_.span_index[4 * i] + 1];
  std::partial_sum(span_ptr_.begin(), span_ptr_.end(), span_ptr_.begin());
  std::vector<std::int64_t> fill(span_ptr_.begin(), span_ptr_.end() - 1);
  span_at_.resize(in_.n_spans);
  for (std::int64_t i = 0; i < in_.n_spans; ++i) span_at_[fill[in_.span_index[4 * i]]++] = i;
  dense_ = is_dense();
  for (const std::int32_t bound : in_.bounds) bounded_ |= bound > 0 && bound < in_.L;
}

// Whether the kernel for dense scores applies: a first-order model without rules, whose only scores
// by token are those of segments.
template <class Real>
bool Batch<Real>::is_dense() const {
  return in_.segments != nullptr && in_.L > 0 && in_.tokens == nullptr && in_.starts == nullptr &&
         in_.ends == nullptr && in_.allowed == nullptr && in_.boundaries == nullptr &&
         in_.n_spans == 0 && in_.patterns.empty() && in_.rules.empty();
}

// Calls the kernel for dense scores.  Returns false if it does not apply or a number left its
// range; a Problem must be used then.
template <class Real>
bool Batch<Real>::dense(int b, Workspace& work, const DenseCounts<Real>* counts,
                        double* log_z) const {
  if (!dense_ || in_.lengths[b] == 0) return false;
  const std::size_t Y = in_.Y;
  DenseSegments<Real> asked;
  asked.T = in_.lengths[b];
  asked.L = in_.L;
  asked.Y = in_.Y;
  asked.scores = in_.segments + in_.rows[b] * in_.L * Y;
  asked.bounds = bounded_ ? in_.bounds.data() : nullptr;
  asked.transition =
      in_.own_transition ? widened(in_.transition + b * Y * Y, Y * Y, work) : transition_.data();
  asked.start = in_.own_start ? widened(in_.start + b * Y, Y, work) : start_.data();
  asked.end = in_.own_end ? widened(in_.end + b * Y, Y, work) : end_.data();
  asked.same_label_adjacent = in_.same_label_adjacent;
  if constexpr (std::is_same_v<Real, float>) {
    return kernels().dense32(asked, work, counts, log_z);
  } else {
    return kernels().dense64(asked, work, counts, log_z);
  }
}

// Adds the potentials of sequence b.  Their ids follow this order: starts [T][Y], ends [T][Y], and
// the spans of the sequence, each only if given.
template <class Real>
void Batch<Real>::add_potentials(int b, ProblemInput& problem) const {
  const int T = problem.T, Y = in_.Y;
  auto add = [&](int start, int end, int label, std::uint8_t flags, double score,
                 const char* name) {
    if (bad_score(score)) throw InvalidScore(name);
    const auto id = static_cast<std::int32_t>(problem.potentials.size());
    problem.potentials.push_back({start, end, label, flags, id, score});
  };
  auto add_all = [&](const Real* scores, std::uint8_t flags, const char* name) {
    if (scores == nullptr) return;
    const Real* at = scores + in_.rows[b] * Y;
    for (int t = 0; t < T; ++t) {
      for (int y = 0; y < Y; ++y) add(t, t + 1, y, flags, *at++, name);
    }
  };
  add_all(in_.starts, kOpenEnd, "starts");
  add_all(in_.ends, kOpenStart, "ends");
  for (std::int64_t k = span_ptr_[b]; k < span_ptr_[b + 1]; ++k) {
    const std::int32_t* span = in_.span_index + 4 * span_at_[k];
    add(span[1], span[2], span[3], 0, in_.span_scores[span_at_[k]], "span_scores");
  }
}

template <class Real>
std::unique_ptr<Problem> Batch<Real>::problem_of(int b, Workspace& work) const {
  ProblemInput problem;
  const std::size_t T = in_.lengths[b], Y = in_.Y, row = in_.rows[b];
  problem.T = in_.lengths[b];
  problem.Y = in_.Y;
  if (in_.tokens != nullptr) {
    problem.emission = widened(in_.tokens + row * Y, T * Y, work);
  } else {
    double* zeros = work.doubles(T * Y);
    std::fill(zeros, zeros + T * Y, 0.0);
    problem.emission = zeros;
  }
  problem.transition =
      in_.own_transition ? widened(in_.transition + b * Y * Y, Y * Y, work) : transition_.data();
  problem.start = in_.own_start ? widened(in_.start + b * Y, Y, work) : start_.data();
  problem.end = in_.own_end ? widened(in_.end + b * Y, Y, work) : end_.data();
  if (in_.segments != nullptr) {
    problem.spans = widened(in_.segments + row * in_.L * Y, T * in_.L * Y, work);
    problem.span_length = in_.L;
  }
  problem.same_label_adjacent = in_.same_label_adjacent;
  problem.bounds = in_.bounds;
  problem.boundary.assign(T + 1, 0);
  if (in_.boundaries != nullptr) {
    for (std::size_t t = 1; t < T; ++t) {
      const std::int8_t mark = in_.boundaries[row + t];
      problem.boundary[t] = mark > 0 ? kForced : mark < 0 ? kBarred : 0;
    }
  }
  if (in_.allowed != nullptr) {
    problem.allowed.assign(in_.allowed + row * Y, in_.allowed + (row + T) * Y);
  }
  problem.histories = in_.patterns;
  problem.static_targets = targets_;
  problem.static_scores = pattern_scores_;
  problem.rules = in_.rules;
  add_potentials(b, problem);
  auto made = std::make_unique<Problem>(std::move(problem), automaton_, order_);
  made->prepare(Method::kOverlapping);
  return made;
}

// For the sequences [begin, end), in parallel: calls fast(b, workspace), and if that returns false,
// work(b, problem, workspace).
template <class Real>
template <class Fast, class Work>
void Batch<Real>::for_sequences(int begin, int end, int n_threads, Fast fast, Work work) const {
  std::vector<std::string> invalid(end - begin);
  for_each(end - begin, n_threads, [&](int i, Workspace& workspace) {
    if (fast(begin + i, workspace)) return;
    try {
      Workspace own;  // queries with limits clear the scratch memory of the thread
      Workspace& scores = in_.rules.limits() > 0 ? own : workspace;
      work(begin + i, *problem_of(begin + i, scores), workspace);
    } catch (const InvalidScore& error) {
      invalid[i] = batch_name(error.what());
    }
  });
  for (int i = 0; i < end - begin; ++i) {  // the first invalid sequence, for any number of threads
    if (!invalid[i].empty()) throw InvalidBatch(begin + i, invalid[i]);
  }
}

template <class Real>
void Batch<Real>::log_partition(int n_threads, Real* out) const {
  auto fast = [&](int b, Workspace& work) {
    double log_z;
    if (!dense(b, work, nullptr, &log_z)) return false;
    out[b] = static_cast<Real>(log_z);
    return true;
  };
  for_sequences(0, in_.B, n_threads, fast, [&](int b, const Problem& problem, Workspace& work) {
    out[b] = static_cast<Real>(answer_log_partition(problem, Method::kOverlapping, work));
  });
}

// Writes the counts of the scores that belong to sequence b alone.
template <class Real>
void Batch<Real>::put(int b, const Posterior& found, const BatchCounts<Real>& out) const {
  const std::size_t Y = in_.Y, row = in_.rows[b], size = in_.lengths[b] * Y;
  const double factor = out.weights == nullptr ? 1.0 : out.weights[b];
  const Counts& counts = found.counts;
  if (out.tokens != nullptr) scaled(counts.tokens, size, factor, out.tokens + row * Y);
  if (out.segments != nullptr && counts.spans != nullptr) {
    scaled(counts.spans, size * in_.L, factor, out.segments + row * in_.L * Y);
  }
  const double* potential = counts.potentials;
  auto take = [&](const Real* given, Real* to) {
    if (given == nullptr) return;
    if (to != nullptr) scaled(potential, size, factor, to + row * Y);
    potential += size;
  };
  take(in_.starts, out.starts);
  take(in_.ends, out.ends);
  for (std::int64_t k = span_ptr_[b]; k < span_ptr_[b + 1]; ++k, ++potential) {
    if (out.spans != nullptr) out.spans[span_at_[k]] = static_cast<Real>(factor * *potential);
  }
}

// The counts of shared scores are summed in the order of the sequences, so that the result is the
// same for any number of threads: those of a block of sequences are stored until all are done.
template <class Real>
void Batch<Real>::posterior(int n_threads, const BatchCounts<Real>& out) const {
  const std::size_t Y = in_.Y, P = in_.patterns.size(), size = Y * Y + 2 * Y + P;
  std::vector<double> kept(std::min(in_.B, kBlock) * size), totals(size, 0.0);
  auto put_shared = [&](int b, const double* from, bool own, std::size_t count, Real* to) {
    if (to != nullptr && own) std::copy(from, from + count, to + b * count);
  };
  int begin = 0;
  auto fast = [&](int b, Workspace& work) {
    if (out.segments == nullptr || out.entropy != nullptr) return false;
    double* mine = kept.data() + (b - begin) * size;
    DenseCounts<Real> counts;
    counts.segments = out.segments + in_.rows[b] * in_.L * Y;
    counts.transitions = mine;
    counts.starts = mine + Y * Y;
    counts.ends = mine + Y * Y + Y;
    counts.factor = out.weights == nullptr ? 1.0 : out.weights[b];
    double log_z;
    if (!dense(b, work, &counts, &log_z)) {
      if (dense_) std::fill_n(counts.segments, std::size_t(in_.lengths[b]) * in_.L * Y, Real(0));
      return false;
    }
    if (out.log_z != nullptr) out.log_z[b] = static_cast<Real>(log_z);
    scaled(mine, Y * Y + 2 * Y, counts.factor, mine);
    return true;
  };
  for (; begin < in_.B; begin += kBlock) {
    const int end = std::min(begin + kBlock, in_.B);
    for_sequences(begin, end, n_threads, fast, [&](int b, const Problem& problem, Workspace& work) {
      const Posterior found =
          answer_posterior(problem, Method::kOverlapping, work, out.entropy != nullptr);
      double* mine = kept.data() + (b - begin) * size;
      std::fill(mine, mine + size, 0.0);
      if (out.log_z != nullptr) out.log_z[b] = static_cast<Real>(found.log_z);
      if (out.entropy != nullptr) out.entropy[b] = static_cast<Real>(found.entropy);
      if (found.log_z == kMinusInfinity) return;
      put(b, found, out);
      const double factor = out.weights == nullptr ? 1.0 : out.weights[b];
      scaled(found.counts.transitions, Y * Y, factor, mine);
      scaled(found.counts.starts, Y, factor, mine + Y * Y);
      scaled(found.counts.ends, Y, factor, mine + Y * Y + Y);
      scaled(found.patterns, P, factor, mine + Y * Y + 2 * Y);
    });
    for (int b = begin; b < end; ++b) {
      const double* mine = kept.data() + (b - begin) * size;
      for (std::size_t i = 0; i < size; ++i) totals[i] += mine[i];
      put_shared(b, mine, in_.own_transition, Y * Y, out.transition);
      put_shared(b, mine + Y * Y, in_.own_start, Y, out.start);
      put_shared(b, mine + Y * Y + Y, in_.own_end, Y, out.end);
    }
  }
  auto put_total = [&](std::size_t from, bool own, std::size_t count, Real* to) {
    if (to != nullptr && !own) std::copy_n(totals.begin() + from, count, to);
  };
  put_total(0, in_.own_transition, Y * Y, out.transition);
  put_total(Y * Y, in_.own_start, Y, out.start);
  put_total(Y * Y + Y, in_.own_end, Y, out.end);
  put_total(Y * Y + 2 * Y, false, P, out.patterns);
}

// Computes a list of answers for each sequence, and concatenates them.
template <class Real>
template <class Ask>
BatchPaths Batch<Real>::paths(int n_threads, Ask ask) const {
  std::vector<std::vector<Answer>> answers(in_.B);
  auto none = [](int, Workspace&) { return false; };
  for_sequences(0, in_.B, n_threads, none, [&](int b, const Problem& problem, Workspace& work) {
    answers[b] = ask(b, problem, work);
  });
  BatchPaths out;
  for (const std::vector<Answer>& of_one : answers) {
    for (const Answer& answer : of_one) {
      if (!answer.possible) continue;
      for (const LabelledSegment& segment : answer.segments) {
        out.starts.push_back(segment.start);
        out.ends.push_back(segment.end);
        out.labels.push_back(segment.label);
      }
      out.offsets.push_back(static_cast<std::int64_t>(out.starts.size()));
      out.scores.push_back(answer.score);
    }
    out.sequences.push_back(static_cast<std::int64_t>(out.scores.size()));
  }
  return out;
}

template <class Real>
BatchPaths Batch<Real>::best(int n_threads) const {
  return paths(n_threads, [](int, const Problem& problem, Workspace& work) {
    return std::vector<Answer>{answer_best(problem, Method::kOverlapping, work)};
  });
}

template <class Real>
BatchPaths Batch<Real>::n_best(int n, int n_threads) const {
  return paths(n_threads, [n](int, const Problem& problem, Workspace& work) {
    return answer_n_best(problem, Method::kOverlapping, work, n);
  });
}

template <class Real>
BatchPaths Batch<Real>::samples(int n, std::uint64_t seed, int n_threads) const {
  return paths(n_threads, [n, seed](int b, const Problem& problem, Workspace& work) {
    std::vector<Answer> drawn = answer_samples(problem, Method::kOverlapping, work, n, seed + b);
    for (Answer& answer : drawn) answer.score = problem.score(answer.segments);
    return drawn;
  });
}

template class Batch<float>;
template class Batch<double>;

}  // namespace caesura
