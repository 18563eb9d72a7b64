// Sums over a vector of parameters, and passes that write others, on threads.  Sums are computed in
// fixed blocks, which are added in order, so that results are bitwise identical for any number of
// threads.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace caesura::block_sums {

constexpr std::int64_t kBlock = 4096;    // parameters whose terms are summed together
constexpr std::int64_t kLeastWork = 64;  // blocks times sums for which starting a thread pays off

// ---- Pairs of doubles, or single doubles ----

using Two = double __attribute__((vector_size(16)));

template <class V>
V load(const double* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
void store(double* p, V v) {
  std::memcpy(p, &v, sizeof v);
}

// ---- Sums over blocks ----

template <class V, int K>
struct Terms {
  V v[K];
};

// K sums over [begin, end) of what step(V, i) returns, in eight lanes and a tail.
template <int K, class Step>
void sum_block(std::int64_t begin, std::int64_t end, double* out, const Step& step) {
  Two lanes[4][K] = {};
  std::int64_t i = begin;
  for (; i + 8 <= end; i += 8) {
    for (int lane = 0; lane < 4; ++lane) {
      const Terms<Two, K> terms = step(Two{}, i + 2 * lane);
      for (int k = 0; k < K; ++k) lanes[lane][k] += terms.v[k];
    }
  }
  double tail[K] = {};
  for (; i < end; ++i) {
    const Terms<double, K> terms = step(double{}, i);
    for (int k = 0; k < K; ++k) tail[k] += terms.v[k];
  }
  for (int k = 0; k < K; ++k) {
    const Two sum = (lanes[0][k] + lanes[1][k]) + (lanes[2][k] + lanes[3][k]);
    out[k] = (sum[0] + sum[1]) + tail[k];
  }
}

// ---- Threads ----

// The threads of one call.  Each keeps its own blocks; meet() is the barrier after each pass.
class Crew {
 public:
  int size() const { return size_; }
  void meet() {
    if (size_ == 1) return;
    std::unique_lock<std::mutex> lock(guard_);
    const int round = round_;
    if (++waiting_ == size_) {
      waiting_ = 0;
      ++round_;
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return round != round_; });
    }
  }
  // Sets the number of threads, which is known once all that the system provides have started.
  void complete(int size) {
    const std::lock_guard<std::mutex> lock(guard_);
    size_ = size;
    changed_.notify_all();
  }
  void wait_until_complete() {
    std::unique_lock<std::mutex> lock(guard_);
    changed_.wait(lock, [&] { return size_ > 0; });
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  int size_ = 0, waiting_ = 0, round_ = 0;
};

// The part of the parameters that belongs to a thread, and the passes over it.
class Part {
 public:
  Part(Crew& crew, int member, std::int64_t n, std::vector<double>& sums)
      : crew_(crew), member_(member), n_(n), blocks_((n + kBlock - 1) / kBlock), sums_(sums) {
    first_ = blocks_ * member / crew.size();
    last_ = blocks_ * (member + 1) / crew.size();
  }
  bool first() const { return member_ == 0; }
  // Makes a pass over all parameters.  Returns the K sums on every thread.
  template <int K, class Step>
  Terms<double, K> pass(const Step& step) {
    Terms<double, K> total{};
    sum_blocks(
        K,
        [&](std::int64_t begin, std::int64_t end, double* out) {
          sum_block<K>(begin, end, out, step);
        },
        total.v);
    return total;
  }
  // The same for a number of sums that is known at run time.  Calls sums(begin, end, out) for each
  // block, in reverse order if `down`: a pass in the opposite direction to the one before finds in
  // the cache what that one read last.
  template <class Sums>
  void sum_blocks(int count, const Sums& sums, double* total, bool down = false) {
    double* mine = sums_.data() + used_;  // of this pass only: a fast thread may be in the next one
    used_ += static_cast<std::size_t>(blocks_) * count;
    for (std::int64_t k = first_; k < last_; ++k) {
      const std::int64_t b = down ? first_ + last_ - 1 - k : k;
      sums(b * kBlock, std::min(n_, (b + 1) * kBlock), mine + b * count);
    }
    crew_.meet();
    std::fill_n(total, count, 0.0);
    for (std::int64_t b = 0; b < blocks_; ++b) {
      for (int k = 0; k < count; ++k) total[k] += mine[b * count + k];
    }
  }

 private:
  Crew& crew_;
  int member_;
  std::int64_t n_, blocks_, first_, last_;
  std::vector<double>& sums_;
  std::size_t used_ = 0;
};

// Calls work(part) on each thread.  `sums` is the total number of sums of all its passes.  `work`
// is a std::function so that the passes are not compiled twice, for the calling thread and for the
// others.
inline void on_threads(std::int64_t n, int n_threads, int sums,
                       const std::function<void(Part&)>& work) {
  const std::int64_t blocks = (n + kBlock - 1) / kBlock;
  std::vector<double> place(static_cast<std::size_t>(blocks) * sums);
  const int most =
      static_cast<int>(std::min({std::int64_t{n_threads}, blocks, blocks * sums / kLeastWork}));
  Crew crew;
  std::vector<std::thread> threads;
  try {
    for (int member = 1; member < most; ++member) {
      threads.emplace_back([&crew, &place, &work, member, n] {
        crew.wait_until_complete();
        Part part(crew, member, n, place);
        work(part);
      });
    }
  } catch (const std::system_error&) {
    // If the system provides no more threads, the existing ones do the work.
  }
  crew.complete(static_cast<int>(threads.size()) + 1);
  Part part(crew, 0, n, place);
  work(part);
  for (std::thread& thread : threads) thread.join();
}

template <int K, class Step>
Terms<double, K> one_pass(std::int64_t n, int n_threads, const Step& step) {
  Terms<double, K> total;
  on_threads(n, n_threads, K, [&](Part& part) {
    const Terms<double, K> sums = part.pass<K>(step);  // the same on each thread
    if (part.first()) total = sums;
  });
  return total;
}

}  // namespace caesura::block_sums
