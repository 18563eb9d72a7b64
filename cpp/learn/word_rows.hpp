// Precomputed scores of single words.
//
// Most templates look at one word: the word two tokens before, its shape, its suffix.  What they
// add to the scores of a row depends on this word only, so it is summed once for each distinct
// word:
//
//   row(slot, word) = sum of the weights of the attributes that the templates of the slot
//                     generate from their values for the word
//
// The score of a token is then a sum of a few rows instead of about eighty attributes.  Words for
// which the templates generate the same attributes share a row.  Most numbers not seen in training
// do so; rows therefore stay few and in the cache.
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
  // columns: for each column of the extractor, the column of TokenTypes, or -1 if it is not a
  // column of words.
  WordRows(std::shared_ptr<Parameters> parameters, std::shared_ptr<const Scorer> scorer,
           const Extractor& extractor, std::vector<std::int32_t> columns);

  // Adds the words that are new.  If the types were cleared, all words are added again, to new
  // memory; rows that are in use elsewhere stay valid.
  void extend(const TokenTypes& types, const Extractor& extractor);
  const WordTable& table() const { return table_; }
  std::shared_ptr<const void> memory() const { return blocks_; }
  // [columns of the extractor] whether the column is needed in addition to the table.
  const std::vector<std::uint8_t>& needed() const { return needed_; }
  // Returns the size of the rows of all words, in bytes.
  std::int64_t bytes() const;

 private:
  using Blocks = std::vector<std::unique_ptr<double[]>>;
  // A row, identified by the attributes whose weights it sums.
  struct Known {
    const double* row = nullptr;
    std::uint64_t hash = 0;
    std::size_t key = 0;  // where in keys_ are its slot, the number of attributes and these
  };
  double* next_row();
  // Returns the row of a slot whose templates find these values, or null if they have no weight.
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
  int free_ = 0;              // free rows in the last block
  std::vector<Known> known_;  // a hash table whose size is a power of two
  std::size_t n_known_ = 0;
  std::vector<std::int32_t> keys_, key_;  // all keys, and the one that is looked up
  std::int64_t generation_ = -1;
  std::int32_t n_words_ = 0;
};

}  // namespace caesura
