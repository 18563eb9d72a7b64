// Where features of whole segments fire: lengths, entries of a lexicon, sequences of shapes.
// caesura/features has the same in Python, which is also what training uses.
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

// Firings are collected one feature after the other, and sorted by start at the end.
struct Firings : std::vector<Firing> {
  using std::vector<Firing>::vector;
};

// Stable: at one start the order of the features remains.
void sort_by_start(Firings& firings, std::int64_t n_tokens);

// -- lengths
// ----------------------------------------------------------------------------------------

// Fires at [start, start + length) wherever the sequence is long enough.
struct LengthRule {
  std::int64_t length;
  std::uint8_t flags;
  std::int32_t id;
  double value;
};
void fire_lengths(const std::vector<LengthRule>& rules, const std::vector<std::int64_t>& offsets,
                  int source, Firings& out);

// -- lexicons
// ---------------------------------------------------------------------------------------

// The entries of a lexicon, as sequences of keys.
class EntryFinder {
 public:
  static constexpr std::int32_t kPassed = 0;  // the key of tokens that a loose finder passes over
  static constexpr std::int64_t kMarks = 2;   // the most of these at each end of a match

  explicit EntryFinder(bool loose) : loose_(loose) {}
  void add(const std::int32_t* keys, std::size_t count, std::int32_t entry) {
    trie_.add(keys, count, entry);
  }
  // All matches inside each document, by start.  With `marks`, a match of a loose finder comes with
  // and without the tokens beside it that are passed over.
  Trie::Found find(const std::int32_t* keys, const std::int64_t* offsets, int n_documents,
                   bool marks) const;

 private:
  bool loose_;
  Trie trie_;
};

// Where in a match each token is: begin, inside, end, single (0 to 3), or -1.  Longer matches win,
// then earlier ones.
std::vector<std::int8_t> places_in(const Trie::Found& found, const std::int64_t* offsets,
                                   int n_documents);

// -- shapes
// -----------------------------------------------------------------------------------------

// The attributes of spans of up to `max_length` tokens, named by what is said of each token:
// "=Xx Xx d", or "=Xx+ d" if runs collapse.  The number of a span's attribute is found once for
// each distinct sequence; what is remembered is good as long as no number changes.
class SpanShapes {
 public:
  SpanShapes(int max_length, bool collapse) : max_length_(max_length), collapse_(collapse) {}

  // numbers [tokens]: what is said of each token, as an index into `said`.
  void fire(const std::int32_t* numbers, const std::vector<std::int64_t>& offsets,
            const Interner& said, const Interner& values, int source, Firings& out);
  void forget() {
    nodes_.clear();
    next_.clear();
  }

 private:
  static constexpr std::size_t kMostNodes = 200'000;
  struct Node {
    std::int32_t parent, number, id;  // the span without its last token, that token, the attribute
  };
  std::int32_t child(std::int32_t node, std::int32_t number, const Interner& said,
                     const Interner& values);
  std::string name(std::int32_t node, const Interner& said) const;

  int max_length_;
  bool collapse_;
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::int32_t> next_;  // (node + 1, number) -> node
};

// -- patterns
// ---------------------------------------------------------------------------------------

// Fires on each span of up to `max_length` tokens whose text, with `joiner` between tokens,
// matches.
void fire_pattern(const TokenBatch& batch, const TokenTypes& types, Pattern& pattern,
                  const std::vector<char32_t>& joiner, int max_length, std::int32_t id, int source,
                  Firings& out);

}  // namespace caesura
