// The door to the objective of learning, and to online learning.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "bind/bindings.hpp"
#include "learn/online.hpp"
#include "learn/parameters.hpp"
#include "learn/path_pass.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {
namespace {

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

  // The best segmentation: starts, ends, labels, and its cost.
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

  // rows: [segments][Y]
  void cost_segments(int i, Vector<std::int32_t> starts, Vector<std::int32_t> ends,
                     Matrix<double> rows) {
    require(i >= 0 && i < n_sequences(), "i: out of range");
    const auto Y = static_cast<std::size_t>(objective->layout().Y);
    require(
        starts.shape(0) == ends.shape(0) && rows.shape(0) == ends.shape(0) && rows.shape(1) == Y,
        "segments: wrong shape");
    auto costs = std::make_shared<SegmentCosts>();
    for (std::size_t k = 0; k < starts.shape(0); ++k) {
      require(starts(k) >= 0 && starts(k) < ends(k) && ends(k) <= objective->design().length(i),
              "segments: out of range");
      costs->sites.push_back({starts(k), ends(k), 0});
      if (k == 0) continue;
      const Site& last = costs->sites[k - 1];
      require(last.end < ends(k) || (last.end == ends(k) && last.start > starts(k)),
              "segments: sort them by end, and then by start, later starts first");
    }
    costs->rows.assign(rows.data(), rows.data() + rows.size());
    objective->segment_costs.resize(n_sequences());
    objective->segment_costs[i] = std::move(costs);
  }
};

// The design is used up: it serves this objective only.
void make_objective(BoundObjective* self, const Parameters& parameters,
                    std::shared_ptr<Design> design, std::shared_ptr<Gold> gold,
                    Vector<double> weight, const std::optional<Matrix<double>>& cost,
                    std::shared_ptr<const Automaton> automaton, Vector<std::int32_t> order) {
  const Layout& layout = *parameters.layout();
  const int n = design->n_sequences(), Y = layout.Y;
  require(static_cast<int>(weight.shape(0)) == n && static_cast<int>(gold->hints.size()) == n,
          "weight, gold: one for each sequence");
  require(!cost || (static_cast<std::int64_t>(cost->shape(0)) == design->tokens[n] &&
                    static_cast<int>(cost->shape(1)) == Y),
          "cost: wrong shape");
  std::vector<double> observed = parameters.count(*design, *gold, weight.data(), nullptr, n);
  new (self) BoundObjective{std::make_shared<Objective>(parameters.layout(), std::move(design),
                                                        std::move(gold), copied(weight),
                                                        std::move(observed))};
  Objective& objective = *self->objective;
  if (cost) objective.cost.assign(cost->data(), cost->data() + cost->size());
  objective.order = copied(order);
  objective.automaton =
      layout.histories == nullptr ? std::move(automaton) : automaton_of(layout, objective.order);
}

// -- online learning
// -----------------------------------------------------------------------------

using Floats = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

OnlinePass::State state_of(const Floats& w, const Floats& average, const Floats& squares,
                           std::int64_t n, const OnlineRule& rule) {
  require(static_cast<std::int64_t>(w.shape(0)) == n &&
              static_cast<std::int64_t>(average.shape(0)) == n,
          "w, average: wrong length");
  require(!rule.adagrad || static_cast<std::int64_t>(squares.shape(0)) == n,
          "squares: wrong length");
  return {w.data(), average.data(), rule.adagrad ? squares.data() : nullptr};
}

// kinds: [size] which of the penalties c1, c2 a weight has.
void make_pass(OnlinePass* self, const BoundObjective& bound, bool adagrad, bool average,
               double rate, double slowing, double power, Vector<std::uint8_t> kinds,
               Vector<double> c1, Vector<double> c2, const std::optional<Vector<double>>& centre,
               Floats w, Floats averages, Floats squares, std::int64_t done) {
  const std::int64_t n = bound.objective->layout().size();
  require(c1.shape(0) == c2.shape(0) && c1.shape(0) < 255 &&
              static_cast<std::int64_t>(kinds.shape(0)) == n,
          "kinds, c1, c2: wrong length");
  require(!centre || static_cast<std::int64_t>(centre->shape(0)) == n, "centre: wrong length");
  OnlineRule rule{adagrad, average, rate, slowing, power, static_cast<double>(bound.n_sequences()),
                  {0.0},   {0.0}};
  rule.c1.insert(rule.c1.end(), c1.data(), c1.data() + c1.shape(0));
  rule.c2.insert(rule.c2.end(), c2.data(), c2.data() + c2.shape(0));
  std::vector<std::uint8_t> kind = copied(kinds);
  for (std::uint8_t& k : kind) {
    require(k < c1.shape(0), "kinds: out of range");
    ++k;
  }
  const OnlinePass::State state = state_of(w, averages, squares, n, rule);
  const Released release;
  new (self) OnlinePass(bound.objective, rule, state, centre ? centre->data() : nullptr,
                        kind.data(), done);
}

// -- learning from best paths
// -----------------------------------------------------------------------------

using Numbers = std::optional<Floats>;

