#include "bind/release.hpp"

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>
#ifndef _WIN32
#include <pthread.h>
#endif

namespace nb = nanobind;

namespace caesura {
namespace {

std::atomic<unsigned long> main_thread{0};  // the thread that runs Python's signal handlers
std::atomic<bool> ending{false};            // whether the interpreter is shutting down
std::atomic<unsigned long> last_thread{0};  // the thread that shuts it down
std::atomic<int> returning{0};              // number of threads that are taking the GIL

void sleep_forever() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Whether a signal handler raised an exception, as that of Ctrl-C does.  The exception stays set.
bool signalled() {
  if (PyThread_get_thread_ident() != main_thread) return false;
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool raised = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return raised;
}

// Waits until no thread is taking the GIL.  Threads that try to do so later sleep.
void end_interpreter() {
  last_thread = PyThread_get_thread_ident();
  ending = true;
  PyThreadState* state = PyEval_SaveThread();
  while (returning > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

// A forked child has a single thread, which is its main thread.
void begin_child() {
  main_thread = PyThread_get_thread_ident();
  returning = 0;
}

}  // namespace

Released::Released() : state_(PyEval_SaveThread()), scope_(&signalled) {}

Released::~Released() {
  if (ending && PyThread_get_thread_ident() == last_thread) {
    PyEval_RestoreThread(state_);
    return;
  }
  ++returning;  // before `ending` is read: either this thread sees it, or end_interpreter() waits
  if (ending) {
    --returning;
    sleep_forever();
  }
  PyEval_RestoreThread(state_);
  --returning;
}

void watch_interpreter() {
  const nb::object main = nb::module_::import_("threading").attr("main_thread")();
  main_thread = nb::cast<unsigned long>(main.attr("ident"));
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_interpreter));
#ifndef _WIN32
  pthread_atfork(nullptr, nullptr, &begin_child);
#endif
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Interrupted&) {
      if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });
}

}  // namespace caesura
