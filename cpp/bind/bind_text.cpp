// Bindings of text: characters, tokenisers, patterns, and the types of tokens with their columns.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "bind/bindings.hpp"
#include "bind/stable_abi.hpp"
#include "encode/types.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {
namespace {

// ---- Strings and names ----

void append_codes(nb::handle text, std::vector<char32_t>& out) {
  const HeldText view = view_of(text);
  for (std::int64_t k = 0; k < view.size; ++k) out.push_back(code_at(view, k));
}

// Returns the enumerator with a name; `names` are in the order of the enumeration.
template <class Enum, std::size_t N>
Enum named(const std::array<std::string_view, N>& names, const std::string& name,
           const char* what) {
  const auto found = std::find(names.begin(), names.end(), name);
  require(found != names.end(), what);
  return static_cast<Enum>(found - names.begin());
}
constexpr std::array<std::string_view, 4> kTokenisers{"words", "whitespace", "characters", "parts"};
constexpr std::array<std::string_view, 4> kNormalisers{"folded", "zeroed", "lowered", "bare"};
constexpr std::array<std::string_view, 3> kOrigins{"start", "end", "part"};
constexpr std::array<std::string_view, 15> kKinds{
    "bias",        "word", "shape",  "short_shape", "prefix",  "suffix",     "ngrams", "char_class",
    "punctuation", "case", "hyphen", "word_length", "matches", "in_lexicon", "python"};

// ---- Characters ----

// ask(number) returns (flags, class, case-folded form, NFKC form) for each of 256 code points.
std::unique_ptr<CharacterPage> read_page(const nb::callable& ask, int number) {
  const nb::gil_scoped_acquire held;
  auto page = std::make_unique<CharacterPage>();
  int k = 0;
  for (nb::handle row : nb::object(ask(number))) {
    require(k < 256, "read_page: expected 256 rows");
    Character& one = page->at[k++];
    one.flags = nb::cast<std::uint16_t>(row[0]);
    one.kind = static_cast<CharacterClass>(nb::cast<std::uint8_t>(row[1]));
    one.folded = static_cast<std::uint16_t>(page->text.size());
    append_codes(row[2], page->text);
    one.n_folded = static_cast<std::uint8_t>(page->text.size() - one.folded);
    one.normal = static_cast<std::uint16_t>(page->text.size());
    append_codes(row[3], page->text);
    one.n_normal = static_cast<std::uint8_t>(page->text.size() - one.normal);
  }
  require(k == 256 && page->text.size() <= 0xffff, "read_page: expected 256 short rows");
  return page;
}

std::shared_ptr<Characters> make_characters(nb::callable read, nb::callable normalise) {
  return std::make_shared<Characters>(
      [read = std::move(read)](int number) { return read_page(read, number); },
      [normalise = std::move(normalise)](const std::vector<char32_t>& word) {
        const nb::gil_scoped_acquire held;
        const nb::object text = string_of(word);
        std::vector<char32_t> out;
        append_codes(nb::object(normalise(text)), out);
        return out;
      });
}

std::vector<std::pair<std::int64_t, std::int64_t>> spans(const Characters& self, nb::str text,
                                                         const std::string& tokeniser) {
  const HeldText view = view_of(text);
  const Tokeniser how = tokeniser_named(tokeniser);
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  with_units(view, [&](const auto* units) {
    tokenise(how, units, view.size, self,
             [&out](std::int64_t start, std::int64_t end) { out.emplace_back(start, end); });
  });
  return out;
}

// ---- Types of tokens ----

int add_column(TokenTypes& self, const std::string& kind,
               const std::vector<std::string>& normalisers, std::shared_ptr<Interner> values,
               int low, int high, std::vector<std::string> buckets,
               std::shared_ptr<Pattern> pattern, std::shared_ptr<Interner> known, bool every) {
  WordColumn column;
  column.kind = named<WordKind>(kKinds, kind, "kind: not known");
  for (const std::string& name : normalisers)
    column.normalisers.push_back(named<Normaliser>(kNormalisers, name, "normalisers: not known"));
  require(low >= 0 && high >= 0, "low, high: out of range");
  require(values != nullptr, "values: expected an Interner");
  require(column.kind != WordKind::kWordLength || !buckets.empty(), "buckets: expected some");
  require(column.kind != WordKind::kMatches || pattern != nullptr, "pattern: expected one");
  require(column.kind != WordKind::kInLexicon || known != nullptr, "known: expected words");
  column.low = low;
  column.high = high;
  column.buckets = std::move(buckets);
  column.pattern = std::move(pattern);
  column.known = std::move(known);
  return self.add_column(std::move(column), std::move(values), every);
}

// Calls add(text, index, batch) for each text without the GIL, and returns the batch.  A tuple
// keeps the strings alive meanwhile, even if the list is modified.
template <class Add>
std::shared_ptr<TokenBatch> read_all(nb::sequence texts, bool located, Add add) {
  const nb::tuple held(texts);
  std::vector<HeldText> views;
  views.reserve(held.size());
  for (nb::handle text : held) views.push_back(view_of(text));
  auto out = std::make_shared<TokenBatch>();
  out->located = located;
  const Released release;
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!add(views[i], i, *out)) return nullptr;
  }
  return out;
}

