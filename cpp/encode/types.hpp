// The distinct tokens seen so far (types), and the values of word columns for each of them.
//
//     texts --tokenise--> types of their tokens        (TokenBatch)
//     types --columns---> numbers of column values     (TypeValues)
//
// Types are numbered in the order of first occurrence.  Numbers are valid until forget(), which
// changes generation(); anything that is cached by type must then be dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "encode/characters.hpp"
#include "encode/columns.hpp"
#include "encode/interner.hpp"
#include "encode/tokenise.hpp"

namespace caesura {

// The characters [start, end) of a text.
struct CharacterSpan {
  std::int64_t start, end;
};

// The concatenated tokens of several sequences; sequence i is [offsets[i], offsets[i + 1]).
struct TokenBatch {
  std::vector<std::int32_t> types;       // [tokens]
  std::vector<std::int64_t> offsets{0};  // [sequences + 1]
  std::vector<CharacterSpan> spans;      // [tokens] in their texts; empty unless `located`
  bool located = false;                  // whether texts that are added store the spans of tokens

  int n_sequences() const { return static_cast<int>(offsets.size()) - 1; }
  std::int64_t n_tokens() const { return static_cast<std::int64_t>(types.size()); }
  void end_sequence() { offsets.push_back(n_tokens()); }
};

// The numbers of the values of one column for each type; kUnseen for a value without a number.
struct TypeValues {
  std::vector<std::int64_t> ptr;  // [types + 1], or empty if each type has exactly one number
  std::vector<std::int32_t> ids;
  std::int32_t n_types = 0;  // number of types evaluated so far

  void push(const std::vector<std::int32_t>& values);
};

// A view of the characters of a Python string, which have `width` bytes each.
struct TextView {
  const void* data;
  std::int64_t size;
  std::uint8_t width;  // 1, 2 or 4
  bool ascii;
};

// Calls use(characters) with the characters of a text in the type in which they are stored.
template <class Use>
void with_units(const TextView& text, Use use) {
  if (text.width == 1) {
    use(static_cast<const std::uint8_t*>(text.data));
  } else if (text.width == 2) {
    use(static_cast<const std::uint16_t*>(text.data));
  } else {
    use(static_cast<const std::uint32_t*>(text.data));
  }
}

class TokenTypes {
 public:
  struct Range {
    const std::int32_t *begin, *end;
  };

  explicit TokenTypes(std::shared_ptr<const Characters> characters)
      : characters_(characters), reader_(std::move(characters)) {}

  // Adds a column and returns its index; `values` numbers its values.  A column with `every` has a
  // number for every type, which is that of the empty string if there is no value.  Its new values
  // are always numbered, and forgotten together with the types.
  int add_column(WordColumn column, std::shared_ptr<Interner> values, bool every);
  int n_columns() const { return static_cast<int>(columns_.size()); }

  void add_text(const TextView& text, Tokeniser how, TokenBatch& out);  // a complete sequence
  // A complete sequence, whose tokens are the spans that are not empty.
  void add_spans(const TextView& text, const std::vector<CharacterSpan>& spans, TokenBatch& out);
  void add_token(const TextView& token, TokenBatch& out);
  std::int32_t add_word(std::string_view utf8) { return words_.add(utf8); }

  // Evaluates the columns first .. last - 1, except those of kind kPython, for all types added
  // since the last call.  Without `grow`, new values are not numbered.
  void extend(int first, int last, bool grow);
  // Sets the values of a column of kind kPython for the next type.
  void put(int column, const std::vector<std::int32_t>& values) { values_[column].push(values); }

  Range values(std::int32_t type, int column) const {
    const TypeValues& own = values_[column];
    if (own.ptr.empty()) return {own.ids.data() + type, own.ids.data() + type + 1};
    return {own.ids.data() + own.ptr[type], own.ids.data() + own.ptr[type + 1]};
  }
  const TypeValues& values(int column) const { return values_[column]; }
  std::int32_t size() const { return words_.size(); }
  const Characters& characters() const { return *characters_; }
  std::string_view word(std::int32_t type) const { return words_[type]; }
  std::int64_t generation() const { return generation_; }
  void forget();

 private:
  template <class Unit>
  std::int32_t type_of(const Unit* token, std::int64_t size, bool ascii);

  struct Column {
    WordColumn word;
    std::shared_ptr<Interner> numbers;
    bool every;
  };
  std::shared_ptr<const Characters> characters_;
  WordReader reader_;
  Interner words_;
  std::vector<Column> columns_;
  std::vector<TypeValues> values_;  // [columns]
  std::int64_t generation_ = 0;
  std::string scratch_;
};

// The values of one column for each token of a batch, as the extractor reads them.
struct TokenValues {
  std::vector<std::int64_t> ptr;  // [tokens + 1], or empty if each token has one number
  std::vector<std::int32_t> ids;
};
TokenValues take(const TypeValues& values, const std::vector<std::int32_t>& types);

// ---- Columns that depend on the position of a token ----

enum class Origin : std::uint8_t { kStart, kEnd, kPart };

// The position of each token: its distance from the start or the end, up to `limit`, or which of
// `limit` equal parts of the sequence it is in.
std::vector<std::int32_t> positions(const std::vector<std::int64_t>& offsets, Origin origin,
                                    int limit, Interner& values, bool grow);

// Whether each token equals the one at the given offset from it.
std::vector<std::int32_t> repeats(const TokenBatch& batch, std::int64_t offset, Interner& values,
                                  bool grow);

}  // namespace caesura
