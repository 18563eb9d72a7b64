// Bindings of the firings of segment features.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bind/bindings.hpp"
#include "bind/stable_abi.hpp"
#include "encode/segments.hpp"
#include "encode/similar.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {
namespace {

std::vector<std::int64_t> checked_offsets(const Vector<std::int64_t>& offsets, std::int64_t size) {
  require(offsets.shape(0) >= 1 && offsets(0) == 0, "offsets: expected 0 first");
  for (std::size_t i = 1; i < offsets.shape(0); ++i)
    require(offsets(i) >= offsets(i - 1), "offsets: expected them in order");
  require(size < 0 || offsets(offsets.shape(0) - 1) == size, "offsets: wrong number of tokens");
  return copied(offsets);
}

Trie::Found find(const EntryFinder& self, Vector<std::int32_t> keys, Vector<std::int64_t> offsets,
                 bool marks) {
  checked_offsets(offsets, static_cast<std::int64_t>(keys.shape(0)));
  const Released release;
  return self.find(keys.data(), offsets.data(), static_cast<int>(offsets.shape(0)) - 1, marks);
}

void add(Firings& self, int source, Vector<std::int32_t> starts, Vector<std::int32_t> ends,
         Vector<std::uint8_t> flags, Vector<std::int32_t> ids, Vector<double> values) {
  const std::size_t count = starts.shape(0);
  require(ends.shape(0) == count && flags.shape(0) == count && ids.shape(0) == count &&
              values.shape(0) == count,
          "firings: lengths differ");
  for (std::size_t k = 0; k < count; ++k) {
    if (ids(k) >= 0) self.push_back({starts(k), ends(k), flags(k), source, ids(k), values(k)});
  }
}

// Rules are (length, flags, name, value).  Those with an unknown name do not fire.
using NamedRule = std::tuple<std::int64_t, std::uint8_t, std::string, double>;
void add_lengths(Firings& self, int source, Vector<std::int64_t> offsets, const Interner& values,
                 const std::vector<NamedRule>& rules) {
  std::vector<LengthRule> known;
  for (const auto& [length, flags, name, value] : rules) {
    require(length >= 1, "rules: expected lengths of 1 or more");
    const std::int32_t id = values.find(name);
    if (id != Interner::kMissing) known.push_back({length, flags, id, value});
  }
  fire_lengths(known, checked_offsets(offsets, -1), source, self);
}

// tables: arrays, [entries], with the number of the attribute of each entry, negative if unknown.
void add_entries(Firings& self, int source, Vector<std::int32_t> keys, Vector<std::int64_t> offsets,
                 const EntryFinder& finder, const std::vector<Vector<std::int32_t>>& tables) {
  const Trie::Found found = find(finder, keys, offsets, true);
  for (const Vector<std::int32_t>& ids : tables) {
    for (std::size_t k = 0; k < found.starts.size(); ++k) {
      const std::int32_t entry = found.payloads[k];
      require(entry >= 0 && entry < static_cast<std::int64_t>(ids.shape(0)), "tables: too short");
      if (ids(entry) < 0) continue;
      self.push_back({static_cast<std::int32_t>(found.starts[k]),
                      static_cast<std::int32_t>(found.ends[k]), 0, source, ids(entry), 1.0});
    }
  }
}

void add_shapes(Firings& self, int source, Vector<std::int32_t> numbers,
                Vector<std::int64_t> offsets, SpanShapes& shapes, const Interner& said,
                const Interner& values) {
  const auto checked = checked_offsets(offsets, static_cast<std::int64_t>(numbers.shape(0)));
  for (std::size_t t = 0; t < numbers.shape(0); ++t)
    require(numbers(t) >= 0 && numbers(t) < said.size(), "numbers: out of range");
  const Released release;
  shapes.fire(numbers.data(), checked, said, values, source, self);
}

void add_pattern(Firings& self, int source, const TokenBatch& batch, const TokenTypes& types,
                 Pattern& pattern, nb::str joiner, int max_length, int id) {
  require(id >= 0 && max_length >= 1, "id, max_length: out of range");
  for (const std::int32_t type : batch.types)
    require(type >= 0 && type < types.size(), "batch: its types have been forgotten");
  std::vector<char32_t> between(PyUnicode_GET_LENGTH(joiner.ptr()));
  for (std::size_t k = 0; k < between.size(); ++k)
    between[k] = PyUnicode_ReadChar(joiner.ptr(), static_cast<Py_ssize_t>(k));
  const Released release;
  fire_pattern(batch, types, pattern, between, max_length, id, source, self);
}

SimilarEntries::Texts texts_from(Vector<std::int32_t> characters, Vector<std::int64_t> offsets,
                                 std::int32_t least, std::int32_t n_characters) {
  SimilarEntries::Texts texts{
      copied(characters), checked_offsets(offsets, static_cast<std::int64_t>(characters.shape(0)))};
  for (const std::int32_t c : texts.characters)
    require(c >= least && c < n_characters, "characters: out of range");
  return texts;
}

std::vector<std::int32_t> below(Vector<std::int32_t> numbers, std::int32_t least, std::size_t end) {
  for (std::size_t k = 0; k < numbers.shape(0); ++k)
    require(numbers(k) >= least && numbers(k) < static_cast<std::int64_t>(end),
            "numbers: out of range");
  return copied(numbers);
}

SimilarEntries similar_entries(int n_characters, int space, Vector<std::int32_t> characters,
                               Vector<std::int64_t> offsets, Vector<std::int32_t> having,
                               Vector<std::int64_t> having_offsets) {
  require(space >= 0 && space < n_characters, "space: out of range");
  SimilarEntries::Texts entries = texts_from(characters, offsets, 0, n_characters);
  std::vector<std::int32_t> owners = below(having, 0, entries.offsets.size() - 1);
  return SimilarEntries(
      n_characters, space, std::move(entries), std::move(owners),
      checked_offsets(having_offsets, static_cast<std::int64_t>(having.shape(0))));
}

auto reached(const SimilarEntries& self, Vector<std::int32_t> characters,
             Vector<std::int64_t> offsets, Vector<std::int32_t> numbers, Vector<std::int32_t> types,
             Vector<std::int64_t> document_offsets, const std::vector<double>& thresholds,
             std::int64_t max_length) {
  require(!thresholds.empty() && thresholds[0] > 0, "thresholds: expected numbers above 0");
  require(max_length >= 1, "max_length: expected 1 or more");
  SimilarEntries::Tokens tokens{texts_from(characters, offsets, -1, self.n_characters()),
                                below(numbers, -1, self.n_tokens())};
  require(tokens.numbers.size() + 1 == tokens.texts.offsets.size(), "numbers: one for each token");
  const auto checked = below(types, 0, tokens.numbers.size());
  const auto ranges = checked_offsets(document_offsets, static_cast<std::int64_t>(types.shape(0)));
  SimilarEntries::Reached found;
  {
    const Released release;
    found = self.reached(tokens, checked, ranges, thresholds, max_length);
  }
  return std::make_tuple(given(std::move(found.starts)), given(std::move(found.ends)),
                         given(std::move(found.counts)));
}

}  // namespace

