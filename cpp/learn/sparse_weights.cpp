#include "learn/sparse_weights.hpp"

#include <algorithm>

#include "learn/gold.hpp"

namespace caesura {

SparseWeights::SparseWeights(std::shared_ptr<Objective> objective, const double* w,
                             const double* centre, const std::vector<double>& c2)
    : objective_(std::move(objective)), layout_(objective_->layout()) {
  const auto held = objective_->hold();
  const Design& d = objective_->design();
  const int width = trainer<double>().width;
  places_ = places_of(layout_, d, width);
  std::vector<double> all(w, w + layout_.size());
  for (std::int64_t k = 0; centre != nullptr && k < layout_.size(); ++k) all[k] += centre[k];
  unpacked_.set(layout_, d, places_, all.data(), width, 1);
  wide_ = unpacked_.view().wide;
  first_single_ = layout_.n_dense * wide_;
  first_edge_ = first_single_ + layout_.n_sparse;
  first_label_ = first_edge_ + layout_.n_edges;
  const std::int64_t n = first_label_ + layout_.size() - layout_.first_transition();
  w_.assign(n, 0.0);
  delta_.assign(n, 0.0);
  there_.assign(n, kNoWeight);
  if (!c2.empty()) inverse_.assign(n, 0.0);
  if (centre != nullptr) {
    seen_.assign(n, 0.0);
    centre_.assign(n, 0.0);
  }
  for (std::int64_t k = 0; k < layout_.size(); ++k) {
    const std::int64_t place = place_of(k);
    there_[place] = kWeight;
    w_[place] = w[k];
    if (!c2.empty()) inverse_[place] = 0.5 / c2[c2.size() == 1 ? 0 : k];
    if (centre == nullptr) continue;
    centre_[place] = centre[k];
    seen_[place] = all[k];
  }
  unpacked_.point_to(seen(), seen() + first_single_, seen() + first_edge_);
  auto index = [](int size, const std::vector<std::int32_t>& what) {
    std::vector<std::int32_t> out(size, -1);
    for (std::size_t k = 0; k < what.size(); ++k) out[what[k]] = static_cast<std::int32_t>(k);
    return out;
  };
  pair_ = index(layout_.Y * layout_.Y, layout_.transition);
  start_ = index(layout_.Y, layout_.start);
  end_ = index(layout_.Y, layout_.end);
}

std::int64_t SparseWeights::place_of(std::int64_t weight) const {
  return weight < layout_.first_edge() ? places_[weight]
                                       : first_edge_ + weight - layout_.first_edge();
}

void SparseWeights::collect_row(const Design& d, std::int64_t row, int lane, double count) {
  for (std::int64_t k = d.dense_ptr[row]; k < d.dense_ptr[row + 1]; ++k) {
    const double value = d.dense_value.empty() ? 1.0 : d.dense_value[k];
    touch(d.dense[k] * wide_ + lane, count * value);
  }
  for (std::int64_t k = d.sparse_ptr[row]; k < d.sparse_ptr[row + 1]; ++k) {
    if (d.sparse_lane[k] != lane) continue;
    const double value = d.sparse_value.empty() ? 1.0 : d.sparse_value[k];
    touch(first_single_ + d.sparse[k], count * value);
  }
}

void SparseWeights::collect(int i, const SequenceCounts& counts, double sign) {
  const Design& d = objective_->design();
  const int T = d.length(i), Y = layout_.Y, n_rows = T + d.n_sites(i);
  const std::int64_t first = d.first_row(i);
  for (int r = 0; r < n_rows; ++r) {
    for (int y = 0; y < Y; ++y) {
      const double count = sign * counts.rows[static_cast<std::size_t>(r) * Y + y];
      if (count == 0.0) continue;
      collect_row(d, first + r, y, count);
      if (r < T) continue;
      const Site& site = d.site[d.sites[i] + r - T];  // its plane is in the row of a token
      if (site.plane > 0) collect_row(d, first + site.start, site.plane * Y + y, count);
    }
  }
  auto label = [&](std::int64_t weight, double count) {
    touch(first_label_ + weight - layout_.first_transition(), sign * count);
  };
  for (int k = 0; k < Y * Y; ++k) {
    if (pair_[k] >= 0) label(layout_.first_transition() + pair_[k], counts.pairs[k]);
  }
  for (int y = 0; y < Y; ++y) {
    if (start_[y] >= 0) label(layout_.first_start() + start_[y], counts.starts[y]);
    if (end_[y] >= 0) label(layout_.first_end() + end_[y], counts.ends[y]);
  }
  for (std::int64_t k = 0; k < layout_.n_plain; ++k)
    label(layout_.first_pattern() + k, counts.patterns[k]);
  std::size_t k = 0, edge = 0;
  for_pattern_weights(
      layout_, d, i, [&](const Site&, std::int32_t, std::int32_t id, double value, bool at_edge) {
        touch((at_edge ? first_edge_ : first_single_) + id, sign * value * counts.fired[k++]);
      });
  for_pair_weights(layout_, d, i, [&](int, std::int32_t, std::int32_t id, double value) {
    touch(first_edge_ + id, sign * value * counts.edges[edge++]);
  });
}

void SparseWeights::clear_touched() {
  for (const std::int64_t place : touched_) {
    delta_[place] = 0.0;
    there_[place] = kWeight;
  }
  touched_.clear();
}

void SparseWeights::apply_labels() {
  if (labels_.empty()) return;
  const double* seen = this->seen();
  if (layout_.histories != nullptr) {
    std::vector<double> all(layout_.size(), 0.0);
    std::copy(seen + first_label_,
              seen + first_label_ + layout_.size() - layout_.first_transition(),
              all.begin() + layout_.first_transition());
    unpacked_.set_labels(layout_, objective_->design(), all.data());
  } else {
    for (const std::int64_t place : labels_)
      unpacked_.put_label(layout_, layout_.first_transition() + place - first_label_, seen[place]);
  }
  labels_.clear();
}

void SparseWeights::write(double* w) {
  for (std::int64_t k = 0; k < layout_.size(); ++k) {
    const std::int64_t place = place_of(k);
    w[k] = w_[place];
    if (seen_.empty()) continue;
    seen_[place] = w_[place] + centre_[place];
    if (place >= first_label_) labels_.push_back(place);
  }
  apply_labels();
}

double SparseWeights::penalty() const {
  double total = 0.0;
  for (std::size_t k = 0; k < inverse_.size(); ++k) {
    if (there_[k] != kNoWeight) total += 0.5 * w_[k] * w_[k] / inverse_[k];
  }
  return total;
}

}  // namespace caesura
