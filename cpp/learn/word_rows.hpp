// Scores of single words, summed in advance.
//
// Most templates look at one word: the word two tokens before, its shape, its suffix.  What they
// add to the scores of a row depends on that word alone, so that it is summed once for each
// distinct word:
//
//   row(slot, word) = sum over the templates of the slot, and over their values for the word, of
//   the
//                     weights of the attribute that they make
//
// The score of a token is then a sum of a few rows in place of some eighty attributes.  Words whose
// templates make the same attributes share a row: most numbers not seen in training do, so the
// rows stay few and in the cache.
#pragma once

#include <memory>
#include <vector>

#include "encode/corpus.hpp"
#include "encode/types.hpp"
#include "learn/parameters.hpp"
#include "learn/scorer.hpp"

namespace caesura {

class WordRows {
 public:
  // columns: for each column of the extractor, that of TokenTypes, or -1 if it is no column of
  // words.
  WordRows(std::shared_ptr<Parameters> parameters, std::shared_ptr<const Scorer> scorer,
           const Extractor& extractor, std::vector<std::int32_t> columns);

  // Adds the words that have come since; they are begun anew where the types were forgotten.  What
  // is in use elsewhere stays.
  void extend(const TokenTypes& types, const Extractor& extractor);
  const WordTable& table() const { return table_; }
  std::shared_ptr<const void> memory() const { return blocks_; }
  // Columns that are needed beside the table, [columns of the extractor].
  const std::vector<std::uint8_t>& needed() const { return needed_; }
  // Memory of the rows that words have now.
  std::int64_t bytes() const;

 private:
  using Blocks = std::vector<std::unique_ptr<double[]>>;
  // A row that is known by the attributes that it adds up.
  struct Known {
    const double* row = nullptr;
    std::uint64_t hash = 0;
    std::size_t key = 0;  // where its slot, their number and they are in keys_
  };
  double* next_row();
  // The row of a slot, where its templates find these values; null if they have no weight.
  template <class Values>
  const double* find_row(int slot, const Extractor& extractor, Values values);
  const double* shared_row(int slot, const Extractor& extractor);
  const double* make_row(int slot, const Extractor& extractor);
  void grow_known();

  std::shared_ptr<Parameters> parameters_;
  std::shared_ptr<const Scorer> scorer_;
  std::vector<std::int32_t> columns_;
  std::vector<std::uint8_t> needed_;
  WordTable table_;
  std::shared_ptr<Blocks> blocks_;
  int free_ = 0;              // rows left in the last block
  std::vector<Known> known_;  // a hash table, its size is a power of two
  std::size_t n_known_ = 0;
  std::vector<std::int32_t> keys_, key_;  // all keys, and that which is asked for
  std::int64_t generation_ = -1;
  std::int32_t n_words_ = 0;
};

}  // namespace caesura
