#include "encode/segments.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "encode/utf8.hpp"

namespace caesura {

// A counting sort.
void sort_by_start(Firings& firings, std::int64_t n_tokens) {
  std::vector<std::int64_t> next(n_tokens + 1, 0);
  for (const Firing& f : firings) ++next[f.start + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  Firings sorted(firings.size());
  for (const Firing& f : firings) sorted[next[f.start]++] = f;
  firings.swap(sorted);
}

void fire_lengths(const std::vector<LengthRule>& rules, const std::vector<std::int64_t>& offsets,
                  int source, Firings& out) {
  for (const LengthRule& rule : rules) {
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      for (std::int64_t start = offsets[i]; start + rule.length <= offsets[i + 1]; ++start) {
        out.push_back({static_cast<std::int32_t>(start),
                       static_cast<std::int32_t>(start + rule.length), rule.flags, source, rule.id,
                       rule.value});
      }
    }
  }
}

// ---- Entries of lexicons ----

Trie::Found EntryFinder::find(const std::int32_t* keys, const std::int64_t* offsets,
                              int n_documents, bool marks) const {
  if (!loose_) return trie_.scan(keys, offsets, n_documents);
  // The positions and keys of the tokens that are not skipped.
  std::vector<std::int64_t> at, inner{0};
  std::vector<std::int32_t> kept;
  for (int i = 0; i < n_documents; ++i) {
    for (std::int64_t t = offsets[i]; t < offsets[i + 1]; ++t) {
      if (keys[t] == kPassed) continue;
      at.push_back(t);
      kept.push_back(keys[t]);
    }
    inner.push_back(static_cast<std::int64_t>(at.size()));
  }
  const Trie::Found found = trie_.scan(kept.data(), inner.data(), n_documents);
  Trie::Found out;
  int i = 0;
  for (std::size_t k = 0; k < found.starts.size(); ++k) {
    const std::int64_t s = found.starts[k], e = found.ends[k];
    while (s >= inner[i + 1]) ++i;
    const std::int64_t start = at[s], end = at[e - 1] + 1;
    std::int64_t first = start, last = end;
    if (marks) {  // up to kMarks skipped tokens on each side
      first = std::max(start - kMarks, s > inner[i] ? at[s - 1] + 1 : offsets[i]);
      last = std::min(end + kMarks, e < inner[i + 1] ? at[e] : offsets[i + 1]);
    }
    for (std::int64_t a = first; a <= start; ++a) {
      for (std::int64_t b = end; b <= last; ++b) {
        out.starts.push_back(a);
        out.ends.push_back(b);
        out.payloads.push_back(found.payloads[k]);
      }
    }
  }
  return out;
}

std::vector<std::int8_t> places_in(const Trie::Found& found, const std::int64_t* offsets,
                                   int n_documents) {
  constexpr std::int8_t kNowhere = -1, kBegin = 0, kInside = 1, kEnd = 2, kSingle = 3;
  std::vector<std::int8_t> out(offsets[n_documents], kNowhere);
  std::vector<std::size_t> order(found.starts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&found](std::size_t a, std::size_t b) {
    return std::make_tuple(found.starts[a] - found.ends[a], found.starts[a]) <
           std::make_tuple(found.starts[b] - found.ends[b], found.starts[b]);
  });
  for (const std::size_t k : order) {
    const auto begin = out.begin() + found.starts[k], end = out.begin() + found.ends[k];
    if (std::any_of(begin, end, [](std::int8_t place) { return place != kNowhere; })) continue;
    std::fill(begin, end, kInside);
    *begin = kBegin;
    *(end - 1) = end - begin == 1 ? kSingle : kEnd;
  }
  return out;
}

// ---- Shapes of spans ----

void SpanShapes::fire(const std::int32_t* numbers, const std::vector<std::int64_t>& offsets,
                      const Interner& said, const Interner& values, int source, Firings& out) {
  if (nodes_.size() > kMostNodes) forget();
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    for (std::int64_t start = offsets[i]; start < offsets[i + 1]; ++start) {
      const std::int64_t last = std::min(start + max_length_, offsets[i + 1]);
      std::int32_t node = -1;
      for (std::int64_t end = start + 1; end <= last; ++end) {
        node = child(node, numbers[end - 1], said, values);
        if (nodes_[node].id == Interner::kMissing) continue;
        out.push_back({static_cast<std::int32_t>(start), static_cast<std::int32_t>(end), 0, source,
                       nodes_[node].id, 1.0});
      }
    }
  }
}

std::int32_t SpanShapes::child(std::int32_t node, std::int32_t number, const Interner& said,
                               const Interner& values) {
  const std::uint64_t key =
      static_cast<std::uint64_t>(node + 1) << 32 | static_cast<std::uint32_t>(number);
  const auto [known, is_new] = next_.try_emplace(key, static_cast<std::int32_t>(nodes_.size()));
  const std::int32_t to = known->second;
  if (is_new) {
    nodes_.push_back({node, number, Interner::kMissing});
    nodes_.back().id = values.find(name(to, said));
  }
  return to;
}

std::string SpanShapes::name(std::int32_t node, const Interner& said) const {
  std::vector<std::string_view> shapes;
  for (; node >= 0; node = nodes_[node].parent) shapes.push_back(said[nodes_[node].number]);
  std::string out = "=";
  for (std::size_t k = shapes.size(); k > 0;) {  // from the last one, which is the first token's
    std::size_t run = 1;
    while (collapse_ && run < k && shapes[k - 1 - run] == shapes[k - 1]) ++run;
    if (k < shapes.size()) out += ' ';
    out += shapes[k - 1];
    if (run > 1) out += '+';
    k -= run;
  }
  return out;
}

// ---- Regular expressions on spans ----

// The automaton runs once from each start; at the end of each token it is checked for acceptance.
void fire_pattern(const TokenBatch& batch, const TokenTypes& types, Pattern& pattern,
                  const std::vector<char32_t>& joiner, int max_length, std::int32_t id, int source,
                  Firings& out) {
  const Characters& characters = types.characters();
  for (int i = 0; i < batch.n_sequences(); ++i) {
    for (std::int64_t start = batch.offsets[i]; start < batch.offsets[i + 1]; ++start) {
      const std::int64_t last = std::min(start + max_length, batch.offsets[i + 1]);
      std::int32_t state = pattern.begin();
      for (std::int64_t t = start; t < last && state != Pattern::kDead; ++t) {
        for (std::size_t k = 0; t > start && k < joiner.size() && state != Pattern::kDead; ++k)
          state = pattern.next(state, joiner[k], characters);
        const std::string_view word = types.word(batch.types[t]);
        for (const char* at = word.data();
             at < word.data() + word.size() && state != Pattern::kDead;)
          state = pattern.next(state, read_utf8(at), characters);
        if (state == Pattern::kDead || !pattern.accepts(state)) continue;
        out.push_back({static_cast<std::int32_t>(start), static_cast<std::int32_t>(t + 1), 0,
                       source, id, 1.0});
      }
    }
  }
}

}  // namespace caesura
