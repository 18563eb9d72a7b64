// Conversion of the weights to the form that the kernels need.
#include <algorithm>
#include <cmath>

#include "infer/answers.hpp"
#include "learn/objective.hpp"
#include "learn/trainers.hpp"

namespace caesura {
namespace {

constexpr double kFarthest = 100.0;  // limit of transition scores, in either precision

int padded(int n, int width) { return (n + width - 1) / width * width; }

// Whether the exp of a score is in the range of the kernels. -inf, which forbids, is in range.
bool is_near(double score) { return score == kMinusInfinity || std::abs(score) <= kFarthest; }

// Whether a token of a segment with this label may have this tag.
bool has_tag(const Layout& layout, int position, int label) {
  return position == kUnit || layout.bounds[label] == 0;
}

}  // namespace

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
  if (sizeof(Real) < sizeof(double)) set_rounded(layout, w, n_threads);
  return near_;
}

template <class Real>
void Unpacked<Real>::point_to(const Real* rows, const Real* sparse, const Real* edge, Real scale) {
  view_.dense = rows;
  view_.sparse = sparse;
  view_.edge = edge;
  view_.scale = scale;
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

template <class Real>
void Unpacked<Real>::put_transition(const Layout& layout, int code, double score, double exp) {
  const int Y = layout.Y, from = code / Y, to = code % Y;
  transition[code] = score;
  if (layout.histories == nullptr || layout.histories->pair[code] < 0)
    labels_.put_transition(from, to, score, exp);
  if (view_.tags == nullptr) return;
  for (const int last : {kEnd, kUnit}) {
    for (const int first : {kBegin, kUnit}) {
      if (has_tag(layout, last, from) && has_tag(layout, first, to))
        tags_.put_transition(last * Y + from, first * Y + to, score, exp);
    }
  }
}

template <class Real>
bool Unpacked<Real>::set_labels(const Layout& layout, const Design& design, const double* w) {
  if (!near_) {  // pairs whose exp was 0 are missing from the panels
    read_labels(layout, w);
    return near_ = make_labels(layout, design);
  }
  const int Y = layout.Y;
  const std::int64_t first = layout.first_transition();
  exps_.resize(layout.size() - first);
  trainer<double>().exps(w + first, layout.size() - first, exps_.data());
  for (std::size_t k = 0; k < layout.transition.size(); ++k) {
    const std::int32_t code = layout.transition[k];
    if (transition[code] == kMinusInfinity) continue;
    put_transition(layout, code, w[first + k], exps_[k]);
    near_ &= is_near(transition[code]);
  }
  for (std::size_t k = 0; k < layout.start.size(); ++k) {
    const std::int32_t y = layout.start[k];
    if (start[y] == kMinusInfinity) continue;
    const double exp = exps_[layout.first_start() - first + k];
    labels_.put_start(y, start[y] = w[layout.first_start() + k], exp);
    near_ &= is_near(start[y]);
    for (const int begin : {kBegin, kUnit}) {
      if (view_.tags != nullptr && has_tag(layout, begin, y))
        tags_.put_start(begin * Y + y, start[y], exp);
    }
  }
  for (std::size_t k = 0; k < layout.end.size(); ++k) {
    const std::int32_t y = layout.end[k];
    if (end[y] == kMinusInfinity) continue;
    const double exp = exps_[layout.first_end() - first + k];
    labels_.put_end(y, end[y] = w[layout.first_end() + k], exp);
    near_ &= is_near(end[y]);
    for (const int last : {kEnd, kUnit}) {
      if (view_.tags != nullptr && has_tag(layout, last, y))
        tags_.put_end(last * Y + y, end[y], exp);
    }
  }
  std::copy(w + layout.first_pattern(), w + layout.first_start(), pattern.begin());
  if (layout.histories != nullptr) near_ &= set_histories(layout);
  return near_;
}

template <class Real>
void Unpacked<Real>::put_label(const Layout& layout, std::int64_t k, double score) {
  const double exp = std::exp(score);
  auto put = [&](double& old, auto set) {
    if (old == kMinusInfinity) return;  // forbidden
    old = score;
    set();
  };
  if (k < layout.first_pattern()) {
    const std::int32_t code = layout.transition[k - layout.first_transition()];
    put(transition[code],
        [&] { labels_.put_transition(code / layout.Y, code % layout.Y, score, exp); });
  } else if (k >= layout.first_end()) {
    const std::int32_t y = layout.end[k - layout.first_end()];
    put(end[y], [&] { labels_.put_end(y, score, exp); });
  } else if (k >= layout.first_start()) {
    const std::int32_t y = layout.start[k - layout.first_start()];
    put(start[y], [&] { labels_.put_start(y, score, exp); });
  }
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

template class Unpacked<double>;
template class Unpacked<float>;

template <class Real>
void Labels<Real>::set(const std::vector<double>& transition, const std::vector<double>& start,
                       const std::vector<double>& end, const std::vector<std::int32_t>& bounds,
                       int width, Weights<Real>& view) {
  const int Y = static_cast<int>(bounds.size()), stride = padded(Y, width), size = stride * stride;
  view.Y = Y;
  view.stride = stride_ = stride;
  transition_.assign(size, Real{0});
  transposed_.assign(size, Real{0});
  for (int i = 0; i < Y; ++i) {
    for (int j = 0; j < Y; ++j) {
      transition_[i * stride + j] = transposed_[j * stride + i] =
          static_cast<Real>(std::exp(transition[i * Y + j]));
    }
  }
  first_.assign(stride, Real{0});
  last_.assign(stride, Real{0});
  open_.assign(stride, Real{0});
  int longest = 0;
  view.has_open = false;
  for (int y = 0; y < Y; ++y) {
    first_[y] = static_cast<Real>(std::exp(start[y]));
    last_[y] = static_cast<Real>(std::exp(end[y]));
    open_[y] = bounds[y] == 0 ? Real{1} : Real{0};
    longest = std::max(longest, bounds[y]);
    view.has_open |= bounds[y] == 0;
  }
  fits_.assign(static_cast<std::size_t>(longest + 1) * stride, Real{0});
  for (int k = 1; k <= longest; ++k) {
    for (int y = 0; y < Y; ++y)
      fits_[k * stride + y] = bounds[y] == 0 || k <= bounds[y] ? Real{1} : Real{0};
  }
  logs_.assign(size + 2 * stride, -std::numeric_limits<Real>::infinity());
  for (int i = 0; i < Y; ++i) {
    for (int j = 0; j < Y; ++j) logs_[i * stride + j] = static_cast<Real>(transition[i * Y + j]);
    logs_[size + i] = static_cast<Real>(start[i]);
    logs_[size + stride + i] = static_cast<Real>(end[i]);
  }
  view.log_transition = logs_.data();
  view.log_first = logs_.data() + size;
  view.log_last = logs_.data() + size + stride;
  panels_ = make_panels(transition_, Y, width, 6, sources_);
  back_panels_ = make_panels(transposed_, Y, width, 6, back_sources_);
  // Best paths use narrow panels, which have fewer sources.  A pair is possible if its score is not
  // -inf, even if its exp is 0.
  std::vector<Real> possible(size, Real{0});
  for (int i = 0; i < Y; ++i) {
    for (int j = 0; j < Y; ++j)
      possible[i * stride + j] = transition[i * Y + j] > kMinusInfinity ? Real{1} : Real{0};
  }
  best_panels_ = make_panels(possible, Y, width, 3, best_sources_);
  view.best_panels = best_panels_.data();
  view.n_best_panels = static_cast<int>(best_panels_.size());
  view.transition = transition_.data();
  view.transposed = transposed_.data();
  view.panels = panels_.data();
  view.n_panels = static_cast<int>(panels_.size());
  view.back_panels = back_panels_.data();
  view.n_back_panels = static_cast<int>(back_panels_.size());
  view.first = first_.data();
  view.last = last_.data();
  view.open = open_.data();
  view.longest = longest;
  view.fits = fits_.data();
}

template <class Real>
void Labels<Real>::put_transition(int previous, int label, double score, double exp) {
  const int at = previous * stride_ + label;
  transition_[at] = transposed_[label * stride_ + previous] = static_cast<Real>(exp);
  logs_[at] = static_cast<Real>(score);
}

template <class Real>
void Labels<Real>::put_start(int label, double score, double exp) {
  first_[label] = static_cast<Real>(exp);
  logs_[stride_ * stride_ + label] = static_cast<Real>(score);
}

template <class Real>
void Labels<Real>::put_end(int label, double score, double exp) {
  last_[label] = static_cast<Real>(exp);
  logs_[stride_ * (stride_ + 1) + label] = static_cast<Real>(score);
}

template <class Real>
std::vector<Panel> Labels<Real>::make_panels(const std::vector<Real>& matrix, int Y, int width,
                                             int most, std::vector<std::int32_t>& sources) const {
  const int stride = padded(Y, width), n = stride / width;
  std::vector<Panel> panels;
  std::vector<std::size_t> begins;
  sources.clear();
  for (int begin = 0; begin < n; begin += most) {
    const int wide = std::min(most, n - begin);
    begins.push_back(sources.size());
    for (int i = 0; i < Y; ++i) {
      const Real* row = matrix.data() + i * stride + begin * width;
      if (std::any_of(row, row + wide * width, [](Real x) { return x != 0; })) sources.push_back(i);
    }
    const int count = static_cast<int>(sources.size() - begins.back());
    panels.push_back({begin, wide, nullptr, count, count == Y});
  }
  for (std::size_t p = 0; p < panels.size(); ++p) panels[p].sources = sources.data() + begins[p];
  return panels;
}

template class Labels<double>;
template class Labels<float>;

}  // namespace caesura
