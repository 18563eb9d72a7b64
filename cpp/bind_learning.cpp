// The door to encoding and learning.
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

#include "answers.hpp"
#include "bindings.hpp"
#include "interner.hpp"
#include "parameters.hpp"
#include "sharing.hpp"
#include "trie.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {
namespace {

template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// A vector becomes an array that owns it.
template <class T>
Array<T> given(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(kept->data(), {kept->size()}, owner);
}

// -- strings ----------------------------------------------------------------------------------------

// The bytes of a Python string; no copy where it is plain ASCII.
class Text {
 public:
  explicit Text(PyObject* o) {
    if (PyUnicode_IS_COMPACT_ASCII(o)) {
      view = {reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(o)), static_cast<std::size_t>(PyUnicode_GET_LENGTH(o))};
      return;
    }
    held_ = nb::steal<nb::object>(PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass"));
    if (!held_.is_valid()) throw nb::python_error();
    view = {PyBytes_AS_STRING(held_.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(held_.ptr()))};
  }
  std::string_view view;

 private:
  nb::object held_;
};

nb::str to_python(std::string_view text) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass"));
}

// The bags of attributes of each token, as ragged arrays.
struct Bags {
  std::vector<std::int64_t> offsets{0}, ptr{0};
  std::vector<std::int32_t> ids;
  std::vector<double> values;
};

class BagReader {
 public:
  BagReader(Interner& strings, bool grow, nb::callable flatten) : strings_(strings), grow_(grow), flatten_(std::move(flatten)) {}

  Bags bags;

  void sequence(nb::handle tokens) {
    nb::object list = nb::steal(PySequence_Fast(tokens.ptr(), "a sequence must be a list of tokens"));
    if (!list.is_valid()) throw nb::python_error();
    const Py_ssize_t T = PySequence_Fast_GET_SIZE(list.ptr());
    for (Py_ssize_t t = 0; t < T; ++t) {
      token(PySequence_Fast_GET_ITEM(list.ptr(), t), t);
      bags.ptr.push_back(static_cast<std::int64_t>(bags.ids.size()));
    }
    bags.offsets.push_back(static_cast<std::int64_t>(bags.ptr.size()) - 1);
  }

 private:
  // Lists of strings are read here; whatever else a token may be, `flatten` turns into (string, value), or raises.
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

  // Hashes first, so that the table's memory is on its way when it is read.
  void strings(PyObject** items, Py_ssize_t count) {
    constexpr Py_ssize_t kMany = 32, kAhead = 12;
    for (Py_ssize_t begin = 0; begin < count; begin += kMany) {
      const int some = static_cast<int>(std::min(count - begin, kMany));
      std::string_view texts[kMany];
      std::uint64_t hashes[kMany];
      std::int32_t ids[kMany];
      bool ascii = true;
      for (int k = 0; k < some && ascii; ++k) {
        PyObject* item = items[begin + k];
        if (begin + k + kAhead < count) __builtin_prefetch(items[begin + k + kAhead]);
        ascii = PyUnicode_IS_COMPACT_ASCII(item) != 0;
        if (!ascii) break;
        texts[k] = {reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(item)), static_cast<std::size_t>(PyUnicode_GET_LENGTH(item))};
        hashes[k] = hash_bytes(texts[k].data(), texts[k].size());
        strings_.expect(hashes[k]);
      }
      if (!ascii) {
        for (int k = 0; k < some; ++k) push(Text(items[begin + k]).view, 1.0);
        continue;
      }
      strings_.find(texts, hashes, some, ids);
      for (int k = 0; k < some; ++k) {
        push(ids[k] == Interner::kMissing && grow_ ? strings_.add(texts[k], hashes[k]) : ids[k], 1.0);
      }
    }
  }

  // {name: number} and {name: string}; false, and nothing read, if there is something else.
  bool dict(PyObject* bag) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(bag, &at, &key, &value)) {
      const bool simple = PyUnicode_CheckExact(value) || PyBool_Check(value) || PyLong_CheckExact(value) ||
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
        const double number = PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : PyLong_AsDouble(value);
        if (PyErr_Occurred()) throw nb::python_error();
        push(name.view, number);
      }
    }
    return true;
  }

  void push(std::string_view text, double value) { push(grow_ ? strings_.add(text) : strings_.find(text), value); }
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
  return {given(std::move(reader.bags.offsets)), given(std::move(reader.bags.ptr)), given(std::move(reader.bags.ids)), values};
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

