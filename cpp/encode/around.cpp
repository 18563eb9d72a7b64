#include "encode/around.hpp"

#include <algorithm>
#include <string>

#include "encode/corpus.hpp"
#include "encode/utf8.hpp"

namespace caesura {
namespace {

std::int64_t count_characters(std::string_view utf8) {
  return std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

}  // namespace

bool WordsAround::add_text(TokenTypes& types, const TextView& text, Tokeniser by,
                           const CharacterSpan* tokens, std::int64_t count) {
  const std::int64_t first = words_.n_tokens();
  types.add_text(text, by, words_);
  const std::int64_t stop = words_.n_tokens();
  if (first == stop) {
    words_.offsets.pop_back();
    return false;
  }
  auto starts_after = [](std::int64_t at, const CharacterSpan& word) { return at < word.start; };
  for (std::int64_t t = 0; t < count; ++t) {
    const auto begin = words_.spans.begin() + first;
    const auto after =
        std::upper_bound(begin, words_.spans.end(), tokens[t].start, starts_after) - begin;
    const std::int64_t word = first + std::max<std::int64_t>(after - 1, 0);
    const CharacterSpan& span = words_.spans[word];
    auto inside = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at - span.start, 0, span.end - span.start);
    };
    tokens_.push_back({word, first, stop, inside(tokens[t].start), inside(tokens[t].end)});
  }
  return true;
}

void WordsAround::add_tokens(TokenTypes& types, const TokenTypes& own, const std::int32_t* tokens,
                             std::int64_t count) {
  const std::int64_t first = words_.n_tokens();
  for (std::int64_t t = 0; t < count; ++t) {
    const std::string_view token = own.word(tokens[t]);
    const std::int64_t size = count_characters(token);
    words_.types.push_back(types.add_word(token));
    words_.spans.push_back({0, size});
    tokens_.push_back({first + t, first, first + count, 0, size});
  }
  words_.end_sequence();
}

void WordsAround::cut(WordView view, const TokenTypes& words, TokenTypes& pieces) {
  std::vector<Pieces>& out = pieces_[view == WordView::kAfter];
  out.clear();
  out.reserve(tokens_.size());
  for (const Token& token : tokens_) {
    const std::string_view word = words.word(words_.types[token.word]);
    const char* at = word.data();
    const char* const end = at + word.size();
    for (std::int64_t k = view == WordView::kAfter ? token.end : token.start; k > 0 && at < end;
         --k)
      read_utf8(at);
    const std::string_view left = word.substr(0, at - word.data());
    const std::string_view right = word.substr(left.size());
    const std::string_view own = view == WordView::kAfter ? left : right;
    const std::string_view other = view == WordView::kAfter ? right : left;
    const std::int32_t type = pieces.add_word(own);
    out.push_back({type, other.empty() ? -1 : pieces.add_word(other)});
  }
}

// Calls of_word(index of a word) or of_piece(type) for the word at `offset` from that of each
// token, where there is one; each appends its numbers to `out`.  The rest of the token's own word
// counts as a word where the view cuts it off.
template <class OfWord, class OfPiece>
void WordsAround::each(WordView view, std::int64_t offset, EndValues ends, OfWord of_word,
                       OfPiece of_piece, TokenValues& out) const {
  const std::int64_t side = view == WordView::kBefore ? -1 : view == WordView::kAfter ? 1 : 0;
  const bool pointed = !out.ptr.empty();
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const Token& token = tokens_[i];
    const std::int32_t rest = side == 0 ? -1 : pieces(view)[i].other;
    if (side != 0 && offset == 0) {
      of_piece(pieces(view)[i].own);
    } else if (view == WordView::kFirst && !begins(i)) {
      if (!pointed) out.ids.push_back(kUnseen);
    } else if (rest >= 0 && offset == side) {
      of_piece(rest);
    } else {
      const std::int64_t at = token.word + offset - (rest >= 0 && offset * side > 0 ? side : 0);
      if (at < token.first || at >= token.stop) {
        out.ids.push_back(at < token.first ? ends.before : ends.after);
      } else {
        of_word(at);
      }
    }
    if (pointed) out.ptr.push_back(static_cast<std::int64_t>(out.ids.size()));
  }
}

namespace {

template <class Values>
void append_values(const Values& values, std::int64_t k, std::vector<std::int32_t>& out) {
  if (values.ptr.empty()) {
    out.push_back(values.ids[k]);
  } else {
    out.insert(out.end(), values.ids.begin() + values.ptr[k],
               values.ids.begin() + values.ptr[k + 1]);
  }
}

}  // namespace

TokenValues WordsAround::values(WordView view, std::int64_t offset, const TypeValues& of_word,
                                const TypeValues* of_piece, EndValues ends) const {
  TokenValues out;
  if (!of_word.ptr.empty() || (of_piece != nullptr && !of_piece->ptr.empty())) out.ptr.push_back(0);
  each(
      view, offset, ends,
      [&](std::int64_t word) { append_values(of_word, words_.types[word], out.ids); },
      [&](std::int32_t type) { append_values(*of_piece, type, out.ids); }, out);
  return out;
}

TokenValues WordsAround::values(WordView view, std::int64_t offset, const TokenValues& of_word,
                                EndValues ends) const {
  TokenValues out;
  if (!of_word.ptr.empty()) out.ptr.push_back(0);
  each(
      view, offset, ends, [&](std::int64_t word) { append_values(of_word, word, out.ids); },
      [](std::int32_t) {}, out);
  return out;
}

std::vector<std::int32_t> WordsAround::places(const std::array<std::int32_t, 4>& numbers) const {
  std::vector<std::int32_t> out;
  out.reserve(tokens_.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const bool last = i + 1 == tokens_.size() || begins(i + 1);
    out.push_back(numbers[begins(i) ? (last ? 0 : 1) : (last ? 3 : 2)]);
  }
  return out;
}

}  // namespace caesura
