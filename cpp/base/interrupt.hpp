// Interruption of kernels: long loops check from time to time whether the caller wants to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>

namespace caesura {

// Thrown by a kernel that was interrupted.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// A call of the kernels, on the calling thread or on a helper thread.  Helper threads stop when
// the calling thread is interrupted.
class CallScope {
 public:
  using Asked = bool (*)();

  // `asked` is called at most every few milliseconds; if it is null, the call is not interrupted.
  explicit CallScope(Asked asked);
  // For a helper thread of another call; null if that call has no scope.
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

// Throws Interrupted if the call of this thread was interrupted.  It reads a clock, which takes
// about 25 ns, so tight loops call it every few rounds only.
void check_interrupt();

// Number of tokens of a sequence that the fast kernels process between two checks.  With 1,000
// labels, a token costs about 0.5 ms; with few, 0.05 us, beside which a check every 256 tokens is
// not noticed.
constexpr int kPatience = 256;

}  // namespace caesura
