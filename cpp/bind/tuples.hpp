// Fast creation of named tuples and lists of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <initializer_list>

#include "bind/bindings.hpp"
#include "bind/stable_abi.hpp"
#include "infer/answers.hpp"

namespace caesura {

// Creates a named tuple without calling its constructor.  Steals the references to the fields.
inline nanobind::object named_tuple(nanobind::handle kind,
                                    std::initializer_list<PyObject*> fields) {
  auto* type = reinterpret_cast<PyTypeObject*>(kind.ptr());
  PyObject* made = alloc_slot(type)(type, static_cast<Py_ssize_t>(fields.size()));
  if (made == nullptr) throw nanobind::python_error();
  Py_ssize_t k = 0;
  for (PyObject* field : fields) PyTuple_SET_ITEM(made, k++, field);
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

// Pauses the garbage collector, which would scan all lists repeatedly while many are created: this
// took a third of the time for 200,000 answers.  No other Python code runs, as the GIL is held.
class NoCollection {
 public:
  NoCollection() : was_on_(PyGC_Disable() == 1) {}
  ~NoCollection() {
    if (was_on_) PyGC_Enable();
  }

 private:
  bool was_on_;
};

// Makes the lists of segments of several answers for one sequence.  Each answer shares the tuples
// of the segments that the answer before it has too, which for ranked answers are most of them.
class SharedSegments {
 public:
  SharedSegments(nanobind::handle kind, nanobind::handle names) : kind_(kind), names_(names) {}

  nanobind::list list(const LabelledSegment* segments, int count) {
    nanobind::list out = sized_list(count);
    std::size_t j = 0;
    for (int k = 0; k < count; ++k) {
      const LabelledSegment& s = segments[k];
      while (j < last_.size() && last_[j].start < s.start) ++j;
      const bool known = j < last_.size() && last_[j].start == s.start && last_[j].end == s.end &&
                         last_[j].label == s.label;
      put(out, k,
          known ? nanobind::borrow(PyList_GET_ITEM(made_.ptr(), static_cast<Py_ssize_t>(j)))
                : segment_of(s, kind_, names_));
    }
    last_.assign(segments, segments + count);
    made_ = out;
    return out;
  }

 private:
  nanobind::handle kind_, names_;
  std::vector<LabelledSegment> last_;
  nanobind::list made_;
};

// For each sequence the list of item(sequence, segments, score) for its answers, where the segments
// are decoded by the reading.
template <class Item>
nanobind::list answers_to_python(std::vector<std::vector<Answer>>& answers, const Reading& reading,
                                 nanobind::handle kind, nanobind::list names, Item item) {
  require(nanobind::len(names) == reading.label.size(), "names: one for each state");
  check_kind(kind);
  const NoCollection meanwhile;
  nanobind::list out = sized_list(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    SharedSegments segments(kind, names);
    nanobind::list row = sized_list(answers[i].size());
    for (std::size_t k = 0; k < answers[i].size(); ++k) {
      std::vector<LabelledSegment>& found = answers[i][k].segments;
      const int count = read_segments(reading, found.data(), static_cast<int>(found.size()));
      put(row, k, item(i, segments.list(found.data(), count), answers[i][k].score));
    }
    put(out, i, std::move(row));
  }
  return out;
}

}  // namespace caesura
