// Bags of attributes, as users write them for a token, read without making Python objects.
//
//   ["w=the", "first"]               w=the and first, both with the value 1
//   {"w": "the", "length": 3.0}      w:the with the value 1, length with the value 3
//   {"w": {"the": 2}, "is": ["a"]}   w:the with the value 2, is:a with the value 1
//
// `caesura.features.bags.pairs` defines what a bag means.  The reader below handles the usual types
// and gives up on everything else (a mapping that is not a dict, a generator, a value that is not a
// finite number): it then keeps nothing of the token and calls Python, which reads the token or
// raises an error that names it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "bind/bindings.hpp"
#include "encode/interner.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {
namespace {

constexpr int kDeepest = 64;  // dicts inside each other; deeper ones are left to Python

// Appends a string as UTF-8.  A lone surrogate becomes three bytes, as with "surrogatepass".
void append_utf8(PyObject* o, std::string& out) {
  if (!PyUnicode_IS_COMPACT(o)) {  // an instance of a subclass
    nb::object bytes = nb::steal(PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass"));
    if (!bytes.is_valid()) throw nb::python_error();
    out.append(PyBytes_AS_STRING(bytes.ptr()), PyBytes_GET_SIZE(bytes.ptr()));
    return;
  }
  const Py_ssize_t size = PyUnicode_GET_LENGTH(o);
  const void* data = PyUnicode_DATA(o);
  if (PyUnicode_IS_ASCII(o)) {
    out.append(static_cast<const char*>(data), size);
    return;
  }
  const auto kind = PyUnicode_KIND(o);
  for (Py_ssize_t k = 0; k < size; ++k) {
    const Py_UCS4 c = PyUnicode_READ(kind, data, k);
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3f)); };
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += {static_cast<char>(0xc0 | c >> 6), tail(0)};
    } else if (c < 0x10000) {
      out += {static_cast<char>(0xe0 | c >> 12), tail(6), tail(0)};
    } else {
      out += {static_cast<char>(0xf0 | c >> 18), tail(12), tail(6), tail(0)};
    }
  }
}

// Appends a string, or bytes that are UTF-8; false if the object is neither.
bool append_text(PyObject* o, std::string& out) {
  if (PyUnicode_Check(o)) {
    append_utf8(o, out);
    return true;
  }
  if (!PyBytes_CheckExact(o)) return false;
  nb::object text = nb::steal(PyUnicode_FromEncodedObject(o, "utf-8", "strict"));
  if (!text.is_valid()) {
    PyErr_Clear();
    return false;
  }
  append_utf8(text.ptr(), out);
  return true;
}

// Whether a value is one of NumPy's real numbers or truth values, whose conversion runs no Python.
bool is_numpy_number(PyObject* o) {
  static PyTypeObject* const* types = [] {
    static PyTypeObject* found[3];
    const nb::module_ numpy = nb::module_::import_("numpy");
    int k = 0;
    for (const char* name : {"floating", "integer", "bool_"}) {
      found[k++] = reinterpret_cast<PyTypeObject*>(nb::object(numpy.attr(name)).release().ptr());
    }
    return found;
  }();
  return std::any_of(types, types + 3,
                     [o](PyTypeObject* one) { return PyType_IsSubtype(Py_TYPE(o), one) != 0; });
}

// Reads a finite number; false if the value is none or has a conversion of its own.
bool read_number(PyObject* o, double& number) {
  const PyNumberMethods* methods = Py_TYPE(o)->tp_as_number;
  const auto converted = methods == nullptr ? nullptr : methods->nb_float;
  if (converted == nullptr) return false;
  if (converted == PyFloat_Type.tp_as_number->nb_float) {
    number = PyFloat_AS_DOUBLE(o);
  } else if (converted == PyLong_Type.tp_as_number->nb_float) {
    number = PyLong_AsDouble(o);
  } else if (is_numpy_number(o)) {
    number = PyFloat_AsDouble(o);
  } else {
    return false;
  }
  if (PyErr_Occurred()) {  // a whole number beyond the floats
    PyErr_Clear();
    return false;
  }
  return std::isfinite(number);
}

// The names and values of one token.
class BagReader {
 public:
  explicit BagReader(nb::callable flatten) : flatten_(std::move(flatten)) {}

  // Reads token t of sequence i.
  void read(PyObject* bag, std::size_t i, Py_ssize_t t) {
    clear();
    if (collect(bag, 0)) return;
    clear();
    for (nb::handle pair : flatten_(nb::handle(bag), i, t)) {
      const std::size_t from = text_.size();
      append_utf8(nb::object(pair[0]).ptr(), text_);
      add(from, nb::cast<double>(pair[1]));
    }
  }

  std::size_t size() const { return names_.size(); }
  std::string_view name(std::size_t k) const { return view(names_[k]); }
  double value(std::size_t k) const { return names_[k].value; }

 private:
  struct Name {
    const char* direct;  // the characters of an ASCII string that stands alone; or null:
    std::size_t begin;   // an offset into text_
    std::size_t size;
    double value;
  };

