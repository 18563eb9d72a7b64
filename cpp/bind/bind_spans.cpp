// Bindings of look-back features: their corpora, models and learners.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>

#include "bind/bound_spans.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {
namespace {

using TokenPlan = std::tuple<std::vector<std::pair<int, int>>, int, std::string>;
using SegmentPlan = std::tuple<std::vector<std::tuple<int, int, int>>, std::string>;
using ColumnTuple = std::tuple<std::optional<Vector<std::int64_t>>, Vector<std::int32_t>,
                               std::optional<Vector<double>>>;
using Interners = std::vector<std::shared_ptr<Interner>>;

std::shared_ptr<SpanModel> make_model(int n_columns, int n_labels, bool boundary_weights,
                                      const std::vector<TokenPlan>& tokens,
                                      const std::vector<SegmentPlan>& segments,
                                      bool sees_everything) {
  require(n_columns >= 0 && n_labels > 0, "labels: out of range");
  auto model = std::make_shared<SpanModel>();
  SpanFeatures& features = model->features;
  features.n_columns = n_columns;
  features.n_labels = n_labels;
  features.boundary_weights = boundary_weights;
  features.sees_everything = sees_everything;
  for (const auto& [parts, place, name] : tokens) {
    std::vector<Part> made;
    for (const auto& [column, offset] : parts) {
      require(column >= 0 && column < n_columns, "tokens: no such column");
      made.push_back({column, offset});
    }
    require(!made.empty() && place >= 0 && place <= static_cast<int>(Place::kEdge),
            "tokens: out of range");
    features.add_tokens(std::move(made), static_cast<Place>(place), hashed(name));
  }
  for (const auto& [parts, name] : segments) {
    std::vector<SegmentPart> made;
    for (const auto& [role, said, column] : parts) {
      require(role >= 0 && role < 3 && said >= 0 && said <= static_cast<int>(Said::kLabel) &&
                  column >= 0 &&
                  (column < n_columns || said == static_cast<int>(Said::kLabel) ||
                   said == static_cast<int>(Said::kLength)),
              "segments: out of range");
      made.push_back({role, static_cast<Said>(said), column});
    }
    features.add_segments(made, hashed(name));
  }
  require(features.pairs.size() <= SpanFeatures::kMostPairs &&
              features.joints.size() <= SpanFeatures::kMostPairs,
          "segments: too many");
  model->texts.resize(features.text_columns.size());
  return model;
}

Array<std::uint64_t> bits_of(const SpanModel& self, int k) { return given(self.texts[k].bits()); }

void restore(SpanModel& self, Vector<std::uint64_t> keys, Vector<double> weights,
             const std::vector<Vector<std::uint64_t>>& texts) {
  require(weights.shape(0) == keys.shape(0) * self.features.n_labels, "weights: wrong length");
  require(texts.size() == self.texts.size() && self.table.size() == 0, "texts: wrong number");
  for (std::size_t k = 0; k < texts.size(); ++k) {
    const std::size_t size = texts[k].shape(0);
    require(size > 0 && (size & (size - 1)) == 0, "texts: wrong size");
    self.texts[k].restore(copied(texts[k]));
  }
  for (std::size_t k = 0; k < keys.shape(0); ++k) {
    self.table.add(keys(k));
    require(self.table.size() == static_cast<int>(k) + 1, "keys: one is there twice");
  }
  self.w.assign(weights.data(), weights.data() + weights.shape(0));
}

// Appends a batch of sequences.
void append(SpanCorpus& self, Vector<std::int64_t> offsets, const std::vector<ColumnTuple>& columns,
            const Interners& values, const Firings& firings,
            const std::vector<std::pair<int, std::string>>& sources) {
  require(offsets.shape(0) >= 1 && offsets(0) == 0, "offsets: expected 0 first");
  const std::size_t n = offsets.shape(0) - 1;
  const std::int64_t n_tokens = offsets(n), before = self.offsets.back();
  require(values.size() >= columns.size(), "values: one for each column");
  if (self.columns.empty()) self.columns.resize(columns.size());
  require(self.columns.size() == columns.size(), "columns: another number");
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const auto& [ptr, ids, weights] = columns[c];
    SpanCorpus::Values& to = self.columns[c];
    const std::size_t size = ptr ? (*ptr)(n_tokens) : n_tokens;
    require(!ptr || static_cast<std::int64_t>(ptr->shape(0)) == n_tokens + 1, "columns: ptr");
    require(ids.shape(0) == size && (!weights || weights->shape(0) == size), "columns: length");
    if (ptr && to.ptr.empty())  // so far each token has one value
      for (std::int64_t t = 0; t <= before; ++t) to.ptr.push_back(t);
    if (weights && to.weights.empty()) to.weights.assign(to.ids.size(), 1.0);
    const auto first = static_cast<std::int64_t>(to.ids.size());
    for (std::int64_t t = 1; !to.ptr.empty() && t <= n_tokens; ++t)
      to.ptr.push_back(first + (ptr ? (*ptr)(t) : t));
    to.ids.insert(to.ids.end(), ids.data(), ids.data() + size);
    if (weights)
      to.weights.insert(to.weights.end(), weights->data(), weights->data() + size);
    else if (!to.weights.empty())
      to.weights.insert(to.weights.end(), size, 1.0);
    const Interner& known = *values[c];
    while (static_cast<std::int32_t>(to.hashes.size()) < known.size())
      to.hashes.push_back(hashed(known[static_cast<std::int32_t>(to.hashes.size())]));
    for (std::size_t k = 0; k < size; ++k)
      require(ids(k) < static_cast<std::int32_t>(to.hashes.size()), "columns: out of range");
  }
  std::size_t at = 0;
  std::vector<std::uint64_t> salts(sources.size());
  for (std::size_t k = 0; k < sources.size(); ++k) salts[k] = hashed(sources[k].second);
  for (std::size_t i = 0; i < n; ++i) {
    self.offsets.push_back(before + offsets(i + 1));
    for (; at < firings.size() && firings[at].start < offsets(i + 1); ++at) {
      const Firing& f = firings[at];
      std::size_t k = 0;
      while (k < sources.size() && sources[k].first != f.source) ++k;
      require(k < sources.size() && f.id >= 0, "firings: out of range");
      const std::uint64_t key = mix(salts[k], hashed((*values[columns.size() + k])[f.id]));
      self.fired.push_back({f.start - static_cast<std::int32_t>(offsets(i)),
                            f.end - static_cast<std::int32_t>(offsets(i)), f.flags, key, f.value});
    }
    self.fired_ptr.push_back(static_cast<std::int64_t>(self.fired.size()));
  }
}

