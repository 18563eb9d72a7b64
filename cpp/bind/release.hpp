// Releasing the GIL around kernels, and taking it back.
//
// Unlike nanobind's guard this one
//   - lets signal handlers run while a kernel works on the main thread, so that Ctrl-C works, and
//   - never takes the GIL of an interpreter that is ending.  CPython up to 3.13 ends a thread that
//     tries to by unwinding its stack, which aborts the process if there is C++ on it; so a thread
//     that comes back then sleeps until the process has ended.
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

// Called once, when the module is imported: hooks for signals, for fork and for the end of the
// interpreter.
void watch_interpreter();

}  // namespace caesura
