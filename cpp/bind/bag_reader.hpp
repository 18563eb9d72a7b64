// Bags of attributes, as users write them for a token, read without creating Python objects.
//
//   ["w=the", "first"]               w=the and first, both with the value 1
//   {"w": "the", "length": 3.0}      w:the with the value 1, length with the value 3
//   {"w": {"the": 2}, "is": ["a"]}   w:the with the value 2, is:a with the value 1
//
// `caesura.features.bags.pairs` defines what a bag means.  The reader below handles the usual
// types.  On anything else (a mapping that is not a dict, a generator, a value that is not a finite
// number) it discards what it has read of the token and calls Python, which reads the token or
// raises an error that names it.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "bind/bindings.hpp"
#include "bind/stable_abi.hpp"
#include "encode/interner.hpp"

namespace caesura {

namespace nb = nanobind;

constexpr int kDeepest = 64;  // levels of nested dicts; Python reads deeper ones

// Appends a string as UTF-8.  A lone surrogate becomes three bytes, as with "surrogatepass".
inline void append_utf8(PyObject* o, std::string& out) {
  std::string_view plain;
  if (ascii_text(o, plain)) {
    out += plain;
    return;
  }
  const HeldText text = view_of(o);
  for (std::int64_t k = 0; k < text.size; ++k) {
    const char32_t c = code_at(text, k);
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

// Appends a string, or bytes that are UTF-8.  Returns false if the object is neither.
inline bool append_text(PyObject* o, std::string& out) {
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

// Whether a value is a real number or bool of NumPy, whose conversion runs no Python code.
inline bool is_numpy_number(PyObject* o) {
  static PyTypeObject* const* types = [] {
    static PyTypeObject* found[3];
    const nb::module_ numpy = nb::module_::import_("numpy");
    int k = 0;
    for (const char* name : {"floating", "integer", "bool_"}) {
      found[k++] = reinterpret_cast<PyTypeObject*>(nb::object(numpy.attr(name)).release().ptr());
    }
    return found;
  }();
  PyTypeObject* type = Py_TYPE(o);
  if (is_heap_type(type)) return false;  // a class defined in Python
  return std::any_of(types, types + 3,
                     [type](PyTypeObject* one) { return PyType_IsSubtype(type, one) != 0; });
}

// Reads a finite number.  Returns false if the value is not one, or if its type defines its own
// conversion.
inline bool read_number(PyObject* o, double& number) {
  void* const converted = float_slot(Py_TYPE(o));
  if (converted == nullptr) return false;
  if (converted == float_slot(&PyFloat_Type)) {
    number = PyFloat_AS_DOUBLE(o);
  } else if (converted == float_slot(&PyLong_Type)) {
    number = PyLong_AsDouble(o);
  } else if (is_numpy_number(o)) {
    number = PyFloat_AsDouble(o);
  } else {
    return false;
  }
  if (PyErr_Occurred()) {  // an integer too large for a float
    PyErr_Clear();
    return false;
  }
  return std::isfinite(number);
}

// The names and values of some tokens, concatenated.
class BagReader {
 public:
  // Names are prefetched in `strings`, where they will be looked up, unless it is null.
  // before_python() is called before any Python code, which might free the strings of the tokens
  // read so far: it must process these tokens, which are then discarded.
  BagReader(nb::callable flatten, const Interner* strings, std::function<void()> before_python)
      : flatten_(std::move(flatten)), strings_(strings), before_python_(std::move(before_python)) {}

  // Reads token t of sequence i.  If `later` is a list, its strings, which will be read soon, are
  // prefetched.
  void read(PyObject* bag, std::size_t i, Py_ssize_t t, PyObject* later = nullptr) {
    first_ = count_;
    later_ = later_end_ = nullptr;
#ifndef Py_LIMITED_API
    if (later != nullptr && PyList_CheckExact(later)) {
      later_ = fast_items(later);
      later_end_ = later_ + PyList_GET_SIZE(later);
    }
#endif
    if (collect(bag, 0)) return;
    prefix_.clear();
    use_earlier();
    for (nb::handle pair : flatten_(nb::handle(bag), i, t)) {
      const std::size_t from = text_.size();
      append_utf8(nb::object(pair[0]).ptr(), text_);
      add(from, nb::cast<double>(pair[1]));
    }
  }

  void clear() {
    count_ = first_ = 0;
    text_.clear();
  }
  std::size_t size() const { return count_; }
  std::string_view name(std::size_t k) const { return view(names_[k]); }
  double value(std::size_t k) const { return names_[k].value; }
  std::uint64_t hash(std::size_t k) const { return names_[k].hash; }

 private:
  struct Name {
    const char* direct;  // characters of an ASCII string that is the whole name, or null
    std::size_t begin;   // if null, offset in text_
    std::size_t size;
    std::uint64_t hash;
    double value;
  };

  // Discards what was read of the current token, and has the tokens before it processed.
  void use_earlier() {
    count_ = first_;
    before_python_();
    clear();
  }
  void grow() { names_.resize(2 * names_.size() + 64); }
  void push(const Name& name) {
    if (count_ == names_.size()) grow();
    names_[count_++] = name;
  }
  Name plain_name(std::string_view text, double value) const {
    return {text.data(), 0, text.size(), hashed(text.data(), text.size()), value};
  }
  void add(std::size_t from, double value) {
    const std::size_t size = text_.size() - from;
    push({nullptr, from, size, hashed(text_.data() + from, size), value});
  }
  // The hash of a name; also prefetches the memory in which it will be looked up.
  std::uint64_t hashed(const char* data, std::size_t size) const {
    const std::uint64_t hash = hash_bytes(data, size);
    if (strings_ != nullptr) strings_->expect(hash);
    return hash;
  }
  // Prefetches a string that will be read soon: one for each string that is read now, so that
  // requests do not queue up.
  void expect_later() {
    if (later_ == later_end_) return;
    const char* item = reinterpret_cast<const char*>(*later_++);
    __builtin_prefetch(item);
    __builtin_prefetch(item + 64);
  }

  // Adds all names in a container, each after the keys of the enclosing dicts.  Returns false if it
  // contains an unusual type.
  bool collect(PyObject* o, int depth) {
    if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) return strings(o);
    if (PyDict_CheckExact(o)) return dict(o, depth);
    if (PyAnySet_CheckExact(o)) return set(o);
    if (is_ordered_dict(o)) {  // its order is not that of the underlying dict
      if (!has_plain_keys(o)) return false;
      nb::object copy = nb::steal(PyDict_New());
      if (!copy.is_valid() || PyDict_Update(copy.ptr(), o) != 0) throw nb::python_error();
      return dict(copy.ptr(), depth);
    }
    PyTypeObject* type = Py_TYPE(o);  // such as defaultdict and Counter
    return PyDict_Check(o) && iter_slot(type) == iter_slot(&PyDict_Type) &&
           item_slot(type) == item_slot(&PyDict_Type) && dict(o, depth);
  }

  // Whether copying a dict runs no Python code: keys of other types may define their own hashes.
  static bool has_plain_keys(PyObject* dict) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
      if (!PyUnicode_CheckExact(key) && !PyBytes_CheckExact(key)) return false;
    }
    return true;
  }

  bool strings(PyObject* list) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
    const FastItems items = fast_items(list);
    Py_ssize_t k = 0;
    if (prefix_.empty()) k = plain_strings(items, count);
    for (; k < count; ++k) {
      if (!leaf(items[k])) return false;
    }
    return true;
  }

