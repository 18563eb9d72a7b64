#include <cstdlib>
#include <cstring>

#include "kernels.hpp"

namespace caesura {
namespace {

bool has_wide() {
#ifdef CAESURA_HAVE_WIDE
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

const Kernels& choose() {
  const char* forced = std::getenv("CAESURA_KERNELS");
  const bool plain = forced != nullptr && std::strcmp(forced, "plain") == 0;
#ifdef CAESURA_HAVE_WIDE
  if (!plain && has_wide()) return kWideKernels;
#endif
  (void)plain;
  (void)has_wide;
  return kPlainKernels;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace caesura
