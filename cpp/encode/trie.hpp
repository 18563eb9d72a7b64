// A trie of sequences of keys, which finds their occurrences in longer sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace caesura {

class Trie {
 public:
  struct Found {
    std::vector<std::int64_t> starts, ends;
    std::vector<std::int32_t> payloads;
  };
  void add(const std::int32_t* keys, std::size_t count, std::int32_t payload);

  // Returns all occurrences within each document, sorted by start and then by end.  Document i has
  // the keys [offsets[i], offsets[i + 1]).  Negative keys match nothing, because no entry has one.
  Found scan(const std::int32_t* keys, const std::int64_t* offsets, int n_documents) const;

 private:
  // One hash table holds the arcs of all nodes: (node, key) -> next node.
  struct Arc {
    std::int32_t node = -1, key = 0, next = 0;
  };
  std::size_t slot(std::int32_t node, std::int32_t key) const;
  void grow();
  std::vector<Arc> arcs_;
  std::size_t n_arcs_ = 0;
  std::int32_t n_nodes_ = 1;
  std::vector<std::int32_t> payload_{-1};  // [nodes] the latest, as an index into more_, or -1
  std::vector<std::pair<std::int32_t, std::int32_t>> more_;  // payload, index of the one before it
};

}  // namespace caesura
