// Regular expressions in the part of Python's syntax that denotes regular languages.
//
// For such an expression, `re.fullmatch` tests whether a word belongs to the language.  The order
// in which alternatives are tried does not matter, so an automaton gives the same answer.
// Everything else (references, look-around, flags, named groups, escapes with numbers, and repeated
// expressions that match the empty string) is rejected.
//
// The result of `re.finditer` depends on that order, and its expression may contain anchors and
// word boundaries.  The search tries the alternatives in Python's order, but never the same state
// twice at the same character, so its time is linear in the length of the text even where Python's
// is exponential.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "encode/characters.hpp"

namespace caesura {

// A set of characters: ranges, and characters that have (or lack) a flag.
struct CharacterSet {
  bool negated = false;
  std::vector<std::pair<char32_t, char32_t>> ranges;  // both ends are included
  std::uint16_t flags = 0;                            // characters with at least one of these
  std::vector<std::uint16_t> lacking;                 // for each flag, the characters without it
  bool holds(char32_t c, const Characters& characters) const;
};

class Pattern {
 public:
  // Returns nullopt if the expression is invalid, too large, or outside the supported syntax.
  // Anchors (^ $ \A \Z) and word boundaries (\b \B) are supported only with `search`.
  static std::optional<Pattern> compile(const std::vector<char32_t>& source, bool search = false);

  // Whether the whole word matches.  Not thread-safe, because it caches states.
  bool matches(const std::vector<char32_t>& word, const Characters& characters);

  // The same, one character at a time.  A state is valid until the next call of next().
  static constexpr std::int32_t kDead = 0;  // no word with this prefix matches
  std::int32_t begin() {
    if (subsets_.empty()) restart();
    return first_;
  }
  std::int32_t next(std::int32_t state, char32_t c, const Characters& characters) {
    const std::int32_t known = c < 128 ? ascii_[state][c] : -1;
    return known >= 0 ? known : step(state, c, characters);
  }
  bool accepts(std::int32_t state) const { return accepts_[state]; }

  // Appends the non-empty matches of `re.finditer` to `out`.  Returns false if recording what was
  // tried would take more than `most` bytes: one bit for each state at each character after the
  // last match.
  using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;
  bool find(const std::vector<char32_t>& text, const Characters& characters, std::size_t most,
            Spans& out) const;

 private:
  friend class PatternBuilder;
  friend class PatternSearch;
  static constexpr std::size_t kMostStates = 512;  // of the deterministic automaton at any time

  // A state of the nondeterministic automaton reads a character of a set and moves to `next`
  // (set >= 0), moves to `next` or else to `other` without reading (kSplit), accepts (kAccept), or
  // moves to `next` without reading if an assertion holds.
  static constexpr std::int32_t kSplit = -1, kAccept = -2;
  static constexpr std::int32_t kAtStart = -3, kAtEnd = -4, kBeforeEnd = -5;  // \A, \Z, $
  static constexpr std::int32_t kBoundary = -6, kNoBoundary = -7;             // \b, \B
  struct State {
    std::int32_t set, next, other;
  };
  using Subset = std::vector<std::int32_t>;  // sorted states; none of them is a kSplit

  void close(std::int32_t state, Subset& out);
  std::int32_t number(const Subset& subset);
  std::int32_t step(std::int32_t from, char32_t c, const Characters& characters);
  void restart();

  std::vector<CharacterSet> sets_;
  std::vector<State> states_;
  std::int32_t start_ = 0;

  // The deterministic automaton, built as words reach its states.  The empty subset is kDead.
  std::map<Subset, std::int32_t> numbers_;
  std::vector<Subset> subsets_;
  std::vector<std::array<std::int32_t, 128>> ascii_;  // number after a character, -1 if unknown
  std::vector<bool> accepts_;
  std::vector<bool> seen_;           // [states] scratch of `close`
  std::vector<std::int32_t> stack_;  // scratch of `close`
  std::int32_t first_ = 0;           // the number of the start
};

}  // namespace caesura
