#include "learn/row_sums.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace caesura {
namespace {

constexpr int kPasses = 3;
constexpr std::int64_t kFew = 10000;  // attributes; nothing is gained on smaller corpora

// A hash table with the frequency of each pair of adjacent rows, and later the row of its sum.
class Counter {
 public:
  explicit Counter(std::size_t expected) {
    std::size_t size = 64;
    while (size < 2 * expected) size *= 2;
    slots_.assign(size, Slot{});
  }
  struct Slot {
    std::uint64_t pair = kNone;
    std::int32_t count = 0, row = -1;
  };
  Slot& operator[](std::uint64_t pair) {
    if (2 * used_ > slots_.size()) grow();
    Slot& slot = find(pair);
    if (slot.pair == kNone) {
      slot.pair = pair;
      ++used_;
    }
    return slot;
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  Slot& find(std::uint64_t pair) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (pair * 0x9e3779b97f4a7c15 >> 24) & mask;
    while (slots_[at].pair != pair && slots_[at].pair != kNone) at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.pair != kNone) find(slot.pair) = slot;
    }
  }
  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

std::uint64_t pair_of(std::int32_t a, std::int32_t b) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 |
         static_cast<std::uint32_t>(b);
}

// Merges frequent pairs in one pass over all rows; returns false if there are none.  Pairs that
// occur less than `least` times cost more than they save.
bool pass(Design& d, std::int32_t least) {
  const auto n_rows = static_cast<std::int64_t>(d.dense_ptr.size()) - 1;
  std::vector<std::int32_t> uses(d.table_rows(), 0);
  for (const std::int32_t row : d.dense) ++uses[row];
  auto often = [&](std::int64_t k) {
    return uses[d.dense[k]] >= least && uses[d.dense[k + 1]] >= least;
  };
  Counter counts(d.dense.size() / 8);
  for (std::int64_t r = 0; r < n_rows; ++r) {
    for (std::int64_t k = d.dense_ptr[r]; k + 1 < d.dense_ptr[r + 1]; ++k) {
      if (often(k)) ++counts[pair_of(d.dense[k], d.dense[k + 1])].count;
    }
  }
  const std::size_t before = d.sums.size();
  std::int64_t out = 0;
  for (std::int64_t r = 0; r < n_rows; ++r) {
    const std::int64_t begin = d.dense_ptr[r], end = d.dense_ptr[r + 1];
    d.dense_ptr[r] = out;
    auto count = [&](std::int64_t k) {
      return k + 1 < end && often(k) ? counts[pair_of(d.dense[k], d.dense[k + 1])].count : 0;
    };
    std::int32_t here = count(begin);
    for (std::int64_t k = begin; k < end; ++k) {
      std::int32_t row = d.dense[k], next = count(k + 1);
      if (here >= least && here >= next) {
        std::int32_t& sum = counts[pair_of(row, d.dense[k + 1])].row;
        if (sum < 0) {
          sum = static_cast<std::int32_t>(d.table_rows());
          d.sums.push_back({sum, row, d.dense[k + 1]});
        }
        row = sum;
        ++k;
        next = count(k + 1);
      }
      here = next;
      d.dense[out++] = row;
    }
  }
  d.dense_ptr[n_rows] = out;
  d.dense.resize(out);
  return d.sums.size() > before;
}

// Sorts the rows of the table by descending frequency, so that frequent rows stay in the cache.
void sort_rows(Design& d) {
  const std::int64_t n = d.table_rows();
  std::vector<std::int32_t> uses(n, 0), order(n), place(n);
  for (const std::int32_t row : d.dense) ++uses[row];
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return uses[a] > uses[b]; });
  for (std::int64_t k = 0; k < n; ++k) place[order[k]] = static_cast<std::int32_t>(k);
  for (std::int32_t& row : d.dense) row = place[row];
  for (Sum& sum : d.sums) sum = {place[sum.row], place[sum.first], place[sum.second]};
  d.content.resize(n);
  for (std::int64_t row = 0; row < d.n_dense; ++row)
    d.content[place[row]] = static_cast<std::int32_t>(row);
  for (std::size_t k = 0; k < d.sums.size(); ++k)
    d.content[d.sums[k].row] = -1 - static_cast<std::int32_t>(k);
  d.place.assign(place.begin(), place.begin() + d.n_dense);
}

}  // namespace

void share(Design& d) {
  if (!d.dense_value.empty() || static_cast<std::int64_t>(d.dense.size()) < kFew) return;
  d.dense.resize(d.dense.size() - Design::kAhead);
  const std::int32_t least = d.planes * d.Y <= 8 ? 12 : 48;  // depends on the length of a row
  for (int k = 0; k < kPasses && pass(d, least); ++k) {
  }
  sort_rows(d);
  d.dense.resize(d.dense.size() + Design::kAhead, 0);
  d.dense.shrink_to_fit();
}

void unshare(Design& d) {
  if (d.content.empty()) return;
  auto ids = d.array<std::int32_t>();
  for (std::size_t r = 0; r + 1 < d.dense_ptr.size(); ++r) {
    const std::int64_t begin = d.dense_ptr[r], end = d.dense_ptr[r + 1];
    d.dense_ptr[r] = static_cast<std::int64_t>(ids.size());
    for (std::int64_t k = begin; k < end; ++k)
      d.for_parts(d.dense[k], [&](std::int32_t row) { ids.push_back(row); });
  }
  d.dense_ptr.back() = static_cast<std::int64_t>(ids.size());
  ids.resize(ids.size() + Design::kAhead, 0);
  d.dense = std::move(ids);
  d.sums.clear();
  d.place.clear();
  d.content.clear();
}

}  // namespace caesura
