// The door to encoding: strings, corpora, attributes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "bind/bindings.hpp"
#include "encode/corpus.hpp"
#include "encode/interner.hpp"
#include "encode/trie.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {
namespace {

// -- strings
// ----------------------------------------------------------------------------------------

// The bytes of a Python string; no copy where it is plain ASCII.
class Text {
 public:
  explicit Text(PyObject* o) {
    if (PyUnicode_IS_COMPACT_ASCII(o)) {
      view = {reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(o)),
              static_cast<std::size_t>(PyUnicode_GET_LENGTH(o))};
      return;
    }
    held_ = nb::steal<nb::object>(PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass"));
    if (!held_.is_valid()) throw nb::python_error();
    view = {PyBytes_AS_STRING(held_.ptr()),
            static_cast<std::size_t>(PyBytes_GET_SIZE(held_.ptr()))};
  }
  std::string_view view;

 private:
  nb::object held_;
};

nb::str to_python(std::string_view text) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass"));
}

// The bags of attributes of each token, as ragged arrays.
struct Bags {
  std::vector<std::int64_t> offsets{0}, ptr{0};
  std::vector<std::int32_t> ids;
  std::vector<double> values;
};

class BagReader {
 public:
  BagReader(Interner& strings, bool grow, nb::callable flatten)
      : strings_(strings), grow_(grow), flatten_(std::move(flatten)) {}

  Bags bags;

  void sequence(nb::handle tokens) {
    nb::object list =
        nb::steal(PySequence_Fast(tokens.ptr(), "a sequence must be a list of tokens"));
    if (!list.is_valid()) throw nb::python_error();
    const Py_ssize_t T = PySequence_Fast_GET_SIZE(list.ptr());
    for (Py_ssize_t t = 0; t < T; ++t) {
      if (t + 1 < T) expect(PySequence_Fast_GET_ITEM(list.ptr(), t + 1));
      token(PySequence_Fast_GET_ITEM(list.ptr(), t), t);
      bags.ptr.push_back(static_cast<std::int64_t>(bags.ids.size()));
    }
    bags.offsets.push_back(static_cast<std::int64_t>(bags.ptr.size()) - 1);
  }

 private:
  // Lists of strings are read here; whatever else a token may be, `flatten` turns into (string,
  // value), or raises.
  void token(PyObject* bag, Py_ssize_t t) {
    if (PyList_CheckExact(bag) || PyTuple_CheckExact(bag)) {
      const Py_ssize_t count = PySequence_Fast_GET_SIZE(bag);
      PyObject** items = PySequence_Fast_ITEMS(bag);
      bool plain = true;
      for (Py_ssize_t k = 0; k < count; ++k) plain &= PyUnicode_CheckExact(items[k]) != 0;
      if (plain) {
        strings(items, count);
        return;
      }
    }
    if (PyDict_CheckExact(bag) && dict(bag)) return;
    const std::size_t i = bags.offsets.size() - 1;
    for (nb::handle pair : flatten_(nb::handle(bag), i, t)) {
      const Text text(nb::handle(pair[0]).ptr());
      push(text.view, nb::cast<double>(pair[1]));
    }
  }

  // The strings of a list are all over the memory: ask for them while those before are read.
  static void expect(PyObject* bag) {
    if (!PyList_CheckExact(bag)) return;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(bag); ++k) {
      const char* item = reinterpret_cast<const char*>(PyList_GET_ITEM(bag, k));
      __builtin_prefetch(item);
      __builtin_prefetch(item + 64);
    }
  }

  // Hashes first, so that the table's memory is on its way when it is read.
  void strings(PyObject** items, Py_ssize_t count) {
    constexpr Py_ssize_t kMany = 32;
    for (Py_ssize_t begin = 0; begin < count; begin += kMany) {
      const int some = static_cast<int>(std::min(count - begin, kMany));
      std::string_view texts[kMany];
      std::uint64_t hashes[kMany];
      std::int32_t ids[kMany];
      bool ascii = true;
      for (int k = 0; k < some && ascii; ++k) {
        PyObject* item = items[begin + k];
        ascii = PyUnicode_IS_COMPACT_ASCII(item) != 0;
        if (!ascii) break;
        texts[k] = {reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(item)),
                    static_cast<std::size_t>(PyUnicode_GET_LENGTH(item))};
        hashes[k] = hash_bytes(texts[k].data(), texts[k].size());
        strings_.expect(hashes[k]);
      }
      if (!ascii) {
        for (int k = 0; k < some; ++k) push(Text(items[begin + k]).view, 1.0);
        continue;
      }
      strings_.find(texts, hashes, some, ids);
      for (int k = 0; k < some; ++k) {
        push(ids[k] == Interner::kMissing && grow_ ? strings_.add(texts[k], hashes[k]) : ids[k],
             1.0);
      }
    }
  }

  // {name: number} and {name: string}; false, and nothing read, if there is something else.
  bool dict(PyObject* bag) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(bag, &at, &key, &value)) {
      const bool simple = PyUnicode_CheckExact(value) || PyBool_Check(value) ||
                          PyLong_CheckExact(value) ||
                          (PyFloat_CheckExact(value) && std::isfinite(PyFloat_AS_DOUBLE(value)));
      if (!PyUnicode_CheckExact(key) || !simple) return false;
    }
    at = 0;
    while (PyDict_Next(bag, &at, &key, &value)) {
      const Text name(key);
      if (PyUnicode_CheckExact(value)) {
        const Text text(value);
        joined_.assign(name.view);
        joined_ += ':';
        joined_ += text.view;
        push(joined_, 1.0);
      } else {
        const double number =
            PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : PyLong_AsDouble(value);
        if (PyErr_Occurred()) throw nb::python_error();
        push(name.view, number);
      }
    }
    return true;
  }

  void push(std::string_view text, double value) {
    push(grow_ ? strings_.add(text) : strings_.find(text), value);
  }
  void push(std::int32_t id, double value) {
    if (id == Interner::kMissing) return;
    if (value != 1.0 && bags.values.empty()) bags.values.assign(bags.ids.size(), 1.0);
    bags.ids.push_back(id);
    if (value != 1.0 || !bags.values.empty()) bags.values.push_back(value);
  }

  Interner& strings_;
  bool grow_;
  nb::callable flatten_;
  std::string joined_;
};

