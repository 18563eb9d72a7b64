// Vector operations.  This header is compiled once for each instruction set: CAESURA_ISA is the
// name of the namespace, CAESURA_WIDTH the number of doubles in a vector, and CAESURA_FLOAT tells
// whether the numbers are float.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace caesura::CAESURA_ISA {

#if CAESURA_FLOAT
using real = float;
#else
using real = double;
#endif
constexpr bool kDouble = sizeof(real) == 8;
using whole = std::conditional_t<kDouble, std::int64_t, std::int32_t>;

constexpr int W = CAESURA_WIDTH * 8 / sizeof(real);
using vec = real __attribute__((vector_size(CAESURA_WIDTH * 8)));
using ivec = whole __attribute__((vector_size(CAESURA_WIDTH * 8)));

inline vec load(const real* p) {
  vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(real* p, vec v) { std::memcpy(p, &v, sizeof v); }
// Loads `count` numbers and sets the other lanes to `rest`.  The lanes are set one by one: a vector
// load from a buffer that was just filled would stall.
inline vec load_part(const real* p, int count, real rest) {
  vec v;
  for (int i = 0; i < W; ++i) v[i] = i < count ? p[i] : rest;
  return v;
}
inline vec splat(real x) { return x - vec{}; }  // not +: -0.0 + 0.0 is 0.0
inline void store_part(real* p, vec v, int count) {
  for (int i = 0; i < W; ++i) {
    if (i < count) p[i] = v[i];
  }
}
inline vec min(vec a, vec b) { return a < b ? a : b; }
inline vec max(vec a, vec b) { return a > b ? a : b; }
inline vec as_real(ivec v) { return reinterpret_cast<vec>(v); }
inline ivec as_bits(vec v) { return reinterpret_cast<ivec>(v); }

inline real sum(vec v) {
  real total = 0;
  for (int i = 0; i < W; ++i) total += v[i];
  return total;
}
inline real max_of(vec v) {
  real most = v[0];
  for (int i = 1; i < W; ++i) most = v[i] > most ? v[i] : most;
  return most;
}

inline bool any(ivec v) {
  whole bits = 0;
  for (int i = 0; i < W; ++i) bits |= v[i];
  return bits != 0;
}

// The mask of the lanes, numbered q, q + 1, ..., that lie in [low, high).
inline ivec lanes_in(int q, int low, int high) {
  ivec lane;
  for (int i = 0; i < W; ++i) lane[i] = q + i;
  return (lane >= low) & (lane < high);
}

#if CAESURA_FLOAT
// e^x for x <= 88; 0 below -87.  The algorithm of the version for double, with P of degree 4
// (relative error 1e-8).
inline vec exp(vec x) {
  constexpr float kShift = 0x1.8p23f;
  const ivec tiny = x < -87.0f;
  const vec y = tiny ? splat(-87.0f) : x;
  const vec shifted = y * 1.44269504f + kShift;
  const vec n = shifted - kShift;
  vec r = y - n * 0x1.62e000p-1f;  // the first 12 bits of ln 2, so that the product is exact
  r = r - n * 0x1.0bfbe8p-15f;
  const vec low = 0.5f + r * 0.16666577f;
  const vec high = 0.041666555f + r * (0.008363173f + r * 0.0013926176f);
  const vec poly = 1.0f + (r + r * r * (low + r * r * high));
  const vec scale = as_real((as_bits(shifted) + 127) << 23);
  return tiny ? vec{} : poly * scale;
}
#else
// e^x for x <= 709; 0 below -708, so that exp(-inf) = 0.
//   x = n ln 2 + r, |r| <= ln(2)/2;  e^r = 1 + r + r^2 P(r), where P has degree 9 and interpolates
//   at Chebyshev nodes (relative error 2e-17)
inline vec exp(vec x) {
  constexpr double kShift = 0x1.8p52;  // adding it rounds to an integer
  const ivec tiny = x < -708.0;
  const vec y = tiny ? splat(-708.0) : x;
  const vec shifted = y * 1.4426950408889634 + kShift;
  const vec n = shifted - kShift;
  vec r = y - n * 0x1.62e42fefa3800p-1;  // the first 42 bits of ln 2, so that the product is exact
  r = r - n * 0x1.ef35793c76730p-45;
  const vec r2 = r * r;
  const vec r4 = r2 * r2;
  const vec p01 = 0.5000000000000001 + r * 0.16666666666666669;
  const vec p23 = 0.04166666666662413 + r * 0.008333333333330062;
  const vec p45 = 0.0013888888917213717 + r * 0.00019841269863053618;
  const vec p67 = 2.4801521295954376e-05 + r * 2.7557268459997064e-06;
  const vec p89 = 2.7620088445409746e-07 + r * 2.510038549551032e-08;
  const vec low = p01 + r2 * p23;
  const vec high = p45 + r2 * p67 + r4 * p89;
  const vec poly = 1.0 + (r + r2 * (low + r4 * high));
  const vec scale = as_real((as_bits(shifted) + 1023) << 52);
  return tiny ? vec{} : poly * scale;
}

// ln x for normal x > 0; -inf for 0 and subnormal numbers.
//   x = 2^e m, m in [sqrt(1/2), sqrt(2));  s = (m - 1) / (m + 1);  ln m = 2 s + s^3 P(s^2)
inline vec log(vec x) {
  const ivec bits = as_bits(x);
  const ivec mantissa = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
  vec m = as_real(mantissa);
  // The exponent as a double: it becomes the low bits of the mantissa of 2^52, and 2^52 is
  // subtracted.
  const ivec raw = reinterpret_cast<ivec>(
      reinterpret_cast<std::uint64_t __attribute__((vector_size(W * 8)))>(bits) >> 52);
  vec e = as_real(raw | 0x4330000000000000) - (0x1p52 + 1023.0);
  const ivec upper = m > 1.4142135623730951;
  m = upper ? m * 0.5 : m;
  e = upper ? e + 1.0 : e;
  const vec s = (m - 1.0) / (m + 1.0);
  const vec z = s * s;
  const vec z2 = z * z;
  const vec p01 = 0.6666666666666666 + z * 0.4000000000000088;
  const vec p23 = 0.2857142857080323 + z * 0.2222222239180047;
  const vec p45 = 0.18181795630884753 + z * 0.15386240205813478;
  const vec p67 = 0.13268759668560612 + z * 0.13086767009948175;
  const vec poly = p01 + z2 * (p23 + z2 * (p45 + z2 * p67));
  const vec ln = e * 0x1.62e42fefa3800p-1 + (2.0 * s + (s * z * poly + e * 0x1.ef35793c76730p-45));
  return x >= std::numeric_limits<double>::min() ? ln
                                                 : splat(-std::numeric_limits<double>::infinity());
}

#endif

}  // namespace caesura::CAESURA_ISA