PathPass::State path_state(const Floats& w, const Numbers& sums, const Numbers& variance,
                           std::int64_t n) {
  auto of_size = [&](const Floats& one) {
    require(static_cast<std::int64_t>(one.shape(0)) == n, "w, sums, variance: wrong length");
    return one.data();
  };
  return {of_size(w), sums ? of_size(*sums) : nullptr, variance ? of_size(*variance) : nullptr};
}

using PackedBlocks = std::tuple<Vector<std::int64_t>, Vector<std::int64_t>, Vector<std::int64_t>,
                                Vector<double>, Vector<double>, Vector<double>>;

PathPass::Blocks unpacked(const PackedBlocks& packed, std::size_t n_sequences, std::int64_t n) {
  const auto& [first, ptr, weight, value, cost, share] = packed;
  auto rising = [](const Vector<std::int64_t>& at, std::size_t count, std::size_t last) {
    bool good =
        at.shape(0) == count + 1 && at(0) == 0 && at(count) == static_cast<std::int64_t>(last);
    for (std::size_t k = 0; good && k < count; ++k) good = at(k) <= at(k + 1);
    require(good, "blocks: wrong numbers");
  };
  rising(first, n_sequences, cost.shape(0));
  rising(ptr, cost.shape(0), weight.shape(0));
  require(weight.shape(0) == value.shape(0) && cost.shape(0) == share.shape(0),
          "blocks: wrong length");
  for (std::size_t k = 0; k < weight.shape(0); ++k)
    require(weight(k) >= 0 && weight(k) < n, "blocks: out of range");
  return {copied(first), copied(ptr), copied(weight), copied(value), copied(cost), copied(share)};
}

void make_path_pass(PathPass* self, const BoundObjective& bound, const std::string& rule,
                    int pa_type, double c, double r, Vector<double> c2,
                    const std::optional<Vector<double>>& centre, Floats w, const Numbers& sums,
                    const Numbers& variance, const std::optional<PackedBlocks>& blocks,
                    std::int64_t done) {
  const std::int64_t n = bound.objective->layout().size();
  require(!centre || static_cast<std::int64_t>(centre->shape(0)) == n, "centre: wrong length");
  require(c2.shape(0) == 1 || static_cast<std::int64_t>(c2.shape(0)) == n, "c2: wrong length");
  PathRule chosen;
  if (rule == "pa")
    chosen.kind = PathRule::kPassive;
  else if (rule == "arow")
    chosen.kind = PathRule::kArow;
  else if (rule == "svm")
    chosen.kind = PathRule::kFrankWolfe;
  else
    require(rule == "perceptron", "rule: unknown");
  chosen.pa_type = pa_type;
  chosen.C = c;
  chosen.r = r;
  chosen.c2 = copied(c2);
  const PathPass::State state = path_state(w, sums, variance, n);
  require(chosen.kind != PathRule::kArow || state.variance != nullptr, "variance: missing");
  for (int i = 0; i < bound.n_sequences(); ++i)
    require(!bound.objective->is_partial(i), "objective: labels are partial");
  std::optional<PathPass::Blocks> before;
  if (blocks) before = unpacked(*blocks, bound.n_sequences(), n);
  const Released release;
  new (self) PathPass(bound.objective, chosen, state, before ? &*before : nullptr,
                      centre ? centre->data() : nullptr, done);
}

void bind_path_pass(nb::module_& m) {
  nb::class_<PathPass>(m, "PathPass",
                       "Passes of a learner that looks at best paths, which touch only the weights "
                       "that a step changes.")
      .def("__init__", &make_path_pass, "objective"_a, "rule"_a, "pa_type"_a, "c"_a, "r"_a, "c2"_a,
           "centre"_a.none(), "w"_a, "sums"_a.none(), "variance"_a.none(), "blocks"_a.none(),
           "done"_a)
      .def(
          "run",
          [](PathPass& self, Vector<std::int32_t> order, int begin, double seconds) {
            require(begin >= 0, "begin: out of range");
            for (std::size_t k = 0; k < order.shape(0); ++k)
              require(order(k) >= 0 && order(k) < self.n_sequences(), "order: out of range");
            const Released release;
            return self.run(order.data(), static_cast<int>(order.shape(0)), begin, seconds);
          },
          "order"_a, "begin"_a, "seconds"_a,
          "Steps from `begin` on until the time is over; returns where the next one begins.")
      .def(
          "finish",
          [](PathPass& self, Floats w, const Numbers& sums, const Numbers& variance) {
            const PathPass::State state = path_state(w, sums, variance, self.size());
            const Released release;
            self.finish(state);
          },
          "w"_a.noconvert(), "sums"_a.none(), "variance"_a.none(),
          "Writes the weights, the sums of their average and their variances.")
      .def(
          "blocks",
          [](const PathPass& self) {
            PathPass::Blocks found = self.blocks();
            return std::make_tuple(given(std::move(found.first)), given(std::move(found.ptr)),
                                   given(std::move(found.weight)), given(std::move(found.value)),
                                   given(std::move(found.cost)), given(std::move(found.share)));
          },
          "The paths of Frank-Wolfe: those of each sequence, their weights and values, costs and "
          "shares.")
      .def(
          "hinge",
          [](PathPass& self, int n_threads) {
            const Released release;
            return self.hinge(n_threads);
          },
          "n_threads"_a, "Sum of the losses at the weights of now.")
      .def_prop_ro("penalty", &PathPass::penalty, "c2 |w|^2")
      .def_prop_ro("dual", &PathPass::dual, "Value of the dual.")
      .def_rw("loss", &PathPass::loss, "Sum over the steps, each before its change.")
      .def_rw("mistakes", &PathPass::mistakes, "Steps that changed the weights.")
      .def_prop_ro("done", &PathPass::done, "Steps, with those before the pass.");
}

}  // namespace

