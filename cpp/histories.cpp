#include "histories.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace caesura {
namespace {

using Sequence = std::vector<std::int32_t>;

void end_list(Lists& lists) { lists.ptr.push_back(static_cast<std::int32_t>(lists.item.size())); }

Lists transposed(const Lists& lists, int n) {
  std::vector<std::vector<std::int32_t>> from(n);
  for (std::size_t k = 0; k + 1 < lists.ptr.size(); ++k) {
    for (const std::int32_t* j = lists.begin(k); j != lists.end(k); ++j) from[*j].push_back(static_cast<std::int32_t>(k));
  }
  Lists out;
  for (const auto& list : from) {
    out.item.insert(out.item.end(), list.begin(), list.end());
    end_list(out);
  }
  return out;
}

// All parts of all patterns, and every label, with their lanes; shorter ones first, so that the order is settled.
std::map<std::pair<std::size_t, Sequence>, std::int32_t> parts_of(int Y, const std::vector<Sequence>& patterns,
                                                                  const std::vector<std::int32_t>& pairs) {
  std::map<std::pair<std::size_t, Sequence>, std::int32_t> out;
  for (std::int32_t y = 0; y < Y; ++y) out[{1, {y}}] = -1;
  for (const std::int32_t pair : pairs) out[{2, {pair / Y, pair % Y}}] = -1;
  for (const Sequence& pattern : patterns) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      for (std::size_t j = i + 1; j <= pattern.size(); ++j) {
        out[{j - i, Sequence(pattern.begin() + i, pattern.begin() + j)}] = -1;
      }
    }
  }
  return out;
}

}  // namespace

Histories::Histories(int labels, const std::vector<Sequence>& patterns, const std::vector<std::int32_t>& pairs, int width)
    : Y(labels) {
  auto states = parts_of(Y, patterns, pairs);
  Q = static_cast<int>(states.size());
  std::vector<std::int32_t> count(Y, 0);
  for (const auto& [key, lane] : states) ++count[key.second.back()];
  first.assign(Y + 1, 0);
  for (int y = 0; y < Y; ++y) first[y + 1] = first[y] + (count[y] + width - 1) / width * width;
  lanes = first[Y];
  label.assign(lanes, -1);
  shorter.assign(lanes, -1);
  before.assign(lanes, -1);
  std::vector<std::int32_t> next(first.begin(), first.end() - 1);
  for (auto& [key, lane] : states) {
    lane = next[key.second.back()]++;
    label[lane] = key.second.back();
  }
  auto find = [&](const Sequence& sequence) {
    const auto found = states.find({sequence.size(), sequence});
    return found == states.end() ? -1 : found->second;
  };

  std::vector<std::vector<std::int32_t>> prefixed(lanes), extended(lanes);
  for (const auto& [key, q] : states) {
    const Sequence& sequence = key.second;
    if (sequence.size() == 1) {
      single.push_back(q);
      continue;
    }
    rising.push_back(q);
    shorter[q] = find(Sequence(sequence.begin() + 1, sequence.end()));
    before[q] = find(Sequence(sequence.begin(), sequence.end() - 1));
    prefixed[shorter[q]].push_back(q);
    extended[before[q]].push_back(q);
  }
  for (auto it = states.rbegin(); it != states.rend(); ++it) {
    const std::int32_t q = it->second;
    if (prefixed[q].empty()) continue;
    parents.push_back(q);
    longer.item.insert(longer.item.end(), prefixed[q].begin(), prefixed[q].end());
    end_list(longer);
  }
  // x h leads to h y where there is no x h y: no state without its last label that is x h and that ends in h y.
  for (std::int32_t q = 0; q < lanes; ++q) {
    for (const std::int32_t from : before[q] < 0 ? Sequence{} : prefixed[before[q]]) {
      const auto& further = extended[from];
      const bool leads_further = std::any_of(further.begin(), further.end(), [&](std::int32_t z) { return label[z] == label[q]; });
      if (!leads_further) sources.item.push_back(from);
    }
    end_list(sources);
    after.item.insert(after.item.end(), extended[q].begin(), extended[q].end());
    end_list(after);
  }
  targets = transposed(sources, lanes);
  for (std::int32_t q = 0; q < lanes; ++q) {
    if (targets.begin(q) != targets.end(q)) linked.push_back(q);
    if (after.begin(q) != after.end(q)) followed.push_back(q);
  }
  pattern_at.assign(lanes, -1);
  for (const Sequence& sequence : patterns) {
    pattern_at[find(sequence)] = static_cast<std::int32_t>(pattern.size());
    pattern.push_back(find(sequence));
  }
  for (std::int32_t x = 0; x < Y; ++x) {
    for (std::int32_t y = 0; y < Y; ++y) pair.push_back(find({x, y}));
  }
}

std::int32_t Histories::next(std::int32_t q, int y) const {
  for (; q >= 0; q = shorter[q]) {
    for (const std::int32_t* to = after.begin(q); to != after.end(q); ++to) {
      if (label[*to] == y) return *to;
    }
  }
  return single[y];
}

}  // namespace caesura
