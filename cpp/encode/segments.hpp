// The firings of segment features: lengths, entries of a lexicon, sequences of shapes, and regular
// expressions.  caesura/features implements the same in Python, which training uses.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "encode/corpus.hpp"
#include "encode/interner.hpp"
#include "encode/patterns.hpp"
#include "encode/trie.hpp"
#include "encode/types.hpp"

namespace caesura {

// Firings are collected feature by feature and finally sorted by start.
struct Firings : std::vector<Firing> {
  using std::vector<Firing>::vector;
};

// A stable sort: firings with the same start stay in the order of their features.
void sort_by_start(Firings& firings, std::int64_t n_tokens);

// ---- Lengths ----

// Fires with the core [start, start + length) at each start where it lies within the sequence.
struct LengthRule {
  std::int64_t length;
  std::uint8_t flags;
  std::int32_t id;
  double value;
};
void fire_lengths(const std::vector<LengthRule>& rules, const std::vector<std::int64_t>& offsets,
                  int source, Firings& out);

// ---- Entries of lexicons ----

// The entries of a lexicon, as sequences of keys.
class EntryFinder {
 public:
  static constexpr std::int32_t kPassed = 0;  // key of the tokens that a loose finder skips
  static constexpr std::int64_t kMarks = 2;   // largest number of them added to an end of a match

  explicit EntryFinder(bool loose) : loose_(loose) {}
  void add(const std::int32_t* keys, std::size_t count, std::int32_t entry) {
    trie_.add(keys, count, entry);
  }
  // Returns all matches within each document.  With `marks`, a loose finder returns each match with
  // and without the skipped tokens beside it; otherwise matches are sorted by start.
  Trie::Found find(const std::int32_t* keys, const std::int64_t* offsets, int n_documents,
                   bool marks) const;

 private:
  bool loose_;
  Trie trie_;
};

// The place of each token in a match: begin, inside, end, single (0 to 3), or -1 if there is no
// match.  Of overlapping matches, the longest takes precedence, then the earliest.
std::vector<std::int8_t> places_in(const Trie::Found& found, const std::int64_t* offsets,
                                   int n_documents);

// ---- Shapes of spans ----

// Fires on spans of up to `max_length` tokens with an attribute named by the shapes of the tokens:
// "=Xx Xx d", or "=Xx+ d" if runs collapse.  The number of the attribute is looked up once for each
// distinct sequence of shapes and cached; call forget() when the numbers of shapes or attributes
// change.
class SpanShapes {
 public:
  SpanShapes(int max_length, bool collapse) : max_length_(max_length), collapse_(collapse) {}

  // numbers: [tokens] the shape of each token, as an index into `said`.
  void fire(const std::int32_t* numbers, const std::vector<std::int64_t>& offsets,
            const Interner& said, const Interner& values, int source, Firings& out);
  void forget() {
    nodes_.clear();
    next_.clear();
  }

 private:
  static constexpr std::size_t kMostNodes = 200'000;
  struct Node {
    std::int32_t parent, number, id;  // the span without its last token, its shape, the attribute
  };
  std::int32_t child(std::int32_t node, std::int32_t number, const Interner& said,
                     const Interner& values);
  std::string name(std::int32_t node, const Interner& said) const;

  int max_length_;
  bool collapse_;
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::int32_t> next_;  // (node + 1, number) -> node
};

// ---- Regular expressions on spans ----

// Fires on each span of up to `max_length` tokens whose text, with `joiner` between tokens,
// matches.
void fire_pattern(const TokenBatch& batch, const TokenTypes& types, Pattern& pattern,
                  const std::vector<char32_t>& joiner, int max_length, std::int32_t id, int source,
                  Firings& out);

}  // namespace caesura
