// The words that contain tokens, for tokens smaller than words, such as characters.
// caesura/features/enclosing.py defines the same in Python.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "encode/types.hpp"

namespace caesura {

// At which tokens of a word its values are, and whether the word counts as cut beside the token.
enum class WordView : std::uint8_t { kEvery, kFirst, kBefore, kAfter };

// The numbers of <s> and </s>, the values before the first word and after the last.
struct EndValues {
  std::int32_t before, after;
};

class WordsAround {
 public:
  WordsAround() { words_.located = true; }

  // Adds a sequence of `count` tokens of a text, whose words a tokeniser cuts.  A token that begins
  // between words is taken to be in the word before it.  Returns false, and adds nothing, if the
  // text has no words.
  bool add_text(TokenTypes& types, const TextView& text, Tokeniser by, const CharacterSpan* tokens,
                std::int64_t count);
  // Adds a sequence without a text, in which each token is a word.
  void add_tokens(TokenTypes& types, const TokenTypes& own, const std::int32_t* tokens,
                  std::int64_t count);

  const TokenBatch& words() const { return words_; }  // of all sequences
  std::int64_t n_tokens() const { return static_cast<std::int64_t>(tokens_.size()); }

  // Reads the two pieces of the word of each token, for the view kBefore or kAfter.
  void cut(WordView view, const TokenTypes& words, TokenTypes& pieces);

  // The values, at each token, of the word at an offset from the token's word.  of_word: the values
  // of the types of words; of_piece: those of the types of pieces, which are read only at the
  // offsets where `reads_pieces` holds.
  TokenValues values(WordView view, std::int64_t offset, const TypeValues& of_word,
                     const TypeValues* of_piece, EndValues ends) const;
  // The same for a column with its own values at each word of each sequence, and a view that does
  // not cut.
  TokenValues values(WordView view, std::int64_t offset, const TokenValues& of_word,
                     EndValues ends) const;
  static bool reads_pieces(WordView view, std::int64_t offset) {
    return view == WordView::kBefore ? offset == 0 || offset == -1
                                     : view == WordView::kAfter && (offset == 0 || offset == 1);
  }

  // The number of the position of each token in its word: only, first, inside or last.
  std::vector<std::int32_t> places(const std::array<std::int32_t, 4>& numbers) const;

 private:
  struct Token {
    std::int64_t word;         // index into words_
    std::int64_t first, stop;  // the words of its sequence
    std::int64_t start, end;   // in its word, in characters
  };
  // The piece that contains a token, and the rest of its word or -1.
  struct Pieces {
    std::int32_t own, other;
  };
  bool begins(std::size_t i) const { return i == 0 || tokens_[i - 1].word != tokens_[i].word; }
  template <class OfWord, class OfPiece>
  void each(WordView view, std::int64_t offset, EndValues ends, OfWord of_word, OfPiece of_piece,
            TokenValues& out) const;
  const std::vector<Pieces>& pieces(WordView view) const {
    return pieces_[view == WordView::kAfter];
  }

  TokenBatch words_;
  std::vector<Token> tokens_;
  std::array<std::vector<Pieces>, 2> pieces_;  // before each token, and after it
};

}  // namespace caesura