  // Adds the items up to the first that is not a plain ASCII string, as nearly all are, and returns
  // their number.
  Py_ssize_t plain_strings(const FastItems& items, Py_ssize_t count) {
    while (names_.size() < count_ + static_cast<std::size_t>(count)) grow();
    Name* out = names_.data() + count_;
    Py_ssize_t k = 0;
    std::string_view text;
    for (; k < count && ascii_text(items[k], text); ++k) {
      expect_later();
      *out++ = plain_name(text, 1.0);
    }
    count_ += static_cast<std::size_t>(k);
    return k;
  }

  // Adds the strings of a set in sorted order, because the order of a set changes from run to run.
  // UTF-8 sorts by bytes as it does by code points.
  bool set(PyObject* set) {
    const std::size_t first = count_;
    const nb::object items = nb::steal(PySequence_List(set));
    if (!items.is_valid()) throw nb::python_error();
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(items.ptr()); ++k) {
      PyObject* item = PyList_GET_ITEM(items.ptr(), k);
      if (!PyUnicode_CheckExact(item) || !leaf(item)) return false;
    }
    std::sort(names_.data() + first, names_.data() + count_,
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

  // Whether a value of a dict is a container that is allowed there; others are errors.
  static bool nested(PyObject* o) {
    return PyDict_Check(o) || PyList_Check(o) || PyTuple_Check(o) || PyAnySet_Check(o);
  }

  bool leaf(PyObject* o, double value = 1.0) {
    std::string_view text;
    if (prefix_.empty() && ascii_text(o, text)) {
      push(plain_name(text, value));
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
  const Interner* strings_;
  std::function<void()> before_python_;
  PyObject **later_ = nullptr, **later_end_ = nullptr;
  std::size_t first_ = 0;  // first name of the current token
  std::size_t count_ = 0;
  std::vector<Name> names_;  // only the first count_ are used
  std::string text_;
  std::string prefix_;  // keys of the enclosing dicts, each with a colon
};

}  // namespace caesura
