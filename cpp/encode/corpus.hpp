// From columns of numbers to attributes on rows.
//
// A column has one number or several for each token (an index into the values of the column).  A
// template names columns at offsets, as word[-1] & word[0]; with the values that it finds it makes
// an attribute, and its place says on which rows the attribute fires.  An attribute is a template
// and values: no strings here.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "encode/attributes.hpp"
#include "lattice/lattice.hpp"
#include "learn/design.hpp"

namespace caesura {

struct Column {
  const std::int64_t* ptr = nullptr;  // [tokens + 1], or null: one value for each token
  const std::int32_t* ids = nullptr;
  const double* values = nullptr;  // or null: all are 1
};

// A feature of segments that fires: the value names its attribute.
struct Firing {
  std::int32_t start, end;
  std::uint8_t flags;
  std::int32_t source, id;  // the template without parts, and the value
  double value;
};

// Templates with one part over a column of words that fire on rows of one form at one offset.  What
// they score depends on the word there alone.
struct WordSlot {
  int form, offset;
  std::vector<std::pair<int, double>> templates;  // and the sign
};

// The scores of words, summed over the templates of each slot: see learn/word_rows.hpp.
struct WordTable {
  std::vector<WordSlot> slots;
  std::vector<std::vector<int>> by_form;  // [forms] slots
  std::vector<std::uint8_t> covered;      // [templates] whether a slot has it
  std::vector<int> rest;                  // the templates that no slot has,
  std::vector<std::vector<std::pair<int, double>>> rest_of_form;  // [forms] those of each form
  // [words + 2][slots] rows of scores, null where there is nothing; first those of what lies before
  // and after a sequence.
  std::vector<const double*> rows;
  const double* row(int slot, std::int64_t word) const {
    return rows[word * static_cast<std::int64_t>(slots.size()) + slot];
  }
};

// Encoded sequences: the same shape as a Design, with attributes in place of weights.
struct Corpus {
  std::vector<std::int64_t> tokens{0}, sites{0};
  std::vector<Site> site;
  std::vector<std::int64_t> ptr{0};  // [rows + 1]
  std::vector<std::int32_t> attribute;
  std::vector<double> value;           // empty if all are 1
  std::vector<std::int64_t> edge_ptr;  // [tokens + 1], or empty
  std::vector<std::int32_t> edge;
  std::vector<double> edge_value;
  std::vector<std::int64_t> word_ptr;       // [rows + 1], or empty
  std::vector<const double*> word;          // rows of a WordTable that are added to a row
  std::shared_ptr<const void> word_memory;  // keeps them

  int n_sequences() const { return static_cast<int>(tokens.size()) - 1; }
  int length(int i) const { return static_cast<int>(tokens[i + 1] - tokens[i]); }
  std::int64_t first_row(int i) const { return tokens[i] + sites[i]; }
  void push(std::int32_t id, double x) {
    if (x != 1.0 && value.empty()) value.assign(attribute.size(), 1.0);
    attribute.push_back(id);
    if (x != 1.0 || !value.empty()) value.push_back(x);
  }
  // Those of [first, last), their values multiplied by a sign.
  template <class Found>
  void push(const Found* first, const Found* last, double sign) {
    bool ones = value.empty();
    for (const Found* f = first; f < last; ++f) ones &= sign * f->value == 1.0;
    if (!ones) {
      for (; first < last; ++first) push(first->attribute, sign * first->value);
      return;
    }
    attribute.resize(attribute.size() + static_cast<std::size_t>(last - first));
    for (std::int32_t* to = attribute.data() + attribute.size(); last > first;)
      *--to = (--last)->attribute;
  }
};

// Attributes that come together: of a token, and of the same token as first, last or single of its
// segment.
struct Planes {
  std::int32_t n_attributes = 0;
  int count = 1;
  std::uint8_t flags[4] = {kOpenStart | kOpenEnd};  // of each plane
  std::vector<std::int32_t>
      base;  // [attributes] that of the token, or itself; empty if all are themselves
  std::vector<std::uint8_t> plane;  // [attributes] 0 if it is its own base
  std::vector<std::uint8_t>
      order;  // [attributes] labels before the segment's own; empty: none, but one at an edge
  int order_of(std::int32_t attribute) const { return order.empty() ? 0 : order[attribute]; }
};

class Extractor {
 public:
  explicit Extractor(std::vector<Template> templates);
  Attributes attributes;
  bool has_edges() const { return has_edges_; }
  int n_templates() const { return static_cast<int>(templates_.size()); }
  Planes planes();
  int last_column() const {
    int last = -1;
    for (const Template& one : templates_) {
      for (const Part& part : one.parts) last = part.column > last ? part.column : last;
    }
    return last;
  }

