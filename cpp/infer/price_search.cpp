#include "infer/price_search.hpp"

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace caesura {
namespace {

// Best-first search from the final node back to the start.  The loss of a partial segmentation
// relative to the best one at these prices is the sum of the losses of its terms:
//
//   loss(term)  = most(node) - value(term),   most(node) the largest value of its terms
//   loss(child) = loss(parent) + loss(term)
//
// A complete segmentation also loses the prices of the symbols that it does not use, since U
// contains every price once.  Losses are not negative, so segmentations are completed in the order
// of their scores.  A pair of a node and a set of used symbols is skipped once it has been taken n
// times, because n of its completions are at least as good as all later ones.
class Search {
 public:
  Search(const Problem& problem, const Priced& priced, const std::vector<std::uint8_t>& limit,
         int n)
      : priced_(priced),
        walk_(problem, priced.g, priced.tables),
        limit_(limit),
        n_(n),
        words_(limit.size() / 64 + 1),
        slots_(1024, -1) {}

  bool run(std::int64_t most_entries, std::vector<std::vector<LabelledSegment>>& out) {
    push(add({NodeKind::kFinal, priced_.g.T, 0}, -1, -1, 0.0), 0);
    // Takes the candidate with the least loss; its next sibling and its best child become
    // candidates.
    while (!heap_.empty() && static_cast<int>(out.size()) < n_) {
      const Candidate best = heap_.top();
      heap_.pop();
      if (best.choice < 0) {
        out.push_back(segments(best.parent));
        continue;
      }
      push(best.parent, best.choice + 1);
      if (static_cast<std::int64_t>(entries_.size()) >= most_entries) return false;
      const Step step = lists_[entries_[best.parent].list][best.choice];
      const std::int32_t entry = add(step.from, best.parent, step.bit, best.loss);
      if (!take(entry)) {
        entries_.pop_back();
        used_.resize(used_.size() - words_);
      } else if (!at_start(step.from)) {
        push(entry, 0);
      } else if (const double left_out = unused(entry); left_out > kMinusInfinity) {
        heap_.push({best.loss + left_out, entry, -1, 0});
      }
    }
    return true;
  }

 private:
  struct Entry {
    Node node;
    std::int32_t parent;
    std::int32_t list;   // index into lists_, or -1 as long as it is not needed
    std::int32_t taken;  // how often its node and used symbols have been taken, if it is the first
    double loss;
  };
  // A term of a node, and the bit of the symbol that it uses, or -1.
  struct Step {
    Node from;
    std::int32_t bit;
    double loss;
  };
  // The children of an entry are the terms of its node; only the next one is on the heap.
  struct Candidate {
    double loss;
    std::int32_t parent;  // entry
    std::int32_t choice;  // index into the terms of the parent's node; -1: the parent is complete
    std::int32_t at;
    // The least loss first; of equal ones, the nearest to the start.
    bool operator<(const Candidate& other) const {
      return loss != other.loss ? loss > other.loss : at > other.at;
    }
  };

  // Adds an entry, whose used symbols are those of its parent, and that of `bit` if bit >= 0.
  std::int32_t add(const Node& node, std::int32_t parent, int bit, double loss) {
    const std::size_t from = parent < 0 ? 0 : parent * words_;
    for (std::size_t k = 0; k < words_; ++k)
      used_.push_back(parent < 0 ? 0 : std::uint64_t{used_[from + k]});
    if (bit >= 0) used_[used_.size() - words_ + bit / 64] |= std::uint64_t{1} << (bit % 64);
    entries_.push_back({node, parent, -1, 0, loss});
    return static_cast<std::int32_t>(entries_.size()) - 1;
  }
  bool uses(std::int32_t entry, int bit) const {
    return (used_[entry * words_ + bit / 64] >> (bit % 64)) & 1;
  }
  // The sum of the prices of the symbols that a complete segmentation does not use, which are part
  // of U; -inf if a symbol that must occur is missing.
  double unused(std::int32_t entry) const {
    double total = 0.0;
    for (int b = 0; b < static_cast<int>(limit_.size()); ++b) {
      if (uses(entry, b)) continue;
      if (limit_[b] == kExactlyOnce) return kMinusInfinity;
      total += priced_.price[b];
    }
    return total;
  }

  // The index of the terms of a node, best first; they are computed once for each node.
  std::int32_t list_of(const Node& node) {
    const auto [found, added] =
        known_.try_emplace(walk_.key(node), static_cast<std::int32_t>(lists_.size()));
    if (!added) return found->second;
    walk_.terms(node, terms_);
    std::stable_sort(terms_.begin(), terms_.end(),
                     [](const Term& a, const Term& b) { return a.value > b.value; });
    std::vector<Step>& steps = lists_.emplace_back();
    for (const Term& term : terms_)
      steps.push_back({term.from, priced_.bit(node, term.from), terms_[0].value - term.value});
    return found->second;
  }
  // Pushes the first child from `choice` on that breaks no limit onto the heap, with its loss.
  void push(std::int32_t parent, int choice) {
    Entry& entry = entries_[parent];
    if (entry.list < 0) entry.list = list_of(entry.node);
    const std::vector<Step>& steps = lists_[entry.list];
    for (; choice < static_cast<int>(steps.size()); ++choice) {
      const Step& step = steps[choice];
      if (step.bit >= 0 && uses(parent, step.bit)) continue;
      heap_.push({entry.loss + step.loss, parent, choice, step.from.at});
      return;
    }
  }
  // The segments of a complete entry, which its parents lead to.
  std::vector<LabelledSegment> segments(std::int32_t entry) const {
    std::vector<Node> path;
    for (; entry >= 0; entry = entries_[entry].parent) path.push_back(entries_[entry].node);
    std::reverse(path.begin(), path.end());
    return segments_of(priced_.g, path);
  }

  // Entries are equal if they are at the same node and have used the same symbols, so that they
  // have the same continuations.  The first of them is in a hash table, whose size is a power of
  // two.  Counts an entry; returns false if there have been n equal ones before.
  bool take(std::int32_t entry) {
    std::int32_t& slot = slot_of(entry);
    if (slot >= 0) return ++entries_[slot].taken <= n_;
    slot = entry;
    entries_[entry].taken = 1;
    if (2 * ++n_slots_ <= slots_.size()) return true;
    std::vector<std::int32_t> old(2 * slots_.size(), -1);
    old.swap(slots_);
    for (const std::int32_t one : old) {
      if (one >= 0) slot_of(one) = one;
    }
    return true;
  }
  // The slot of an entry that equals this one, or the free slot in which to insert it.
  std::int32_t& slot_of(std::int32_t entry) {
    auto at = static_cast<std::size_t>(hash(entry));
    for (;; ++at) {
      std::int32_t& slot = slots_[at & (slots_.size() - 1)];
      if (slot < 0 || are_equal(slot, entry)) return slot;
    }
  }
  std::uint64_t hash(std::int32_t entry) const {
    // h = (h ^ word) times an odd constant, and the high bits are mixed into the low ones
    std::uint64_t h = walk_.key(entries_[entry].node) * 0x9e3779b97f4a7c15;
    for (std::size_t k = 0; k < words_; ++k) {
      h = (h ^ (h >> 29) ^ used_[entry * words_ + k]) * 0x9e3779b97f4a7c15;
    }
    return h ^ (h >> 32);
  }
  bool are_equal(std::int32_t a, std::int32_t b) const {
    const Node &x = entries_[a].node, &y = entries_[b].node;
    if (x.kind != y.kind || x.at != y.at || x.state != y.state) return false;
    for (std::size_t k = 0; k < words_; ++k) {
      if (used_[a * words_ + k] != used_[b * words_ + k]) return false;
    }
    return true;
  }

  const Priced& priced_;
  const Walk walk_;
  const std::vector<std::uint8_t>& limit_;
  const int n_;
  const std::size_t words_;
  std::vector<Entry> entries_;
  std::vector<std::uint64_t> used_;  // [entries][words]
  std::priority_queue<Candidate> heap_;
  std::vector<std::vector<Step>> lists_;
  std::unordered_map<std::uint64_t, std::int32_t> known_;  // the list of each node, by its key
  std::vector<std::int32_t> slots_;                        // entries, -1 where a slot is free
  std::size_t n_slots_ = 0;                                // number of slots that are not free
  std::vector<Term> terms_;
};

}  // namespace

bool search_priced(const Problem& problem, const Priced& priced,
                   const std::vector<std::uint8_t>& limit, int n, std::int64_t most_entries,
                   std::vector<std::vector<LabelledSegment>>& out) {
  return Search(problem, priced, limit, n).run(most_entries, out);
}

}  // namespace caesura
