// Bindings of learning from best paths and of exponentiated gradient.
#include "bind/bound_objective.hpp"
#include "learn/dual_pass.hpp"
#include "learn/path_pass.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {
namespace {

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

void make_path_pass(PathPass* self, const BoundObjective& bound, PathRule::Kind step, int pa_type,
                    double c, bool by_errors, double r, Vector<double> c2,
                    const std::optional<Vector<double>>& centre, Floats w, const Numbers& sums,
                    const Numbers& variance, const std::optional<PackedBlocks>& blocks,
                    std::int64_t done) {
  const std::int64_t n = bound.objective->layout().size();
  require(!centre || static_cast<std::int64_t>(centre->shape(0)) == n, "centre: wrong length");
  require(c2.shape(0) == 1 || static_cast<std::int64_t>(c2.shape(0)) == n, "c2: wrong length");
  PathRule chosen;
  chosen.kind = step;
  chosen.pa_type = pa_type;
  chosen.C = c;
  chosen.by_errors = by_errors;
  chosen.r = r;
  if (chosen.kind == PathRule::kFrankWolfe) chosen.c2 = copied(c2);
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
  nb::enum_<PathRule::Kind>(m, "PathStep", "How a learner of `PathPass` changes weights.")
      .value("PERCEPTRON", PathRule::kPerceptron)
      .value("PASSIVE_AGGRESSIVE", PathRule::kPassive)
      .value("AROW", PathRule::kArow)
      .value("FRANK_WOLFE", PathRule::kFrankWolfe);
  nb::class_<PathPass>(m, "PathPass",
                       "Passes of a learner that looks at best paths, which touch only the weights "
                       "that a step changes.")
      .def("__init__", &make_path_pass, "objective"_a, "step"_a, "pa_type"_a, "c"_a, "by_errors"_a,
           "r"_a, "c2"_a, "centre"_a.none(), "w"_a, "sums"_a.none(), "variance"_a.none(),
           "blocks"_a.none(), "done"_a)
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
          "settle",
          [](PathPass& self) {
            const Released release;
            self.settle();
          },
          "Steps of Frank-Wolfe between the paths that are kept, without any search.")
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

DualPass::State dual_state(const Floats& theta, const Floats& m, const Floats& eta,
                           const Objective& objective) {
  const auto n = static_cast<std::size_t>(objective.design().n_sequences());
  require(static_cast<std::int64_t>(theta.shape(0)) == DualPass::n_scores(objective) &&
              m.shape(0) == n && eta.shape(0) == n,
          "theta, m, eta: wrong length");
  return {theta.data(), m.data(), eta.data()};
}

void bind_dual_pass(nb::module_& m) {
  nb::class_<DualPass>(m, "DualPass", "Passes of exponentiated gradient over a corpus.")
      .def(
          "__init__",
          [](DualPass* self, const BoundObjective& bound, bool log, double mu, Vector<double> c2,
             const std::optional<Vector<double>>& centre, Floats w, Floats theta, Floats multiplier,
             Floats eta, bool fresh) {
            const auto n = static_cast<std::size_t>(bound.objective->layout().size());
            require(w.shape(0) == n && (!centre || centre->shape(0) == n), "w: wrong length");
            require(c2.shape(0) == 1 || c2.shape(0) == n, "c2: wrong length");
            for (int i = 0; i < bound.n_sequences(); ++i)
              require(!bound.objective->is_partial(i), "objective: labels are partial");
            const DualPass::State state = dual_state(theta, multiplier, eta, *bound.objective);
            const Released release;
            new (self) DualPass(bound.objective, {log, mu, copied(c2)}, w.data(), state,
                                centre ? centre->data() : nullptr, fresh);
          },
          "objective"_a, "log"_a, "mu"_a, "c2"_a, "centre"_a.none(), "w"_a, "theta"_a, "m"_a,
          "eta"_a, "fresh"_a)
      .def_static(
          "n_scores",
          [](const BoundObjective& bound) { return DualPass::n_scores(*bound.objective); },
          "objective"_a, "How many scores the dual has.")
      .def(
          "run",
          [](DualPass& self, Vector<std::int32_t> order, int begin, double seconds) {
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
          [](DualPass& self, Floats w, Floats theta, Floats multiplier, Floats eta) {
            require(static_cast<std::int64_t>(w.shape(0)) == self.size(), "w: wrong length");
            const DualPass::State state = dual_state(theta, multiplier, eta, self.objective());
            const Released release;
            self.finish(w.data(), state);
          },
          "w"_a.noconvert(), "theta"_a.noconvert(), "m"_a.noconvert(), "eta"_a.noconvert(),
          "Writes the weights and the dual.")
      .def_prop_ro("penalty", &DualPass::penalty, "c2 |w|^2")
      .def_prop_ro("dual", &DualPass::dual, "Value of the dual.")
      .def_prop_ro("entropy", &DualPass::entropy, "Sum of the entropies.")
      .def("set_mu", &DualPass::set_mu, "mu"_a, "What the entropies count in the next steps.");
}

}  // namespace

void bind_paths(nb::module_& m) {
  bind_path_pass(m);
  bind_dual_pass(m);
}

}  // namespace caesura