// -- corpora ----------------------------------------------------------------------------------------

using ColumnTuple = std::tuple<std::optional<Vector<std::int64_t>>, Vector<std::int32_t>, std::optional<Vector<double>>>;

void extract(Extractor& self, Corpus& corpus, Vector<std::int64_t> offsets, const std::vector<ColumnTuple>& columns,
             Vector<std::int32_t> starts, Vector<std::int32_t> ends, Vector<std::uint8_t> flags,
             Vector<std::int32_t> sources, Vector<std::int32_t> ids, Vector<double> values, bool grow) {
  require(offsets.shape(0) >= 1 && offsets(0) == 0, "offsets: expected 0 first");
  const int n = static_cast<int>(offsets.shape(0)) - 1;
  const std::int64_t n_tokens = offsets(n);
  std::vector<Column> views;
  for (const auto& [ptr, column_ids, column_values] : columns) {
    Column column;
    std::size_t size = n_tokens;
    if (ptr) {
      require(static_cast<std::int64_t>(ptr->shape(0)) == n_tokens + 1, "columns: wrong number of tokens");
      column.ptr = ptr->data();
      size = (*ptr)(n_tokens);
    }
    require(column_ids.shape(0) == size, "columns: wrong number of values");
    require(!column_values || column_values->shape(0) == size, "columns: wrong number of weights");
    column.ids = column_ids.data();
    if (column_values) column.values = column_values->data();
    views.push_back(column);
  }
  require(static_cast<int>(columns.size()) > self.last_column(), "columns: too few for the templates");
  const std::size_t fired = starts.shape(0);
  require(ends.shape(0) == fired && flags.shape(0) == fired && sources.shape(0) == fired && ids.shape(0) == fired &&
              values.shape(0) == fired, "firings: lengths differ");
  for (std::size_t k = 0; k < fired; ++k) {
    require(sources(k) >= 0 && sources(k) < self.n_templates() && ids(k) >= 0 && starts(k) >= 0 && starts(k) < ends(k) &&
                ends(k) <= n_tokens, "firings: out of range");
  }
  std::vector<Firing> firings;
  firings.reserve(starts.shape(0));
  for (std::size_t k = 0; k < starts.shape(0); ++k) {
    firings.push_back({starts(k), ends(k), flags(k), sources(k), ids(k), values(k)});
  }
  const nb::gil_scoped_release release;
  self.extract(offsets.data(), n, views, firings, grow, corpus);
}

void restore(Extractor& self, Vector<std::int32_t> sources, Vector<std::int64_t> ptr, Vector<std::int32_t> values) {
  require(ptr.shape(0) == sources.shape(0) + 1, "ptr: wrong length");
  for (std::size_t a = 0; a < sources.shape(0); ++a) {
    require(ptr(a) >= 0 && ptr(a) < ptr(a + 1) && ptr(a + 1) <= static_cast<std::int64_t>(values.shape(0)), "ptr: out of range");
    require(sources(a) >= 0 && sources(a) < self.n_templates(), "sources: out of range");
    for (std::int64_t k = ptr(a); k < ptr(a + 1); ++k) require(values(k) >= kAfter, "values: out of range");
    self.attributes.id(sources(a), values.data() + ptr(a), static_cast<int>(ptr(a + 1) - ptr(a)), true);
  }
}

std::shared_ptr<Gold> make_gold(Vector<std::int64_t> lengths, int n_labels, Vector<std::int64_t> ptr,
                                Vector<std::int32_t> starts, Vector<std::int32_t> ends, Vector<std::int32_t> labels) {
  auto gold = std::make_shared<Gold>();
  require(ptr.shape(0) == lengths.shape(0) + 1, "ptr: wrong length");
  gold->ptr = copied(ptr);
  gold->lengths = copied(lengths);
  gold->n_labels = n_labels;
  gold->hints.resize(lengths.shape(0));
  for (std::size_t i = 0; i < lengths.shape(0); ++i) {
    std::int64_t at = 0;
    for (std::int64_t k = ptr(i); k < ptr(i + 1); ++k) {
      require(starts(k) == at && ends(k) > at && labels(k) >= 0 && labels(k) < n_labels, "segments: must cover the sequence");
      at = ends(k);
      gold->segments.push_back({starts(k), ends(k), labels(k)});
    }
    require(ptr(i) == ptr(i + 1) || at == lengths(i), "segments: must cover the sequence");
  }
  return gold;
}

