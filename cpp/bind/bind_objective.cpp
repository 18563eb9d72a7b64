// Bindings of the learning objective and of online learning.
#include "bind/bound_objective.hpp"
#include "learn/online.hpp"
#include "learn/parameters.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace caesura {
namespace {

// The objective takes over the design, which nothing else may use afterwards.  The gold labels are
// moved to the folder of the design.
void make_objective(BoundObjective* self, const Parameters& parameters,
                    std::shared_ptr<Design> design, std::shared_ptr<Gold> gold,
                    Vector<double> weight, const std::optional<Matrix<double>>& cost,
                    std::shared_ptr<const Automaton> automaton, Vector<std::int32_t> order) {
  const Layout& layout = *parameters.layout();
  const int n = design->n_sequences(), Y = layout.Y;
  require(static_cast<int>(weight.shape(0)) == n && static_cast<int>(gold->lengths.size()) == n,
          "weight, gold: one for each sequence");
  require(!cost || (static_cast<std::int64_t>(cost->shape(0)) == design->tokens[n] &&
                    static_cast<int>(cost->shape(1)) == Y),
          "cost: wrong shape");
  const std::vector<double> weights = copied(weight);
  std::vector<std::int32_t> ranks = copied(order);
  std::vector<double> observed;
  std::shared_ptr<const Layout> within;
  {
    const Released release;  // with rules, there may be millions of states to find
    observed = parameters.count(*design, *gold, weights.data(), nullptr, n);
    int longest = 0;
    for (int i = 0; i < n; ++i) longest = std::max(longest, design->length(i));
    within = layout_within(parameters.layout(), longest);
    if (layout.histories != nullptr) automaton = automaton_of(*within, ranks);
  }
  gold->move_to(design->folder);
  new (self) BoundObjective{std::make_shared<Objective>(
      std::move(within), std::move(design), std::move(gold), weights, std::move(observed))};
  Objective& objective = *self->objective;
  if (cost) objective.cost.assign(cost->data(), cost->data() + cost->size());
  objective.order = std::move(ranks);
  objective.automaton = std::move(automaton);
}

// ---- Online learning ----

OnlinePass::State state_of(const Floats& w, const Floats& average, const Floats& squares,
                           std::int64_t n, const OnlineRule& rule) {
  require(static_cast<std::int64_t>(w.shape(0)) == n &&
              static_cast<std::int64_t>(average.shape(0)) == n,
          "w, average: wrong length");
  require(!rule.adagrad || static_cast<std::int64_t>(squares.shape(0)) == n,
          "squares: wrong length");
  return {w.data(), average.data(), rule.adagrad ? squares.data() : nullptr};
}

// kinds: [size] index in c1 and c2 of the penalties of each weight.  n_sequences: number of
// sequences over which the penalties are spread, which may be larger than that of the objective.
void make_pass(OnlinePass* self, const BoundObjective& bound, bool adagrad, bool average,
               double rate, double slowing, double power, double n_sequences,
               Vector<std::uint8_t> kinds, Vector<double> c1, Vector<double> c2,
               const std::optional<Vector<double>>& centre, Floats w, Floats averages,
               Floats squares, std::int64_t done) {
  const std::int64_t n = bound.objective->layout().size();
  require(c1.shape(0) == c2.shape(0) && c1.shape(0) < 255 &&
              static_cast<std::int64_t>(kinds.shape(0)) == n,
          "kinds, c1, c2: wrong length");
  require(!centre || static_cast<std::int64_t>(centre->shape(0)) == n, "centre: wrong length");
  require(n_sequences >= 1.0, "n_sequences: out of range");
  OnlineRule rule{adagrad, average, rate, slowing, power, n_sequences, {0.0}, {0.0}};
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
           "ln Z of one sequence, or of what agrees with its partial labels, and expected counts.");

  nb::class_<OnlinePass>(m, "OnlinePass",
                         "A pass of SGD or AdaGrad, which touches the weights of each batch only.")
      .def("__init__", &make_pass, "objective"_a, "adagrad"_a, "average"_a, "rate"_a, "slowing"_a,
           "power"_a, "n_sequences"_a, "kinds"_a, "c1"_a, "c2"_a, "centre"_a.none(), "w"_a,
           "averages"_a, "squares"_a, "done"_a)
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
}

}  // namespace caesura