using MaybeDoubles = std::optional<Array<double>>;

std::tuple<Array<std::int64_t>, Array<std::int64_t>, Array<std::int32_t>, MaybeDoubles> read_bags(
    Interner& self, nb::sequence sequences, bool grow, nb::callable flatten) {
  BagReader reader(self, grow, std::move(flatten));
  for (nb::handle sequence : sequences) reader.sequence(sequence);
  MaybeDoubles values;
  if (!reader.bags.values.empty()) values = given(std::move(reader.bags.values));
  return {given(std::move(reader.bags.offsets)), given(std::move(reader.bags.ptr)),
          given(std::move(reader.bags.ids)), values};
}

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

// -- corpora
// ----------------------------------------------------------------------------------------

using ColumnTuple = std::tuple<std::optional<Vector<std::int64_t>>, Vector<std::int32_t>,
                               std::optional<Vector<double>>>;

void extract(Extractor& self, Corpus& corpus, Vector<std::int64_t> offsets,
             const std::vector<ColumnTuple>& columns, Vector<std::int32_t> starts,
             Vector<std::int32_t> ends, Vector<std::uint8_t> flags, Vector<std::int32_t> sources,
             Vector<std::int32_t> ids, Vector<double> values, bool grow) {
  require(offsets.shape(0) >= 1 && offsets(0) == 0, "offsets: expected 0 first");
  const int n = static_cast<int>(offsets.shape(0)) - 1;
  const std::int64_t n_tokens = offsets(n);
  std::vector<Column> views;
  for (const auto& [ptr, column_ids, column_values] : columns) {
    Column column;
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
  const std::size_t fired = starts.shape(0);
  require(ends.shape(0) == fired && flags.shape(0) == fired && sources.shape(0) == fired &&
              ids.shape(0) == fired && values.shape(0) == fired,
          "firings: lengths differ");
  for (std::size_t k = 0; k < fired; ++k) {
    require(sources(k) >= 0 && sources(k) < self.n_templates() && ids(k) >= 0 && starts(k) >= 0 &&
                starts(k) < ends(k) && ends(k) <= n_tokens,
            "firings: out of range");
  }
  std::vector<Firing> firings;
  firings.reserve(starts.shape(0));
  for (std::size_t k = 0; k < starts.shape(0); ++k) {
    firings.push_back({starts(k), ends(k), flags(k), sources(k), ids(k), values(k)});
  }
  const Released release;
  self.extract(offsets.data(), n, views, firings, grow, corpus);
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
      .def("bags", &read_bags, "sequences"_a, "grow"_a, "flatten"_a,
           "Offsets of the sequences, then the attributes of each token as ptr, ids, values.")
      .def(
          "text",
          [](const Interner& self, int id) {
            require(id >= 0 && id < self.size(), "id: out of range");
            return to_python(self[id]);
          },
          "id"_a)
      .def("texts", &texts_of, "ids"_a,
           "The bytes of some texts, one after the other, and how many each has.");

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
      .def("extract", &extract, "corpus"_a, "offsets"_a, "columns"_a, "starts"_a, "ends"_a,
           "flags"_a, "sources"_a, "ids"_a, "values"_a, "grow"_a)
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