  void clear() {
    names_.clear();
    text_.clear();
    prefix_.clear();
  }
  void add(std::size_t from, double value) {
    names_.push_back({nullptr, from, text_.size() - from, value});
  }

  // Adds everything in a container, with the names of the dicts around it before each name.
  // Returns false if there is something unusual in it.
  bool collect(PyObject* o, int depth) {
    if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) return strings(o);
    if (PyDict_CheckExact(o)) return dict(o, depth);
    if (PyAnySet_CheckExact(o)) return set(o);
    if (PyODict_CheckExact(o)) {  // its order is not that of the dict below it
      nb::object copy = nb::steal(PyDict_New());
      if (!copy.is_valid() || PyDict_Update(copy.ptr(), o) != 0) throw nb::python_error();
      return dict(copy.ptr(), depth);
    }
    const PyTypeObject* type = Py_TYPE(o);  // such as defaultdict and Counter
    return PyDict_Check(o) && type->tp_iter == PyDict_Type.tp_iter &&
           type->tp_as_mapping->mp_subscript == PyDict_Type.tp_as_mapping->mp_subscript &&
           dict(o, depth);
  }

  bool strings(PyObject* list) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
    PyObject** items = PySequence_Fast_ITEMS(list);
    for (Py_ssize_t k = 0; k < count; ++k) {
      if (!leaf(items[k])) return false;
    }
    return true;
  }

  // Sorted, since the order of a set changes from run to run.  The order of code points is that of
  // the bytes of UTF-8.
  bool set(PyObject* set) {
    const std::size_t first = names_.size();
    const nb::object items = nb::steal(PySequence_List(set));
    if (!items.is_valid()) throw nb::python_error();
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(items.ptr()); ++k) {
      PyObject* item = PyList_GET_ITEM(items.ptr(), k);
      if (!PyUnicode_CheckExact(item) || !leaf(item)) return false;
    }
    std::sort(names_.begin() + static_cast<std::ptrdiff_t>(first), names_.end(),
              [this](const Name& a, const Name& b) { return view(a) < view(b); });
    return true;
  }

  bool dict(PyObject* dict, int depth) {
    if (depth == kDeepest) return false;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
      double number = 1.0;
      if (PyUnicode_Check(value) || PyBytes_CheckExact(value)) {
        const std::size_t from = text_.size();
        text_ += prefix_;
        if (!append_text(key, text_)) return false;
        text_ += ':';
        if (!append_text(value, text_)) return false;
        add(from, 1.0);
      } else if (read_number(value, number)) {
        if (!leaf(key, number)) return false;
      } else {
        const std::size_t size = prefix_.size();
        if (!append_text(key, prefix_)) return false;
        prefix_ += ':';
        const bool usual = nested(value) && collect(value, depth + 1);
        prefix_.resize(size);
        if (!usual) return false;
      }
    }
    return true;
  }

  // What may be inside a dict; other containers are errors there.
  static bool nested(PyObject* o) {
    return PyDict_Check(o) || PyList_Check(o) || PyTuple_Check(o) || PyAnySet_Check(o);
  }

  bool leaf(PyObject* o, double value = 1.0) {
    if (prefix_.empty() && PyUnicode_CheckExact(o) && PyUnicode_IS_COMPACT_ASCII(o)) {
      names_.push_back({reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(o)), 0,
                        static_cast<std::size_t>(PyUnicode_GET_LENGTH(o)), value});
      return true;
    }
    const std::size_t from = text_.size();
    text_ += prefix_;
    if (!append_text(o, text_)) return false;
    add(from, value);
    return true;
  }

  std::string_view view(const Name& one) const {
    return {one.direct != nullptr ? one.direct : text_.data() + one.begin, one.size};
  }

  nb::callable flatten_;
  std::vector<Name> names_;
  std::string text_;
  std::string prefix_;  // the names of the dicts around, each with a colon
};

// The attributes of many sequences as ragged arrays.
struct Bags {
  std::vector<std::int64_t> offsets{0}, ptr{0};
  std::vector<std::int32_t> ids;
  std::vector<double> values;  // empty while all are 1

  void push(std::int32_t id, double value) {
    if (id == Interner::kMissing) return;
    if (value != 1.0 && values.empty()) values.assign(ids.size(), 1.0);
    ids.push_back(id);
    if (value != 1.0 || !values.empty()) values.push_back(value);
  }
};

constexpr std::size_t kMany = 32;  // names that are looked up at a time

// Looks names up, value(k) being that of each.  Hashes come first, so that the memory of the table
// is on its way when it is read.
template <class Name, class Value>
void intern(std::size_t count, Name name, Value value, Interner& strings, bool grow, Bags& out) {
  for (std::size_t begin = 0; begin < count; begin += kMany) {
    const int some = static_cast<int>(std::min(count - begin, kMany));
    std::string_view names[kMany];
    std::uint64_t hashes[kMany];
    std::int32_t ids[kMany];
    for (int k = 0; k < some; ++k) {
      names[k] = name(begin + k);
      hashes[k] = hash_bytes(names[k].data(), names[k].size());
      strings.expect(hashes[k]);
    }
    strings.find(names, hashes, some, ids);
    for (int k = 0; k < some; ++k) {
      if (ids[k] == Interner::kMissing && grow) ids[k] = strings.add(names[k], hashes[k]);
      out.push(ids[k], value(begin + k));
    }
  }
}

