#include "learn/online.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace caesura {
namespace {

// The order of the places is [table | single weights | weights of edges | labels], the last two as
// in the layout.
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
      local_([this] {
        const auto held = objective_->hold();
        return objective_->design();
      }()),
      places_(places_of(layout_, local_, trainer<double>().width)),
      weights_(std::move(rule),
               kinds_at(layout_, places_, layout_.n_dense * wide_ + layout_.n_sparse, kind), done),
      pattern_state_(std::make_shared<std::vector<std::int32_t>>()),
      edge_code_(std::make_shared<std::vector<std::int32_t>>()),
      rows_{LocalWeights(layout_.n_dense), 0, wide_, {}, {}, {}},
      single_{LocalWeights(layout_.n_sparse), layout_.n_dense * wide_, 1, {}, {}, {}},
      edges_{LocalWeights(layout_.n_edges), single_.first + layout_.n_sparse, 1, {}, {}, {}},
      labels_(edges_.first + layout_.n_edges) {
  if (centre != nullptr) weights_.set_centre();
  label_gradient_.assign(layout_.size(), 0.0);
  label_weights_.assign(layout_.size(), 0.0);
  for (std::int64_t k = 0; k < layout_.size(); ++k) {
    const double from = centre == nullptr ? 0.0 : centre[k];
    weights_.put(place_of(k), state.w[k], state.average[k],
                 state.squares == nullptr ? 0.0 : state.squares[k], from);
    label_weights_[k] = state.w[k] + from;
  }
  if (weights_.rule().adagrad) {
    rows_.ready.assign(layout_.n_dense, 0);
    single_.ready.assign(layout_.n_sparse, 0);
    edges_.ready.assign(layout_.n_edges, 0);
  }
  near_ =
      unpacked_.set(layout_, local_, places_, label_weights_.data(), trainer<double>().width, 1);
  buffer_.make(layout_, 0, 0, 0, unpacked_.view());
  local_.pattern_state = pattern_state_;
  local_.edge_code = edge_code_;
}

std::int64_t OnlinePass::place_of(std::int64_t weight) const {
  return weight < layout_.first_edge() ? places_[weight]
                                       : edges_.first + weight - layout_.first_edge();
}

// Gives the weights of sequence i their numbers among the copies.
void OnlinePass::number(int i) {
  const Design& d = objective_->design();
  const std::int64_t first = d.first_row(i), last = first + d.length(i) + d.n_sites(i);
  for (std::int64_t k = d.dense_ptr[first]; k < d.dense_ptr[last]; ++k)
    local_.dense[k] = rows_.local.add(d.dense[k]);
  for (std::int64_t k = d.sparse_ptr[first]; k < d.sparse_ptr[last]; ++k) {
    single_.local.expect(d.sparse[k + Design::kFarAhead]);
    local_.sparse[k] = single_.local.add(d.sparse[k]);
  }
  // A run has weights one after the other, and so have their copies.
  auto number_runs = [&](const std::vector<Run>& runs, std::int64_t begin, std::int64_t end,
                         const std::vector<std::int32_t>& codes, Block& block,
                         std::vector<Run>& local, std::vector<std::int32_t>& local_codes) {
    for (std::int64_t k = begin; k < end; ++k) {
      const Run& run = runs[k];
      local[k].first = block.local.add(run.first, run.count);
      local_codes.resize(std::max(local_codes.size(), block.local.units().size()));
      std::copy_n(codes.begin() + run.first, run.count, local_codes.begin() + local[k].first);
    }
  };
  if (!d.pattern_ptr.empty())
    number_runs(d.pattern_run, d.pattern_ptr[first], d.pattern_ptr[last], *d.pattern_state, single_,
                local_.pattern_run, *pattern_state_);
  if (!d.edge_ptr.empty() && d.length(i) > 1)
    number_runs(d.edge_run, d.edge_ptr[d.tokens[i] + 1], d.edge_ptr[d.tokens[i + 1]], *d.edge_code,
                edges_, local_.edge_run, *edge_code_);
}

// Copies the weights of a batch.
void OnlinePass::read(Block& block) {
  constexpr std::size_t kSoon = 8;
  const std::vector<std::int32_t>& units = block.local.units();
  const std::size_t size = units.size() * block.wide;
  if (block.weight.size() < size) {
    block.weight.resize(size);
    block.gradient.resize(size, 0.0);  // as update() leaves it
  }
  for (std::size_t k = 0; k < units.size(); ++k) {
    if (k + kSoon < units.size())
      weights_.expect(block.first + units[k + kSoon] * block.wide, block.wide);
    const std::int64_t ready = block.ready.empty() ? 0 : block.ready[units[k]];
    weights_.read(block.first + units[k] * block.wide, block.wide, ready,
                  block.weight.data() + k * block.wide);
  }
}

// Takes the step of the weights of a batch.
void OnlinePass::update(Block& block) {
  const std::vector<std::int32_t>& units = block.local.units();
  for (std::size_t k = 0; k < units.size(); ++k) {
    weights_.update(block.first + units[k] * block.wide, block.wide,
                    block.gradient.data() + k * block.wide);
    if (!block.ready.empty()) block.ready[units[k]] = weights_.taken() + 1;
  }
}

// Transitions, patterns, starts and ends have weights that every sequence touches.
void OnlinePass::update_labels() {
  const std::int64_t first = layout_.first_transition();
  buffer_.finish(layout_, local_, unpacked_.view());
  add_packed(layout_, places_, unpacked_.view(), buffer_.view, first, layout_.size(),
             label_gradient_.data());
  buffer_.clear_labels();
  for (std::int64_t k = first; k < layout_.size(); ++k)
    weights_.update(labels_ + k - first, 1, label_gradient_.data() + k);
}

void OnlinePass::step(const std::int32_t* sequences, int count) {
  for (Block* block : {&rows_, &single_, &edges_}) block->local.clear();
  for (int k = 0; k < count; ++k) number(sequences[k]);
  for (Block* block : {&rows_, &single_, &edges_}) read(*block);
  unpacked_.point_to(rows_.weight.data(), single_.weight.data(), edges_.weight.data());
  buffer_.view.dense = rows_.gradient.data();
  buffer_.view.sparse = single_.gradient.data();
  buffer_.view.edge = edges_.gradient.data();
  loss +=
      objective_->add_sequences(local_, sequences, count, unpacked_, near_, &buffer_.view, work_);
  weights_.begin(count);
  for (Block* block : {&rows_, &single_, &edges_}) update(*block);
  update_labels();
  weights_.end();
  const std::int64_t first = layout_.first_transition();
  for (std::int64_t k = first; k < layout_.size(); ++k)
    weights_.read(labels_ + k - first, 1, weights_.taken(), label_weights_.data() + k);
  near_ = unpacked_.set_labels(layout_, local_, label_weights_.data());
}

int OnlinePass::run(const std::int32_t* order, int count, int begin, int batch_size,
                    double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto held = objective_->hold();
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (begin < count) {
    const int size = std::min(batch_size, count - begin);
    if (size != batch_size_) {
      for (Block* block : {&rows_, &single_, &edges_}) settle(*block);
    }
    batch_size_ = size;
    step(order + begin, size);
    begin += size;
    if (!std::isfinite(loss)) return count;  // diverged: there is nothing to go on with
    if (Clock::now() >= until) break;
  }
  return begin;
}

// Brings the weights of AdaGrad up to date.
void OnlinePass::settle(Block& block) {
  std::vector<double> seen(block.wide);
  for (std::size_t unit = 0; unit < block.ready.size(); ++unit) {
    weights_.read(block.first + static_cast<std::int64_t>(unit) * block.wide, block.wide,
                  block.ready[unit], seen.data());
    block.ready[unit] = weights_.taken();
  }
}

void OnlinePass::finish(const State& state) {
  for (Block* block : {&rows_, &single_, &edges_}) settle(*block);
  weights_.settle();
  for (std::int64_t k = 0; k < layout_.size(); ++k) {
    const std::int64_t place = place_of(k);
    state.w[k] = weights_.weight(place);
    if (weights_.rule().average) state.average[k] = weights_.average(place);
    if (state.squares != nullptr) state.squares[k] = weights_.squares(place);
  }
}

}  // namespace caesura
