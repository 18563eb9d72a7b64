// Bindings of the words that contain tokens.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <string>

#include "bind/bindings.hpp"
#include "bind/stable_abi.hpp"
#include "encode/around.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {
namespace {

using ColumnOfTokens = std::pair<std::optional<Array<std::int64_t>>, Array<std::int32_t>>;

ColumnOfTokens given_column(TokenValues values) {
  std::optional<Array<std::int64_t>> ptr;
  if (!values.ptr.empty()) ptr = given(std::move(values.ptr));
  return {ptr, given(std::move(values.ids))};
}

WordView view_named(const std::string& name) {
  constexpr std::array<std::string_view, 4> kViews{"every", "first", "before", "after"};
  const auto found = std::find(kViews.begin(), kViews.end(), name);
  require(found != kViews.end(), "view: not known");
  return static_cast<WordView>(found - kViews.begin());
}

// texts: a string or None for each sequence; None if no sequence has a text.  offsets: the spans of
// the tokens of each sequence in its text, or None; if no spans are given, those of the batch.
std::shared_ptr<WordsAround> words_around(TokenTypes& words, const TokenTypes& own,
                                          const TokenBatch& tokens, std::optional<nb::list> texts,
                                          std::optional<nb::list> offsets, const std::string& by) {
  const auto n = static_cast<std::size_t>(tokens.n_sequences());
  const Tokeniser how = tokeniser_named(by);
  require(&words != &own, "words: expected other types than those of the tokens");
  require(!texts || nb::len(*texts) == n, "texts: expected one for each sequence");
  require(!offsets || nb::len(*offsets) == n, "offsets: expected some for each sequence");
  require(!texts || offsets || tokens.located, "tokens: their spans are not known");
  auto out = std::make_shared<WordsAround>();
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t begin = tokens.offsets[i], count = tokens.offsets[i + 1] - begin;
    const nb::object text = texts ? nb::object((*texts)[i]) : nb::none();
    const nb::object pairs = offsets ? nb::object((*offsets)[i]) : nb::none();
    std::vector<CharacterSpan> spans;
    if (!pairs.is_none()) spans = spans_from(pairs);
    require(spans.empty() || static_cast<std::int64_t>(spans.size()) == count,
            "offsets: expected one for each token");
    const CharacterSpan* first = offsets ? spans.data() : tokens.spans.data() + begin;
    const bool has_spans = count > 0 && (!offsets || !spans.empty());
    if (!text.is_none() && has_spans && out->add_text(words, view_of(text), how, first, count))
      continue;
    for (std::int64_t t = begin; t < begin + count; ++t)
      require(tokens.types[t] < own.size(), "tokens: their types have been forgotten");
    out->add_tokens(words, own, tokens.types.data() + begin, count);
  }
  return out;
}

const TypeValues& values_in(const TokenTypes& types, int column) {
  require(column >= 0 && column < types.n_columns(), "column: out of range");
  require(types.values(column).n_types == types.size(), "column: some types have no values yet");
  return types.values(column);
}

ColumnOfTokens values_around(const WordsAround& self, const std::string& view, std::int64_t offset,
                             EndValues ends, const TokenTypes& words, int column,
                             const TokenTypes* pieces, int of_piece) {
  const WordView how = view_named(view);
  const bool cut = WordsAround::reads_pieces(how, offset);
  require(!cut || pieces != nullptr, "pieces: expected some for this view");
  const TypeValues& whole = values_in(words, column);
  const TypeValues* parts = cut ? &values_in(*pieces, of_piece) : nullptr;
  TokenValues out;
  {
    const Released release;
    out = self.values(how, offset, whole, parts, ends);
  }
  return given_column(std::move(out));
}

}  // namespace

std::vector<CharacterSpan> spans_from(nb::handle pairs) {
  std::vector<CharacterSpan> out;
  for (const auto& [start, end] :
       nb::cast<std::vector<std::pair<std::int64_t, std::int64_t>>>(pairs))
    out.push_back({start, end});
  return out;
}

void bind_around(nb::module_& m) {
  nb::class_<WordsAround>(m, "WordsAround", "The words that contain the tokens of a batch.")
      .def_prop_ro(
          "words",
          [](const WordsAround& self) { return std::make_shared<TokenBatch>(self.words()); },
          nb::rv_policy::automatic, "The words of all sequences.")
      .def(
          "cut",
          [](WordsAround& self, const std::string& view, const TokenTypes& words,
             TokenTypes& pieces) {
            require(&words != &pieces, "pieces: expected other types than those of the words");
            const Released release;
            self.cut(view_named(view), words, pieces);
          },
          "view"_a, "words"_a, "pieces"_a, "Read the two pieces of the word of each token.")
      .def(
          "values",
          [](const WordsAround& self, const std::string& view, std::int64_t offset,
             std::int32_t before, std::int32_t after, const TokenTypes& words, int column,
             const TokenTypes* pieces, int of_piece) {
            return values_around(self, view, offset, {before, after}, words, column, pieces,
                                 of_piece);
          },
          "view"_a, "offset"_a, "before"_a, "after"_a, "words"_a, "column"_a,
          "pieces"_a.none() = nb::none(), "of_piece"_a = -1,
          "The values, at each token, of the word at an offset from its own: ptr or None, numbers.")
      .def(
          "values_of",
          [](const WordsAround& self, const std::string& view, std::int64_t offset,
             std::int32_t before, std::int32_t after, std::optional<Vector<std::int64_t>> ptr,
             Vector<std::int32_t> ids) {
            TokenValues values{ptr ? copied(*ptr) : std::vector<std::int64_t>(), copied(ids)};
            const std::size_t n = values.ptr.empty() ? values.ids.size() : values.ptr.size() - 1;
            require(n == self.words().types.size(), "ids: expected some for each word");
            const WordView how = view_named(view);
            require(how == WordView::kEvery || how == WordView::kFirst, "view: it cuts words");
            return given_column(self.values(how, offset, values, {before, after}));
          },
          "view"_a, "offset"_a, "before"_a, "after"_a, "ptr"_a.none(), "ids"_a,
          "The same with a column that has its own values at each word.")
      .def(
          "places",
          [](const WordsAround& self, Vector<std::int32_t> numbers) {
            require(numbers.shape(0) == 4, "numbers: expected four");
            return given(self.places({numbers(0), numbers(1), numbers(2), numbers(3)}));
          },
          "numbers"_a, "The number of each token's position: only, first, inside or last.");
  m.def("words_around", &words_around, "words"_a, "own"_a, "tokens"_a, "texts"_a.none(),
        "offsets"_a.none(), "by"_a, "The words that contain the tokens of a batch.");
}

}  // namespace caesura
