// A guard that releases the GIL around kernels.
//
// Unlike nanobind's guard it
//   - lets signal handlers run while a kernel works on the main thread, so that Ctrl-C works, and
//   - never takes the GIL of an interpreter that is shutting down.  CPython up to 3.13
//     terminates a thread that tries to take it, by unwinding its stack, which aborts the process
//     if there are C++ frames on it.  With this guard, such a thread sleeps until the process ends.
#pragma once

#include <Python.h>

#include "base/interrupt.hpp"

namespace caesura {

class Released {
 public:
  Released();
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
  CallScope scope_;
};

// Installs the hooks for signals, fork and shutdown of the interpreter.  Called once, when the
// module is imported.
void watch_interpreter();

}  // namespace caesura
