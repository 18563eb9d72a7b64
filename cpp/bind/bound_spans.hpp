// Declarations that the bindings of look-back features share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/bindings.hpp"
#include "encode/segments.hpp"
#include "learn/span_model.hpp"

namespace caesura {

inline std::uint64_t hashed(std::string_view text) { return hash_bytes(text.data(), text.size()); }

// Returns the rules for Y labels, after checks of the shapes.
SpanRules span_rules(Vector<std::int32_t> bounds, Matrix<std::uint8_t> barred,
                     Vector<std::uint8_t> start, Vector<std::uint8_t> end,
                     const std::optional<Vector<double>>& bias, int Y);

// Features computed by a Python function: f(sequence, previous segments, (start, end, label))
// returns strings.
struct OwnFeatures : Incremental {
  explicit OwnFeatures(nanobind::object f) : call(std::move(f)) {}
  void keys(int sequence, const std::vector<LabelledSegment>& before,
            const LabelledSegment& segment, std::vector<std::uint64_t>& out) override {
    const nanobind::gil_scoped_acquire acquire;
    nanobind::list made;
    for (const LabelledSegment& s : before)
      made.append(nanobind::make_tuple(s.start, s.end, s.label));
    nanobind::object said =
        call(sequence, made, nanobind::make_tuple(segment.start, segment.end, segment.label));
    for (nanobind::handle one : nanobind::cast<nanobind::sequence>(said)) {
      const auto text = nanobind::cast<std::string>(one);
      out.push_back(mix(kOwn, hashed(text)));
    }
  }
  static constexpr std::uint64_t kOwn = 0x6f776e0000000000;
  nanobind::object call;
};

void bind_span_answers(nanobind::module_& m);

}  // namespace caesura