SpanGold gold_of(const std::vector<Matrix<std::int32_t>>& rows, const SpanCorpus& corpus,
                 const SpanRules& rules) {
  require(static_cast<int>(rows.size()) == corpus.n_sequences(), "gold: one for each sequence");
  SpanGold gold;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<LabelledSegment> one;
    int end = 0;
    for (std::size_t k = 0; k < rows[i].shape(0); ++k) {
      const LabelledSegment s{rows[i](k, 0), rows[i](k, 1), rows[i](k, 2)};
      require(s.start == end && s.end > s.start && s.label >= 0 &&
                  s.label < static_cast<int>(rules.bounds.size()) &&
                  s.end - s.start <= rules.bounds[s.label],
              "gold: not a segmentation");
      end = s.end;
      one.push_back(s);
    }
    require(end == corpus.length(static_cast<int>(i)), "gold: not a segmentation");
    gold.push_back(std::move(one));
  }
  return gold;
}

int update_of(int update) {
  require(update >= 0 && update <= static_cast<int>(Update::kStandard), "update: out of range");
  return update;
}

std::uint64_t checksum(const SpanCorpus& self) {
  std::uint64_t sum = 0;
  for (const std::int64_t one : self.offsets) sum = mix(sum, static_cast<std::uint64_t>(one));
  for (const SpanCorpus::Values& column : self.columns) {
    for (const std::int64_t one : column.ptr) sum = mix(sum, static_cast<std::uint64_t>(one));
    for (const std::int32_t id : column.ids)
      sum = mix(sum, id < 0 ? 0 : column.hashes[static_cast<std::size_t>(id)]);
    for (const double one : column.weights) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &one, sizeof bits);
      sum = mix(sum, bits);
    }
  }
  return sum;
}

