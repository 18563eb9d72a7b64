#include "learn/word_rows.hpp"

#include <algorithm>

namespace caesura {
namespace {

constexpr int kRowsOfBlock = 512;

}  // namespace

WordRows::WordRows(std::shared_ptr<Parameters> parameters, std::shared_ptr<const Scorer> scorer,
                   const Extractor& extractor, std::vector<std::int32_t> columns)
    : parameters_(std::move(parameters)), scorer_(std::move(scorer)), columns_(std::move(columns)) {
  std::vector<std::uint8_t> of_words;
  for (const std::int32_t column : columns_)
    of_words.push_back(column >= 0 && parameters_->has_word_rows());
  table_ = extractor.word_table(of_words);
  needed_.assign(columns_.size(), 0);
  for (int k = 0; k < extractor.n_templates(); ++k) {
    if (table_.covered[k]) continue;
    for (const Part& part : extractor.at(k).parts) needed_[part.column] = 1;
  }
}

std::int64_t WordRows::bytes() const {
  if (blocks_ == nullptr) return 0;
  const std::int64_t rows = static_cast<std::int64_t>(blocks_->size()) * kRowsOfBlock;
  return rows * scorer_->weights().view().stride * static_cast<std::int64_t>(sizeof(double));
}

double* WordRows::next_row() {
  const int stride = scorer_->weights().view().stride;
  if (free_ == 0) {
    blocks_->push_back(std::make_unique<double[]>(static_cast<std::size_t>(kRowsOfBlock) * stride));
    free_ = kRowsOfBlock;
  }
  return blocks_->back().get() + static_cast<std::ptrdiff_t>(kRowsOfBlock - free_) * stride;
}

template <class Values>
const double* WordRows::find_row(int slot, const Extractor& extractor, Values values) {
  key_.assign({slot, 0});
  for (const auto& [k, sign] : table_.slots[slot].templates) {
    const TokenTypes::Range range = values(columns_[extractor.at(k).parts[0].column]);
    for (const std::int32_t* value = range.begin; value != range.end; ++value) {
      const std::int32_t attribute =
          *value == kUnseen ? Attributes::kMissing : extractor.attributes.find(k, *value);
      if (attribute != Attributes::kMissing) key_.push_back(attribute);
    }
  }
  key_[1] = static_cast<std::int32_t>(key_.size()) - 2;
  return key_[1] == 0 ? nullptr : shared_row(slot, extractor);
}

// Returns the row of the attributes in key_, and makes it if it is new.
const double* WordRows::shared_row(int slot, const Extractor& extractor) {
  if (2 * (n_known_ + 1) > known_.size()) grow_known();
  const std::uint64_t hash =
      hash_bytes(reinterpret_cast<const char*>(key_.data()), key_.size() * sizeof(std::int32_t));
  const std::size_t mask = known_.size() - 1;
  std::size_t at = hash & mask;
  for (; known_[at].row != nullptr; at = (at + 1) & mask) {
    if (known_[at].hash == hash &&
        std::equal(key_.begin(), key_.end(), keys_.begin() + known_[at].key))
      return known_[at].row;
  }
  known_[at] = {make_row(slot, extractor), hash, keys_.size()};
  keys_.insert(keys_.end(), key_.begin(), key_.end());
  ++n_known_;
  return known_[at].row;
}

void WordRows::grow_known() {
  std::vector<Known> old(std::max<std::size_t>(64, 2 * known_.size()));
  old.swap(known_);
  const std::size_t mask = known_.size() - 1;
  for (const Known& one : old) {
    if (one.row == nullptr) continue;
    std::size_t at = one.hash & mask;
    while (known_[at].row != nullptr) at = (at + 1) & mask;
    known_[at] = one;
  }
}

// row(slot, attributes) = sum over the attributes of the sign of their template times their weights
const double* WordRows::make_row(int slot, const Extractor& extractor) {
  double* row = next_row();
  --free_;
  const auto& templates = table_.slots[slot].templates;
  auto own = templates.begin();
  for (std::size_t k = 2; k < key_.size(); ++k) {
    while (own->first != extractor.attributes.sources()[key_[k]]) ++own;  // the same order
    parameters_->add_weights(key_[k], own->second, scorer_->weights().view(), row);
  }
  return row;
}

void WordRows::extend(const TokenTypes& types, const Extractor& extractor) {
  const int n_slots = static_cast<int>(table_.slots.size());
  if (types.generation() != generation_) {
    generation_ = types.generation();
    blocks_ = std::make_shared<Blocks>();
    free_ = 0;
    known_.clear();
    keys_.clear();
    n_known_ = 0;
    n_words_ = 0;
    table_.rows.clear();
    for (const std::int32_t beyond : {kBefore, kAfter}) {
      for (int slot = 0; slot < n_slots; ++slot) {
        table_.rows.push_back(find_row(
            slot, extractor, [&](int) { return TokenTypes::Range{&beyond, &beyond + 1}; }));
      }
    }
  }
  for (; n_words_ < types.size(); ++n_words_) {
    for (int slot = 0; slot < n_slots; ++slot) {
      table_.rows.push_back(
          find_row(slot, extractor, [&](int column) { return types.values(n_words_, column); }));
    }
  }
}

}  // namespace caesura
