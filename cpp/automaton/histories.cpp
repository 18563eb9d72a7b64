#include "automaton/histories.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace caesura {
namespace {

using Sequence = std::vector<std::int32_t>;

// The pairs among `entries`, and the suffixes of the patterns: their prefixes, which the trie adds,
// are all contiguous parts.
std::vector<Sequence> parts_of(int Y, const std::vector<Sequence>& patterns,
                               const std::vector<std::int32_t>& entries) {
  std::vector<Sequence> out;
  for (const std::int32_t pair : entries) {
    if (pair < Y * Y) out.push_back({pair / Y, pair % Y});
  }
  for (const Sequence& pattern : patterns) {
    for (auto begin = pattern.begin(); begin != pattern.end(); ++begin)
      out.emplace_back(begin, pattern.end());
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
    : Y(labels), suffixes(labels, parts_of(labels, patterns, entries)) {
  const std::vector<std::int32_t>& nodes = suffixes.by_length;
  Q = static_cast<int>(nodes.size());
  std::vector<std::int32_t> count(Y, 0);
  for (const std::int32_t at : nodes) ++count[suffixes.last[at]];
  first.assign(Y + 1, 0);
  for (int y = 0; y < Y; ++y) first[y + 1] = first[y] + (count[y] + width - 1) / width * width;
  lanes = first[Y];
  label.assign(lanes, -1);
  node.assign(lanes, -1);
  lane.assign(Q + 1, -1);
  last.assign(first.begin(), first.end() - 1);
  for (const std::int32_t at : nodes) {
    const std::int32_t q = lane[at] = last[suffixes.last[at]]++;
    node[q] = at;
    label[q] = suffixes.last[at];
  }
  // The state of a sequence, or -1 if it is none.
  auto find = [&](const Sequence& sequence) {
    int at = 0;
    for (const std::int32_t y : sequence) {
      const int longer = suffixes.next(at, y);
      if (suffixes.parent[longer] != at) return -1;
      at = longer;
    }
    return lane[at];
  };

  shorter.assign(lanes, -1);
  before.assign(lanes, -1);
  std::vector<std::vector<std::int32_t>> prefixed(lanes), by_length;
  std::vector<std::size_t> length(lanes, 1);
  for (const std::int32_t at : nodes) {
    const std::int32_t q = lane[at];
    if (suffixes.parent[at] == 0) {
      single.push_back(q);
      continue;
    }
    shorter[q] = lane[suffixes.fail[at]];
    before[q] = lane[suffixes.parent[at]];
    length[q] = length[before[q]] + 1;
    by_length.resize(length[q] - 1);
    by_length.back().push_back(q);
    prefixed[shorter[q]].push_back(q);
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
    auto leads_here = [&](std::int32_t from) { return next(from, label[q]) == q; };
    const auto& from = prefixed[before[q]];
    std::copy_if(from.begin(), from.end(), std::back_inserter(leading_[q]), leads_here);
    final_[q] = leading_[q].size() == from.size();
  }
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

}  // namespace caesura
