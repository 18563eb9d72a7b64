// Properties of code points according to the running Python.
//
// They depend on the Unicode version of Python, so no table is compiled in.  The properties of 256
// code points (a page) are requested from Python when they are first used, and are then cached.
// Reading a cached page takes no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace caesura {

// Bits of Character::flags; caesura/documents/characters.py lists them in the same order.
enum CharacterFlag : std::uint16_t {
  kIsUpper = 1 << 0,    // str.isupper
  kIsTitle = 1 << 1,    // str.istitle: title case or upper case
  kIsLower = 1 << 2,    // str.islower
  kIsDigit = 1 << 3,    // str.isdigit, so superscripts too
  kIsDecimal = 1 << 4,  // \d of re
  kIsWord = 1 << 5,     // \w of re
  kIsSpace = 1 << 6,    // \s of re
  kIsMark = 1 << 7,     // belongs to the character before it: accents, vowel signs, joiners
  kIsDash = 1 << 8,     // category Pd
  kIsInert = 1 << 9,    // its NFKC form does not change beside other characters
};

enum class CharacterClass : std::uint8_t { kNumber, kDate, kLetter, kPunctuation, kOther };

struct Character {
  std::uint16_t flags = 0;
  CharacterClass kind = CharacterClass::kOther;
  // The case-folded and the NFKC form: their lengths and their offsets in the page's `text`.
  std::uint8_t n_folded = 0, n_normal = 0;
  std::uint16_t folded = 0, normal = 0;
};

struct CharacterPage {
  Character at[256];
  std::vector<char32_t> text;
};

class Characters {
 public:
  using Codes = std::vector<char32_t>;
  using ReadPage = std::function<std::unique_ptr<CharacterPage>(int)>;
  using Normalise = std::function<Codes(const Codes&)>;
  static constexpr int kPages = 0x110000 / 256;

  Characters(ReadPage read_page, Normalise normalise);
  ~Characters();
  Characters(const Characters&) = delete;
  Characters& operator=(const Characters&) = delete;

  const CharacterPage& page(char32_t c) const {
    const CharacterPage* known = pages_[c >> 8].load(std::memory_order_acquire);
    return known != nullptr ? *known : add_page(static_cast<int>(c >> 8));
  }
  const Character& operator[](char32_t c) const { return page(c).at[c & 0xff]; }
  bool is(char32_t c, std::uint16_t flags) const { return ((*this)[c].flags & flags) != 0; }

  // Appends the case-folded form of a code point to `out`.
  void fold_case(char32_t c, Codes& out) const {
    const CharacterPage& known = page(c);
    const Character& one = known.at[c & 0xff];
    const char32_t* text = known.text.data() + one.folded;
    out.insert(out.end(), text, text + one.n_folded);
  }
  // Sets `out` to the NFKC form of a word.  Calls Python only if characters may combine.
  void normalise(const Codes& word, Codes& out) const;

 private:
  const CharacterPage& add_page(int number) const;
  ReadPage read_page_;
  Normalise normalise_;
  mutable std::vector<std::atomic<const CharacterPage*>> pages_;
};

}  // namespace caesura
