#include "encode/similar.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/interrupt.hpp"

namespace caesura {

namespace {

constexpr std::int32_t kBagged = 255;  // the longest text whose bag cannot overflow
constexpr double kLongest = 1e9;       // characters
constexpr double kSlack = 1e-6;        // added to bounds on lengths, to allow for rounding

double similarity(std::int32_t common, std::int32_t total) {
  if (total == 0) return 1.0;
  return 1.0 - static_cast<double>(total - 2 * common) / static_cast<double>(total);
}

// Whether the similarity may reach a threshold.  This avoids a division, and is never false if the
// threshold is reached.
bool may_reach(std::int32_t common, std::int32_t total, double threshold) {
  return 2.0 * static_cast<double>(common) + kSlack >= threshold * static_cast<double>(total);
}

template <class Bag>
void add_to_bag(Bag& bag, const std::int32_t* characters, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    if (characters[i] >= 0) ++bag[static_cast<std::size_t>(characters[i]) % bag.size()];
}

// The sum over buckets of the smaller count.  If one text has at most kBagged characters, so has
// the sum, and bytes do not overflow.
template <class Bag>
std::int32_t common_in_bags(const Bag& a, const Bag& b) {
  using Bytes = std::uint8_t __attribute__((vector_size(16)));
  Bytes x[2], y[2];
  static_assert(sizeof(Bag) == sizeof(x));
  std::memcpy(x, a.data(), sizeof(x));
  std::memcpy(y, b.data(), sizeof(y));
  const Bytes smaller = (x[0] < y[0] ? x[0] : y[0]) + (x[1] < y[1] ? x[1] : y[1]);
  std::uint64_t halves[2];
  std::memcpy(halves, &smaller, sizeof(halves));
  return static_cast<std::int32_t>((halves[0] + halves[1]) * 0x0101010101010101U >> 56);
}

// The length of the longest common subsequence of a fixed text and others, computed for 64
// characters at a time (Hyyro 2004): bit i of the row is 0 if the length increases at character i
// of the fixed text.
class CommonSubsequence {
 public:
  explicit CommonSubsequence(std::int32_t n_characters)
      : masks_(static_cast<std::size_t>(n_characters)), n_characters_(n_characters) {}

  void set(const std::vector<std::int32_t>& text) {
    for (std::int32_t c : text_)
      for (std::size_t w = 0; c >= 0 && w < words_; ++w) masks_[at(c, w)] = 0;
    text_ = text;
    words_ = (text.size() + 63) / 64;
    if (masks_.size() < words_ * static_cast<std::size_t>(n_characters_))
      masks_.resize(words_ * static_cast<std::size_t>(n_characters_));
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] >= 0) masks_[at(text[i], i / 64)] |= std::uint64_t{1} << (i % 64);
  }

  std::int32_t length(const std::int32_t* other, std::int32_t count) {
    if (words_ == 1) return one_word(other, count);
    if (words_ == 2) return two_words(other, count);
    rows_.assign(words_, ~std::uint64_t{0});
    for (std::int32_t j = 0; j < count; ++j) {
      std::uint64_t carry = 0;
      for (std::size_t w = 0; w < words_; ++w) {
        const std::uint64_t row = rows_[w], matched = row & masks_[at(other[j], w)];
        const std::uint64_t half = row + matched, sum = half + carry;
        carry = static_cast<std::uint64_t>(half < row) | static_cast<std::uint64_t>(sum < half);
        rows_[w] = sum | (row - matched);
      }
    }
    std::int32_t length = 0;
    for (std::uint64_t row : rows_) length += __builtin_popcountll(~row);
    return length;
  }

 private:
  // The same for one or two words, in registers.
  std::int32_t one_word(const std::int32_t* other, std::int32_t count) const {
    std::uint64_t row = ~std::uint64_t{0};
    for (std::int32_t j = 0; j < count; ++j) {
      const std::uint64_t matched = row & masks_[at(other[j], 0)];
      row = (row + matched) | (row - matched);
    }
    return __builtin_popcountll(~row);
  }
  std::int32_t two_words(const std::int32_t* other, std::int32_t count) const {
    std::uint64_t low = ~std::uint64_t{0}, high = low;
    for (std::int32_t j = 0; j < count; ++j) {
      const std::uint64_t low_matched = low & masks_[at(other[j], 0)];
      const std::uint64_t high_matched = high & masks_[at(other[j], 1)];
      const std::uint64_t sum = low + low_matched;
      high = (high + high_matched + static_cast<std::uint64_t>(sum < low)) | (high - high_matched);
      low = sum | (low - low_matched);
    }
    return __builtin_popcountll(~low) + __builtin_popcountll(~high);
  }