Layout make_layout(int n_labels, Vector<std::int32_t> bounds, const std::optional<Matrix<std::uint8_t>>& barred,
                   const std::optional<Vector<std::uint8_t>>& barred_start,
                   const std::optional<Vector<std::uint8_t>>& barred_end) {
  const auto Y = static_cast<std::size_t>(n_labels);
  require(n_labels > 0 && n_labels < 65536 && bounds.shape(0) == Y, "bounds: expected one for each label");
  require(!barred || (barred->shape(0) == Y && barred->shape(1) == Y), "barred: wrong shape");
  require(!barred_start || barred_start->shape(0) == Y, "barred_start: wrong shape");
  require(!barred_end || barred_end->shape(0) == Y, "barred_end: wrong shape");
  Layout layout;
  layout.Y = n_labels;
  layout.bounds = copied(bounds);
  if (barred) layout.barred.assign(barred->data(), barred->data() + Y * Y);
  if (barred_start) layout.barred_start = copied(*barred_start);
  if (barred_end) layout.barred_end = copied(*barred_end);
  return layout;
}

// Weights for the first and last labels that may be there.
void add_ends(Layout& layout) {
  for (int y = 0; y < layout.Y; ++y) {
    if (layout.barred_start.empty() || !layout.barred_start[y]) layout.start.push_back(y);
    if (layout.barred_end.empty() || !layout.barred_end[y]) layout.end.push_back(y);
  }
}

// -- objective and scores -----------------------------------------------------------------------------

struct BoundObjective {
  std::shared_ptr<Parameters> parameters;
  std::shared_ptr<const Design> design;
  std::shared_ptr<Gold> gold;
  std::unique_ptr<Objective> objective;

  std::pair<double, Array<double>> evaluate(Vector<double> w, const std::optional<Vector<std::int32_t>>& some,
                                            bool single, int n_threads) {
    require(static_cast<std::int64_t>(w.shape(0)) == parameters->layout()->size(), "w: wrong length");
    const int count = some ? static_cast<int>(some->shape(0)) : design->n_sequences();
    for (int k = 0; some && k < count; ++k) {
      require((*some)(k) >= 0 && (*some)(k) < design->n_sequences(), "sequences: out of range");
    }
    std::vector<double> gradient(w.shape(0));
    double loss;
    {
      const nb::gil_scoped_release release;
      const std::int32_t* chosen = some ? some->data() : nullptr;
      std::vector<double> part;
      if (some) part = parameters->count(*design, *gold, objective->weight.data(), chosen, count);
      const std::vector<double>& observed = some ? part : objective->observed;
      loss = objective->evaluate(w.data(), observed.data(), chosen, count, single, n_threads, gradient.data());
    }
    return {loss, given(std::move(gradient))};
  }
};

// The design is used up: its attributes are shared, and it serves this objective only.
void make_objective(BoundObjective* self, std::shared_ptr<Parameters> parameters, std::shared_ptr<Design> design,
                    std::shared_ptr<Gold> gold, Vector<double> weight, const std::optional<Matrix<double>>& cost,
                    std::shared_ptr<const Automaton> automaton, Vector<std::int32_t> order) {
  const int n = design->n_sequences(), Y = parameters->layout()->Y;
  require(static_cast<int>(weight.shape(0)) == n && static_cast<int>(gold->hints.size()) == n, "weight, gold: one for each sequence");
  require(!cost || (static_cast<std::int64_t>(cost->shape(0)) == design->tokens[n] && static_cast<int>(cost->shape(1)) == Y), "cost: wrong shape");
  std::vector<double> observed = parameters->count(*design, *gold, weight.data(), nullptr, n);
  share(*design);
  new (self) BoundObjective{parameters, design, gold, std::make_unique<Objective>(parameters->layout(), design)};
  Objective& objective = *self->objective;
  objective.observed = std::move(observed);
  objective.weight = copied(weight);
  if (cost) objective.cost.assign(cost->data(), cost->data() + cost->size());
  objective.automaton = std::move(automaton);
  objective.order = copied(order);
  objective.hints = gold->hints;
}