void bind_models(nb::module_& m) {
  nb::class_<SpanCorpus>(m, "SpanCorpus", "Sequences for features that look back.")
      .def(nb::init<>())
      .def("__len__", &SpanCorpus::n_sequences)
      .def_prop_ro(
          "lengths",
          [](const SpanCorpus& self) {
            std::vector<std::int64_t> out;
            for (int i = 0; i < self.n_sequences(); ++i) out.push_back(self.length(i));
            return given(std::move(out));
          },
          nb::rv_policy::move)
      .def("checksum", &checksum, "A hash of everything in it.")
      .def("append", &append, "offsets"_a, "columns"_a, "values"_a, "firings"_a, "sources"_a);

  nb::class_<SpanModel>(m, "SpanModel", "Weights of features that look back, by keys.")
      .def(nb::new_(&make_model), "n_columns"_a, "n_labels"_a, "boundary_weights"_a, "tokens"_a,
           "segments"_a, "sees_everything"_a)
      .def("__len__",
           [](const SpanModel& self) {
             std::size_t n = 0;
             for (const double one : self.w) n += one != 0.0;
             return n;
           })
      .def_prop_ro("depth", [](const SpanModel& self) { return self.features.depth(); })
      .def_prop_ro(
          "keys", [](const SpanModel& self) { return given(self.table.keys()); },
          nb::rv_policy::move)
      .def_prop_ro(
          "weights",
          [](const SpanModel& self) {
            return given(std::vector<double>(self.w.begin(), self.w.end()));
          },
          nb::rv_policy::move)
      .def_prop_ro("n_texts", [](const SpanModel& self) { return self.texts.size(); })
      .def("texts", &bits_of, "k"_a)
      .def(
          "known", [](const SpanModel& self, int k) { return given(self.texts[k].added()); }, "k"_a,
          "Hashes of the texts of column k that are in some key.", nb::rv_policy::move)
      .def(
          "know",
          [](SpanModel& self, int k, Vector<std::uint64_t> hashes) {
            require(k >= 0 && k < static_cast<int>(self.texts.size()), "k: out of range");
            for (std::size_t j = 0; j < hashes.shape(0); ++j) self.texts[k].add(hashes(j));
          },
          "k"_a, "hashes"_a, "Adds to what `known` says.")
      .def(
          "scaled",
          [](const SpanModel& self, double share) {
            auto out = std::make_shared<SpanModel>(self);
            for (double& one : out->w) one *= share;
            return out;
          },
          "share"_a, "The model with all weights times a number.")
      .def("restore", &restore, "keys"_a, "weights"_a, "texts"_a)
      .def(
          "compile", [](const SpanModel&, std::shared_ptr<SpanCorpus> corpus) { return corpus; },
          "corpus"_a, "Keys are looked for when they are needed, so a corpus stays as it is.");
}

