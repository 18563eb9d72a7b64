// The values of word columns.  caesura/features/words.py implements the same in Python.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "encode/characters.hpp"
#include "encode/interner.hpp"
#include "encode/patterns.hpp"

namespace caesura {

// A word after the normalisers of a column, for example in lower case.
struct WordForm {
  std::vector<char32_t> codes;
  std::string text;               // the same as UTF-8
  std::vector<std::uint32_t> at;  // [codes + 1] offset of each code point in `text`

  std::size_t size() const { return codes.size(); }
  std::string_view part(std::size_t first, std::size_t last) const {
    return {text.data() + at[first], at[last] - at[first]};
  }
  void read(std::string_view utf8);  // sets all three
  void write();                      // sets text and `at` from codes
};

enum class Normaliser : std::uint8_t {
  kFolded,   // NFKC
  kZeroed,   // every digit replaced by 0
  kLowered,  // case-folded
  kBare,     // stripped of characters other than \w at both ends
};

enum class WordKind : std::uint8_t {
  kBias,
  kWord,
  kShape,
  kShortShape,
  kPrefix,
  kSuffix,
  kNgrams,
  kCharClass,
  kPunctuation,
  kCase,
  kHyphen,
  kWordLength,
  kMatches,
  kInLexicon,
  kPython,  // computed in Python
};

struct WordColumn {
  WordKind kind = WordKind::kPython;
  std::vector<Normaliser> normalisers;    // the first is applied first
  int low = 0, high = 0;                  // lengths of prefixes, suffixes and n-grams
  std::vector<std::string> buckets;       // [length] of kWordLength; the last one for longer words
  std::shared_ptr<Pattern> pattern;       // of kMatches
  std::shared_ptr<const Interner> known;  // of kInLexicon
  int form = 0;                           // set by WordReader: an index into its forms
};

// Evaluates columns.  A form of a word that several columns use is computed once.
class WordReader {
 public:
  explicit WordReader(std::shared_ptr<const Characters> characters)
      : characters_(std::move(characters)), forms_(1), from_{{-1, Normaliser::kFolded}} {}

  void add_forms(WordColumn& column);  // must be called before the column is evaluated
  void read(std::string_view word);    // sets the word for which columns are evaluated

  // Calls emit(std::string_view) with each value of the column, in the same order as in Python.
  template <class Emit>
  void values(WordColumn& column, Emit emit);

 private:
  const WordForm& form(int index);
  void normalise(const WordForm& word, Normaliser how, WordForm& out) const;
  void shape(const WordForm& word, bool runs);
  std::string_view case_of(const WordForm& word) const;
  void classes(const WordForm& word);
  bool all_punctuation(const WordForm& word) const;
  bool has_dash(const WordForm& word) const;
  void mark_ends(const WordForm& word);
  bool is_new(std::string_view gram);

  std::shared_ptr<const Characters> characters_;
  std::vector<WordForm> forms_;                   // the first is the word itself
  std::vector<std::pair<int, Normaliser>> from_;  // [forms] source form and normaliser
  std::vector<bool> made_;                        // [forms] whether computed for this word
  std::string scratch_;
  WordForm marked_;                                  // the word between < and >
  std::vector<std::string_view> grams_;              // of the marked word, in order of occurrence
  std::unordered_set<std::string_view> many_grams_;  // the same as a set, if there are many
};

template <class Emit>
void WordReader::values(WordColumn& column, Emit emit) {
  const WordForm& word = form(column.form);
  const std::size_t size = word.size(), low = column.low, high = column.high;
  switch (column.kind) {
    case WordKind::kBias:
      return emit("1");
    case WordKind::kWord:
      return emit(word.text);
    case WordKind::kShape:
    case WordKind::kShortShape:
      shape(word, column.kind == WordKind::kShortShape);
      return emit(scratch_);
    case WordKind::kPrefix:
      if (size >= low) emit(word.part(0, low));
      return;
    case WordKind::kSuffix:
      if (size >= low) emit(word.part(size - low, size));
      return;
    case WordKind::kNgrams:
      mark_ends(word);
      for (std::size_t n = low; n <= high && n <= marked_.size(); ++n) {
        grams_.clear();
        for (std::size_t s = 0; s + n <= marked_.size(); ++s) {
          if (is_new(marked_.part(s, s + n))) emit(marked_.part(s, s + n));
        }
      }
      return;
    case WordKind::kCharClass:
      if (size == 0) return;
      classes(word);
      return emit(scratch_);
    case WordKind::kPunctuation:
      return emit(all_punctuation(word) ? "yes" : "no");
    case WordKind::kCase:
      return emit(case_of(word));
    case WordKind::kHyphen:
      return emit(has_dash(word) ? "yes" : "no");
    case WordKind::kWordLength:
      return emit(column.buckets[std::min(size, column.buckets.size() - 1)]);
    case WordKind::kMatches:
      if (column.pattern->matches(word.codes, *characters_)) emit("yes");
      return;
    case WordKind::kInLexicon:
      if (column.known->find(word.text) != Interner::kMissing) emit("yes");
      return;
    case WordKind::kPython:
      return;
  }
}

}  // namespace caesura
