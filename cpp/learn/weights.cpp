// Conversion of the weights to the form that the kernels need.
#include <algorithm>
#include <cmath>

#include "infer/answers.hpp"
#include "learn/weight_ranges.hpp"

namespace caesura {

std::vector<std::int64_t> places_of(const Layout& layout, const Design& design, int width) {
  const std::int64_t wide = padded(layout.planes * layout.Y, width),
                     table = (layout.n_dense + design.sums.size()) * wide;
  std::vector<std::int64_t> places;
  places.reserve(layout.slot.size());
  for (const Slot& slot : layout.slot) {
    places.push_back(slot.lane < 0 ? table + slot.row
                                   : design.place_of(slot.row) * wide + slot.lane);
  }
  return places;
}

template <class Real>
bool Unpacked<Real>::set(const Layout& layout, const Design& design,
                         const std::vector<std::int64_t>& places, const double* w, int width,
                         int n_threads) {
  view_ = {};
  width_ = width;
  const int wide = view_.wide = padded(layout.planes * layout.Y, width);
  const std::int64_t table = (layout.n_dense + design.sums.size()) * wide;
  rows_.resize(table + layout.n_sparse);  // zeros stay where there is no weight
  for_blocks(static_cast<std::int64_t>(places.size()), n_threads,
             [to = rows_.data(), at = places.data(), w](std::int64_t begin, std::int64_t end) {
               for (std::int64_t k = begin; k < end; ++k) to[at[k]] = static_cast<Real>(w[k]);
             });
  auto row = [&](std::int32_t k) { return rows_.data() + static_cast<std::ptrdiff_t>(k) * wide; };
  for (const Sum& sum : design.sums) {
    Real* to = row(sum.row);
    const Real *first = row(sum.first), *second = row(sum.second);
    for (int y = 0; y < wide; ++y) to[y] = first[y] + second[y];
  }
  edge_.assign(w + layout.first_edge(), w + layout.first_transition());
  bounds_ = layout.bounds;
  view_.bounds = bounds_.data();
  view_.dense = rows_.data();
  view_.sparse = rows_.data() + table;
  view_.edge = edge_.data();
  read_labels(layout, w);
  near_ = make_labels(layout, design);
  if constexpr (sizeof(Real) < sizeof(double)) set_rounded(layout, w, n_threads);
  return near_;
}

// Sets the scores of transitions, patterns, starts and ends; -inf where they are forbidden.
template <class Real>
void Unpacked<Real>::read_labels(const Layout& layout, const double* w) {
  const int Y = layout.Y;
  transition.assign(static_cast<std::size_t>(Y) * Y, 0.0);
  pattern.assign(w + layout.first_pattern(), w + layout.first_start());
  start.assign(Y, 0.0);
  end.assign(Y, 0.0);
  for (std::size_t k = 0; k < layout.transition.size(); ++k) {
    transition[layout.transition[k]] = w[layout.first_transition() + k];
  }
  for (std::size_t k = 0; k < layout.start.size(); ++k)
    start[layout.start[k]] = w[layout.first_start() + k];
  for (std::size_t k = 0; k < layout.end.size(); ++k)
    end[layout.end[k]] = w[layout.first_end() + k];
  for (int y = 0; y < Y && !layout.entry_bias.empty(); ++y) {
    for (int before = 0; before < Y; ++before) transition[before * Y + y] += layout.entry_bias[y];
    start[y] += layout.entry_bias[y];
  }
  auto bar = [](std::vector<double>& scores, const std::vector<std::uint8_t>& barred) {
    for (std::size_t k = 0; k < barred.size(); ++k) {
      if (barred[k]) scores[k] = kMinusInfinity;
    }
  };
  bar(transition, layout.barred);
  bar(start, layout.barred_start);
  bar(end, layout.barred_end);
}

// Sets the same in the form that the kernels need.  Returns false if one is out of their range.
template <class Real>
bool Unpacked<Real>::make_labels(const Layout& layout, const Design& design) {
  bool near = true;
  for (const std::vector<double>* scores : {&transition, &start, &end}) {
    for (const double score : *scores) near &= is_near(score);
  }
  std::vector<double> pairs = transition;  // except those that are histories
  for (std::size_t k = 0; layout.histories != nullptr && k < pairs.size(); ++k) {
    if (layout.histories->pair[k] >= 0) pairs[k] = kMinusInfinity;
  }
  labels_.set(pairs, start, end, layout.bounds, width_, view_);
  if (layout.histories != nullptr) near &= set_histories(layout);
  view_.row = view_.stride + (view_.by_state ? view_.histories->lanes : 0);
  if (design.tagged) set_tags(layout, width_);
  return near;
}

// Rounds the weights to the values that the kernels use: scores as they are, but those of
// transitions, patterns, starts and ends after their exp.
template <class Real>
void Unpacked<Real>::set_rounded(const Layout& layout, const double* w, int n_threads) {
  rounded_.resize(layout.size());
  for_blocks(layout.size(), n_threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) rounded_[k] = static_cast<Real>(w[k]);
  });
  for (std::int64_t k = layout.first_transition(); k < layout.size(); ++k) {
    const double back = std::log(static_cast<double>(static_cast<Real>(std::exp(w[k]))));
    if (std::isfinite(back)) rounded_[k] = back;  // else the general sweeps answer
  }
}

