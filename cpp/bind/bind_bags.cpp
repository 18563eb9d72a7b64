// Conversion of bags of attributes to ragged arrays of numbers, and to plain lists.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>

#include "bind/bag_reader.hpp"

using namespace nanobind::literals;

namespace caesura {
namespace {

// The attributes of many sequences as ragged arrays.
struct Bags {
  std::vector<std::int64_t> offsets{0}, ptr{0};
  std::vector<std::int32_t> ids;
  std::vector<double> values;  // empty while all are 1

  // Appends the attributes of a token; unknown ones are omitted.
  template <class Value>
  void push(const std::int32_t* found, std::size_t count, Value value) {
    const std::size_t before = ids.size();
    bool ones = values.empty();
    for (std::size_t k = 0; k < count; ++k) ones &= value(k) == 1.0;
    if (!ones) values.resize(before, 1.0);
    ids.resize(before + count);
    std::int32_t* to = ids.data() + before;
    for (std::size_t k = 0; k < count; ++k) {
      *to = found[k];
      to += found[k] != Interner::kMissing;
      if (!ones && found[k] != Interner::kMissing) values.push_back(value(k));
    }
    ids.resize(static_cast<std::size_t>(to - ids.data()));
    ptr.push_back(static_cast<std::int64_t>(ids.size()));
  }
};

// Looks up the names of several tokens at once; ends[k] is the end of the names of token k.
class NameLookup {
 public:
  // Number of names that are looked up at a time.  Each pass prefetches what the next one reads;
  // with too few names, the next one would have to wait for it.
  static constexpr std::size_t kMany = 96;

  NameLookup(Interner& strings, bool grow) : strings_(strings), grow_(grow) {}

  void add(const BagReader& tokens, const std::vector<std::size_t>& ends, Bags& out) {
    const std::size_t count = ends.empty() ? 0 : ends.back();
    names_.resize(count);
    hashes_.resize(count);
    ids_.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
      names_[k] = tokens.name(k);
      hashes_[k] = tokens.hash(k);
    }
    strings_.find(names_.data(), hashes_.data(), static_cast<int>(count), ids_.data());
    for (std::size_t k = 0; k < count && grow_; ++k) {
      if (ids_[k] == Interner::kMissing) ids_[k] = strings_.add(names_[k], hashes_[k]);
    }
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      out.push(ids_.data() + begin, end - begin,
               [&](std::size_t k) { return tokens.value(begin + k); });
      begin = end;
    }
  }

 private:
  Interner& strings_;
  bool grow_;
  std::vector<std::string_view> names_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::int32_t> ids_;
};

// Lists and their strings are scattered in memory.  While token t is read, the strings of token
// t + kStringsAhead, the items of list t + kItemsAhead and list t + kListAhead are prefetched.
constexpr Py_ssize_t kStringsAhead = 3, kItemsAhead = 5, kListAhead = 7;

void expect(const FastItems& tokens, Py_ssize_t left) {
  if (left > kListAhead) __builtin_prefetch(tokens[kListAhead]);
  if (left <= kItemsAhead || !PyList_CheckExact(tokens[kItemsAhead])) return;
  prefetch_items(tokens[kItemsAhead]);
}

// Reads each token of a sequence, and calls use() after it.
template <class Use>
void for_each_token(nb::handle sequence, std::size_t i, BagReader& token, const Use& use) {
  nb::object list = nb::steal(PySequence_Fast(sequence.ptr(), "expected a list of tokens"));
  if (!list.is_valid()) throw nb::python_error();
  for (Py_ssize_t t = 0; t < PySequence_Fast_GET_SIZE(list.ptr()); ++t) {
    const FastItems tokens = fast_items(list.ptr()) + t;
    const Py_ssize_t left = PySequence_Fast_GET_SIZE(list.ptr()) - t;
    expect(tokens, left);
    const nb::object bag = nb::borrow(tokens[0]);
    token.read(bag.ptr(), i, t, left > kStringsAhead ? tokens[kStringsAhead] : nullptr);
    use();
  }
}

using MaybeDoubles = std::optional<Array<double>>;

