#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "infer/kernels.hpp"
#include "learn/trainers.hpp"
#include "optimise/online_steps.hpp"
#include "optimise/pair_sums.hpp"

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
  const bool wide = forced != nullptr && std::strcmp(forced, "wide") == 0;
  if (forced != nullptr && *forced != '\0' && !plain && !wide) {
    throw std::invalid_argument(std::string("CAESURA_KERNELS: got '") + forced +
                                "', expected plain or wide, or leave it out");
  }
#ifdef CAESURA_HAVE_WIDE
  if (!plain && has_wide()) return kWideKernels;
#endif
  (void)has_wide;
  return kPlainKernels;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

template <>
const Trainer<float>& trainer() {
  return kTrainer32;
}
#ifdef CAESURA_HAVE_WIDE
template <>
const Trainer<double>& trainer() {
  return &kernels() == &kWideKernels ? kWideTrainer : kPlainTrainer;
}
bool has_single_precision() { return &kernels() == &kWideKernels; }
const Predictor& predictor() {
  return &kernels() == &kWideKernels ? kWidePredictor : kPlainPredictor;
}
const OnlineSteps& online_steps() {
  return &kernels() == &kWideKernels ? kWideOnlineSteps : kPlainOnlineSteps;
}
const PairKernels& pair_kernels() { return &kernels() == &kWideKernels ? kWidePairs : kPlainPairs; }
#else
template <>
const Trainer<double>& trainer() {
  return kPlainTrainer;
}
bool has_single_precision() { return true; }
const Predictor& predictor() { return kPlainPredictor; }
const OnlineSteps& online_steps() { return kPlainOnlineSteps; }
const PairKernels& pair_kernels() { return kPlainPairs; }
#endif

}  // namespace caesura
