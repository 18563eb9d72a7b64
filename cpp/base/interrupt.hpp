// Interruption of kernels: long loops check periodically whether the caller wants to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>

namespace caesura {

// Thrown by a kernel that was interrupted.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// The scope of a kernel call, on the calling thread or on one of its helper threads.  An
// interruption of the calling thread also stops its helper threads.
class CallScope {
 public:
  using Asked = bool (*)();

  // `asked` returns whether to stop, and is called at most every 20 ms.  If it is null, the call
  // cannot be interrupted.
  explicit CallScope(Asked asked);
  // The scope of a helper thread.  `caller` is the scope of the calling thread, or null if it has
  // none.
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

// Throws Interrupted if the current call was interrupted.  It reads a clock, which takes about
// 25 ns, so tight loops do not call it in every iteration.
void check_interrupt();

// Number of tokens that the fast kernels process between two checks.  A token takes about 0.5 ms
// with 1,000 labels.  With few labels it takes 0.05 us, and the cost of a check every 256 tokens is
// still negligible.
constexpr int kPatience = 256;

}  // namespace caesura
