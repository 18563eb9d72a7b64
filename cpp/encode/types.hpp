// The distinct tokens seen so far (types), and the values of word columns for each of them.
//
//     texts --tokenise--> types of their tokens        (TokenBatch)
//     types --columns---> numbers of column values     (TypeValues)
//
// Types are numbered in the order of first occurrence.  The number stays until `forget`, which
// changes `generation`; whatever else is kept for types must be dropped then.
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

// The tokens of many sequences in one row; sequence i has the tokens offsets[i] .. offsets[i + 1].
struct TokenBatch {
  std::vector<std::int32_t> types;       // [tokens]
  std::vector<std::int64_t> offsets{0};  // [sequences + 1]

  int n_sequences() const { return static_cast<int>(offsets.size()) - 1; }
  std::int64_t n_tokens() const { return static_cast<std::int64_t>(types.size()); }
  void end_sequence() { offsets.push_back(n_tokens()); }
};

// The numbers of the values that one column has for each type; kUnseen for a value without one.
struct TypeValues {
  std::vector<std::int64_t> ptr;  // [types + 1], or empty: exactly one number for each type
  std::vector<std::int32_t> ids;
  std::int32_t n_types = 0;  // number of types evaluated so far

  void push(const std::vector<std::int32_t>& values);
};

// A Python string without a copy: its code units, of `width` bytes each.
struct TextView {
  const void* data;
  std::int64_t size;
  std::uint8_t width;  // 1, 2 or 4
  bool ascii;
};

class TokenTypes {
 public:
  struct Range {
    const std::int32_t *begin, *end;
  };

  explicit TokenTypes(std::shared_ptr<const Characters> characters)
      : characters_(characters), reader_(std::move(characters)) {}

  // Adds a column; its values get their numbers from `values`.  A column with `every` has exactly
  // one number for each type: that of the empty string where there is no value.  New values always
  // get a number there, and they are forgotten together with the types.
  int add_column(WordColumn column, std::shared_ptr<Interner> values, bool every);
  int n_columns() const { return static_cast<int>(columns_.size()); }

  void add_text(const TextView& text, Tokeniser how, TokenBatch& out);  // a whole sequence
  void add_token(const TextView& token, TokenBatch& out);

  // Evaluates columns from `first` to `last` for all types that have come since, except those of
  // kind kPython.  Without `grow`, a value that has no number does not get one.
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
  template <class Unit>
  void cut(const Unit* text, const TextView& view, Tokeniser how, TokenBatch& out);

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

// The values of one column for each token of a batch, as the extractor takes them.
struct TokenValues {
  std::vector<std::int64_t> ptr;  // [tokens + 1], or empty: one number for each token
  std::vector<std::int32_t> ids;
};
TokenValues take(const TypeValues& values, const std::vector<std::int32_t>& types);

// -- columns that look at the place of a token in its sequence ------------------------------------

enum class Origin : std::uint8_t { kStart, kEnd, kPart };

// Tokens from the start, tokens to the end (both up to `limit`), or the part of the sequence.
std::vector<std::int32_t> positions(const std::vector<std::int64_t>& offsets, Origin origin,
                                    int limit, Interner& values, bool grow);

// Whether a token is the same as the one `offset` places away.
std::vector<std::int32_t> repeats(const TokenBatch& batch, std::int64_t offset, Interner& values,
                                  bool grow);

}  // namespace caesura
