// Extraction of attributes on rows from columns of numbers.
//
// A column has any number of values for each token, each given by its number.  A template names
// columns at offsets, such as word[-1] & word[0].  Together with the values that it finds it forms
// an attribute, and its place determines the rows (tokens and sites, see learn/design.hpp) on which
// the attribute fires.  No strings are involved.
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
  const std::int64_t* ptr = nullptr;  // [tokens + 1], or null if each token has one value
  const std::int32_t* ids = nullptr;
  const double* values = nullptr;  // null if all are 1
};

// A firing of a segment feature; `source` and `id` identify its attribute.
struct Firing {
  std::int32_t start, end;
  std::uint8_t flags;
  std::int32_t source, id;  // a template without parts, and its value
  double value;
};

// Templates with one part over a column of words, with the same offset, that fire on rows of the
// same form.  Their scores depend only on the word at that offset.
struct WordSlot {
  int form, offset;
  std::vector<std::pair<int, double>> templates;  // (template, sign)
};

// The scores of words, summed over the templates of each slot (see learn/word_rows.hpp).
struct WordTable {
  std::vector<WordSlot> slots;
  std::vector<std::vector<int>> by_form;  // [forms] slots
  std::vector<std::uint8_t> covered;      // [templates] whether it is in a slot
  std::vector<int> rest;                  // the templates that are in no slot
  std::vector<std::vector<std::pair<int, double>>> rest_of_form;  // [forms] the same by form
  // [words + 2][slots] rows of scores, null if there are none.  The first two are for positions
  // before and after a sequence.
  std::vector<const double*> rows;
  const double* row(int slot, std::int64_t word) const {
    return rows[word * static_cast<std::int64_t>(slots.size()) + slot];
  }
  // Prefetches the rows of a type, which are rarely in the cache.
  void expect(std::int32_t type) const {
    const double* const* begin = rows.data() + (type + 2) * slots.size();
    for (std::size_t slot = 0; slot < slots.size(); slot += 4) __builtin_prefetch(begin + slot);
  }
};

// Encoded sequences, in the layout of a Design with attributes in place of weights.
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
  std::shared_ptr<const void> word_memory;  // owns them

  int n_sequences() const { return static_cast<int>(tokens.size()) - 1; }
  int length(int i) const { return static_cast<int>(tokens[i + 1] - tokens[i]); }
  std::int64_t first_row(int i) const { return tokens[i] + sites[i]; }
  // Makes room for further rows and words of rows, so that vectors need not grow.
  void reserve(std::size_t rows, std::size_t words) {
    site.reserve(site.size() + rows);
    ptr.reserve(ptr.size() + rows);
    word_ptr.reserve(word_ptr.size() + rows);
    word.reserve(word.size() + words);
  }
  void push(std::int32_t id, double x) {
    if (x != 1.0 && value.empty()) value.assign(attribute.size(), 1.0);
    attribute.push_back(id);
    if (x != 1.0 || !value.empty()) value.push_back(x);
  }
  // Appends the attributes of [first, last), with their values multiplied by `sign`.
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

// Attributes with the same values that occur together: that of a token, called the base, and those
// of the same token as the first, last or single one of its segment.  Each of these is a plane.
struct Planes {
  std::int32_t n_attributes = 0;
  int count = 1;
  std::uint8_t flags[4] = {kOpenStart | kOpenEnd};  // of each plane
  std::vector<std::int32_t> base;   // [attributes] base, or itself; empty if all are their own base
  std::vector<std::uint8_t> plane;  // [attributes] 0 if it is its own base
  std::vector<std::uint8_t> order;  // [attributes] Template::order; empty if all are 0
  int order_of(std::int32_t attribute) const { return order.empty() ? 0 : order[attribute]; }
};

class Extractor {
 public:
  explicit Extractor(std::vector<Template> templates);
  Attributes attributes;
  int n_templates() const { return static_cast<int>(templates_.size()); }
  Planes planes();
  int last_column() const {
    int last = -1;
    for (const Template& one : templates_) {
      for (const Part& part : one.parts) last = part.column > last ? part.column : last;
    }
    return last;
  }

  // Appends the sequences of a batch; sequence i has the tokens [offsets[i], offsets[i + 1]).
  // Firings must be sorted by sequence.  Without `grow`, unknown attributes are omitted.  With
  // `table`, the templates that it covers are skipped, and rows refer to its sums for `words`,
  // [tokens of the batch].
  void extract(const std::int64_t* offsets, int n_sequences, const std::vector<Column>& columns,
               const std::vector<Firing>& firings, bool grow, Corpus& out,
               const WordTable* table = nullptr, const std::int32_t* words = nullptr);

  // Groups the templates over columns of words into slots; of_words: [columns] which these are.
  WordTable word_table(const std::vector<std::uint8_t>& of_words) const;
  const Template& at(int source) const { return templates_[source]; }

 private:
  // Templates that fire on rows of one form, [t + low, t + high) with these flags.
  struct Form {
    int low, high;
    std::uint8_t flags;
    std::vector<std::pair<int, double>> templates;  // (template, sign)
  };
  struct Found {
    std::int32_t attribute;
    double value;
  };
  // How the attributes of a template are found at a token.
  struct Look {
    enum Kind : std::uint8_t {
      kAny,    // by `find`
      kPlain,  // in a table: one part, over a column with one value for each token
      kEntry   // in the entries of its family
    };
    int source = 0;
    Kind kind = kAny;
    std::int32_t offset = 0;  // of the token whose value or entry is read
    const std::int32_t *ids = nullptr, *known = nullptr;
    std::int32_t n_known = 0;
    Member member;
  };
  struct Run {  // the attributes and word rows found for one site
    Site site;
    std::int64_t begin, end;
    std::int64_t word_begin = 0, word_end = 0;
  };
  void add_form(int low, int high, std::uint8_t flags, int source, double sign);
  std::vector<Look> looks(const std::vector<Column>& columns, const std::vector<int>& sources,
                          const std::vector<std::uint8_t>& joint, bool grow) const;
  void find_at(const std::vector<Look>& looks, const std::vector<Column>& columns,
               std::int64_t begin, std::int64_t end, std::int64_t t, bool grow);
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
  std::vector<Form> forms_;  // the first is that of tokens
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