// Fixed weights, for prediction.
struct Scorer {
  std::shared_ptr<const Layout> layout;
  Unpacked<double> weights;
  std::shared_ptr<const Automaton> automaton;
  std::vector<std::int32_t> order;

  std::unique_ptr<ScoredProblem> problem(const Design& d, int i, Workspace& work) const {
    return scored_problem(*layout, d, weights, i, Known{}, automaton, order, work);
  }
};

void make_scorer(Scorer* self, const Parameters& parameters, Vector<double> w, const std::optional<Matrix<std::uint8_t>>& barred,
                 const std::optional<Vector<std::uint8_t>>& barred_start, const std::optional<Vector<std::uint8_t>>& barred_end,
                 std::shared_ptr<const Automaton> automaton, Vector<std::int32_t> order) {
  require(static_cast<std::int64_t>(w.shape(0)) == parameters.layout()->size(), "w: wrong length");
  new (self) Scorer;
  Layout layout = *parameters.layout();
  const std::size_t Y = layout.Y;
  require(!barred || (barred->shape(0) == Y && barred->shape(1) == Y), "barred: wrong shape");
  require(!barred_start || barred_start->shape(0) == Y, "barred_start: wrong shape");
  require(!barred_end || barred_end->shape(0) == Y, "barred_end: wrong shape");
  if (barred) layout.barred.assign(barred->data(), barred->data() + Y * Y);
  if (barred_start) layout.barred_start = copied(*barred_start);
  if (barred_end) layout.barred_end = copied(*barred_end);
  self->weights.set(layout, Design{}, w.data(), trainer<double>().width);
  self->layout = std::make_shared<Layout>(std::move(layout));
  self->automaton = std::move(automaton);
  self->order = copied(order);
}

std::vector<Answer> answers_of(const Scorer& self, const Design& d, int n_threads) {
  const int n = d.n_sequences();
  std::vector<Answer> answers(n);
  const std::vector<std::int32_t>& bounds = self.layout->bounds;
  const bool chain = d.site.empty() && d.edge_ptr.empty() && d.planes == 1 &&
                     std::all_of(bounds.begin(), bounds.end(), [](std::int32_t bound) { return bound == 1; });
  {
    const nb::gil_scoped_release release;
    for_each(n, n_threads, [&](int i, Workspace& work) {
      if (d.length(i) == 0) return;
      if (chain) {
        std::vector<std::int32_t> labels(d.length(i));
        answers[i].possible = trainer<double>().best_chain(d, self.weights.view(), i, labels.data(), work);
        for (int t = 0; t < d.length(i); ++t) answers[i].segments.push_back({t, t + 1, labels[t]});
        return;
      }
      const auto scored = self.problem(d, i, work);
      scored->problem->prepare(Method::kOverlapping);
      work.clear();
      answers[i] = answer_best(*scored->problem, Method::kOverlapping, work);
    });
  }
  return answers;
}

// For each token of each sequence the name of its state.
nb::list names(const Scorer& self, const Design& d, nb::list states, int n_threads) {
  require(static_cast<int>(nb::len(states)) == self.layout->Y, "states: one for each label");
  nb::list out;
  int i = 0;
  for (const Answer& answer : answers_of(self, d, n_threads)) {
    if (d.length(i++) > 0 && !answer.possible) {
      out.append(nb::none());
      continue;
    }
    nb::list tokens;
    for (const LabelledSegment& s : answer.segments) {
      for (int t = s.start; t < s.end; ++t) tokens.append(states[s.label]);
    }
    out.append(std::move(tokens));
  }
  return out;
}

nb::list best(const Scorer& self, const Design& d, int n_threads) {
  const int n = d.n_sequences();
  const std::vector<Answer> answers = answers_of(self, d, n_threads);
  nb::list out;
  for (int i = 0; i < n; ++i) {
    if (!answers[i].possible && d.length(i) > 0) {
      out.append(nb::none());
      continue;
    }
    nb::list segments;
    for (const LabelledSegment& s : answers[i].segments) segments.append(nb::make_tuple(s.start, s.end, s.label));
    out.append(std::move(segments));
  }
  return out;
}