std::shared_ptr<TokenBatch> read_texts(TokenTypes& self, nb::sequence texts,
                                       const std::string& tokeniser, bool located) {
  const Tokeniser how = tokeniser_named(tokeniser);
  return read_all(texts, located, [&](const TextView& text, std::size_t, TokenBatch& out) {
    self.add_text(text, how, out);
    return true;
  });
}

std::shared_ptr<TokenBatch> read_matches(TokenTypes& self, nb::sequence texts,
                                         const Pattern& pattern, std::size_t most, bool located) {
  std::vector<char32_t> codes;
  Pattern::Spans found;
  std::vector<CharacterSpan> spans;
  return read_all(texts, located, [&](const TextView& text, std::size_t, TokenBatch& out) {
    codes.clear();
    found.clear();
    spans.clear();
    with_units(text, [&](const auto* units) { codes.assign(units, units + text.size); });
    if (!pattern.find(codes, self.characters(), most, found)) return false;
    for (const auto& [start, end] : found) spans.push_back({start, end});
    self.add_spans(text, spans, out);
    return true;
  });
}

std::shared_ptr<TokenBatch> read_spans(TokenTypes& self, nb::sequence texts, nb::list spans,
                                       bool located) {
  std::vector<std::vector<CharacterSpan>> given;
  for (nb::handle pairs : spans) given.push_back(spans_from(pairs));
  require(given.size() == nb::len(texts), "spans: expected some for each text");
  std::size_t i = 0;
  for (nb::handle text : texts) {
    const Py_ssize_t size = PyUnicode_GetLength(text.ptr());
    if (size < 0) throw nb::python_error();
    for (const CharacterSpan& span : given[i++])
      require(0 <= span.start && span.start <= span.end && span.end <= size, "spans: out of range");
  }
  return read_all(texts, located, [&](const TextView& text, std::size_t k, TokenBatch& out) {
    self.add_spans(text, given[k], out);
    return true;
  });
}

std::shared_ptr<TokenBatch> read_tokens(TokenTypes& self, nb::sequence sequences) {
  auto out = std::make_shared<TokenBatch>();
  for (nb::handle sequence : sequences) {
    const nb::object tokens =
        nb::steal(PySequence_Fast(sequence.ptr(), "sequences: expected lists of strings"));
    if (!tokens.is_valid()) throw nb::python_error();
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(tokens.ptr());
    for (Py_ssize_t t = 0; t < size; ++t)
      self.add_token(view_of(fast_items(tokens.ptr())[t]), *out);
    out->end_sequence();
  }
  return out;
}

using TakenColumn = std::tuple<std::optional<Array<std::int64_t>>, Array<std::int32_t>,
                               std::optional<Array<double>>>;

std::vector<TakenColumn> take_columns(const TokenTypes& self, const std::vector<int>& columns,
                                      const TokenBatch& batch) {
  for (const std::int32_t type : batch.types)
    require(type >= 0 && type < self.size(), "batch: its types have been forgotten");
  std::vector<TokenValues> taken;
  for (const int column : columns) {
    require(column >= 0 && column < self.n_columns(), "columns: out of range");
    require(self.values(column).n_types == self.size(), "columns: some types have no values yet");
  }
  {
    const Released release;
    for (const int column : columns) taken.push_back(take(self.values(column), batch.types));
  }
  std::vector<TakenColumn> out;
  for (TokenValues& values : taken) {
    std::optional<Array<std::int64_t>> ptr;
    if (!values.ptr.empty()) ptr = given(std::move(values.ptr));
    out.emplace_back(ptr, given(std::move(values.ids)), std::nullopt);
  }
  return out;
}

void put(TokenTypes& self, int column, Vector<std::int64_t> counts, Vector<std::int32_t> ids) {
  require(column >= 0 && column < self.n_columns(), "column: out of range");
  std::size_t at = 0;
  for (std::size_t k = 0; k < counts.shape(0); ++k) {
    require(counts(k) >= 0 && at + counts(k) <= ids.shape(0), "counts: out of range");
    self.put(column, {ids.data() + at, ids.data() + at + counts(k)});
    at += counts(k);
  }
}

nb::list words(const TokenTypes& self, int first) {
  nb::list out;
  for (std::int32_t type = std::max(first, 0); type < self.size(); ++type)
    out.append(decoded(self.word(type)));
  return out;
}

