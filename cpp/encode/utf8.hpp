// Code points and UTF-8.  Lone surrogates are written like any other code point (Python's
// "surrogatepass"), because a Python string may hold them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace caesura {

inline void append_utf8(char32_t c, std::string& out) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xc0 | c >> 6));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | c >> 12));
    out.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else {
    out.push_back(static_cast<char>(0xf0 | c >> 18));
    out.push_back(static_cast<char>(0x80 | (c >> 12 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  }
}

// Reads one code point of text that `append_utf8` wrote, and moves `at` past it.
inline char32_t read_utf8(const char*& at) {
  const auto first = static_cast<unsigned char>(*at++);
  if (first < 0x80) return first;
  auto more = [&at] { return static_cast<char32_t>(static_cast<unsigned char>(*at++) & 0x3f); };
  char32_t c = first & (first < 0xe0 ? 0x1f : first < 0xf0 ? 0x0f : 0x07);
  for (int n = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3; n > 0; --n) c = c << 6 | more();
  return c;
}

}  // namespace caesura