bool is_plain(PyObject* o) { return PyUnicode_CheckExact(o) && PyUnicode_IS_COMPACT_ASCII(o); }

// The same for a list of plain ASCII strings, as most bags are, without a copy of anything.  False:
// it is none, and nothing was done.
bool intern_plain(PyObject* bag, Interner& strings, bool grow, Bags& out) {
  if (!PyList_CheckExact(bag)) return false;
  PyObject** items = PySequence_Fast_ITEMS(bag);
  const Py_ssize_t count = PyList_GET_SIZE(bag);
  if (!std::all_of(items, items + count, is_plain)) return false;
  auto name = [&](std::size_t k) -> std::string_view {
    return {reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(items[k])),
            static_cast<std::size_t>(PyUnicode_GET_LENGTH(items[k]))};
  };
  intern(
      static_cast<std::size_t>(count), name, [](std::size_t) { return 1.0; }, strings, grow, out);
  return true;
}

// Lists and their strings are all over the memory: ask for those of the next token, for the items
// of the list after it and for the list after that, while this token is read.
void expect(PyObject** tokens, Py_ssize_t left) {
  if (left > 3) __builtin_prefetch(tokens[3]);
  if (left > 2 && PyList_CheckExact(tokens[2])) {
    const char* items = reinterpret_cast<const char*>(PySequence_Fast_ITEMS(tokens[2]));
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(tokens[2]); k += 8)
      __builtin_prefetch(items + k * static_cast<Py_ssize_t>(sizeof(PyObject*)));
  }
  if (left < 2 || !PyList_CheckExact(tokens[1])) return;
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(tokens[1]); ++k) {
    const char* item = reinterpret_cast<const char*>(PyList_GET_ITEM(tokens[1], k));
    __builtin_prefetch(item);
    __builtin_prefetch(item + 64);
  }
}

// Offers each token of a sequence to take(bag); what it does not take is read, and use() called.
template <class Take, class Use>
void for_each_token(nb::handle sequence, std::size_t i, BagReader& token, const Take& take,
                    const Use& use) {
  nb::object list = nb::steal(PySequence_Fast(sequence.ptr(), "expected a list of tokens"));
  if (!list.is_valid()) throw nb::python_error();
  for (Py_ssize_t t = 0; t < PySequence_Fast_GET_SIZE(list.ptr()); ++t) {
    expect(PySequence_Fast_ITEMS(list.ptr()) + t, PySequence_Fast_GET_SIZE(list.ptr()) - t);
    const nb::object bag = nb::borrow(PySequence_Fast_GET_ITEM(list.ptr(), t));
    if (take(bag.ptr())) continue;
    token.read(bag.ptr(), i, t);
    use();
  }
}

using MaybeDoubles = std::optional<Array<double>>;

std::tuple<Array<std::int64_t>, Array<std::int64_t>, Array<std::int32_t>, MaybeDoubles> read_bags(
    Interner& strings, nb::sequence sequences, bool grow, nb::callable flatten) {
  BagReader token(std::move(flatten));
  Bags bags;
  for (nb::handle sequence : sequences) {
    auto end_token = [&] { bags.ptr.push_back(static_cast<std::int64_t>(bags.ids.size())); };
    auto take = [&](PyObject* bag) {
      const bool taken = intern_plain(bag, strings, grow, bags);
      if (taken) end_token();
      return taken;
    };
    for_each_token(sequence, bags.offsets.size() - 1, token, take, [&] {
      auto name = [&](std::size_t k) { return token.name(k); };
      auto value = [&](std::size_t k) { return token.value(k); };
      intern(token.size(), name, value, strings, grow, bags);
      end_token();
    });
    bags.offsets.push_back(static_cast<std::int64_t>(bags.ptr.size()) - 1);
  }
  MaybeDoubles values;
  if (!bags.values.empty()) values = given(std::move(bags.values));
  return {given(std::move(bags.offsets)), given(std::move(bags.ptr)), given(std::move(bags.ids)),
          values};
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
  BagReader token(std::move(flatten));
  nb::list out;
  auto none = [](PyObject*) { return false; };
  for_each_token(sequence, 0, token, none, [&] {
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
  });
  return out;
}

}  // namespace

void bind_bags(nb::module_& m) {
  m.def("read_bags", &read_bags, "interner"_a, "sequences"_a, "grow"_a, "flatten"_a,
        "Offsets of the sequences, then the attributes of each token as ptr, ids, values.  "
        "flatten(bag, i, t) returns the names and values of a bag of an unusual type, or raises.");
  m.def("flat_bags", &flat_bags, "sequence"_a, "flatten"_a,
        "For each token a list of the names of its attributes, or a dict with their values where "
        "some "
        "are not 1.");
}

}  // namespace caesura
