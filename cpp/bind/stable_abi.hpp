// Replacements for what the stable ABI of Python lacks.  A build for one version of Python reads
// strings, lists and types directly; a build for all versions from 3.12 on (Py_LIMITED_API) calls
// functions instead.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/types.hpp"

namespace caesura {

// A slot of a type as a pointer that can be compared.
#ifdef Py_LIMITED_API
#define CAESURA_SLOT(type, name, member) PyType_GetSlot(type, name)
#define CAESURA_INNER_SLOT(type, name, group, member) PyType_GetSlot(type, name)
#else
#define CAESURA_SLOT(type, name, member) reinterpret_cast<void*>((type)->member)
#define CAESURA_INNER_SLOT(type, name, group, member) \
  ((type)->group == nullptr ? nullptr : reinterpret_cast<void*>((type)->group->member))
#endif

inline void* float_slot(PyTypeObject* type) {
  return CAESURA_INNER_SLOT(type, Py_nb_float, tp_as_number, nb_float);
}
inline void* item_slot(PyTypeObject* type) {
  return CAESURA_INNER_SLOT(type, Py_mp_subscript, tp_as_mapping, mp_subscript);
}
inline void* iter_slot(PyTypeObject* type) { return CAESURA_SLOT(type, Py_tp_iter, tp_iter); }
inline allocfunc alloc_slot(PyTypeObject* type) {
  return reinterpret_cast<allocfunc>(CAESURA_SLOT(type, Py_tp_alloc, tp_alloc));
}
#undef CAESURA_SLOT
#undef CAESURA_INNER_SLOT

inline bool is_heap_type(PyTypeObject* type) {
  return (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) != 0;
}

#ifdef Py_LIMITED_API

#define PyList_GET_SIZE PyList_Size
#define PyList_GET_ITEM PyList_GetItem
#define PyList_SET_ITEM PyList_SetItem
#define PyTuple_SET_ITEM PyTuple_SetItem
#define PyBytes_AS_STRING PyBytes_AsString
#define PyBytes_GET_SIZE PyBytes_Size
#define PyFloat_AS_DOUBLE PyFloat_AsDouble
#define PyUnicode_GET_LENGTH PyUnicode_GetLength
#define PySequence_Fast_GET_SIZE PySequence_Size

// The items of a list or a tuple.
struct FastItems {
  PyObject* list;
  Py_ssize_t first = 0;

  PyObject* operator[](Py_ssize_t k) const {
    return PyList_Check(list) ? PyList_GetItem(list, first + k) : PyTuple_GetItem(list, first + k);
  }
  FastItems operator+(Py_ssize_t k) const { return {list, first + k}; }
};
inline FastItems fast_items(PyObject* list) { return {list}; }
inline void prefetch_items(PyObject*) {}

inline bool is_ordered_dict(PyObject* o) {
  static PyObject* const type =
      nanobind::object(nanobind::module_::import_("collections").attr("OrderedDict"))
          .release()
          .ptr();
  return reinterpret_cast<PyObject*>(Py_TYPE(o)) == type;
}

// The bytes of a string, if it is plain ASCII.
inline bool ascii_text(PyObject* o, std::string_view& out) {
  if (!PyUnicode_CheckExact(o)) return false;
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(o, &size);
  if (data == nullptr) {  // a lone surrogate
    PyErr_Clear();
    return false;
  }
  out = {data, static_cast<std::size_t>(size)};
  return size == PyUnicode_GetLength(o);
}

// The characters of a string: a view if it is plain ASCII, otherwise a copy.
struct HeldText : TextView {
  std::vector<Py_UCS4> held;
};

inline HeldText view_of(nanobind::handle text) {
  PyObject* o = text.ptr();
  if (!PyUnicode_Check(o)) throw nanobind::type_error("expected a string");
  std::string_view plain;
  if (ascii_text(o, plain)) {
    return {{plain.data(), static_cast<std::int64_t>(plain.size()), 1, true}, {}};
  }
  std::vector<Py_UCS4> codes(PyUnicode_GetLength(o) + 1);
  if (PyUnicode_AsUCS4(o, codes.data(), static_cast<Py_ssize_t>(codes.size()), 1) == nullptr)
    throw nanobind::python_error();
  const auto size = static_cast<std::int64_t>(codes.size()) - 1;
  const void* data = codes.data();
  return {{data, size, 4, false}, std::move(codes)};
}

inline nanobind::object string_of(const std::vector<char32_t>& codes) {
  const auto size = static_cast<Py_ssize_t>(codes.size() * sizeof(char32_t));
  int order = 1;  // byte order: 1 is big-endian, -1 little-endian
  const std::uint16_t one = 1;
  if (*reinterpret_cast<const char*>(&one) == 1) order = -1;
  return nanobind::steal(PyUnicode_DecodeUTF32(reinterpret_cast<const char*>(codes.data()), size,
                                               "surrogatepass", &order));
}

#else

using FastItems = PyObject**;
inline FastItems fast_items(PyObject* list) { return PySequence_Fast_ITEMS(list); }

// Prefetches the items of a list, which will be read soon.
inline void prefetch_items(PyObject* list) {
  const char* items = reinterpret_cast<const char*>(PySequence_Fast_ITEMS(list));
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(list); k += 8)
    __builtin_prefetch(items + k * static_cast<Py_ssize_t>(sizeof(PyObject*)));
}

inline bool is_ordered_dict(PyObject* o) { return PyODict_CheckExact(o); }

// The bytes of a string, if it is plain ASCII.
inline bool ascii_text(PyObject* o, std::string_view& out) {
  if (!PyUnicode_CheckExact(o) || !PyUnicode_IS_COMPACT_ASCII(o)) return false;
  out = {reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(o)),
         static_cast<std::size_t>(PyUnicode_GET_LENGTH(o))};
  return true;
}

using HeldText = TextView;

inline HeldText view_of(nanobind::handle text) {
  PyObject* o = text.ptr();
  if (!PyUnicode_Check(o)) throw nanobind::type_error("expected a string");
#if PY_VERSION_HEX < 0x030c0000
  if (PyUnicode_READY(o) != 0) throw nanobind::python_error();
#endif
  return {PyUnicode_DATA(o), PyUnicode_GET_LENGTH(o), static_cast<std::uint8_t>(PyUnicode_KIND(o)),
          PyUnicode_IS_ASCII(o) != 0};
}

inline nanobind::object string_of(const std::vector<char32_t>& codes) {
  return nanobind::steal(PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, codes.data(),
                                                   static_cast<Py_ssize_t>(codes.size())));
}

#endif

// The code point at index k of a text.
inline char32_t code_at(const TextView& text, std::int64_t k) {
  if (text.width == 1) return static_cast<const std::uint8_t*>(text.data)[k];
  if (text.width == 2) return static_cast<const std::uint16_t*>(text.data)[k];
  return static_cast<const std::uint32_t*>(text.data)[k];
}

}  // namespace caesura
