#include "learn/online.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace caesura {
namespace {

// Returns the kind of the weight at each place.  The places are [table | single weights | edge
// weights | labels], the last two in the order of the layout.  Labels are transitions, patterns,
// starts and ends.
std::vector<std::uint8_t> kinds_at(const Layout& layout, const std::vector<std::int64_t>& places,
                                   std::int64_t first_edge, const std::uint8_t* kind) {
  const std::int64_t n_rest = layout.size() - layout.first_edge();
  std::vector<std::uint8_t> out(first_edge + n_rest, 0);
  for (std::size_t k = 0; k < places.size(); ++k) out[places[k]] = kind[k];
  std::copy_n(kind + layout.first_edge(), n_rest, out.begin() + first_edge);
  return out;
}

int width_of_row(const Layout& layout) {
  const int width = trainer<double>().width;
  return (layout.planes * layout.Y + width - 1) / width * width;
}

}  // namespace

OnlinePass::OnlinePass(std::shared_ptr<Objective> objective, OnlineRule rule, const State& state,
                       const double* centre, const std::uint8_t* kind, std::int64_t done)
    : objective_(std::move(objective)),
      layout_(objective_->layout()),
      wide_(width_of_row(layout_)),
      places_([this] {
        const auto held = objective_->hold();
        return places_of(layout_, objective_->design(), trainer<double>().width);
      }()),
      weights_(std::move(rule),
               kinds_at(layout_, places_, layout_.n_dense * wide_ + layout_.n_sparse, kind), done),
      pattern_state_(std::make_shared<std::vector<std::int32_t>>()),
      edge_code_(std::make_shared<std::vector<std::int32_t>>()),
      rows_(layout_.n_dense, 0, wide_),
      single_(layout_.n_sparse, layout_.n_dense * wide_, 1),
      edges_(layout_.n_edges, single_.first + layout_.n_sparse, 1),
      labels_(layout_.size() - layout_.first_transition(), edges_.first + layout_.n_edges, 1) {
  if (centre != nullptr) weights_.set_centre();
  label_weights_.assign(layout_.size(), 0.0);
  for (std::int64_t k = 0; k < layout_.size(); ++k) {
    const double from = centre == nullptr ? 0.0 : centre[k];
    weights_.put(place_of(k), state.w[k], state.average[k],
                 state.squares == nullptr ? 0.0 : state.squares[k], from);
    label_weights_[k] = state.w[k] + from;
  }
  for (Block* block : {&rows_, &single_, &edges_, &labels_}) {
    if (weights_.rule().adagrad) block->ready.assign(block->slot.size(), 0);
  }
  labels_.units.resize(labels_.slot.size());  // every step touches all of them
  std::iota(labels_.units.begin(), labels_.units.end(), 0);
  const auto held = objective_->hold();
  const bool plain = design().pattern_ptr.empty() && design().edge_ptr.empty();
  by_rows_ = plain && layout_.histories == nullptr && weights_.is_scaled();
  if (!by_rows_) {
    copies_ = std::make_unique<Design>(design());
    copies_->pattern_state = pattern_state_;
    copies_->edge_code = edge_code_;
    if (plain) alone_.resize(n_sequences());
  }
  unpacked_.set(layout_, design(), places_, label_weights_.data(), trainer<double>().width, 1);
  buffer_.make(layout_, 0, 0, 0, unpacked_.view());
}

std::int64_t OnlinePass::place_of(std::int64_t weight) const {
  return weight < layout_.first_edge() ? places_[weight]
                                       : edges_.first + weight - layout_.first_edge();
}

// Returns the copy of a unit in the batch.  If it has none yet, `count` units from it on are added.
std::int32_t OnlinePass::Block::number(std::int32_t unit, std::int32_t count, std::int32_t batch) {
  Slot& found = slot[unit];
  if (found.batch != batch) {
    found = {batch, static_cast<std::int32_t>(units.size())};
    for (std::int32_t k = 0; k < count; ++k) units.push_back(unit + k);
  }
  return found.at;
}

// Numbers the copies of the weights of sequence i.
void OnlinePass::number(int i) {
  const Design& d = objective_->design();
  const std::int64_t first = d.first_row(i), last = first + d.length(i) + d.n_sites(i);
  for (std::int64_t k = d.dense_ptr[first]; k < d.dense_ptr[last]; ++k)
    copies_->dense[k] = rows_.number(d.dense[k], 1, batch_);
  for (std::int64_t k = d.sparse_ptr[first]; k < d.sparse_ptr[last]; ++k) {
    __builtin_prefetch(single_.slot.data() + d.sparse[k + Design::kFarAhead], 1);
    copies_->sparse[k] = single_.number(d.sparse[k], 1, batch_);
  }
  // The weights of a run are contiguous, and so are their copies.
  auto number_runs = [&](const Mapped<Run>& runs, std::int64_t begin, std::int64_t end,
                         const std::vector<std::int32_t>& codes, Block& block, Mapped<Run>& local,
                         std::vector<std::int32_t>& local_codes) {
    for (std::int64_t k = begin; k < end; ++k) {
      const Run& run = runs[k];
      local[k].first = block.number(run.first, run.count, batch_);
      local_codes.resize(std::max(local_codes.size(), block.units.size()));
      std::copy_n(codes.begin() + run.first, run.count, local_codes.begin() + local[k].first);
    }
  };
  if (!d.pattern_ptr.empty())
    number_runs(d.pattern_run, d.pattern_ptr[first], d.pattern_ptr[last], *d.pattern_state, single_,
                copies_->pattern_run, *pattern_state_);
  if (!d.edge_ptr.empty() && d.length(i) > 1)
    number_runs(d.edge_run, d.edge_ptr[d.tokens[i] + 1], d.edge_ptr[d.tokens[i + 1]], *d.edge_code,
                edges_, copies_->edge_run, *edge_code_);
}

