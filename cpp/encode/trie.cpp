#include "encode/trie.hpp"

#include <algorithm>

namespace caesura {

// The slot of an arc, or the free slot in which to insert it.
std::size_t Trie::slot(std::int32_t node, std::int32_t key) const {
  const std::size_t mask = arcs_.size() - 1;
  std::uint64_t hash = (static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(key)) *
                       0x9e3779b97f4a7c15;
  std::size_t at = (hash >> 20) & mask;
  while (arcs_[at].node >= 0 && !(arcs_[at].node == node && arcs_[at].key == key))
    at = (at + 1) & mask;
  return at;
}

void Trie::grow() {
  std::vector<Arc> old(std::max<std::size_t>(64, 2 * arcs_.size()));
  old.swap(arcs_);
  for (const Arc& arc : old) {
    if (arc.node >= 0) arcs_[slot(arc.node, arc.key)] = arc;
  }
}

void Trie::add(const std::int32_t* keys, std::size_t count, std::int32_t payload) {
  std::int32_t node = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (2 * (n_arcs_ + 1) > arcs_.size()) grow();
    Arc& arc = arcs_[slot(node, keys[k])];
    if (arc.node < 0) {
      arc = {node, keys[k], n_nodes_++};
      payload_.push_back(-1);
      ++n_arcs_;
    }
    node = arc.next;
  }
  more_.emplace_back(payload, payload_[node]);
  payload_[node] = static_cast<std::int32_t>(more_.size()) - 1;
}

Trie::Found Trie::scan(const std::int32_t* keys, const std::int64_t* offsets,
                       int n_documents) const {
  Found found;
  if (arcs_.empty()) return found;
  for (int i = 0; i < n_documents; ++i) {
    for (std::int64_t start = offsets[i]; start < offsets[i + 1]; ++start) {
      std::int32_t node = 0;
      for (std::int64_t at = start; at < offsets[i + 1]; ++at) {
        const Arc& arc = arcs_[slot(node, keys[at])];
        if (arc.node < 0) break;
        node = arc.next;
        const std::size_t first = found.payloads.size();
        for (std::int32_t k = payload_[node]; k >= 0; k = more_[k].second) {
          found.starts.push_back(start);
          found.ends.push_back(at + 1);
          found.payloads.push_back(more_[k].first);
        }
        std::reverse(found.payloads.begin() + first, found.payloads.end());
      }
    }
  }
  return found;
}

}  // namespace caesura