nb::list problems(const Scorer& self, const Design& d) {
  nb::list out;
  Workspace work;
  for (int i = 0; i < d.n_sequences(); ++i) {
    auto* made = new OwnedProblem;
    nb::object held = nb::cast(made, nb::rv_policy::take_ownership);
    made->scored = self.problem(d, i, work);
    made->problem = made->scored->problem.get();
    out.append(std::move(held));
  }
  return out;
}

// The scores of all rows of one sequence, (rows, Y), and the sites.
nb::tuple rows(const Scorer& self, const Design& d, int i) {
  require(i >= 0 && i < d.n_sequences(), "i: out of range");
  const int Y = self.layout->Y, stride = self.weights.view().stride, n = d.length(i) + d.n_sites(i);
  std::vector<double> padded(static_cast<std::size_t>(n) * stride), scores;
  Workspace work;
  trainer<double>().scores(d, self.weights.view(), i, padded.data(), work);
  for (int r = 0; r < n; ++r) scores.insert(scores.end(), padded.begin() + r * stride, padded.begin() + r * stride + Y);
  std::vector<std::int32_t> starts, ends, flags;
  for (std::int64_t k = d.sites[i]; k < d.sites[i + 1]; ++k) {
    starts.push_back(d.site[k].start);
    ends.push_back(d.site[k].end);
    flags.push_back(d.site[k].flags);
  }
  return nb::make_tuple(given(std::move(scores)), given(std::move(starts)), given(std::move(ends)), given(std::move(flags)));
}

nb::tuple edges(const Scorer& self, const Design& d, int i) {
  require(i >= 0 && i < d.n_sequences(), "i: out of range");
  std::vector<std::int32_t> positions, pairs;
  std::vector<double> scores;
  for (int t = 1; !d.edge_ptr.empty() && t < d.length(i); ++t) {
    for (std::int64_t k = d.edge_ptr[d.tokens[i] + t]; k < d.edge_ptr[d.tokens[i] + t + 1]; ++k) {
      positions.push_back(t);
      pairs.push_back(d.edge_pair[k]);
      scores.push_back(self.weights.view().edge[d.edge[k]] * d.edge_value[k]);
    }
  }
  return nb::make_tuple(given(std::move(positions)), given(std::move(pairs)), given(std::move(scores)));
}

}  // namespace