void OnlinePass::number_batch(const std::int32_t* sequences, int count) {
  const bool kept = count == 1 && !alone_.empty();
  if (kept && alone_[sequences[0]].valid) {
    rows_.units = alone_[sequences[0]].rows;
    single_.units = alone_[sequences[0]].single;
    return;
  }
  ++batch_;
  for (Block* block : {&rows_, &single_, &edges_}) block->units.clear();
  for (int k = 0; k < count; ++k) {
    number(sequences[k]);
    if (!alone_.empty()) alone_[sequences[k]].valid = false;
  }
  if (kept) alone_[sequences[0]] = {true, rows_.units, single_.units};
}

// Copies the weights of a batch.
void OnlinePass::read(Block& block) {
  const std::size_t size = block.units.size() * block.wide;
  if (block.weight.size() < size) {
    block.weight.resize(size);
    block.gradient.resize(size, 0.0);  // zero, as an update leaves it
  }
  weights_.read(block.all(), block.ready.data(), block.weight.data());
}

double OnlinePass::evaluate_copies(const std::int32_t* sequences, int count, bool near) {
  unpacked_.point_to(rows_.weight.data(), single_.weight.data(), edges_.weight.data());
  buffer_.view.dense = rows_.gradient.data();
  buffer_.view.sparse = single_.gradient.data();
  buffer_.view.edge = edges_.gradient.data();
  return objective_->add_sequences(design(), sequences, count, unpacked_, near, &buffer_.view,
                                   work_);
}

// Writes the expected counts of the rows of the batch to row_gradient_, sequence by sequence.
double OnlinePass::evaluate_rows(const std::int32_t* sequences, int count, bool near) {
  const double* w = weights_.scaled();
  unpacked_.point_to(w, w + single_.first, nullptr, weights_.scale());
  std::int64_t rows = 1;
  const Design& d = design();
  for (int k = 0; k < count; ++k) rows += d.n_rows(sequences[k]);
  if (row_gradient_.size() < static_cast<std::size_t>(rows * wide_))
    row_gradient_.resize(rows * wide_, 0.0);  // zero, as an update leaves it
  double value = 0.0;
  buffer_.view.rows = row_gradient_.data() + wide_;
  for (int k = 0; k < count; ++k) {
    buffer_.view.first_row = d.first_row(sequences[k]);
    value += objective_->add_sequences(d, sequences + k, 1, unpacked_, near, &buffer_.view, work_);
    buffer_.view.rows += d.n_rows(sequences[k]) * wide_;
  }
  return value;
}

void OnlinePass::update_rows(const std::int32_t* sequences, int count) {
  auto values = [](const Mapped<double>& some) { return some.empty() ? nullptr : some.data(); };
  const Design& d = design();
  const OnlineRows rows = {d.dense_ptr.data(),     d.dense.data(),  values(d.dense_value),
                           d.sparse_ptr.data(),    d.sparse.data(), d.sparse_lane.data(),
                           values(d.sparse_value), single_.first,   wide_};
  double *held = row_gradient_.data(), *gradient = held + wide_;
  for (int k = 0; k < count; ++k) {
    const std::int64_t begin = d.first_row(sequences[k]), n = d.n_rows(sequences[k]);
    weights_.update_rows(rows, begin, begin + n, gradient, held);
    gradient += n * wide_;
  }
}

void OnlinePass::step(const std::int32_t* sequences, int count) {
  if (!by_rows_) {
    number_batch(sequences, count);
    for (Block* block : {&rows_, &single_, &edges_}) read(*block);
  }
  read(labels_);
  const std::int64_t first_label = layout_.first_transition();
  std::copy_n(labels_.weight.begin(), labels_.units.size(), label_weights_.begin() + first_label);
  const bool near = unpacked_.set_labels(layout_, design(), label_weights_.data());
  loss +=
      by_rows_ ? evaluate_rows(sequences, count, near) : evaluate_copies(sequences, count, near);
  buffer_.finish(layout_, design(), unpacked_.view());
  add_packed(layout_, places_, unpacked_.view(), buffer_.view, first_label, layout_.size(),
             labels_.gradient.data() - first_label);
  buffer_.clear_labels();
  weights_.begin(count);
  if (by_rows_) update_rows(sequences, count);
  for (Block* block : {&rows_, &single_, &edges_, &labels_})
    weights_.update(block->all(), block->ready.data(), block->gradient.data());
  weights_.end();
}

int OnlinePass::run(const std::int32_t* order, int count, int begin, int batch_size,
                    double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto held = objective_->hold();
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (begin < count) {
    const int size = std::min(batch_size, count - begin);
    if (size != batch_size_) settle();
    batch_size_ = size;
    step(order + begin, size);
    begin += size;
    if (!std::isfinite(loss)) return count;  // diverged
    if (Clock::now() >= until) break;
  }
  return begin;
}

// Brings all weights up to date.
void OnlinePass::settle() {
  std::vector<double> seen(wide_);
  for (Block* block : {&rows_, &single_, &edges_, &labels_}) {
    for (std::int32_t unit = 0; unit < static_cast<std::int32_t>(block->ready.size()); ++unit)
      weights_.read({&unit, 1, block->first, block->wide}, block->ready.data(), seen.data());
  }
  weights_.settle();
}

void OnlinePass::finish(const State& state) {
  settle();
  for (std::int64_t k = 0; k < layout_.size(); ++k) {
    const std::int64_t place = place_of(k);
    state.w[k] = weights_.weight(place);
    if (weights_.rule().average) state.average[k] = weights_.take_average(place);
    if (state.squares != nullptr) state.squares[k] = weights_.squares(place);
  }
}

}  // namespace caesura
