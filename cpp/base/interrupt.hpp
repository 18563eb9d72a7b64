// Stopping a kernel from outside: long loops ask now and then whether the caller wants them to end.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>

namespace caesura {

// Thrown out of a kernel that was asked to stop.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// One call into the kernels, on the thread that makes it or on one that helps.  Threads that help
// stop when the caller's thread is asked to.
class CallScope {
 public:
  using Asked = bool (*)();

  // `asked` is called every few milliseconds of work at most; null: the call is never interrupted.
  explicit CallScope(Asked asked);
  // On a thread that helps the call of another; null where that one has no scope.
  explicit CallScope(CallScope* caller);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  static CallScope* current();
  void check();

 private:
  using Clock = std::chrono::steady_clock;
  Asked asked_;
  std::atomic<bool> own_stop_{false};
  std::atomic<bool>* stop_;
  Clock::time_point next_;
  CallScope* before_;
};

// Throws Interrupted if this thread's call was asked to stop.  It reads a clock, some 25 ns: tight
// loops call it every few rounds.
void check_interrupt();

// Tokens of one sequence that the fast kernels take between two such checks.  With 1,000 labels, a
// token costs about 0.5 ms; with few, 0.05 us, beside which a check every 256 tokens is not
// noticed.
constexpr int kPatience = 256;

}  // namespace caesura
