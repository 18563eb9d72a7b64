// The learning objective as an object of Python.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "bind/bindings.hpp"
#include "learn/gold.hpp"

namespace caesura {

using Floats =
    nanobind::ndarray<double, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

struct BoundObjective {
  std::shared_ptr<Objective> objective;

  int n_sequences() const { return objective->design().n_sequences(); }
  void check(const Vector<double>& w, const std::optional<Vector<std::int32_t>>& some) const {
    require(static_cast<std::int64_t>(w.shape(0)) == objective->layout().size(), "w: wrong length");
    for (std::size_t k = 0; some && k < some->shape(0); ++k) {
      require((*some)(k) >= 0 && (*some)(k) < n_sequences(), "sequences: out of range");
    }
  }

  std::pair<double, Array<double>> evaluate(Vector<double> w,
                                            const std::optional<Vector<std::int32_t>>& some,
                                            bool single, int n_threads) {
    check(w, some);
    const int count = some ? static_cast<int>(some->shape(0)) : n_sequences();
    std::vector<double> gradient(w.shape(0));
    double loss;
    {
      const Released release;
      loss = objective->evaluate(w.data(), some ? some->data() : nullptr, count, single, n_threads,
                                 gradient.data());
    }
    return {loss, given(std::move(gradient))};
  }

  std::pair<double, Array<double>> maximum(Vector<double> w,
                                           const std::optional<Vector<std::int32_t>>& some,
                                           bool costed, int n_threads) {
    check(w, some);
    const int count = some ? static_cast<int>(some->shape(0)) : n_sequences();
    std::vector<double> gradient(w.shape(0));
    double loss;
    {
      const Released release;
      loss = objective->maximum(w.data(), some ? some->data() : nullptr, count, costed, n_threads,
                                gradient.data());
    }
    return {loss, given(std::move(gradient))};
  }

  std::pair<double, Array<double>> path(Vector<double> w, int i, Vector<std::int32_t> starts,
                                        Vector<std::int32_t> ends, Vector<std::int32_t> labels) {
    check(w, std::nullopt);
    require(i >= 0 && i < n_sequences(), "i: out of range");
    require(starts.shape(0) == ends.shape(0) && ends.shape(0) == labels.shape(0),
            "segments: lengths differ");
    std::vector<LabelledSegment> segments;
    for (std::size_t k = 0; k < starts.shape(0); ++k) {
      const int before = k == 0 ? 0 : segments.back().end;
      require(starts(k) == before && ends(k) > before && labels(k) >= 0 &&
                  labels(k) < objective->layout().Y,
              "segments: must cover the sequence");
      segments.push_back({starts(k), ends(k), labels(k)});
    }
    require((segments.empty() ? 0 : segments.back().end) == objective->design().length(i),
            "segments: must cover the sequence");
    std::vector<double> counts(w.shape(0));
    const double score = objective->path(w.data(), i, segments.data(),
                                         static_cast<int>(segments.size()), counts.data());
    return {score, given(std::move(counts))};
  }

  std::pair<double, Array<double>> expectations(Vector<double> w, int i, bool constrained) {
    check(w, std::nullopt);
    require(i >= 0 && i < n_sequences(), "i: out of range");
    require(!constrained || objective->is_partial(i), "i: the labels are not partial");
    std::vector<double> counts(w.shape(0));
    double log_z;
    {
      const Released release;
      log_z = objective->expectations(w.data(), i, constrained, counts.data());
    }
    return {log_z, given(std::move(counts))};
  }

  // Returns the starts, ends and labels of the best segmentation, and its cost.
  std::tuple<Array<std::int32_t>, Array<std::int32_t>, Array<std::int32_t>, double> best(
      Vector<double> w, int i, bool costed) {
    check(w, std::nullopt);
    require(i >= 0 && i < n_sequences(), "i: out of range");
    require(!objective->is_partial(i), "i: the labels are partial");
    std::vector<LabelledSegment> path;
    {
      const Released release;
      path = objective->best_path(w.data(), i, costed);
    }
    std::vector<std::int32_t> columns[3];
    for (const LabelledSegment& s : path) {
      columns[0].push_back(s.start);
      columns[1].push_back(s.end);
      columns[2].push_back(s.label);
    }
    const double cost = objective->cost_of(i, path.data(), static_cast<int>(path.size()));
    return {given(std::move(columns[0])), given(std::move(columns[1])),
            given(std::move(columns[2])), cost};
  }

  // loss: "none", "hamming", "segments" or "zero-one"
  void set_loss(const std::string& name, const Reading& reading,
                const std::optional<Vector<double>>& weight) {
    const auto Y = static_cast<std::size_t>(objective->layout().Y);
    require(reading.label.size() == Y, "reading: one label for each state");
    require(!weight || weight->shape(0) == Y, "weight: one for each state");
    Loss loss;
    loss.reading = reading;
    if (weight) loss.weight = copied(*weight);
    if (name == "hamming")
      loss.kind = Loss::kTokens;
    else if (name == "segments")
      loss.kind = Loss::kSegments;
    else
      loss.kind = name == "zero-one" ? Loss::kSequence : Loss::kNone;
    const Released release;
    objective->set_loss(std::move(loss));
  }
};

}  // namespace caesura
