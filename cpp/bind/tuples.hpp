// Named tuples and lists of Python, made quickly.
#pragma once

#include <nanobind/nanobind.h>

#include <initializer_list>

#include "bind/bindings.hpp"

namespace caesura {

// A named tuple of Python, made without a call of its constructor.
inline nanobind::object named_tuple(nanobind::handle kind,
                                    std::initializer_list<PyObject*> fields) {
  auto* type = reinterpret_cast<PyTypeObject*>(kind.ptr());
  PyObject* made = type->tp_alloc(type, static_cast<Py_ssize_t>(fields.size()));
  if (made == nullptr) throw nanobind::python_error();
  Py_ssize_t k = 0;
  for (PyObject* field : fields) PyTuple_SET_ITEM(made, k++, field);  // takes the reference
  return nanobind::steal(made);
}

inline nanobind::list sized_list(std::size_t size) {
  PyObject* made = PyList_New(static_cast<Py_ssize_t>(size));
  if (made == nullptr) throw nanobind::python_error();
  return nanobind::steal<nanobind::list>(made);
}

inline void put(nanobind::list& list, std::size_t k, nanobind::object item) {
  PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(k), item.release().ptr());
}

// kind(start, end, names[state])
inline nanobind::object segment_of(const LabelledSegment& s, nanobind::handle kind,
                                   nanobind::handle names) {
  PyObject* name = PyList_GET_ITEM(names.ptr(), s.label);
  Py_INCREF(name);
  return named_tuple(kind, {PyLong_FromLong(s.start), PyLong_FromLong(s.end), name});
}

inline void check_kind(nanobind::handle kind) {
  require(PyType_Check(kind.ptr()) &&
              PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(kind.ptr()), &PyTuple_Type),
          "kind: expected a named tuple");
}

// Python's collector of cycles looks at all lists again and again while many are made, which took a
// third of the time of 200,000 answers.  Nothing else runs while the lock is held.
class NoCollection {
 public:
  NoCollection() : was_on_(PyGC_Disable() == 1) {}
  ~NoCollection() {
    if (was_on_) PyGC_Enable();
  }

 private:
  bool was_on_;
};

}  // namespace caesura