  std::size_t at(std::int32_t c, std::size_t w) const {
    return w * static_cast<std::size_t>(n_characters_) + static_cast<std::size_t>(c);
  }
  std::vector<std::uint64_t> masks_;  // [words][characters] where a character is in the text
  std::vector<std::uint64_t> rows_;
  std::vector<std::int32_t> text_;
  std::int32_t n_characters_;
  std::size_t words_ = 0;
};

}  // namespace

// The spans that end at the same token are processed together, the longest first.  Removing the
// first token of a span cannot lengthen its common subsequence with an entry.  The length found for
// one span therefore bounds those of the shorter ones, and an entry waits for the first span that
// is short enough for this bound to reach the lowest threshold.
class SimilarSearch {
 public:
  SimilarSearch(const SimilarEntries& index, const SimilarEntries::Tokens& tokens,
                const std::vector<std::int32_t>& types, const std::vector<double>& thresholds)
      : index_(index),
        tokens_(tokens),
        types_(types),
        thresholds_(thresholds),
        widening_(2.0 / thresholds[0]),
        common_(index.n_characters()),
        latest_(index.size(), -1),
        listed_(index.size(), 0) {}

  // Processes the spans [start, end) with start >= first.
  void look(std::int64_t first, std::int64_t end, SimilarEntries::Reached& out) {
    check_interrupt();
    share(first, end);
    measure(first, end);
    if (waiting_.size() < sizes_.size()) waiting_.resize(sizes_.size());
    for (std::int32_t entry : active_) {
      const auto size = static_cast<std::int32_t>(index_.entries_.size(entry));
      wait({entry, size, size, static_cast<std::int32_t>(latest_[entry] - first)}, 0);
    }
    for (std::size_t k = 0; k < sizes_.size(); ++k) {
      filter(k);
      if (possible_.empty()) continue;
      set_text(first + static_cast<std::int64_t>(k), end);
      const std::int32_t count = compare(k);
      if (count == 0) continue;
      out.starts.push_back(first + static_cast<std::int64_t>(k));
      out.ends.push_back(end);
      out.counts.push_back(count);
    }
  }

 private:
  struct Waiting {
    std::int32_t entry, size;
    std::int32_t bound;  // on the length of the common subsequence
    std::int32_t last;   // last span that shares a token with the entry
  };

  // Updates the entries that share a token with [first, end), and the last such token of each.
  void share(std::int64_t first, std::int64_t end) {
    std::size_t kept = 0;
    for (std::int32_t entry : active_) {
      if (latest_[entry] >= first)
        active_[kept++] = entry;
      else
        listed_[entry] = 0;
    }
    active_.resize(kept);
    const std::int32_t number = tokens_.numbers[static_cast<std::size_t>(types_[end - 1])];
    if (number < 0) return;
    for (std::int64_t j = index_.having_offsets_[number]; j < index_.having_offsets_[number + 1];
         ++j) {
      const std::int32_t entry = index_.having_[j];
      latest_[entry] = end - 1;
      if (listed_[entry]) continue;
      listed_[entry] = 1;
      active_.push_back(entry);
    }
  }

  // Computes the size and bag of each span, the longest entry that may be similar to it, and for
  // each size the first span that is not longer.
  void measure(std::int64_t first, std::int64_t end) {
    const auto n_spans = static_cast<std::size_t>(end - first);
    sizes_.resize(n_spans);
    longest_.resize(n_spans);
    bags_.resize(n_spans);
    SimilarEntries::Bag bag{};
    std::int32_t size = -1;
    for (std::size_t k = n_spans; k-- > 0;) {
      const std::int32_t type = types_[first + static_cast<std::int64_t>(k)];
      const auto length = static_cast<std::int32_t>(tokens_.texts.size(type));
      if (k + 1 < n_spans) add_to_bag(bag, &index_.space_, 1);
      add_to_bag(bag, tokens_.texts.characters.data() + tokens_.texts.offsets[type], length);
      bags_[k] = bag;
      sizes_[k] = size += 1 + length;
      longest_[k] = static_cast<std::int32_t>(std::min(size * (widening_ - 1) + kSlack, kLongest));
    }
    fitting_.resize(static_cast<std::size_t>(size) + 1);
    std::size_t k = 0;
    for (std::int32_t n = size; n >= 0; --n) {
      while (k < n_spans && sizes_[k] > n) ++k;
      fitting_[static_cast<std::size_t>(n)] = k;
    }
  }

