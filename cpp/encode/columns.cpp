#include "encode/columns.hpp"

#include <algorithm>

#include "encode/utf8.hpp"

namespace caesura {

void WordForm::read(std::string_view utf8) {
  text.assign(utf8);
  codes.clear();
  at.clear();
  const char *begin = text.data(), *end = begin + text.size();
  for (const char* next = begin; next < end;) {
    at.push_back(static_cast<std::uint32_t>(next - begin));
    codes.push_back(read_utf8(next));
  }
  at.push_back(static_cast<std::uint32_t>(text.size()));
}

void WordForm::write() {
  text.clear();
  at.clear();
  for (const char32_t c : codes) {
    at.push_back(static_cast<std::uint32_t>(text.size()));
    append_utf8(c, text);
  }
  at.push_back(static_cast<std::uint32_t>(text.size()));
}

// ---- Normalised forms of a word ----

void WordReader::add_forms(WordColumn& column) {
  column.form = 0;
  for (const Normaliser how : column.normalisers) {
    const std::pair<int, Normaliser> step{column.form, how};
    const auto known = std::find(from_.begin() + 1, from_.end(), step);
    column.form = static_cast<int>(known - from_.begin());
    if (known == from_.end()) {
      from_.push_back(step);
      forms_.emplace_back();
    }
  }
}

void WordReader::read(std::string_view word) {
  made_.assign(forms_.size(), false);
  forms_[0].read(word);
  made_[0] = true;
}

const WordForm& WordReader::form(int index) {
  if (!made_[index]) {
    const auto& [source, how] = from_[index];
    normalise(form(source), how, forms_[index]);
    made_[index] = true;
  }
  return forms_[index];
}

void WordReader::normalise(const WordForm& word, Normaliser how, WordForm& out) const {
  out.codes.clear();
  switch (how) {
    case Normaliser::kFolded:
      characters_->normalise(word.codes, out.codes);
      break;
    case Normaliser::kZeroed:
      for (const char32_t c : word.codes)
        out.codes.push_back(characters_->is(c, kIsDigit) ? U'0' : c);
      break;
    case Normaliser::kLowered:
      for (const char32_t c : word.codes) characters_->fold_case(c, out.codes);
      break;
    case Normaliser::kBare: {
      auto is_word = [this](char32_t c) { return characters_->is(c, kIsWord); };
      const auto first = std::find_if(word.codes.begin(), word.codes.end(), is_word);
      const auto last = std::find_if(word.codes.rbegin(), word.codes.rend(), is_word).base();
      if (first < last) out.codes.assign(first, last);
      break;
    }
  }
  out.write();
}

// ---- Values of each kind of column ----

// Writes the shape of a word to scratch_: X for upper or title case, x for lower case, d for digits
// and any other character itself.  With `runs`, a repeated character is written once.
void WordReader::shape(const WordForm& word, bool runs) {
  scratch_.clear();
  char32_t before = 0xffffffff;  // no character
  for (std::size_t k = 0; k < word.size(); ++k) {
    const char32_t c = word.codes[k];
    const std::uint16_t flags = (*characters_)[c].flags;
    const char32_t shown = (flags & (kIsUpper | kIsTitle)) != 0 ? U'X'
                           : (flags & kIsLower) != 0            ? U'x'
                           : (flags & kIsDigit) != 0            ? U'd'
                                                                : c;
    if (runs && shown == before) continue;
    before = shown;
    if (shown == c) {
      scratch_.append(word.part(k, k + 1));
    } else {
      scratch_.push_back(static_cast<char>(shown));
    }
  }
}

// Evaluates str.isupper, str.islower and str.istitle of a word in one pass.  A character is upper,
// lower or title (istitle but not isupper), or has no case.
std::string_view WordReader::case_of(const WordForm& word) const {
  bool upper = false, lower = false, title = false;  // of some character
  bool titled = true, after_cased = false;           // no character breaks str.istitle
  bool rest_upper = false, rest_lower = false, rest_title = false;  // of some but the first
  for (std::size_t k = 0; k < word.size(); ++k) {
    const std::uint16_t flags = (*characters_)[word.codes[k]].flags;
    const bool is_upper = (flags & kIsUpper) != 0, is_lower = (flags & kIsLower) != 0;
    const bool is_title = !is_upper && (flags & kIsTitle) != 0;
    if (is_upper || is_title) {
      titled &= !after_cased;
    } else if (is_lower) {
      titled &= after_cased;
    }
    after_cased = is_upper || is_title || is_lower;
    upper |= is_upper, lower |= is_lower, title |= is_title;
    if (k > 0) rest_upper |= is_upper, rest_lower |= is_lower, rest_title |= is_title;
  }
  if (upper && !lower && !title) return "upper";
  if (lower && !upper && !title) return "lower";
  if (titled && (upper || lower || title)) return "title";
  const bool capital = word.size() > 0 && (*characters_).is(word.codes[0], kIsUpper);
  if (capital && rest_lower && !rest_upper && !rest_title) return "title";
  return upper || lower ? "mixed" : "none";
}

void WordReader::classes(const WordForm& word) {
  constexpr std::string_view kNames[] = {"number", "date", "letter", "punctuation", "other"};
  scratch_.clear();
  for (std::size_t k = 0; k < word.size(); ++k) {
    const CharacterClass kind = (*characters_)[word.codes[k]].kind;
    if (k > 0 && kind == (*characters_)[word.codes[k - 1]].kind) continue;
    if (k > 0) scratch_.push_back('+');
    scratch_.append(kNames[static_cast<int>(kind)]);
  }
}

bool WordReader::all_punctuation(const WordForm& word) const {
  return word.size() > 0 && std::all_of(word.codes.begin(), word.codes.end(), [this](char32_t c) {
           return (*characters_)[c].kind == CharacterClass::kPunctuation;
         });
}

bool WordReader::has_dash(const WordForm& word) const {
  return std::any_of(word.codes.begin(), word.codes.end(),
                     [this](char32_t c) { return characters_->is(c, kIsDash); });
}

void WordReader::mark_ends(const WordForm& word) {
  marked_.codes.assign(1, U'<');
  marked_.codes.insert(marked_.codes.end(), word.codes.begin(), word.codes.end());
  marked_.codes.push_back(U'>');
  marked_.write();
}

// Whether an n-gram of the marked word occurs for the first time.
bool WordReader::is_new(std::string_view gram) {
  constexpr std::size_t kFew = 24;  // up to this number, a linear search is faster than hashing
  if (grams_.size() < kFew) {
    if (std::find(grams_.begin(), grams_.end(), gram) != grams_.end()) return false;
  } else {
    if (grams_.size() == kFew) many_grams_ = {grams_.begin(), grams_.end()};
    if (!many_grams_.insert(gram).second) return false;
  }
  grams_.push_back(gram);
  return true;
}

}  // namespace caesura