void bind_learners(nb::module_& m) {
  nb::class_<SpanObjective>(m, "SpanObjective", "Log-likelihood with features of pairs.")
      .def(
          "__init__",
          [](SpanObjective* self, std::shared_ptr<SpanModel> model,
             std::shared_ptr<SpanCorpus> corpus, const std::vector<Matrix<std::int32_t>>& rows,
             Vector<std::int32_t> bounds, Matrix<std::uint8_t> barred, Vector<std::uint8_t> start,
             Vector<std::uint8_t> end, Vector<double> weight, double min_freq, int n_threads) {
            SpanRules rules =
                span_rules(bounds, barred, start, end, std::nullopt, model->features.n_labels);
            SpanGold gold = gold_of(rows, *corpus, rules);
            require(weight.shape(0) == rows.size(), "weight: one for each sequence");
            require(model->features.depth() <= 1, "model: looks back too far");
            std::vector<double> weights = copied(weight);
            const Released release;
            new (self) SpanObjective(std::move(model), std::move(corpus), std::move(gold),
                                     std::move(rules), std::move(weights), min_freq, n_threads);
          },
          "model"_a, "corpus"_a, "gold"_a, "bounds"_a, "barred"_a, "barred_start"_a, "barred_end"_a,
          "weight"_a, "min_freq"_a, "n_threads"_a)
      .def("__len__", &SpanObjective::n_sequences)
      .def_prop_ro("size", &SpanObjective::size)
      .def(
          "evaluate",
          [](const SpanObjective& self, Vector<double> w, int n_threads) {
            require(static_cast<std::int64_t>(w.shape(0)) == self.size(), "w: wrong length");
            std::vector<double> gradient(self.size());
            double loss = 0.0;
            {
              const Released release;
              loss = self.evaluate(w.data(), n_threads, gradient.data());
            }
            return nb::make_tuple(loss, given(std::move(gradient)));
          },
          "w"_a, "n_threads"_a,
          nb::sig("def evaluate(self, w: NDArray[numpy.float64], n_threads: int) -> "
                  "tuple[float, NDArray[numpy.float64]]"))
      .def(
          "put",
          [](const SpanObjective& self, Vector<double> w) {
            require(static_cast<std::int64_t>(w.shape(0)) == self.size(), "w: wrong length");
            self.put(w.data());
          },
          "w"_a);

  nb::class_<SpanPerceptron>(m, "SpanPerceptron", "The averaged perceptron with an agenda.")
      .def(
          "__init__",
          [](SpanPerceptron* self, std::shared_ptr<SpanModel> model,
             std::shared_ptr<SpanCorpus> corpus, const std::vector<Matrix<std::int32_t>>& rows,
             Vector<std::int32_t> bounds, Matrix<std::uint8_t> barred, Vector<std::uint8_t> start,
             Vector<std::uint8_t> end, Vector<double> weight, std::optional<int> beam, int update) {
            SpanRules rules =
                span_rules(bounds, barred, start, end, std::nullopt, model->features.n_labels);
            SpanGold gold = gold_of(rows, *corpus, rules);
            require(weight.shape(0) == rows.size(), "weight: one for each sequence");
            require(!beam || *beam >= 1, "beam: out of range");
            new (self) SpanPerceptron(std::move(model), std::move(corpus), std::move(gold),
                                      std::move(rules), copied(weight),
                                      beam.value_or(SpanSearch::kUnlimited),
                                      static_cast<Update>(update_of(update)));
          },
          "model"_a, "corpus"_a, "gold"_a, "bounds"_a, "barred"_a, "barred_start"_a, "barred_end"_a,
          "weight"_a, "beam"_a.none(), "update"_a)
      .def(
          "run",
          [](SpanPerceptron& self, Vector<std::int32_t> order, int begin, double seconds,
             std::optional<nb::object> own) {
            std::unique_ptr<OwnFeatures> features;
            if (own) features = std::make_unique<OwnFeatures>(*own);
            const int count = static_cast<int>(order.shape(0));
            const std::int32_t* from = order.data();
            require(begin >= 0 && begin <= count, "begin: out of range");
            for (int k = 0; k < count; ++k)
              require(from[k] >= 0 && from[k] < self.n_sequences(), "order: out of range");
            if (features) return self.run(from, count, begin, seconds, features.get());
            const Released release;
            return self.run(from, count, begin, seconds, nullptr);
          },
          "order"_a, "begin"_a, "seconds"_a, "own"_a.none())
      .def("averaged",
           [](const SpanPerceptron& self) {
             const Released release;
             return std::make_shared<SpanModel>(self.averaged());
           })
      .def_prop_ro(
          "sums",
          [](const SpanPerceptron& self) {
            return given(std::vector<double>(self.sums().begin(), self.sums().end()));
          },
          nb::rv_policy::move)
      .def_prop_ro("date", &SpanPerceptron::date)
      .def(
          "resume",
          [](SpanPerceptron& self, const SpanModel& model, Vector<double> sums, double date,
             std::int64_t updates) {
            require(sums.shape(0) == model.w.size(), "sums: wrong length");
            self.resume(copied(sums), date, updates);
          },
          "model"_a, "sums"_a, "date"_a, "updates"_a, "Goes on from where another run was.")
      .def_ro("updates", &SpanPerceptron::updates);
}

}  // namespace

void bind_spans(nb::module_& m) {
  bind_models(m);
  bind_learners(m);
  bind_span_answers(m);
}

}  // namespace caesura
