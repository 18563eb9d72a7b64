#include "encode/corpus.hpp"

#include <algorithm>

#include "lattice/lattice.hpp"

namespace caesura {

// Fills found_ with the attributes of all templates at token t.
void Extractor::find_at(const std::vector<Look>& looks, const std::vector<Column>& columns,
                        std::int64_t begin, std::int64_t end, std::int64_t t, bool grow) {
  found_.clear();
  for (const Look& look : looks) {
    found_ptr_[look.source] = static_cast<std::int64_t>(found_.size());
    std::int32_t attribute = Attributes::kMissing;
    if (look.kind == Look::kAny) {
      find(look.source, columns, begin, end, t, grow);
    } else if (look.kind == Look::kEntry) {
      const std::uint32_t entry = entries_[look.member.family][t - begin + look.offset];
      attribute = attributes.of_entry(entry, look.member);
    } else {
      const std::int64_t at = t + look.offset;
      const std::int32_t value = (at < begin ? kBefore : at >= end ? kAfter : look.ids[at]) + 2;
      if (value >= 0 && value < look.n_known) attribute = look.known[value];
    }
    if (attribute != Attributes::kMissing) found_.push_back({attribute, 1.0});
    found_end_[look.source] = static_cast<std::int64_t>(found_.size());
  }
}

// Appends the attributes of one template at one token to found_.
void Extractor::find(int source, const std::vector<Column>& columns, std::int64_t begin,
                     std::int64_t end, std::int64_t t, bool grow) {
  const std::vector<Part>& parts = templates_[source].parts;
  chosen_.resize(parts.size());
  if (parts.size() == 1 && t + parts[0].offset >= begin &&
      t + parts[0].offset < end) {  // the usual case
    const Column& column = columns[parts[0].column];
    const std::int64_t at = t + parts[0].offset;
    const std::int64_t first = column.ptr == nullptr ? at : column.ptr[at];
    const std::int64_t last = column.ptr == nullptr ? at + 1 : column.ptr[at + 1];
    if (!grow) {
      find_known(source, column, first, last);
      return;
    }
    for (std::int64_t i = first; i < last; ++i) {
      if (column.ids[i] == kUnseen) continue;
      const std::int32_t a = attributes.id(source, column.ids + i, 1, true);
      if (a != Attributes::kMissing)
        found_.push_back({a, column.values == nullptr ? 1.0 : column.values[i]});
    }
    return;
  }
  if (!parts.empty()) combine(parts, 0, columns, begin, end, t, 1.0, source, grow);
}

// Appends the known attributes of the values first .. last - 1 of a column, for a template with one
// part.  A token may have many values (bags), so the loop has no branches.
void Extractor::find_known(int source, const Column& column, std::int64_t first,
                           std::int64_t last) {
  const std::vector<std::int32_t>& known = attributes.of_values(source);
  const std::size_t n_known = known.size(), before = found_.size();
  found_.resize(before + static_cast<std::size_t>(last - first));
  Found* out = found_.data() + before;
  for (std::int64_t i = first; i < last; ++i) {
    const auto at = static_cast<std::size_t>(column.ids[i] + 2);  // kUnseen is out of range
    const std::int32_t a = at < n_known ? known[at] : Attributes::kMissing;
    *out = {a, column.values == nullptr ? 1.0 : column.values[i]};
    out += a != Attributes::kMissing;
  }
  found_.resize(static_cast<std::size_t>(out - found_.data()));
}

// Appends the attributes of all combinations of values of the parts from k on; chosen_ holds the
// values of the parts before.
void Extractor::combine(const std::vector<Part>& parts, std::size_t k,
                        const std::vector<Column>& columns, std::int64_t begin, std::int64_t end,
                        std::int64_t t, double value, int source, bool grow) {
  if (k == parts.size()) {
    const std::int32_t a = attributes.id(source, chosen_.data(), static_cast<int>(k), grow);
    if (a != Attributes::kMissing) found_.push_back({a, value});
    return;
  }
  const Column& column = columns[parts[k].column];
  const std::int64_t at = t + parts[k].offset;
  if (at < begin || at >= end) {
    chosen_[k] = at < begin ? kBefore : kAfter;
    combine(parts, k + 1, columns, begin, end, t, value, source, grow);
    return;
  }
  const std::int64_t first = column.ptr == nullptr ? at : column.ptr[at];
  const std::int64_t last = column.ptr == nullptr ? at + 1 : column.ptr[at + 1];
  for (std::int64_t i = first; i < last; ++i) {
    chosen_[k] = column.ids[i];
    if (chosen_[k] == kUnseen) continue;
    combine(parts, k + 1, columns, begin, end, t,
            column.values == nullptr ? value : value * column.values[i], source, grow);
  }
}

// Fills entries_[family][r]: the entry that templates with the offset `low` find at token
// begin + r, and those with the offset low + d at token begin + r - d.
void Extractor::find_entries(int family, const std::vector<Column>& columns, std::int64_t begin,
                             std::int64_t end) {
  const Family& own = attributes.families()[family];
  const std::int64_t count = end - begin + own.high - own.low;
  std::vector<std::uint32_t>& entries = entries_[family];
  entries.assign(count, Attributes::kNoEntry);
  tuples_.clear();
  tuple_at_.clear();
  for (std::int64_t r = 0; r < count; ++r) {
    bool known = true;
    for (const Part& part : own.parts) {
      const std::int64_t at = begin + own.low + r + part.offset;
      const std::int32_t value = at < begin  ? kBefore
                                 : at >= end ? kAfter
                                             : columns[part.column].ids[at];
      tuples_.push_back(value);
      known &= value != kUnseen;
    }
    if (known)
      tuple_at_.push_back(static_cast<std::int32_t>(r));
    else
      tuples_.resize(tuples_.size() - own.parts.size());
  }
  found_entries_.resize(tuple_at_.size());
  attributes.find_entries(family, tuples_.data(), static_cast<int>(tuple_at_.size()),
                          found_entries_.data());
  for (std::size_t k = 0; k < tuple_at_.size(); ++k) entries[tuple_at_[k]] = found_entries_[k];
}

void Extractor::extract(const std::int64_t* offsets, int n_sequences,
                        const std::vector<Column>& columns, const std::vector<Firing>& firings,
                        bool grow, Corpus& out, const WordTable* table, const std::int32_t* words) {
  const std::size_t n = templates_.size();
  found_ptr_.assign(n, 0);
  found_end_.assign(n, 0);
  std::vector<int> every;  // all templates
  for (std::size_t k = 0; k < n; ++k) every.push_back(static_cast<int>(k));
  const std::vector<int>& sources = table == nullptr ? every : table->rest;
  auto of_form = [&](std::size_t form) -> const std::vector<std::pair<int, double>>& {
    return table == nullptr ? forms_[form].templates : table->rest_of_form[form];
  };
  std::vector<Run> runs;
  std::size_t next = 0;
  std::vector<std::uint8_t> joint(attributes.families().size(), 0);
  if (!grow) joint = joint_families(columns, sources);
  entries_.resize(joint.size());
  const std::vector<Look> look = looks(columns, sources, joint, grow);
  constexpr std::int64_t kSoon = 8;  // tokens
  const std::int64_t n_tokens = offsets[n_sequences];
  if (has_edges_ && out.edge_ptr.empty()) out.edge_ptr.push_back(0);
  if (table != nullptr) {
    if (out.word_ptr.empty()) out.word_ptr.assign(out.ptr.size(), 0);
    out.reserve((n_tokens - offsets[0]) * forms_.size() + firings.size(),
                (n_tokens - offsets[0]) * table->slots.size());
  }
  for (int i = 0; i < n_sequences; ++i) {
    const std::int64_t begin = offsets[i], end = offsets[i + 1];
    // Appends the rows of the words that the slots of a form find from token t.
    auto add_words = [&](std::size_t form, std::int64_t t, std::vector<const double*>& to) {
      if (table == nullptr) return;
      for (const int slot : table->by_form[form]) {
        const std::int64_t at = t + table->slots[slot].offset;
        const double* row = table->row(slot, at < begin ? 0 : at >= end ? 1 : words[at] + 2);
        if (row != nullptr) to.push_back(row);
      }
    };
    runs.clear();
    pending_.clear();
    pending_words_.clear();
    for (std::size_t family = 0; family < joint.size(); ++family) {
      if (joint[family]) find_entries(static_cast<int>(family), columns, begin, end);
    }
    for (std::int64_t t = begin; t < end; ++t) {
      if (table != nullptr && t + kSoon < n_tokens) table->expect(words[t + kSoon]);
      find_at(look, columns, begin, end, t, grow);
      for (const auto& [k, sign] : of_form(0))
        out.push(found_.data() + found_ptr_[k], found_.data() + found_end_[k], sign);
      out.ptr.push_back(static_cast<std::int64_t>(out.attribute.size()));
      add_words(0, t, out.word);
      if (table != nullptr) out.word_ptr.push_back(static_cast<std::int64_t>(out.word.size()));
      for (std::size_t form = 1; form < forms_.size(); ++form) {
        const Form& at = forms_[form];
        if (t + at.low < begin || t + at.high > end) continue;
        const auto from = static_cast<std::int64_t>(pending_.size());
        const auto word_from = static_cast<std::int64_t>(pending_words_.size());
        for (const auto& [k, sign] : of_form(form)) {
          for (std::int64_t f = found_ptr_[k]; f < found_end_[k]; ++f) {
            pending_.push_back({found_[f].attribute, sign * found_[f].value});
          }
        }
        add_words(form, t, pending_words_);
        const auto to = static_cast<std::int64_t>(pending_.size());
        const auto word_to = static_cast<std::int64_t>(pending_words_.size());
        const Site site{static_cast<std::int32_t>(t - begin + at.low),
                        static_cast<std::int32_t>(t - begin + at.high), at.flags};
        if (to > from || word_to > word_from) runs.push_back({site, from, to, word_from, word_to});
      }
      if (!has_edges_) continue;
      for (const int k : edges_) {
        for (std::int64_t f = found_ptr_[k]; t > begin && f < found_end_[k]; ++f) {
          out.edge.push_back(found_[f].attribute);
          out.edge_value.push_back(found_[f].value);
        }
      }
      out.edge_ptr.push_back(static_cast<std::int64_t>(out.edge.size()));
    }
    for (; next < firings.size() && firings[next].start < end; ++next) {
      const Firing& f = firings[next];
      const std::int32_t a = attributes.id(f.source, &f.id, 1, grow);
      if (a == Attributes::kMissing) continue;
      const auto from = static_cast<std::int64_t>(pending_.size());
      pending_.push_back({a, f.value});
      runs.push_back({{static_cast<std::int32_t>(f.start - begin),
                       static_cast<std::int32_t>(f.end - begin), f.flags},
                      from,
                      from + 1});
    }
    out.tokens.push_back(out.tokens.back() + end - begin);
    add_sites(runs, static_cast<int>(end - begin), out);
  }
}

// Appends the sites, sorted by end and then by decreasing start.  All that fires on one site forms
// one row.  A site of one token that is open at both ends, which only firings produce, has a row of
// its own besides that of the token.
void Extractor::add_sites(const std::vector<Run>& runs, int length, Corpus& out) {
  sort_runs(runs, length);
  std::int64_t count = 0;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Run& run = runs[sorted_[r].second];
    for (std::int64_t f = run.begin; f < run.end; ++f)
      out.push(pending_[f].attribute, pending_[f].value);
    out.word.insert(out.word.end(), pending_words_.begin() + run.word_begin,
                    pending_words_.begin() + run.word_end);
    if (r + 1 < runs.size() && runs[sorted_[r + 1].second].site.end == run.site.end &&
        sorted_[r + 1].first == sorted_[r].first)
      continue;
    out.site.push_back(run.site);
    out.ptr.push_back(static_cast<std::int64_t>(out.attribute.size()));
    if (!out.word_ptr.empty()) out.word_ptr.push_back(static_cast<std::int64_t>(out.word.size()));
    ++count;
  }
  out.sites.push_back(out.sites.back() + count);
}

// Fills sorted_ with pairs of a key and an index into `runs`, sorted by end, then by decreasing
// start, flags and index.  After a counting sort by end only short groups remain to be sorted.
void Extractor::sort_runs(const std::vector<Run>& runs, int length) {
  end_at_.assign(length + 2, 0);
  for (const Run& run : runs) ++end_at_[run.site.end + 1];
  for (int e = 0; e <= length; ++e) end_at_[e + 1] += end_at_[e];
  sorted_.resize(runs.size());
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Site& site = runs[r].site;
    const std::uint64_t key = static_cast<std::uint64_t>(length - site.start) << 8 | site.flags;
    sorted_[end_at_[site.end]++] = {key, static_cast<std::int32_t>(r)};
  }
  auto begin = sorted_.begin();
  for (int e = 0; e <= length; ++e) {  // end_at_[e] is now the end of the sites that end at e
    const auto end = sorted_.begin() + end_at_[e];
    std::sort(begin, end);
    begin = end;
  }
}

}  // namespace caesura