  // Makes an entry wait for the next span, from the k-th on, whose similarity may be high enough:
  // 2 bound / (n + m) >= lowest threshold.  Spans become shorter, so if one is too short for an
  // entry, all later ones are too.
  void wait(const Waiting& one, std::size_t k) {
    const std::size_t none = sizes_.size();
    const double widest = std::min(one.bound * widening_ + kSlack, kLongest);
    const std::int32_t n = static_cast<std::int32_t>(widest) - one.size;
    k = n < 0 ? none : std::max(k, fitting_[std::min(n, sizes_[0])]);
    k = k >= none || static_cast<std::int32_t>(k) > one.last || one.size > longest_[k] ? none : k;
    if (k < none) waiting_[k].push_back(one);
  }

  // Moves the waiting entries whose similarity may be high enough, given the characters in common,
  // to possible_.  All bounds are computed before any is tested: a branch for each, which is hard
  // to predict, took longer.
  void filter(std::size_t k) {
    const std::int32_t n = sizes_[k];
    if (n <= kBagged) {
      for (Waiting& one : waiting_[k]) {
        const std::int32_t common = common_in_bags(bags_[k], index_.bags_[one.entry]);
        one.bound = std::min(one.bound, one.size <= kBagged ? common : n);
      }
    }
    possible_.clear();
    for (const Waiting& one : waiting_[k]) {
      if (may_reach(one.bound, n + one.size, thresholds_[0]))
        possible_.push_back(one);
      else
        wait(one, k + 1);
    }
    waiting_[k].clear();
  }

  // Returns the number of thresholds that the most similar entry reaches for a span.
  std::int32_t compare(std::size_t k) {
    const auto all = static_cast<std::int32_t>(thresholds_.size());
    std::int32_t count = 0;
    for (Waiting& one : possible_) {
      const std::int32_t total = sizes_[k] + one.size;
      if (count < all && may_reach(one.bound, total, thresholds_[count])) {
        const std::int64_t start = index_.entries_.offsets[one.entry];
        one.bound = common_.length(index_.entries_.characters.data() + start, one.size);
        while (count < all && similarity(one.bound, total) >= thresholds_[count]) ++count;
      }
      wait(one, k + 1);
    }
    return count;
  }

  // The text of a span: its tokens, sorted, with spaces between them.
  void set_text(std::int64_t start, std::int64_t end) {
    sorted_.assign(types_.begin() + start, types_.begin() + end);
    std::sort(sorted_.begin(), sorted_.end());
    text_.clear();
    const auto characters = tokens_.texts.characters.begin();
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      if (i > 0) text_.push_back(index_.space_);
      const std::int64_t* range = tokens_.texts.offsets.data() + sorted_[i];
      text_.insert(text_.end(), characters + range[0], characters + range[1]);
    }
    common_.set(text_);
  }

  const SimilarEntries& index_;
  const SimilarEntries::Tokens& tokens_;
  const std::vector<std::int32_t>& types_;
  const std::vector<double>& thresholds_;
  const double widening_;
  CommonSubsequence common_;
  std::vector<std::int64_t> latest_;  // [entries] position of the last token that it shares
  std::vector<std::uint8_t> listed_;  // [entries] whether it is in active_
  std::vector<std::int32_t> active_;
  std::vector<std::int32_t> sizes_;            // [spans] number of characters, decreasing
  std::vector<std::int32_t> longest_;          // [spans] size of the longest similar entry
  std::vector<std::size_t> fitting_;           // [sizes + 1] first span that is not longer
  std::vector<SimilarEntries::Bag> bags_;      // [spans]
  std::vector<std::vector<Waiting>> waiting_;  // [spans]
  std::vector<Waiting> possible_;
  std::vector<std::int32_t> sorted_, text_;
};

SimilarEntries::SimilarEntries(std::int32_t n_characters, std::int32_t space, Texts entries,
                               std::vector<std::int32_t> having, std::vector<std::int64_t> offsets)
    : n_characters_(n_characters),
      space_(space),
      entries_(std::move(entries)),
      bags_(entries_.offsets.size() - 1),
      having_(std::move(having)),
      having_offsets_(std::move(offsets)) {
  for (std::size_t i = 0; i < bags_.size(); ++i)
    add_to_bag(bags_[i], entries_.characters.data() + entries_.offsets[i], entries_.size(i));
}

SimilarEntries::Reached SimilarEntries::reached(const Tokens& tokens,
                                                const std::vector<std::int32_t>& types,
                                                const std::vector<std::int64_t>& document_offsets,
                                                const std::vector<double>& thresholds,
                                                std::int64_t max_length) const {
  Reached out;
  SimilarSearch search(*this, tokens, types, thresholds);
  for (std::size_t i = 0; i + 1 < document_offsets.size(); ++i) {
    for (std::int64_t end = document_offsets[i] + 1; end <= document_offsets[i + 1]; ++end)
      search.look(std::max(document_offsets[i], end - max_length), end, out);
  }
  return out;
}

}  // namespace caesura
