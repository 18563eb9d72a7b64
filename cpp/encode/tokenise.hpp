// The named tokenisers of caesura/documents/tokenisers.py, which defines them as regular
// expressions.
#pragma once

#include <cstdint>

#include "encode/characters.hpp"

namespace caesura {

enum class Tokeniser : std::uint8_t { kWords, kWhitespace, kCharacters, kParts };

namespace detail {

// Returns the end of the match of  \w+(?:[marks][\w marks]*)?  at `at`, or `at` if there is none.
template <class Unit>
std::int64_t end_of_word(const Unit* text, std::int64_t at, std::int64_t size,
                         const Characters& characters) {
  if (at >= size || !characters.is(text[at], kIsWord)) return at;
  while (at < size && characters.is(text[at], kIsWord)) ++at;
  if (at < size && characters.is(text[at], kIsMark)) {
    while (at < size && characters.is(text[at], kIsWord | kIsMark)) ++at;
  }
  return at;
}

template <class Unit>
std::int64_t end_of_marks(const Unit* text, std::int64_t at, std::int64_t size,
                          const Characters& characters) {
  while (at < size && characters.is(text[at], kIsMark)) ++at;
  return at;
}

// Returns the end of the match of  word(?:['’]word)*|[^\w\s][marks]*  at `at`, where word is the
// expression above.  The character there must not be white space.
template <class Unit>
std::int64_t end_of_words(const Unit* text, std::int64_t at, std::int64_t size,
                          const Characters& characters) {
  std::int64_t end = end_of_word(text, at, size, characters);
  if (end == at) return end_of_marks(text, at + 1, size, characters);
  while (end < size && (text[end] == '\'' || char32_t{text[end]} == 0x2019)) {
    const std::int64_t next = end_of_word(text, end + 1, size, characters);
    if (next == end + 1) break;
    end = next;
  }
  return end;
}

enum class PartKind : std::uint8_t { kDigit, kUpper, kLetter, kOther };

// Letters in title case count as upper case; letters without case are kLetter.
inline PartKind part_kind(char32_t c, const Characters& characters) {
  const std::uint16_t flags = characters[c].flags;
  if ((flags & kIsWord) == 0 || c == '_') return PartKind::kOther;
  if ((flags & kIsDecimal) != 0) return PartKind::kDigit;
  return (flags & (kIsUpper | kIsTitle)) != 0 ? PartKind::kUpper : PartKind::kLetter;
}

// Returns the end of the match of  \d[\d marks]*|A+(?!B)|A?B+|\S[marks]*  at `at`, where A is an
// upper-case letter with its marks, and B any other letter with its marks.  The character there
// must not be white space.
template <class Unit>
std::int64_t end_of_part(const Unit* text, std::int64_t at, std::int64_t size,
                         const Characters& characters) {
  auto is = [&](std::int64_t t, PartKind kind) {
    return t < size && part_kind(text[t], characters) == kind;
  };
  if (is(at, PartKind::kDigit)) {
    while (is(at, PartKind::kDigit)) at = end_of_marks(text, at + 1, size, characters);
    return at;
  }
  if (is(at, PartKind::kOther)) return end_of_marks(text, at + 1, size, characters);
  const std::int64_t begin = at;
  std::int64_t capital = at;  // start of the last upper-case letter
  while (is(at, PartKind::kUpper)) {
    capital = at;
    at = end_of_marks(text, at + 1, size, characters);
  }
  if (capital > begin && is(at, PartKind::kLetter)) return capital;
  while (is(at, PartKind::kLetter)) at = end_of_marks(text, at + 1, size, characters);
  return at;
}

}  // namespace detail

// Calls emit(start, end) for each token.  Unit is the type in which a Python string stores a
// character.
template <class Unit, class Emit>
void tokenise(Tokeniser how, const Unit* text, std::int64_t size, const Characters& characters,
              Emit emit) {
  for (std::int64_t at = 0; at < size;) {
    if (characters.is(text[at], kIsSpace)) {
      ++at;
      continue;
    }
    std::int64_t end = at + 1;
    if (how == Tokeniser::kWords) {
      end = detail::end_of_words(text, at, size, characters);
    } else if (how == Tokeniser::kCharacters) {
      end = detail::end_of_marks(text, end, size, characters);
    } else if (how == Tokeniser::kParts) {
      end = detail::end_of_part(text, at, size, characters);
    } else {
      while (end < size && !characters.is(text[end], kIsSpace)) ++end;
    }
    emit(at, end);
    at = end;
  }
}

}  // namespace caesura
