// The states of a model with patterns and rules: its arc program and its automaton.
#include "learn/objective.hpp"

namespace caesura {
namespace {

// The sequences that are not barred, if there are rules.  Without rules they would spare few
// states.
PossibleLabels possible_in(const Layout& layout) {
  PossibleLabels out;
  out.most = layout.longest;
  if (layout.rules.empty()) return out;
  for (const std::uint8_t barred : layout.barred_start) out.first.push_back(barred == 0);
  for (const std::uint8_t barred : layout.barred) out.follows.push_back(barred == 0);
  return out;
}

std::shared_ptr<const ArcProgram> program_of(const Layout& layout) {
  return std::make_shared<ArcProgram>(*layout.histories, layout.rules, possible_in(layout),
                                      trainer<double>().width);
}

}  // namespace

void make_program(Layout& layout) {
  layout.program = nullptr;
  try {
    layout.program = program_of(layout);
  } catch (const TooLarge&) {
    // layout_within() may succeed.
  }
}

std::shared_ptr<const Layout> layout_within(std::shared_ptr<const Layout> layout, int longest) {
  // With fewer tokens than limits, most sets of used labels do not occur.
  if (layout->histories == nullptr ||
      (layout->program != nullptr && layout->rules.limits() <= longest))
    return layout;
  auto out = std::make_shared<Layout>(*layout);
  out->longest = longest;
  out->program = program_of(*out);
  return out;
}

std::shared_ptr<const Automaton> automaton_of(const Layout& layout,
                                              const std::vector<std::int32_t>& order) {
  if (layout.histories != nullptr && layout.program == nullptr) return nullptr;
  const PossibleLabels possible = possible_in(layout);
  return automaton_for(order, layout.patterns, layout.rules, true,
                       possible == PossibleLabels{} ? nullptr : &possible);
}

}  // namespace caesura
