// The module that Python imports: shared setup, then each part.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bind/bindings.hpp"
#include "infer/kernels.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace caesura;

NB_MODULE(_kernels, m) {
  nb::set_leak_warnings(false);  // the cache of automata lives until the interpreter ends
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const TooLarge& error) {
      const nb::object kind = nb::module_::import_("caesura.errors").attr("TooLarge");
      const nb::object expected = error.expected.empty() ? nb::none() : nb::cast(error.expected);
      PyErr_SetObject(kind.ptr(), kind(error.problem, "place"_a = error.place,
                                       "expected"_a = expected, "remedy"_a = error.remedy)
                                      .ptr());
    } catch (const RefusedScore& error) {
      const nb::object made =
          nb::module_::import_("caesura.checks").attr("refused_score")(error.array, error.sequence);
      PyErr_SetObject(made.type().ptr(), made.ptr());
    }
  });
  m.doc() = "Compiled kernels; use them through caesura's functions.";
  watch_interpreter();
  kernels();  // reports a bad CAESURA_KERNELS at import
  m.def("name", [] { return kernels().name; }, "The instruction set in use: plain or wide.");
  bind_problem(m);
  bind_posterior(m);
  bind_engine(m);
  bind_batch(m);
  bind_encoding(m);
  bind_bags(m);
  bind_text(m);
  bind_around(m);
  bind_segments(m);
  bind_spans(m);
  bind_graph(m);
  bind_learning(m);
  bind_scorer(m);
  bind_objective(m);
  bind_paths(m);
  bind_vectors(m);
}