std::tuple<Array<std::int64_t>, Array<std::int64_t>, Array<std::int32_t>, MaybeDoubles> read_bags(
    Interner& strings, nb::sequence sequences, bool grow, nb::callable flatten) {
  Bags bags;
  NameLookup lookup(strings, grow);
  std::vector<std::size_t> ends;  // of the tokens that were read but not yet looked up
  BagReader* reader = nullptr;
  auto look_up = [&] {
    lookup.add(*reader, ends, bags);
    reader->clear();
    ends.clear();
  };
  BagReader token(std::move(flatten), &strings, look_up);
  reader = &token;
  for (nb::handle sequence : sequences) {
    for_each_token(sequence, bags.offsets.size() - 1, token, [&] {
      ends.push_back(token.size());
      if (token.size() >= NameLookup::kMany) look_up();
    });
    look_up();  // before the sequence may be freed
    bags.offsets.push_back(static_cast<std::int64_t>(bags.ptr.size()) - 1);
  }
  MaybeDoubles values;
  if (!bags.values.empty()) values = given(std::move(bags.values));
  return {given(std::move(bags.offsets)), given(std::move(bags.ptr)), given(std::move(bags.ids)),
          values};
}

// Whether every sequence is a non-empty list of lists and dicts, the first of which begins with a
// string or is empty.  These are attributes, which need no further checks before they are read.
bool are_bags(nb::list sequences) {
  for (nb::handle sequence : sequences) {
    if (!PyList_CheckExact(sequence.ptr()) || PyList_GET_SIZE(sequence.ptr()) == 0) return false;
    const FastItems tokens = fast_items(sequence.ptr());
    const Py_ssize_t length = PyList_GET_SIZE(sequence.ptr());
    for (Py_ssize_t t = 0; t < length; ++t) {
      if (!PyList_CheckExact(tokens[t]) && !PyDict_CheckExact(tokens[t])) return false;
    }
    PyObject *first = nullptr, *value;
    Py_ssize_t at = 0;
    if (PyDict_CheckExact(tokens[0]))
      PyDict_Next(tokens[0], &at, &first, &value);
    else if (PyList_GET_SIZE(tokens[0]) > 0)
      first = PyList_GET_ITEM(tokens[0], 0);
    if (first != nullptr && !PyUnicode_Check(first)) return false;
  }
  return true;
}

nb::str python_name(const BagReader& token, std::size_t k) {
  const std::string_view name = token.name(k);
  nb::object text = nb::steal(
      PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "surrogatepass"));
  if (!text.is_valid()) throw nb::python_error();
  return nb::str(std::move(text));
}

// Each token becomes a list of names if all values are 1, and else a dict in which the values of
// equal names are added.
nb::list flat_bags(nb::handle sequence, nb::callable flatten) {
  BagReader token(std::move(flatten), nullptr, [] {});
  nb::list out;
  for_each_token(sequence, 0, token, [&] {
    bool ones = true;
    for (std::size_t k = 0; k < token.size(); ++k) ones &= token.value(k) == 1.0;
    nb::list names;
    nb::dict values;
    for (std::size_t k = 0; k < token.size(); ++k) {
      const nb::str name = python_name(token, k);
      if (ones) {
        names.append(name);
      } else {
        const double before = values.contains(name) ? nb::cast<double>(values[name]) : 0.0;
        values[name] = before + token.value(k);
      }
    }
    out.append(ones ? nb::object(names) : nb::object(values));
    token.clear();
  });
  return out;
}

}  // namespace

void bind_bags(nb::module_& m) {
  m.def("read_bags", &read_bags, "interner"_a, "sequences"_a, "grow"_a, "flatten"_a,
        "Offsets of the sequences, then the attributes of each token as ptr, ids, values.  "
        "flatten(bag, i, t) returns the names and values of a bag of an unusual type, or raises.");
  m.def("are_bags", &are_bags, "sequences"_a,
        "Whether all sequences are lists of the attributes of tokens, which are lists or dicts.");
  m.def("flat_bags", &flat_bags, "sequence"_a, "flatten"_a,
        "For each token a list of the names of its attributes, or a dict with their values where "
        "some "
        "are not 1.");
}

}  // namespace caesura
