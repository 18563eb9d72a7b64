#include "encode/characters.hpp"

#include <algorithm>
#include <utility>

namespace caesura {

Characters::Characters(ReadPage read_page, Normalise normalise)
    : read_page_(std::move(read_page)), normalise_(std::move(normalise)), pages_(kPages) {}

Characters::~Characters() {
  for (const auto& page : pages_) delete page.load();
}

// Two threads may read the same page at once; the page of the first one to finish is kept.
const CharacterPage& Characters::add_page(int number) const {
  std::unique_ptr<const CharacterPage> page = read_page_(number);
  const CharacterPage* known = nullptr;
  if (pages_[number].compare_exchange_strong(known, page.get(), std::memory_order_acq_rel))
    return *page.release();
  return *known;
}

// NFKC(ab) = NFKC(NFKC(a) NFKC(b)), and the NFKC forms of inert characters do not combine.  The
// form of a word of inert characters is therefore the concatenation of the forms of its characters.
void Characters::normalise(const Codes& word, Codes& out) const {
  const bool inert =
      std::all_of(word.begin(), word.end(), [this](char32_t c) { return is(c, kIsInert); });
  if (!inert && word.size() > 1) {
    out = normalise_(word);
    return;
  }
  out.clear();
  for (const char32_t c : word) {
    const CharacterPage& known = page(c);
    const Character& one = known.at[c & 0xff];
    const char32_t* text = known.text.data() + one.normal;
    out.insert(out.end(), text, text + one.n_normal);
  }
}

}  // namespace caesura
