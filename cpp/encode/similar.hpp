// Search for the spans that are similar to an entry of a lexicon, by the longest common subsequence
// of characters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace caesura {

// The similarity of texts of n and m characters is 2 c / (n + m), where c is the length of their
// longest common subsequence.  The text of a span or an entry is its tokens, sorted, with a space
// between them.  Only entries that share a token with a span are compared with it.
class SimilarEntries {
 public:
  // Characters are numbers below n_characters.
  struct Texts {
    std::vector<std::int32_t> characters;  // of all texts
    std::vector<std::int64_t> offsets;     // [texts + 1]
    std::int64_t size(std::size_t i) const { return offsets[i + 1] - offsets[i]; }
  };
  // The distinct tokens of some documents, in the order in which a span's tokens are sorted.
  struct Tokens {
    Texts texts;                        // -1 is a character that no entry has
    std::vector<std::int32_t> numbers;  // [texts] number in the entries; -1 if in no entry
  };
  struct Reached {
    std::vector<std::int64_t> starts, ends;
    std::vector<std::int32_t> counts;  // number of thresholds that the best entry reaches, >= 1
  };

  // Token k occurs in the entries having[offsets[k]] .. having[offsets[k + 1] - 1].
  SimilarEntries(std::int32_t n_characters, std::int32_t space, Texts entries,
                 std::vector<std::int32_t> having, std::vector<std::int64_t> offsets);

  // types: indices into `tokens`; document i has those from document_offsets[i] to
  // document_offsets[i + 1].  thresholds: in ascending order.
  Reached reached(const Tokens& tokens, const std::vector<std::int32_t>& types,
                  const std::vector<std::int64_t>& document_offsets,
                  const std::vector<double>& thresholds, std::int64_t max_length) const;

  std::size_t size() const { return bags_.size(); }
  std::int32_t n_characters() const { return n_characters_; }
  std::size_t n_tokens() const { return having_offsets_.size() - 1; }

 private:
  friend class SimilarSearch;
  using Bag = std::array<std::uint8_t, 32>;  // characters by bucket; exact up to kBagged characters

  std::int32_t n_characters_, space_;
  Texts entries_;
  std::vector<Bag> bags_;  // [entries]
  std::vector<std::int32_t> having_;
  std::vector<std::int64_t> having_offsets_;
};

}  // namespace caesura
