#include "automaton/histories.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace caesura {
namespace {

using Sequence = std::vector<std::int32_t>;

// All labels, the pairs among `entries` and every contiguous part of a pattern, sorted by length
// and then by labels, so that their order is well defined.  The values, lanes, are set later.
std::map<std::pair<std::size_t, Sequence>, std::int32_t> parts_of(
    int Y, const std::vector<Sequence>& patterns, const std::vector<std::int32_t>& entries) {
  std::map<std::pair<std::size_t, Sequence>, std::int32_t> out;
  for (std::int32_t y = 0; y < Y; ++y) out[{1, {y}}] = -1;
  for (const std::int32_t pair : entries) {
    if (pair < Y * Y) out[{2, {pair / Y, pair % Y}}] = -1;
  }
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

void take_turns(std::vector<Move>& moves, int lanes) {
  std::vector<std::int32_t> seen(lanes, 0);
  std::vector<std::pair<std::int32_t, Move>> ranked;
  for (const Move& move : moves) ranked.emplace_back(seen[move.to]++, move);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t k = 0; k < moves.size(); ++k) moves[k] = ranked[k].second;
}

Histories::Histories(int labels, const std::vector<Sequence>& patterns,
                     const std::vector<std::int32_t>& entries, int width)
    : Y(labels) {
  auto states = parts_of(Y, patterns, entries);
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
  last = std::move(next);
  auto find = [&](const Sequence& sequence) {
    const auto found = states.find({sequence.size(), sequence});
    return found == states.end() ? -1 : found->second;
  };

  std::vector<std::vector<std::int32_t>> prefixed(lanes), extended(lanes);
  std::vector<std::vector<std::int32_t>> by_length;
  for (const auto& [key, q] : states) {
    const Sequence& sequence = key.second;
    if (sequence.size() == 1) {
      single.push_back(q);
      continue;
    }
    by_length.resize(sequence.size() - 1);
    by_length.back().push_back(q);
    shorter[q] = find(Sequence(sequence.begin() + 1, sequence.end()));
    before[q] = find(Sequence(sequence.begin(), sequence.end() - 1));
    prefixed[shorter[q]].push_back(q);
    extended[before[q]].push_back(q);
  }
  for (auto& some : by_length) {
    std::sort(some.begin(), some.end());  // by their last label
    rising.insert(rising.end(), some.begin(), some.end());
  }
  for (auto some = by_length.rbegin(); some != by_length.rend(); ++some) {
    std::vector<Move> moves;
    for (const std::int32_t q : *some) moves.push_back({shorter[q], q});
    take_turns(moves, lanes);
    longer.insert(longer.end(), moves.begin(), moves.end());
  }
  // x h leads to h y if x h y is not a state.
  leading_.resize(lanes);
  final_.assign(lanes, 0);
  for (const std::int32_t q : rising) {
    auto leads_here = [&](std::int32_t from) {
      const auto& further = extended[from];
      return std::none_of(further.begin(), further.end(),
                          [&](std::int32_t z) { return label[z] == label[q]; });
    };
    const auto& from = prefixed[before[q]];
    std::copy_if(from.begin(), from.end(), std::back_inserter(leading_[q]), leads_here);
    final_[q] = leading_[q].size() == from.size();
  }
  for (const std::int32_t q : rising) following_.emplace(std::make_pair(before[q], label[q]), q);
  pattern_at.assign(lanes, -1);
  for (const Sequence& sequence : patterns) {
    pattern_at[find(sequence)] = static_cast<std::int32_t>(pattern.size());
    pattern.push_back(find(sequence));
  }
  for (std::int32_t x = 0; x < Y; ++x) {
    for (std::int32_t y = 0; y < Y; ++y) pair.push_back(find({x, y}));
  }
  classify(entries);
}

// Finds the classes of states for attributes at boundaries.  Classes of shorter histories come
// first, in the order of `rising`.
void Histories::classify(const std::vector<std::int32_t>& entries) {
  std::vector<std::uint8_t> told(lanes, 0);
  for (const std::int32_t code : entries)
    told[code < Y * Y ? pair[code] : pattern[code - Y * Y]] = 1;
  entry_class.assign(lanes, 0);
  shorter_class.assign(1, 0);
  for (const std::int32_t q : rising) {
    entry_class[q] = entry_class[shorter[q]];
    if (!told[q]) continue;
    shorter_class.push_back(entry_class[q]);
    entry_class[q] = n_classes() - 1;
  }
  auto own = [&](std::int32_t q) { return q >= 0 && told[q] ? entry_class[q] : 0; };
  for (const std::int32_t q : pair) pair_class.push_back(own(q));
  for (const std::int32_t q : pattern) pattern_class.push_back(own(q));
}

std::int32_t Histories::next(std::int32_t q, int y) const {
  for (; q >= 0; q = shorter[q]) {
    if (const auto found = following_.find({q, y}); found != following_.end()) return found->second;
  }
  return single[y];
}

}  // namespace caesura
