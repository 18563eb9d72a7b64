// The weights of transitions in the form that the kernels need.
#include <algorithm>

#include "learn/weight_ranges.hpp"

namespace caesura {

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

template void Labels<double>::set(const std::vector<double>&, const std::vector<double>&,
                                  const std::vector<double>&, const std::vector<std::int32_t>&, int,
                                  Weights<double>&);
template void Labels<float>::set(const std::vector<double>&, const std::vector<double>&,
                                 const std::vector<double>&, const std::vector<std::int32_t>&, int,
                                 Weights<float>&);

}  // namespace caesura
