#include "encode/types.hpp"

#include <algorithm>

#include "encode/corpus.hpp"
#include "encode/utf8.hpp"

namespace caesura {
namespace {

std::int32_t number_of(std::string_view value, Interner& values, bool grow) {
  const std::int32_t id = grow ? values.add(value) : values.find(value);
  return id == Interner::kMissing ? kUnseen : id;
}

}  // namespace

// An empty list is stored as kUnseen, which has the same effect, so that one number for each type
// is enough until a type has several.
void TypeValues::push(const std::vector<std::int32_t>& values) {
  if (ptr.empty() && values.size() > 1) {
    for (std::int64_t k = 0; k <= n_types; ++k) ptr.push_back(k);
  }
  ids.insert(ids.end(), values.begin(), values.end());
  if (ptr.empty() && values.empty()) ids.push_back(kUnseen);
  if (!ptr.empty()) ptr.push_back(static_cast<std::int64_t>(ids.size()));
  ++n_types;
}

int TokenTypes::add_column(WordColumn column, std::shared_ptr<Interner> values, bool every) {
  reader_.add_forms(column);
  columns_.push_back({std::move(column), std::move(values), every});
  values_.emplace_back();
  return n_columns() - 1;
}

void TokenTypes::forget() {
  words_ = Interner();
  for (int c = 0; c < n_columns(); ++c) {
    values_[c] = TypeValues();
    if (columns_[c].every) *columns_[c].numbers = Interner();
  }
  ++generation_;
}

// ---- Tokens of texts ----

template <class Unit>
std::int32_t TokenTypes::type_of(const Unit* token, std::int64_t size, bool ascii) {
  if (ascii && sizeof(Unit) == 1)
    return words_.add({reinterpret_cast<const char*>(token), static_cast<std::size_t>(size)});
  scratch_.clear();
  for (std::int64_t k = 0; k < size; ++k) append_utf8(token[k], scratch_);
  return words_.add(scratch_);
}

void TokenTypes::add_text(const TextView& text, Tokeniser how, TokenBatch& out) {
  with_units(text, [&](const auto* units) {
    tokenise(how, units, text.size, *characters_, [&](std::int64_t start, std::int64_t end) {
      out.types.push_back(type_of(units + start, end - start, text.ascii));
      if (out.located) out.spans.push_back({start, end});
    });
  });
  out.end_sequence();
}

void TokenTypes::add_spans(const TextView& text, const std::vector<CharacterSpan>& spans,
                           TokenBatch& out) {
  with_units(text, [&](const auto* units) {
    for (const CharacterSpan& span : spans) {
      if (span.start == span.end) continue;
      out.types.push_back(type_of(units + span.start, span.end - span.start, text.ascii));
      if (out.located) out.spans.push_back(span);
    }
  });
  out.end_sequence();
}

void TokenTypes::add_token(const TextView& token, TokenBatch& out) {
  with_units(token, [&](const auto* units) {
    out.types.push_back(type_of(units, token.size, token.ascii));
  });
}

// ---- Values of columns ----

// Some columns lag further behind the types than others, because they were added later.  The values
// of a type are stored when all of them are known, so that an exception in between loses nothing.
void TokenTypes::extend(int first, int last, bool grow) {
  std::int32_t begin = size();
  for (int c = first; c < last; ++c) {
    if (columns_[c].word.kind != WordKind::kPython) begin = std::min(begin, values_[c].n_types);
  }
  std::vector<std::int32_t> found;
  for (std::int32_t type = begin; type < size(); ++type) {
    reader_.read(words_[type]);
    for (int c = first; c < last; ++c) {
      Column& column = columns_[c];
      if (column.word.kind == WordKind::kPython || values_[c].n_types > type) continue;
      found.clear();
      reader_.values(column.word, [&](std::string_view value) {
        found.push_back(number_of(value, *column.numbers, grow || column.every));
      });
      if (column.every && found.empty()) found.push_back(number_of("", *column.numbers, true));
      values_[c].push(found);
    }
  }
}

TokenValues take(const TypeValues& values, const std::vector<std::int32_t>& types) {
  TokenValues out;
  if (values.ptr.empty()) {
    out.ids.resize(types.size());
    std::transform(types.begin(), types.end(), out.ids.begin(),
                   [&](std::int32_t type) { return values.ids[type]; });
    return out;
  }
  out.ptr.reserve(types.size() + 1);
  out.ptr.push_back(0);
  for (const std::int32_t type : types) {
    out.ids.insert(out.ids.end(), values.ids.begin() + values.ptr[type],
                   values.ids.begin() + values.ptr[type + 1]);
    out.ptr.push_back(static_cast<std::int64_t>(out.ids.size()));
  }
  return out;
}

// ---- Columns that depend on the position of a token ----

std::vector<std::int32_t> positions(const std::vector<std::int64_t>& offsets, Origin origin,
                                    int limit, Interner& values, bool grow) {
  constexpr std::int32_t kNotAsked = -4;
  std::vector<std::int32_t> known(limit + 1, kNotAsked), out;
  out.reserve(offsets.back());
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::int64_t length = offsets[i + 1] - offsets[i];
    for (std::int64_t t = 0; t < length; ++t) {
      // start: min(t, limit); end: min(length - 1 - t, limit); part: index of the part, from 0.
      const std::int64_t place =
          origin == Origin::kPart
              ? t * limit / length
              : std::min<std::int64_t>(origin == Origin::kStart ? t : length - 1 - t, limit);
      if (known[place] == kNotAsked) {
        const std::string value = origin == Origin::kPart
                                      ? std::to_string(place + 1) + "/" + std::to_string(limit)
                                      : std::to_string(place) + (place < limit ? "" : "+");
        known[place] = number_of(value, values, grow);
      }
      out.push_back(known[place]);
    }
  }
  return out;
}

std::vector<std::int32_t> repeats(const TokenBatch& batch, std::int64_t offset, Interner& values,
                                  bool grow) {
  std::vector<std::int32_t> out;
  out.reserve(batch.types.size());
  for (int i = 0; i < batch.n_sequences(); ++i) {
    const std::int64_t begin = batch.offsets[i], end = batch.offsets[i + 1];
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t other = t + offset;
      const bool same = other >= begin && other < end && batch.types[t] == batch.types[other];
      out.push_back(number_of(same ? "yes" : "no", values, grow));
    }
  }
  return out;
}

}  // namespace caesura
