// Changes of some weights in the form that the kernels need, for learners that take a step for each
// sequence or batch.  These use double precision only.
#include <algorithm>

#include "learn/trainers.hpp"
#include "learn/weight_ranges.hpp"

namespace caesura {

template <class Real>
void Unpacked<Real>::point_to(const Real* rows, const Real* sparse, const Real* edge, Real scale) {
  view_.dense = rows;
  view_.sparse = sparse;
  view_.edge = edge;
  view_.scale = scale;
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

template void Unpacked<double>::point_to(const double*, const double*, const double*, double);
template bool Unpacked<double>::set_labels(const Layout&, const Design&, const double*);
template void Unpacked<double>::put_label(const Layout&, std::int64_t, double);

}  // namespace caesura