void bind_objective(nb::module_& m) {
  nb::class_<BoundObjective>(m, "Objective",
                             "Weights in, negative log-likelihood and gradient out.")
      .def(
          "__init__",
          [](BoundObjective* self, std::shared_ptr<Parameters> parameters,
             std::shared_ptr<Design> design, std::shared_ptr<Gold> gold, Vector<double> weight,
             const std::optional<Matrix<double>>& cost, std::shared_ptr<Automaton> automaton,
             Vector<std::int32_t> order) {
            make_objective(self, *parameters, std::move(design), std::move(gold), weight, cost,
                           std::move(automaton), order);
          },
          "parameters"_a, "design"_a, "gold"_a, "weight"_a, "cost"_a.none(), "automaton"_a,
          "order"_a)
      .def("__len__", &BoundObjective::n_sequences)
      .def_prop_ro(
          "n_careful", [](const BoundObjective& self) { return self.objective->n_careful(); },
          "How often the last evaluation had to ask the general sweeps.")
      .def("release", [](BoundObjective& self) { self.objective->release(); })
      .def("evaluate", &BoundObjective::evaluate, "w"_a, "sequences"_a.none(), "single"_a,
           "n_threads"_a)
      .def("maximum", &BoundObjective::maximum, "w"_a, "sequences"_a.none(), "costed"_a,
           "n_threads"_a,
           "The best score less the gold score, summed over sequences, and a subgradient.")
      .def("path", &BoundObjective::path, "w"_a, "i"_a, "starts"_a, "ends"_a, "labels"_a,
           "The score of a segmentation of one sequence, without costs, and its counts.")
      .def("best", &BoundObjective::best, "w"_a, "i"_a, "costed"_a,
           "The best segmentation of one sequence as starts, ends and labels, and its cost.")
      .def("set_loss", &BoundObjective::set_loss, "name"_a, "reading"_a, "weight"_a.none(),
           "What a wrong segmentation costs, in place of all costs before: none, hamming, segments "
           "or zero-one.")
      .def("expectations", &BoundObjective::expectations, "w"_a, "i"_a, "constrained"_a,
           "ln Z of one sequence, or of what agrees with its partial labels, and expected counts.")
      .def("cost_segments", &BoundObjective::cost_segments, "i"_a, "starts"_a, "ends"_a, "rows"_a,
           "Adds costs to the scores of some segments of a sequence.");

  nb::class_<OnlinePass>(m, "OnlinePass",
                         "A pass of SGD or AdaGrad, which touches the weights of each batch only.")
      .def("__init__", &make_pass, "objective"_a, "adagrad"_a, "average"_a, "rate"_a, "slowing"_a,
           "power"_a, "kinds"_a, "c1"_a, "c2"_a, "centre"_a.none(), "w"_a, "averages"_a,
           "squares"_a, "done"_a)
      .def(
          "run",
          [](OnlinePass& self, Vector<std::int32_t> order, int begin, int batch_size,
             double seconds) {
            require(batch_size > 0 && begin >= 0, "batch_size, begin: out of range");
            for (std::size_t k = 0; k < order.shape(0); ++k)
              require(order(k) >= 0 && order(k) < self.n_sequences(), "order: out of range");
            const Released release;
            return self.run(order.data(), static_cast<int>(order.shape(0)), begin, batch_size,
                            seconds);
          },
          "order"_a, "begin"_a, "batch_size"_a, "seconds"_a,
          "Batches from `begin` on until the time is over; returns where the next one begins.")
      .def(
          "finish",
          [](OnlinePass& self, Floats w, Floats averages, Floats squares) {
            const OnlinePass::State state =
                state_of(w, averages, squares, self.size(), self.rule());
            const Released release;
            self.finish(state);
          },
          "w"_a.noconvert(), "averages"_a.noconvert(), "squares"_a.noconvert(),
          "Writes the weights, their averages and the sums of squared gradients.")
      .def_rw("loss", &OnlinePass::loss, "Sum over the batches, each before its step.")
      .def_prop_ro("rate", &OnlinePass::rate, "Learning rate of the last batch.")
      .def_prop_ro("done", &OnlinePass::done, "Batches, with those before the pass.");
  bind_path_pass(m);
}

}  // namespace caesura