// Sets the score of entering each state: that of its last pair and of the patterns that it ends in.
template <class Real>
bool Unpacked<Real>::set_histories(const Layout& layout) {
  histories_ = layout.histories;
  const Histories& h = *histories_;
  view_.histories = &h;
  view_.by_state = !layout.row_patterns.empty();
  program_ = layout.program;
  view_.program = program_.get();
  if (program_ == nullptr) return false;
  std::vector<double> score(h.lanes, 0.0);
  for (std::size_t k = 0; k < h.pair.size(); ++k) {
    if (h.pair[k] >= 0) score[h.pair[k]] = transition[k];
  }
  for (std::int64_t k = 0; k < layout.n_plain; ++k) score[h.pattern[k]] += pattern[k];
  h.add_shorter(score.data());
  bool near = true;
  const ArcProgram& p = *program_;
  const Real none = -std::numeric_limits<Real>::infinity();
  entry_.assign(p.lanes, Real{0});
  log_entry_.assign(p.lanes, none);
  for (const std::int32_t q : p.rising) {
    const double gained = score[p.history[q]];
    near &= is_near(gained);
    entry_[q] = static_cast<Real>(std::exp(gained));
    log_entry_[q] = static_cast<Real>(gained);
  }
  ending_.assign(p.lanes, Real{0});
  log_ending_.assign(p.lanes, none);
  for (int q = 0; q < p.lanes; ++q) {
    if (!p.accepting[q]) continue;
    ending_[q] = static_cast<Real>(std::exp(end[p.label[q]]));
    log_ending_[q] = static_cast<Real>(end[p.label[q]]);
  }
  // Arcs refer to the padded transition matrix; those with a weight also to S of single labels.
  std::vector<std::int32_t> single(p.lanes, -1);
  for (std::size_t k = 0; k < p.singles.size(); ++k)
    single[p.singles[k]] = static_cast<std::int32_t>(k);
  std::vector<std::uint8_t> has_weight(transition.size(), 0);
  for (const std::int32_t pair : layout.transition) has_weight[pair] = 1;
  auto place = [&](const PairArc& arc) { return arc.pair / h.Y * view_.stride + arc.pair % h.Y; };
  auto take = [&](const std::vector<std::int32_t>& order, std::vector<PairArc>& to) {
    to.clear();
    for (const std::int32_t k : order) {
      const PairArc& arc = p.pairs[k];
      if (transition[arc.pair] > kMinusInfinity) to.push_back({arc.to, arc.from, place(arc)});
    }
    to.push_back({-1, -1, -1});
    return to.data();
  };
  view_.base = take(p.by_target, base_);
  view_.base_back = take(p.by_source, base_back_);
  weighted_.clear();
  view_.n_weighted = 0;
  for (const PairArc& arc : p.pairs) {
    if (!has_weight[arc.pair]) continue;
    const std::int32_t at = place(arc);
    view_.n_weighted += weighted_.empty() || weighted_.back().pair != at;
    weighted_.push_back({arc.to, single[arc.from], at});
  }
  weighted_.push_back({-1, -1, -1});
  view_.weighted = weighted_.data();
  view_.ending = ending_.data();
  view_.log_ending = log_ending_.data();
  view_.entry = entry_.data();
  view_.log_entry = log_entry_.data();
  return near;
}

// Makes the chain over tags: begin and inside are followed by inside or end of the same label, and
// end and unit by begin or unit of any label.
template <class Real>
void Unpacked<Real>::set_tags(const Layout& layout, int width) {
  const int Y = layout.Y, n = kPositions * Y;
  std::vector<double> pairs(static_cast<std::size_t>(n) * n, kMinusInfinity),
      starts(n, kMinusInfinity), ends(n, kMinusInfinity);
  auto each = [](Position a, Position b, auto visit) {
    visit(a);
    visit(b);
  };
  auto there = [&](int position, int y) { return has_tag(layout, position, y); };
  for (int y = 0; y < Y; ++y) {
    each(kBegin, kUnit,
         [&](int k) { starts[k * Y + y] = there(k, y) ? start[y] : kMinusInfinity; });
    each(kEnd, kUnit, [&](int k) { ends[k * Y + y] = there(k, y) ? end[y] : kMinusInfinity; });
    each(kBegin, kInside, [&](int from) {
      each(kInside, kEnd, [&](int to) {
        if (there(to, y)) pairs[(from * Y + y) * n + to * Y + y] = 0.0;
      });
    });
    for (int next = 0; next < Y; ++next) {
      each(kEnd, kUnit, [&](int from) {
        each(kBegin, kUnit, [&](int to) {
          if (there(from, y) && there(to, next))
            pairs[(from * Y + y) * n + to * Y + next] = transition[y * Y + next];
        });
      });
    }
  }
  tag_view_ = view_;
  tags_.set(pairs, starts, ends, std::vector<std::int32_t>(n, 1), width, tag_view_);
  view_.tags = &tag_view_;
}

template bool Unpacked<double>::set(const Layout&, const Design&, const std::vector<std::int64_t>&,
                                    const double*, int, int);
template bool Unpacked<float>::set(const Layout&, const Design&, const std::vector<std::int64_t>&,
                                   const double*, int, int);
// For weight_updates.cpp.
template void Unpacked<double>::read_labels(const Layout&, const double*);
template bool Unpacked<double>::make_labels(const Layout&, const Design&);
template bool Unpacked<double>::set_histories(const Layout&);

}  // namespace caesura