  // Appends the sequences of a batch; their tokens are offsets[i] .. offsets[i + 1].  Firings are
  // sorted by sequence.  Without `grow`, attributes that are not known are left out.  With `table`,
  // templates that it covers are skipped, and rows get its sums for the words of the tokens,
  // [all].
  void extract(const std::int64_t* offsets, int n_sequences, const std::vector<Column>& columns,
               const std::vector<Firing>& firings, bool grow, Corpus& out,
               const WordTable* table = nullptr, const std::int32_t* words = nullptr);

  // The slots of templates over columns of words; of_words: [columns]
  WordTable word_table(const std::vector<std::uint8_t>& of_words) const;
  const Template& at(int source) const { return templates_[source]; }

 private:
  // Templates that fire on rows of one form, [t + low, t + high) with these flags.
  struct Form {
    int low, high;
    std::uint8_t flags;
    std::vector<std::pair<int, double>> templates;  // and the sign
  };
  struct Found {
    std::int32_t attribute;
    double value;
  };
  struct Plain {  // a template with one part over a column with one value for each token
    const std::int32_t* ids = nullptr;  // null: it is none
    const std::int32_t* known = nullptr;
    std::int32_t offset = 0, n_known = 0;
  };
  struct Run {  // found attributes, and rows of words, of one row
    Site site;
    std::int64_t begin, end;
    std::int64_t word_begin = 0, word_end = 0;
  };
  void add_form(int low, int high, std::uint8_t flags, int source, double sign);
  std::vector<Plain> plain_templates(const std::vector<Column>& columns, bool grow) const;
  void find(int source, const std::vector<Column>& columns, std::int64_t begin, std::int64_t end,
            std::int64_t t, bool grow);
  void find_known(int source, const Column& column, std::int64_t first, std::int64_t last);
  void combine(const std::vector<Part>& parts, std::size_t k, const std::vector<Column>& columns,
               std::int64_t begin, std::int64_t end, std::int64_t t, double value, int source,
               bool grow);
  std::vector<std::uint8_t> joint_families(const std::vector<Column>& columns,
                                           const std::vector<int>& sources) const;
  void find_entries(int family, const std::vector<Column>& columns, std::int64_t begin,
                    std::int64_t end);
  void add_sites(const std::vector<Run>& runs, int length, Corpus& out);
  void sort_runs(const std::vector<Run>& runs, int length);

  std::vector<Template> templates_;
  std::vector<Form> forms_;  // the first is the tokens'
  std::vector<int> edges_;   // templates
  bool has_edges_ = false;
  std::vector<Found> found_;                         // of one token
  std::vector<std::int64_t> found_ptr_, found_end_;  // [templates]
  std::vector<std::int32_t> chosen_;
  std::vector<Found> pending_;  // of the sites of one sequence
  std::vector<const double*> pending_words_;
  std::vector<std::vector<std::uint32_t>> entries_;  // [families] of one sequence
  std::vector<std::int32_t> tuples_, tuple_at_;      // scratch of find_entries
  std::vector<std::uint32_t> found_entries_;
  std::vector<std::int32_t> end_at_;  // scratch of sort_runs
  std::vector<std::pair<std::uint64_t, std::int32_t>> sorted_;
};

}  // namespace caesura
