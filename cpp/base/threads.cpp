#include "base/threads.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace caesura {
namespace {

// Clears a workspace at the end of a scope, also when an exception is thrown.
struct Cleared {
  Workspace& workspace;
  ~Cleared() { workspace.clear(); }
};

// The helper threads of a call.  The caller can be interrupted while it waits for them.
class Helpers {
 public:
  template <class Body>
  Helpers(int count, Body body) {
    CallScope* caller = CallScope::current();
    try {
      for (int i = 0; i < count; ++i) {
        threads_.emplace_back([this, caller, body] {
          {
            const CallScope scope(caller);
            body();
          }
          const std::lock_guard<std::mutex> lock(guard_);
          ++ended_;
          all_.notify_one();
        });
      }
    } catch (const std::system_error&) {
      // If the system provides no more threads, the existing ones do the work.
    }
  }
  // Waits for all threads and calls `check` about every 20 ms, which must not throw.
  template <class Check>
  void join(Check check) {
    std::unique_lock<std::mutex> lock(guard_);
    while (ended_ < threads_.size()) {
      all_.wait_for(lock, std::chrono::milliseconds(20));
      lock.unlock();
      check();
      lock.lock();
    }
    lock.unlock();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::mutex guard_;
  std::condition_variable all_;
  std::size_t ended_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace

void for_each(int count, int n_threads, const std::function<void(int, Workspace&)>& work) {
  // Threads claim single items when there are few, and chunks when there are many.
  const int chunk = count >= 64 * std::int64_t{n_threads} ? 4 : 1;
  n_threads = std::min(n_threads, count);
  if (n_threads <= 1) {
    static thread_local Workspace workspace;
    for (int i = 0; i < count; ++i) {
      const Cleared cleared{workspace};
      check_interrupt();
      work(i, workspace);
    }
    return;
  }
  std::atomic<int> next{0};
  std::exception_ptr error;
  int failed = count;  // the smallest i that threw; all smaller ones are claimed and will finish
  std::mutex guard;
  auto guarded = [&](const int& i, auto&& some) {
    try {
      some();
    } catch (...) {
      const std::lock_guard<std::mutex> lock(guard);
      if (!error || i < failed) {
        error = std::current_exception();
        failed = i;
      }
      next = count;  // no more items are claimed
    }
  };
  auto body = [&] {
    Workspace workspace;
    int i = 0;
    guarded(i, [&] {
      for (int begin = next.fetch_add(chunk); begin < count; begin = next.fetch_add(chunk)) {
        for (i = begin; i < std::min(begin + chunk, count); ++i) {
          check_interrupt();
          work(i, workspace);
          workspace.clear();
        }
      }
    });
  };
  Helpers helpers(n_threads - 1, body);
  body();
  helpers.join([&] { guarded(count, check_interrupt); });
  if (error) std::rethrow_exception(error);
}

}  // namespace caesura
