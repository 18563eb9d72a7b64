// Bindings of encoding: strings, corpora, attributes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "bind/bindings.hpp"
#include "bind/stable_abi.hpp"
#include "encode/corpus.hpp"
#include "encode/interner.hpp"
#include "encode/segments.hpp"
#include "encode/trie.hpp"
#include "learn/word_rows.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {
namespace {

// ---- Strings and their numbers ----

// The bytes of a Python string as UTF-8, without a copy if it is plain ASCII.
class Text {
 public:
  explicit Text(PyObject* o) {
    if (ascii_text(o, view)) return;
    held_ = nb::steal<nb::object>(PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass"));
    if (!held_.is_valid()) throw nb::python_error();
    view = {PyBytes_AS_STRING(held_.ptr()),
            static_cast<std::size_t>(PyBytes_GET_SIZE(held_.ptr()))};
  }
  std::string_view view;

 private:
  nb::object held_;
};

std::pair<Array<std::uint8_t>, Array<std::int32_t>> texts_of(const Interner& self,
                                                             Vector<std::int32_t> ids) {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int32_t> sizes;
  for (std::size_t k = 0; k < ids.shape(0); ++k) {
    const std::int32_t id = ids.data()[k];
    require(id >= 0 && id < self.size(), "ids: out of range");
    const std::string_view text = self[id];
    bytes.insert(bytes.end(), text.begin(), text.end());
    sizes.push_back(static_cast<std::int32_t>(text.size()));
  }
  return {given(std::move(bytes)), given(std::move(sizes))};
}

Array<std::int32_t> intern(Interner& self, nb::sequence words, bool grow) {
  std::vector<std::int32_t> ids;
  for (nb::handle word : words) {
    require(PyUnicode_Check(word.ptr()), "words: expected strings");
    const Text text(word.ptr());
    ids.push_back(grow ? self.add(text.view) : self.find(text.view));
  }
  return given(std::move(ids));
}

// The inverse of texts_of.
Array<std::int32_t> add_texts(Interner& self, Vector<std::uint8_t> bytes,
                              Vector<std::int32_t> sizes) {
  const auto* at = reinterpret_cast<const char*>(bytes.data());
  std::size_t left = bytes.shape(0);
  std::vector<std::int32_t> ids;
  ids.reserve(sizes.shape(0));
  for (std::size_t k = 0; k < sizes.shape(0); ++k) {
    require(sizes(k) >= 0 && static_cast<std::size_t>(sizes(k)) <= left, "sizes: out of range");
    const std::string_view text(at, static_cast<std::size_t>(sizes(k)));
    ids.push_back(self.add(text));
    at += text.size();
    left -= text.size();
  }
  return given(std::move(ids));
}

// ---- Corpora and their attributes ----

using ColumnTuple = std::tuple<std::optional<Vector<std::int64_t>>, Vector<std::int32_t>,
                               std::optional<Vector<double>>>;

void extract(Extractor& self, Corpus& corpus, Vector<std::int64_t> offsets,
             const std::vector<ColumnTuple>& columns, const Firings& firings, bool grow,
             WordRows* words, const TokenTypes* types, const TokenBatch* tokens) {
  require(offsets.shape(0) >= 1 && offsets(0) == 0, "offsets: expected 0 first");
  const int n = static_cast<int>(offsets.shape(0)) - 1;
  const std::int64_t n_tokens = offsets(n);
  require(words == nullptr ||
              (types != nullptr && tokens != nullptr && !grow && tokens->n_tokens() == n_tokens),
          "words: expected the types of all tokens");
  std::vector<Column> views;
  for (const auto& [ptr, column_ids, column_values] : columns) {
    Column column;
    if (words != nullptr && !words->needed()[views.size()]) {
      views.push_back(column);
      continue;
    }
    std::size_t size = n_tokens;
    if (ptr) {
      require(static_cast<std::int64_t>(ptr->shape(0)) == n_tokens + 1,
              "columns: wrong number of tokens");
      column.ptr = ptr->data();
      size = (*ptr)(n_tokens);
    }
    require(column_ids.shape(0) == size, "columns: wrong number of values");
    require(!column_values || column_values->shape(0) == size, "columns: wrong number of weights");
    column.ids = column_ids.data();
    if (column_values) column.values = column_values->data();
    views.push_back(column);
  }
  require(static_cast<int>(columns.size()) > self.last_column(),
          "columns: too few for the templates");
  for (const Firing& f : firings) {
    require(f.source >= 0 && f.source < self.n_templates() && f.id >= 0 && f.start >= 0 &&
                f.start < f.end && f.end <= n_tokens,
            "firings: out of range");
  }
  const Released release;
  if (words == nullptr) {
    self.extract(offsets.data(), n, views, firings, grow, corpus);
    return;
  }
  words->extend(*types, self);
  corpus.word_memory = words->memory();
  self.extract(offsets.data(), n, views, firings, grow, corpus, &words->table(),
               tokens->types.data());
}

void extract_arrays(Extractor& self, Corpus& corpus, Vector<std::int64_t> offsets,
                    const std::vector<ColumnTuple>& columns, Vector<std::int32_t> starts,
                    Vector<std::int32_t> ends, Vector<std::uint8_t> flags,
                    Vector<std::int32_t> sources, Vector<std::int32_t> ids, Vector<double> values,
                    bool grow) {
  const std::size_t fired = starts.shape(0);
  require(ends.shape(0) == fired && flags.shape(0) == fired && sources.shape(0) == fired &&
              ids.shape(0) == fired && values.shape(0) == fired,
          "firings: lengths differ");
  Firings firings;
  for (std::size_t k = 0; k < fired; ++k)
    firings.push_back({starts(k), ends(k), flags(k), sources(k), ids(k), values(k)});
  extract(self, corpus, offsets, columns, firings, grow, nullptr, nullptr, nullptr);
}

void restore(Extractor& self, Vector<std::int32_t> sources, Vector<std::int64_t> ptr,
             Vector<std::int32_t> values) {
  require(ptr.shape(0) == sources.shape(0) + 1, "ptr: wrong length");
  for (std::size_t a = 0; a < sources.shape(0); ++a) {
    require(ptr(a) >= 0 && ptr(a) < ptr(a + 1) &&
                ptr(a + 1) <= static_cast<std::int64_t>(values.shape(0)),
            "ptr: out of range");
    require(sources(a) >= 0 && sources(a) < self.n_templates(), "sources: out of range");
    for (std::int64_t k = ptr(a); k < ptr(a + 1); ++k)
      require(values(k) >= kAfter, "values: out of range");
    self.attributes.id(sources(a), values.data() + ptr(a), static_cast<int>(ptr(a + 1) - ptr(a)),
                       true);
  }
}

}  // namespace

void bind_encoding(nb::module_& m) {
  nb::class_<Trie>(m, "Trie", "Sequences of keys, and where they occur.")
      .def(nb::init<>())
      .def(
          "add",
          [](Trie& self, Vector<std::int32_t> ids, int payload) {
            require(ids.shape(0) > 0, "ids: expected one key or more");
            for (std::size_t k = 0; k < ids.shape(0); ++k)
              require(ids(k) >= 0, "ids: expected keys of 0 or more");
            self.add(ids.data(), ids.shape(0), payload);
          },
          "ids"_a, "payload"_a)
      .def(
          "scan",
          [](const Trie& self, Vector<std::int32_t> keys, Vector<std::int64_t> offsets) {
            for (std::size_t i = 0; i < offsets.shape(0); ++i) {
              require(offsets(i) >= (i == 0 ? 0 : offsets(i - 1)) &&
                          offsets(i) <= static_cast<std::int64_t>(keys.shape(0)),
                      "offsets: out of range");
            }
            Trie::Found found;
            {
              const Released release;
              found =
                  self.scan(keys.data(), offsets.data(), static_cast<int>(offsets.shape(0)) - 1);
            }
            return std::make_tuple(given(std::move(found.starts)), given(std::move(found.ends)),
                                   given(std::move(found.payloads)));
          },
          "keys"_a, "offsets"_a, "All entries inside each document: starts, ends, payloads.");

  nb::class_<Interner>(m, "Interner", "Strings to numbers, in the order of their first coming.")
      .def(nb::init<>())
      .def("__len__", &Interner::size)
      .def("ids", &intern, "words"_a, "grow"_a,
           "The number of each word; -1 where it is not known.")
      .def(
          "text",
          [](const Interner& self, int id) {
            require(id >= 0 && id < self.size(), "id: out of range");
            return decoded(self[id]);
          },
          "id"_a)
      .def("texts", &texts_of, "ids"_a,
           "The bytes of some texts, one after the other, and how many each has.")
      .def("add_texts", &add_texts, "bytes"_a, "sizes"_a,
           "The numbers of texts in the form of `texts`, which become known.");

  nb::class_<Corpus>(m, "Corpus", "Encoded sequences: attributes on rows.")
      .def(nb::init<>())
      .def("__len__", &Corpus::n_sequences)
      .def_prop_ro("n_attributes", [](const Corpus& self) { return self.attribute.size(); })
      .def_prop_ro(
          "lengths",
          [](const Corpus& self) {
            std::vector<std::int64_t> lengths;
            for (int i = 0; i < self.n_sequences(); ++i) lengths.push_back(self.length(i));
            return given(std::move(lengths));
          },
          nb::rv_policy::automatic)
      .def(
          "row_attributes",
          [](const Corpus& self, int i) {
            require(i >= 0 && i < self.n_sequences(), "i: out of range");
            const std::int64_t first = self.first_row(i), last = self.first_row(i + 1);
            std::vector<std::int64_t> ptr;
            for (std::int64_t r = first; r <= last; ++r)
              ptr.push_back(self.ptr[r] - self.ptr[first]);
            std::vector<std::int32_t> ids(self.attribute.begin() + self.ptr[first],
                                          self.attribute.begin() + self.ptr[last]);
            std::vector<double> values(ids.size(), 1.0);
            if (!self.value.empty())
              values.assign(self.value.begin() + self.ptr[first],
                            self.value.begin() + self.ptr[last]);
            std::vector<std::int32_t> starts, ends, flags;
            for (std::int64_t k = self.sites[i]; k < self.sites[i + 1]; ++k) {
              starts.push_back(self.site[k].start);
              ends.push_back(self.site[k].end);
              flags.push_back(self.site[k].flags);
            }
            return nb::make_tuple(given(std::move(ptr)), given(std::move(ids)),
                                  given(std::move(values)), given(std::move(starts)),
                                  given(std::move(ends)), given(std::move(flags)));
          },
          "i"_a,
          "Of sequence i: ptr, attributes and values of all rows, then the spans and flags of its "
          "sites.")
      .def(
          "edge_attributes",
          [](const Corpus& self, int i) {
            require(i >= 0 && i < self.n_sequences(), "i: out of range");
            std::vector<std::int32_t> positions, ids;
            std::vector<double> values;
            for (int t = 1; !self.edge_ptr.empty() && t < self.length(i); ++t) {
              for (std::int64_t k = self.edge_ptr[self.tokens[i] + t];
                   k < self.edge_ptr[self.tokens[i] + t + 1]; ++k) {
                positions.push_back(t);
                ids.push_back(self.edge[k]);
                values.push_back(self.edge_value[k]);
              }
            }
            return nb::make_tuple(given(std::move(positions)), given(std::move(ids)),
                                  given(std::move(values)));
          },
          "i"_a);

  nb::class_<Extractor>(m, "Extractor",
                        "Templates over columns of numbers make attributes on rows.")
      .def(
          "__init__",
          [](Extractor* self,
             const std::vector<std::pair<std::vector<std::pair<int, int>>, int>>& templates,
             const std::optional<std::vector<int>>& orders) {
            require(!orders || orders->size() == templates.size(), "orders: one for each template");
            std::vector<Template> made;
            for (const auto& [parts, place] : templates) {
              require(place >= 0 && place <= static_cast<int>(Place::kEdge), "place: out of range");
              Template one;
              for (const auto& [column, offset] : parts) one.parts.push_back({column, offset});
              one.place = static_cast<Place>(place);
              if (orders) one.order = (*orders)[made.size()];
              require(one.order >= 0 && one.order < 256, "orders: out of range");
              made.push_back(std::move(one));
            }
            new (self) Extractor(std::move(made));
          },
          "templates"_a, "orders"_a.none() = nb::none())
      .def("__len__", [](const Extractor& self) { return self.attributes.size(); })
      .def_prop_rw(
          "limit", [](const Extractor& self) { return self.attributes.limit; },
          [](Extractor& self, std::int32_t limit) { self.attributes.limit = limit; },
          "How many attributes there may be: those that come later are not known.")
      .def("extract", &extract_arrays, "corpus"_a, "offsets"_a, "columns"_a, "starts"_a, "ends"_a,
           "flags"_a, "sources"_a, "ids"_a, "values"_a, "grow"_a)
      .def("extract", &extract, "corpus"_a, "offsets"_a, "columns"_a, "firings"_a, "grow"_a,
           "words"_a.none() = nb::none(), "types"_a.none() = nb::none(),
           "tokens"_a.none() = nb::none())
      .def("restore", &restore, "sources"_a, "ptr"_a, "values"_a)
      .def(
          "keys",
          [](const Extractor& self) {
            return nb::make_tuple(given(std::vector<std::int32_t>(self.attributes.sources())),
                                  given(std::vector<std::int64_t>(self.attributes.ptr())),
                                  given(std::vector<std::int32_t>(self.attributes.values())));
          },
          "The template and the values of each attribute: sources, ptr, values.");
}

}  // namespace caesura
