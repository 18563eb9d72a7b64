#include "base/interrupt.hpp"

namespace caesura {
namespace {

constexpr std::chrono::milliseconds kPause{20};  // between two calls of asked_
thread_local CallScope* innermost = nullptr;

}  // namespace

CallScope::CallScope(Asked asked)
    : asked_(asked), stop_(&own_stop_), next_(Clock::now() + kPause), before_(innermost) {
  innermost = this;
}

CallScope::CallScope(CallScope* caller)
    : asked_(nullptr), stop_(caller == nullptr ? &own_stop_ : caller->stop_), before_(innermost) {
  innermost = this;
}

CallScope::~CallScope() { innermost = before_; }

CallScope* CallScope::current() { return innermost; }

void CallScope::check() {
  if (stop_->load(std::memory_order_relaxed)) throw Interrupted();
  if (asked_ == nullptr) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kPause;
  if (!asked_()) return;
  stop_->store(true, std::memory_order_relaxed);
  throw Interrupted();
}

void check_interrupt() {
  if (innermost != nullptr) innermost->check();
}

}  // namespace caesura