void bind_types(nb::module_& m) {
  nb::class_<TokenBatch>(m, "TokenBatch", "The types of the tokens of many sequences, in one row.")
      .def("__len__", &TokenBatch::n_sequences)
      .def_prop_ro(
          "types",
          [](const TokenBatch& self) { return given(std::vector<std::int32_t>(self.types)); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "offsets",
          [](const TokenBatch& self) { return given(std::vector<std::int64_t>(self.offsets)); },
          nb::rv_policy::automatic);

  nb::class_<TokenTypes>(m, "TokenTypes", "The distinct tokens met so far, and their columns.")
      .def(
          "__init__",
          [](TokenTypes* self, std::shared_ptr<Characters> characters) {
            require(characters != nullptr, "characters: expected them");
            new (self) TokenTypes(std::move(characters));
          },
          "characters"_a)
      .def("__len__", &TokenTypes::size)
      .def_prop_ro("generation", &TokenTypes::generation, "It changes when types are forgotten.")
      .def("add_column", &add_column, "kind"_a, "normalisers"_a, "values"_a, nb::kw_only(),
           "low"_a = 0, "high"_a = 0, "buckets"_a = std::vector<std::string>(),
           "pattern"_a.none() = nb::none(), "known"_a.none() = nb::none(), "every"_a = false,
           "Add a column of words, and return its index.")
      .def("read_texts", &read_texts, "texts"_a, "tokeniser"_a, "located"_a = false,
           "Cut texts into tokens, and return their types, with their places if asked for.")
      .def("read_matches", &read_matches, "texts"_a, "pattern"_a, "most"_a, "located"_a = false,
           "The same with the matches of a pattern; None if a text takes more than `most` bytes.")
      .def("read_spans", &read_spans, "texts"_a, "spans"_a, "located"_a = false,
           "The same with the spans of tokens in each text, of which empty ones are left out.")
      .def("read_tokens", &read_tokens, "sequences"_a, "Return the types of tokens.")
      .def(
          "extend",
          [](TokenTypes& self, int first, int last, bool grow) {
            require(first >= 0 && first <= last && last <= self.n_columns(),
                    "first, last: out of range");
            const Released release;
            self.extend(first, last, grow);
          },
          "first"_a, "last"_a, "grow"_a,
          "Compute columns for the types that have come since; not those of kind python.")
      .def(
          "n_done",
          [](const TokenTypes& self, int column) {
            require(column >= 0 && column < self.n_columns(), "column: out of range");
            return self.values(column).n_types;
          },
          "column"_a, "The number of types whose values are there.")
      .def("put", &put, "column"_a, "counts"_a, "ids"_a,
           "Give a column of kind python the values of the next types.")
      .def("take", &take_columns, "columns"_a, "batch"_a,
           "The values of each token in each column: ptr (None: one a token), numbers, None.")
      .def("words", &words, "first"_a = 0, "The tokens of the types from `first` on.")
      .def("forget", &TokenTypes::forget, "Forget all types.");

  m.def(
      "positions",
      [](const TokenBatch& batch, const std::string& origin, int limit, Interner& values,
         bool grow) {
        require(limit >= 1, "limit: out of range");
        const auto from = named<Origin>(kOrigins, origin, "origin: not known");
        return given(positions(batch.offsets, from, limit, values, grow));
      },
      "batch"_a, "origin"_a, "limit"_a, "values"_a, "grow"_a,
      "The number of each token's place in its sequence.");
  m.def(
      "repeats",
      [](const TokenBatch& batch, std::int64_t offset, Interner& values, bool grow) {
        return given(repeats(batch, offset, values, grow));
      },
      "batch"_a, "offset"_a, "values"_a, "grow"_a,
      "The number of yes or no for each token: whether it is the same as another.");
}

}  // namespace

Tokeniser tokeniser_named(const std::string& name) {
  return named<Tokeniser>(kTokenisers, name, "tokeniser: not known");
}

void bind_text(nb::module_& m) {
  nb::class_<Characters>(m, "Characters", "Properties of code points, read from Python in pages.")
      .def(nb::new_(&make_characters), "read_page"_a, "normalise"_a)
      .def("spans", &spans, "text"_a, "tokeniser"_a, "The character span of each token.");

  nb::class_<Pattern>(m, "Pattern", "A regular expression of the part that is a regular language.")
      .def_static(
          "compile",
          [](nb::str source, bool search) -> std::shared_ptr<Pattern> {
            std::vector<char32_t> codes;
            append_codes(source, codes);
            std::optional<Pattern> made = Pattern::compile(codes, search);
            return made ? std::make_shared<Pattern>(std::move(*made)) : nullptr;
          },
          "source"_a, "search"_a = false,
          "A pattern, or None if the expression is not of that part.  One to search with may have "
          "anchors and word boundaries, and is only for that.")
      .def(
          "find",
          [](const Pattern& self, nb::str text, const Characters& characters,
             std::size_t most) -> std::optional<Pattern::Spans> {
            std::vector<char32_t> codes;
            append_codes(text, codes);
            Pattern::Spans out;
            if (!self.find(codes, characters, most, out)) return std::nullopt;
            return out;
          },
          "text"_a, "characters"_a, "most"_a,
          "The spans of re.finditer that are not empty, in linear time; None if that takes more "
          "than `most` bytes.")
      .def(
          "fullmatch",
          [](Pattern& self, nb::str word, const Characters& characters) {
            std::vector<char32_t> codes;
            append_codes(word, codes);
            return self.matches(codes, characters);
          },
          "word"_a, "characters"_a, "Whether the whole word matches.");

  bind_types(m);
}

}  // namespace caesura
