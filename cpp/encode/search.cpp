#include <algorithm>

#include "encode/patterns.hpp"

namespace caesura {

// Backtracking search in one text.  Whether a state leads to acceptance from a character on depends
// on nothing else, because there are no references.  A state that has failed at a character is
// therefore never tried there again, neither on another path nor from a later start, and a text of
// n characters takes O(n states).
class PatternSearch {
 public:
  PatternSearch(const Pattern& pattern, const std::vector<char32_t>& text,
                const Characters& characters, std::size_t most)
      : pattern_(pattern),
        text_(text),
        size_(static_cast<std::int64_t>(text.size())),
        characters_(characters),
        words_((pattern.states_.size() + 63) / 64),
        most_(most / sizeof(std::uint64_t)) {}

  bool find(Pattern::Spans& out) {
    bool advance = false;  // whether an empty match was found at `at`: the next one must be longer
    for (std::int64_t at = 0; at <= size_;) {
      forget_before(at);
      const std::int64_t end = match(at, advance);
      if (!fits_) return false;
      if (end < 0) {
        advance = false;
        ++at;
        continue;
      }
      if (end > at) out.emplace_back(at, end);
      advance = end == at;
      at = end;
      // The states on the path of a match did not fail.  Of the rows that may be read again, only
      // this one contains such states.
      std::fill_n(row(at), words_, 0);
    }
    return true;
  }

 private:
  // Returns the end of the match that Python finds at `from`, or -1.  With `advance`, the match
  // must not be empty.
  std::int64_t match(std::int64_t from, bool advance) {
    waiting_.assign(1, {pattern_.start_, from});
    while (!waiting_.empty() && fits_) {
      auto [state, at] = waiting_.back();
      waiting_.pop_back();
      while (enter(state, at)) {
        const Pattern::State& now = pattern_.states_[state];
        if (now.set == Pattern::kAccept) {
          if (!advance || at > from) return at;
          break;
        }
        if (now.set == Pattern::kSplit) {
          waiting_.emplace_back(now.other, at);
          fits_ = 2 * waiting_.size() <= most_;
        } else if (now.set < 0) {
          if (!holds(now.set, at)) break;
        } else {
          if (at == size_ || !pattern_.sets_[now.set].holds(text_[at], characters_)) break;
          ++at;
        }
        state = now.next;
      }
    }
    return -1;
  }

  bool holds(std::int32_t assertion, std::int64_t at) const {
    switch (assertion) {
      case Pattern::kAtStart:
        return at == 0;
      case Pattern::kAtEnd:
        return at == size_;
      case Pattern::kBeforeEnd:
        return at == size_ || (at == size_ - 1 && text_[at] == '\n');
      default:
        break;
    }
    // Before Python 3.14, neither \b nor \B matches in an empty text.
    if (size_ == 0) return false;
    const bool here = at < size_ && characters_.is(text_[at], kIsWord);
    const bool before = at > 0 && characters_.is(text_[at - 1], kIsWord);
    return (here != before) == (assertion == Pattern::kBoundary);
  }

  // Records that a state is tried at a character.  Returns false if it was tried there before, or
  // if the memory limit is reached.
  bool enter(std::int32_t state, std::int64_t at) {
    const std::size_t needed = static_cast<std::size_t>(at - first_ + 1) * words_;
    if (needed > tried_.size()) {
      fits_ = needed <= most_;
      if (!fits_) return false;
      tried_.resize(needed, 0);
    }
    std::uint64_t& word = row(at)[state / 64];
    const std::uint64_t bit = std::uint64_t{1} << (state % 64);
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }

  std::uint64_t* row(std::int64_t at) {
    return tried_.data() + static_cast<std::size_t>(at - first_) * words_;
  }

  // Drops the rows before `at`, which will not be read again, once they are at least half of all.
  void forget_before(std::int64_t at) {
    const std::size_t old = static_cast<std::size_t>(at - first_) * words_;
    if (2 * old < tried_.size()) return;
    if (old < tried_.size()) {
      tried_.erase(tried_.begin(), tried_.begin() + static_cast<std::ptrdiff_t>(old));
    } else {
      tried_.clear();
    }
    first_ = at;
  }

  const Pattern& pattern_;
  const std::vector<char32_t>& text_;
  const std::int64_t size_;
  const Characters& characters_;
  const std::size_t words_, most_;  // words of a row, and the limit for all rows
  bool fits_ = true;
  std::int64_t first_ = 0;            // the character of the first row
  std::vector<std::uint64_t> tried_;  // [characters][words_] a bit for each state
  std::vector<std::pair<std::int32_t, std::int64_t>> waiting_;  // what to try after a failure
};

bool Pattern::find(const std::vector<char32_t>& text, const Characters& characters,
                   std::size_t most, Spans& out) const {
  return PatternSearch(*this, text, characters, most).find(out);
}

}  // namespace caesura
