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
const double* WordRows::make_row(const WordSlot& slot, const Extractor& extractor, Values values) {
  double* row = next_row();
  bool any = false;
  for (const auto& [k, sign] : slot.templates) {
    const TokenTypes::Range range = values(columns_[extractor.at(k).parts[0].column]);
    for (const std::int32_t* value = range.begin; value != range.end; ++value) {
      const std::int32_t attribute =
          *value == kUnseen ? Attributes::kMissing : extractor.attributes.find(k, *value);
      if (attribute == Attributes::kMissing) continue;
      parameters_->add_weights(attribute, sign, scorer_->weights().view(), row);
      any = true;
    }
  }
  if (!any) return nullptr;  // the row is still zero, and taken by the next
  --free_;
  return row;
}

void WordRows::extend(const TokenTypes& types, const Extractor& extractor) {
  if (types.generation() != generation_) {
    generation_ = types.generation();
    blocks_ = std::make_shared<Blocks>();
    free_ = 0;
    n_words_ = 0;
    table_.rows.clear();
    for (const std::int32_t beyond : {kBefore, kAfter}) {
      for (const WordSlot& slot : table_.slots) {
        table_.rows.push_back(make_row(
            slot, extractor, [&](int) { return TokenTypes::Range{&beyond, &beyond + 1}; }));
      }
    }
  }
  for (; n_words_ < types.size(); ++n_words_) {
    for (const WordSlot& slot : table_.slots) {
      table_.rows.push_back(
          make_row(slot, extractor, [&](int column) { return types.values(n_words_, column); }));
    }
  }
}

}  // namespace caesura