void bind_segments(nb::module_& m) {
  nb::class_<SimilarEntries>(m, "SimilarEntries",
                             "The entries of a lexicon, and which spans are similar to one.")
      .def(nb::new_(&similar_entries), "n_characters"_a, "space"_a, "characters"_a, "offsets"_a,
           "having"_a, "having_offsets"_a)
      .def("reached", &reached, "characters"_a, "offsets"_a, "numbers"_a, "types"_a,
           "document_offsets"_a, "thresholds"_a, "max_length"_a,
           "The spans that reach a threshold: starts, ends, and how many thresholds.");

  nb::class_<EntryFinder>(m, "EntryFinder", "The entries of a lexicon, and where they occur.")
      .def(nb::init<bool>(), "loose"_a)
      .def(
          "add",
          [](EntryFinder& self, Vector<std::int32_t> keys, int entry) {
            require(keys.shape(0) > 0, "keys: expected one or more");
            for (std::size_t k = 0; k < keys.shape(0); ++k)
              require(keys(k) >= 0, "keys: expected 0 or more");
            self.add(keys.data(), keys.shape(0), entry);
          },
          "keys"_a, "entry"_a)
      .def(
          "find",
          [](const EntryFinder& self, Vector<std::int32_t> keys, Vector<std::int64_t> offsets,
             bool marks) {
            Trie::Found found = find(self, keys, offsets, marks);
            return std::make_tuple(given(std::move(found.starts)), given(std::move(found.ends)),
                                   given(std::move(found.payloads)));
          },
          "keys"_a, "offsets"_a, "marks"_a,
          "All matches inside each document: starts, ends, entries.")
      .def(
          "places",
          [](const EntryFinder& self, Vector<std::int32_t> keys, Vector<std::int64_t> offsets) {
            const Trie::Found found = find(self, keys, offsets, false);
            return given(places_in(found, offsets.data(), static_cast<int>(offsets.shape(0)) - 1));
          },
          "keys"_a, "offsets"_a,
          "Where in an entry each token is: begin, inside, end, single (0 to 3), or -1.");

  nb::class_<SpanShapes>(m, "SpanShapes",
                         "The attributes of spans, by what is said of their tokens.")
      .def(nb::init<int, bool>(), "max_length"_a, "collapse"_a)
      .def("forget", &SpanShapes::forget, "Forget the numbers of attributes.");

  nb::class_<Firings>(m, "Firings", "Where features of segments fire.")
      .def(nb::init<>())
      .def("__len__", [](const Firings& self) { return self.size(); })
      .def("add", &add, "source"_a, "starts"_a, "ends"_a, "flags"_a, "ids"_a, "values"_a,
           "Add what was found in Python; ids below 0 are left out.")
      .def("add_lengths", &add_lengths, "source"_a, "offsets"_a, "values"_a, "rules"_a,
           "Add segments of some lengths.")
      .def("add_entries", &add_entries, "source"_a, "keys"_a, "offsets"_a, "finder"_a, "tables"_a,
           "Add the matches of a lexicon.")
      .def("add_shapes", &add_shapes, "source"_a, "numbers"_a, "offsets"_a, "shapes"_a, "said"_a,
           "values"_a, "Add the spans whose attributes are known.")
      .def("add_pattern", &add_pattern, "source"_a, "batch"_a, "types"_a, "pattern"_a, "joiner"_a,
           "max_length"_a, "id"_a, "Add the spans whose text matches.")
      .def(
          "sort",
          [](Firings& self, std::int64_t n_tokens) {
            for (const Firing& f : self)
              require(f.start >= 0 && f.start < n_tokens, "firings: out of range");
            sort_by_start(self, n_tokens);
          },
          "n_tokens"_a, "Sort by start; features stay in their order.");
}

}  // namespace caesura