void bind_learning(nb::module_& m) {
  nb::class_<Trie>(m, "Trie", "Sequences of keys, and where they occur.")
      .def(nb::init<>())
      .def("add", [](Trie& self, Vector<std::int32_t> ids, int payload) {
        require(ids.shape(0) > 0, "ids: expected one key or more");
        for (std::size_t k = 0; k < ids.shape(0); ++k) require(ids(k) >= 0, "ids: expected keys of 0 or more");
        self.add(ids.data(), ids.shape(0), payload);
      }, "ids"_a, "payload"_a)
      .def("scan", [](const Trie& self, Vector<std::int32_t> keys, Vector<std::int64_t> offsets) {
        for (std::size_t i = 0; i < offsets.shape(0); ++i) {
          require(offsets(i) >= (i == 0 ? 0 : offsets(i - 1)) && offsets(i) <= static_cast<std::int64_t>(keys.shape(0)),
                  "offsets: out of range");
        }
        Trie::Found found;
        {
          const nb::gil_scoped_release release;
          found = self.scan(keys.data(), offsets.data(), static_cast<int>(offsets.shape(0)) - 1);
        }
        return std::make_tuple(given(std::move(found.starts)), given(std::move(found.ends)), given(std::move(found.payloads)));
      }, "keys"_a, "offsets"_a, "All entries inside each document: starts, ends, payloads.");

  nb::class_<Interner>(m, "Interner", "Strings to numbers, in the order of their first coming.")
      .def(nb::init<>())
      .def("__len__", &Interner::size)
      .def("ids", &intern, "words"_a, "grow"_a, "The number of each word; -1 where it is not known.")
      .def("bags", &read_bags, "sequences"_a, "grow"_a, "flatten"_a,
           "Offsets of the sequences, then the attributes of each token as ptr, ids, values.")
      .def("text", [](const Interner& self, int id) {
        require(id >= 0 && id < self.size(), "id: out of range");
        return to_python(self[id]);
      }, "id"_a);

  nb::class_<Corpus>(m, "Corpus", "Encoded sequences: attributes on rows.")
      .def(nb::init<>())
      .def("__len__", &Corpus::n_sequences)
      .def_prop_ro("n_attributes", [](const Corpus& self) { return self.attribute.size(); })
      .def_prop_ro("lengths", [](const Corpus& self) {
        std::vector<std::int64_t> lengths;
        for (int i = 0; i < self.n_sequences(); ++i) lengths.push_back(self.length(i));
        return given(std::move(lengths));
      }, nb::rv_policy::automatic)
      .def("row_attributes", [](const Corpus& self, int i) {
        require(i >= 0 && i < self.n_sequences(), "i: out of range");
        const std::int64_t first = self.first_row(i), last = self.first_row(i + 1);
        std::vector<std::int64_t> ptr;
        for (std::int64_t r = first; r <= last; ++r) ptr.push_back(self.ptr[r] - self.ptr[first]);
        std::vector<std::int32_t> ids(self.attribute.begin() + self.ptr[first], self.attribute.begin() + self.ptr[last]);
        std::vector<double> values(ids.size(), 1.0);
        if (!self.value.empty()) values.assign(self.value.begin() + self.ptr[first], self.value.begin() + self.ptr[last]);
        std::vector<std::int32_t> starts, ends, flags;
        for (std::int64_t k = self.sites[i]; k < self.sites[i + 1]; ++k) {
          starts.push_back(self.site[k].start);
          ends.push_back(self.site[k].end);
          flags.push_back(self.site[k].flags);
        }
        return nb::make_tuple(given(std::move(ptr)), given(std::move(ids)), given(std::move(values)), given(std::move(starts)),
                              given(std::move(ends)), given(std::move(flags)));
      }, "i"_a, "Of sequence i: ptr, attributes and values of all rows, then the spans and flags of its sites.")
      .def("edge_attributes", [](const Corpus& self, int i) {
        require(i >= 0 && i < self.n_sequences(), "i: out of range");
        std::vector<std::int32_t> positions, ids;
        std::vector<double> values;
        for (int t = 1; !self.edge_ptr.empty() && t < self.length(i); ++t) {
          for (std::int64_t k = self.edge_ptr[self.tokens[i] + t]; k < self.edge_ptr[self.tokens[i] + t + 1]; ++k) {
            positions.push_back(t);
            ids.push_back(self.edge[k]);
            values.push_back(self.edge_value[k]);
          }
        }
        return nb::make_tuple(given(std::move(positions)), given(std::move(ids)), given(std::move(values)));
      }, "i"_a);

  nb::class_<Extractor>(m, "Extractor", "Templates over columns of numbers make attributes on rows.")
      .def("__init__", [](Extractor* self, const std::vector<std::pair<std::vector<std::pair<int, int>>, int>>& templates) {
        std::vector<Template> made;
        for (const auto& [parts, place] : templates) {
          require(place >= 0 && place <= static_cast<int>(Place::kEdge), "place: out of range");
          Template one;
          for (const auto& [column, offset] : parts) one.parts.push_back({column, offset});
          one.place = static_cast<Place>(place);
          made.push_back(std::move(one));
        }
        new (self) Extractor(std::move(made));
      }, "templates"_a)
      .def("__len__", [](const Extractor& self) { return self.attributes.size(); })
      .def("extract", &extract, "corpus"_a, "offsets"_a, "columns"_a, "starts"_a, "ends"_a, "flags"_a, "sources"_a,
           "ids"_a, "values"_a, "grow"_a)
      .def("restore", &restore, "sources"_a, "ptr"_a, "values"_a)
      .def("keys", [](const Extractor& self) {
        return nb::make_tuple(given(std::vector<std::int32_t>(self.attributes.sources())),
                              given(std::vector<std::int64_t>(self.attributes.ptr())),
                              given(std::vector<std::int32_t>(self.attributes.values())));
      }, "The template and the values of each attribute: sources, ptr, values.");

  nb::class_<Gold>(m, "Gold", "The labels of a corpus.")
      .def(nb::new_(&make_gold), "lengths"_a, "n_labels"_a, "ptr"_a, "starts"_a, "ends"_a, "labels"_a)
      .def("hint", [](Gold& self, int i, const std::optional<Matrix<std::uint8_t>>& allowed, const std::optional<Vector<std::uint8_t>>& boundary) {
        require(i >= 0 && i < static_cast<int>(self.hints.size()), "i: out of range");
        const std::size_t T = self.lengths[i], Y = self.n_labels;
        require(!allowed || (allowed->shape(0) == T && allowed->shape(1) == Y), "allowed: wrong shape");
        require(!boundary || boundary->shape(0) == T + 1, "boundary: wrong shape");
        auto hint = std::make_shared<Hint>();
        if (allowed) hint->allowed.assign(allowed->data(), allowed->data() + allowed->size());
        if (boundary) hint->boundary = copied(*boundary);
        self.hints[i] = std::move(hint);
      }, "i"_a, "allowed"_a.none(), "boundary"_a.none());

  nb::class_<Design>(m, "Design", "A corpus with the places of its weights.")
      .def("__len__", &Design::n_sequences)
      .def_prop_ro("n_rows", [](const Design& self) { return self.dense_ptr.size() - 1; })
      .def_prop_ro("n_items", [](const Design& self) { return self.dense.size() + self.sparse.size(); });

  nb::class_<Parameters>(m, "Parameters", "Which attribute has a weight with which label.")
      .def(nb::new_([](const Corpus& corpus, const Gold& gold, int n_labels, Extractor& attributes, Vector<std::int32_t> bounds,
                       const std::optional<Matrix<std::uint8_t>>& barred, const std::optional<Vector<std::uint8_t>>& barred_start,
                       const std::optional<Vector<std::uint8_t>>& barred_end, double min_frequency, bool all_states,
                       bool all_transitions, bool ends) {
             Layout layout = make_layout(n_labels, bounds, barred, barred_start, barred_end);
             Planes planes = attributes.planes();
             if (ends) add_ends(layout);
             const nb::gil_scoped_release release;
             Pairs pairs = observed_pairs(corpus, gold, {n_labels, min_frequency, all_states, all_transitions}, planes.n_attributes, layout);
             return std::make_shared<Parameters>(std::move(pairs), std::move(layout), std::move(planes));
           }),
           "corpus"_a, "gold"_a, "n_labels"_a, "attributes"_a, "bounds"_a, "barred"_a.none(), "barred_start"_a.none(),
           "barred_end"_a.none(), "min_frequency"_a, "all_states"_a, "all_transitions"_a, "ends"_a)
      .def_static("restore", [](int n_labels, Extractor& attributes, Vector<std::int32_t> bounds, const std::optional<Matrix<std::uint8_t>>& barred,
                                const std::optional<Vector<std::uint8_t>>& barred_start, const std::optional<Vector<std::uint8_t>>& barred_end,
                                Vector<std::int32_t> attribute, Vector<std::int32_t> label, Vector<std::int32_t> edge_attribute,
                                Vector<std::int32_t> edge_pair, Vector<std::int32_t> transition, Vector<std::int32_t> start, Vector<std::int32_t> end) {
        Layout layout = make_layout(n_labels, bounds, barred, barred_start, barred_end);
        auto below = [](const Vector<std::int32_t>& values, std::int64_t limit, const char* what) {
          for (std::size_t k = 0; k < values.shape(0); ++k) require(values(k) >= 0 && values(k) < limit, what);
        };
        const std::int64_t square = static_cast<std::int64_t>(n_labels) * n_labels;
        require(attribute.shape(0) == label.shape(0) && edge_attribute.shape(0) == edge_pair.shape(0), "pairs: lengths differ");
        below(attribute, attributes.attributes.size(), "attribute: out of range");
        below(edge_attribute, attributes.attributes.size(), "edge_attribute: out of range");
        below(label, n_labels, "label: out of range");
        below(edge_pair, square, "edge_pair: out of range");
        below(transition, square, "transition: out of range");
        below(start, n_labels, "start: out of range");
        below(end, n_labels, "end: out of range");
        layout.transition = copied(transition);
        layout.start = copied(start);
        layout.end = copied(end);
        return std::make_shared<Parameters>(Pairs{copied(attribute), copied(label), copied(edge_attribute), copied(edge_pair)},
                                            std::move(layout), attributes.planes());
      }, "n_labels"_a, "attributes"_a, "bounds"_a, "barred"_a.none(), "barred_start"_a.none(), "barred_end"_a.none(),
         "attribute"_a, "label"_a, "edge_attribute"_a, "edge_pair"_a, "transition"_a, "start"_a, "end"_a)
      .def("__len__", [](const Parameters& self) { return self.layout()->size(); })
      .def("with_structure", [](const Parameters& self, Vector<std::int32_t> bounds, Vector<std::int32_t> transition,
                                Vector<std::int32_t> start) {
        require(static_cast<int>(bounds.shape(0)) == self.layout()->Y, "bounds: one for each label");
        return self.with(copied(bounds), copied(transition), copied(start));
      }, "bounds"_a, "transition"_a, "start"_a)
      .def("compile", [](const Parameters& self, const Corpus& corpus) {
        const nb::gil_scoped_release release;
        return std::const_pointer_cast<Design>(self.compile(corpus));
      }, "corpus"_a)
      .def_prop_ro("attribute", [](const Parameters& self) { return given(std::vector<std::int32_t>(self.pairs().attribute)); }, nb::rv_policy::automatic)
      .def_prop_ro("label", [](const Parameters& self) { return given(std::vector<std::int32_t>(self.pairs().label)); }, nb::rv_policy::automatic)
      .def_prop_ro("edge_attribute", [](const Parameters& self) { return given(std::vector<std::int32_t>(self.pairs().edge_attribute)); }, nb::rv_policy::automatic)
      .def_prop_ro("edge_pair", [](const Parameters& self) { return given(std::vector<std::int32_t>(self.pairs().edge_pair)); }, nb::rv_policy::automatic)
      .def_prop_ro("transition", [](const Parameters& self) { return given(std::vector<std::int32_t>(self.layout()->transition)); }, nb::rv_policy::automatic)
      .def_prop_ro("start", [](const Parameters& self) { return given(std::vector<std::int32_t>(self.layout()->start)); }, nb::rv_policy::automatic)
      .def_prop_ro("end", [](const Parameters& self) { return given(std::vector<std::int32_t>(self.layout()->end)); }, nb::rv_policy::automatic);

  nb::class_<BoundObjective>(m, "Objective", "Weights in, negative log-likelihood and gradient out.")
      .def("__init__", [](BoundObjective* self, std::shared_ptr<Parameters> parameters, std::shared_ptr<Design> design,
                          std::shared_ptr<Gold> gold, Vector<double> weight, const std::optional<Matrix<double>>& cost,
                          std::shared_ptr<Automaton> automaton, Vector<std::int32_t> order) {
        make_objective(self, std::move(parameters), std::move(design), std::move(gold), weight, cost, std::move(automaton), order);
      }, "parameters"_a, "design"_a, "gold"_a, "weight"_a, "cost"_a.none(), "automaton"_a, "order"_a)
      .def("__len__", [](const BoundObjective& self) { return self.design->n_sequences(); })
      .def("release", [](BoundObjective& self) { self.objective->release(); })
      .def("evaluate", &BoundObjective::evaluate, "w"_a, "sequences"_a.none(), "single"_a, "n_threads"_a);

  nb::class_<Scorer>(m, "Scorer", "Fixed weights, for prediction.")
      .def("__init__", [](Scorer* self, const Parameters& parameters, Vector<double> w, const std::optional<Matrix<std::uint8_t>>& barred,
                          const std::optional<Vector<std::uint8_t>>& barred_start, const std::optional<Vector<std::uint8_t>>& barred_end,
                          std::shared_ptr<Automaton> automaton, Vector<std::int32_t> order) {
        make_scorer(self, parameters, w, barred, barred_start, barred_end, std::move(automaton), order);
      }, "parameters"_a, "w"_a, "barred"_a.none(), "barred_start"_a.none(), "barred_end"_a.none(), "automaton"_a, "order"_a)
      .def("best", &best, "design"_a, "n_threads"_a, "For each sequence its best segments, or None.")
      .def("names", &names, "design"_a, "states"_a, "n_threads"_a, "For each sequence the state of each token, or None.")
      .def("problems", &problems, "design"_a)
      .def("rows", &rows, "design"_a, "i"_a)
      .def("edges", &edges, "design"_a, "i"_a);
}

}  // namespace caesura
