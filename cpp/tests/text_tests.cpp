// Tests the text kernels without Python, with character tables of ASCII, for the sanitizers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "encode/segments.hpp"
#include "encode/similar.hpp"
#include "encode/types.hpp"

using namespace caesura;

namespace {

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

// A page of character properties: the letters, digits and white space of ASCII, with case folding;
// all other characters are punctuation.
std::unique_ptr<CharacterPage> ascii_page(int number) {
  auto page = std::make_unique<CharacterPage>();
  for (int k = 0; k < 256; ++k) {
    const int c = 256 * number + k;
    const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
    const bool digit = c >= '0' && c <= '9', space = c == ' ' || c == '\n';
    Character& one = page->at[k];
    one.flags = kIsInert;
    if (upper) one.flags |= kIsUpper | kIsTitle;
    if (lower) one.flags |= kIsLower;
    if (digit) one.flags |= kIsDigit | kIsDecimal;
    if (upper || lower || digit) one.flags |= kIsWord;
    if (space) one.flags |= kIsSpace;
    one.kind = digit            ? CharacterClass::kNumber
               : upper || lower ? CharacterClass::kLetter
               : space          ? CharacterClass::kOther
                                : CharacterClass::kPunctuation;
    one.folded = static_cast<std::uint16_t>(page->text.size());
    page->text.push_back(upper ? c + 'a' - 'A' : c);
    one.normal = static_cast<std::uint16_t>(page->text.size());
    page->text.push_back(c);
    one.n_folded = one.n_normal = 1;
  }
  return page;
}

std::shared_ptr<Characters> ascii_characters() {
  return std::make_shared<Characters>(ascii_page,
                                      [](const Characters::Codes& word) { return word; });
}

TextView view(const std::string& text) {
  return {text.data(), static_cast<std::int64_t>(text.size()), 1, true};
}

void test_threads_read_pages() {
  const auto characters = ascii_characters();
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&characters] {
      for (char32_t c = 0; c < 0x110000; c += 64) check(characters->is(c, kIsInert), "inert");
    });
  }
  for (std::thread& one : threads) one.join();
}

void test_types_and_columns() {
  TokenTypes types(ascii_characters());
  std::vector<std::shared_ptr<Interner>> values;
  std::vector<WordColumn> columns(3);
  columns[0].kind = WordKind::kWord;
  columns[0].normalisers = {Normaliser::kLowered, Normaliser::kZeroed};
  columns[1].kind = WordKind::kShortShape;
  columns[2].kind = WordKind::kNgrams;
  columns[2].low = 2;
  columns[2].high = 3;
  for (WordColumn& column : columns) {
    values.push_back(std::make_shared<Interner>());
    types.add_column(column, values.back(), false);
  }
  TokenBatch batch;
  const std::string texts[] = {"12 Main St., 7'b", "", "main 12 " + std::string(500, 'a')};
  for (const std::string& text : texts) types.add_text(view(text), Tokeniser::kWords, batch);
  types.extend(0, 3, true);
  check(batch.offsets == std::vector<std::int64_t>({0, 6, 6, 9}), "offsets");
  check(types.word(batch.types[5]) == "7'b" && batch.types[7] == batch.types[0], "types");
  auto said = [&](int token, int column) {
    const TokenTypes::Range range = types.values(batch.types[token], column);
    std::string out;
    for (const std::int32_t* id = range.begin; id < range.end; ++id)
      out += std::string((*values[column])[*id]) + " ";
    return out;
  };
  check(said(0, 0) == "00 " && said(1, 0) == "main ", "lower and zero");
  check(said(1, 1) == "Xx " && said(5, 1) == "d'x ", "shape");
  check(said(0, 2) == "<1 12 2> <12 12> ", "n-grams");
  check(said(8, 2) == "<a aa a> <aa aaa aa> ", "n-grams of a long word");
  const TokenValues taken = take(types.values(2), batch.types);
  check(taken.ptr.size() == batch.types.size() + 1, "take");
  const std::int64_t before = types.generation();
  types.forget();
  check(types.size() == 0 && types.generation() == before + 1, "forget");
}

std::vector<char32_t> codes(const std::string& text) { return {text.begin(), text.end()}; }

void test_patterns() {
  const auto characters = ascii_characters();
  auto made = Pattern::compile(codes("(a|b)*a(a|b){11}|\\d{2,3}x?"));
  check(made.has_value(), "compile");
  std::uint64_t random = 1;
  for (int k = 0; k < 2000; ++k) {  // more states than the cache holds
    std::string word;
    for (int n = 0; n < 40; ++n) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      word += random >> 40 & 1 ? 'a' : 'b';
    }
    check(made->matches(codes(word), *characters) == (word[word.size() - 12] == 'a'), "states");
  }
  check(made->matches(codes("123x"), *characters), "counts");
  check(!made->matches(codes("1x"), *characters), "too few");
  for (const char* wrong : {"(", "a**", "[z-a]", "\\1", "a{3,2}", "(a*)*", "[", "\\"})
    check(!Pattern::compile(codes(wrong)), wrong);
}

void test_search() {
  const auto characters = ascii_characters();
  const auto found = [&](const char* source, const std::string& text) {
    const auto made = Pattern::compile(codes(source), true);
    check(made.has_value(), source);
    Pattern::Spans out;
    check(made->find(codes(text), *characters, 1 << 20, out), "memory");
    return out;
  };
  using Spans = Pattern::Spans;
  check(found("a|ab|b*?", "abb") == Spans({{0, 1}, {1, 2}, {2, 3}}), "the order of alternatives");
  check(found("^\\w+|\\b\\d$", "ab 1\n") == Spans({{0, 2}, {3, 4}}), "assertions");
  check(found("(a+)+$", std::string(2000, 'a') + "!").empty(), "in linear time");
  Pattern::Spans out;
  const auto made = Pattern::compile(codes("(a+)+b"), true);
  check(!made->find(codes(std::string(2000, 'a')), *characters, 1000, out), "the limit");
  check(!Pattern::compile(codes("a$")), "assertions are only to search with");
}

void test_firings() {
  TokenTypes types(ascii_characters());
  TokenBatch batch;
  const std::string text = "12 Main St 7";
  types.add_text(view(text), Tokeniser::kWords, batch);
  auto pattern = Pattern::compile(codes("\\d+( \\w+)?"));
  Firings firings;
  fire_pattern(batch, types, *pattern, codes(" "), 3, 5, 0, firings);
  check(firings.size() == 3 && firings[1].end == 2, "pattern");
  fire_lengths({{2, 0, 1, 1.0}}, batch.offsets, 1, firings);
  sort_by_start(firings, batch.n_tokens());
  check(firings.size() == 6 && firings[2].source == 1 && firings[5].start == 3, "sorted");
  EntryFinder finder(true);
  const std::int32_t entry[] = {1, 2}, keys[] = {0, 1, 0, 2, 0, 0, 0};
  finder.add(entry, 2, 9);
  const std::int64_t offsets[] = {0, 7};
  check(finder.find(keys, offsets, 1, true).starts.size() == 6, "marks");
  check(places_in(finder.find(keys, offsets, 1, false), offsets, 1) ==
            std::vector<std::int8_t>({-1, 0, 1, 2, -1, -1, -1}),
        "places");
}

// Similarity to two entries: "aab b", and 80 times "a".
void test_similar() {
  SimilarEntries::Texts texts{{0, 0, 1, 2, 1}, {0, 5, 85}};
  texts.characters.resize(85, 0);
  const SimilarEntries entries(3, 2, texts, {0, 1, 0}, {0, 1, 2, 3});
  SimilarEntries::Tokens tokens{{{0, 0, 0}, {0, 2, 3}}, {0, 2}};  // "aa" and "a"
  const auto found = entries.reached(tokens, {0, 1, 1, 0}, {0, 2, 4}, {0.4, 0.5, 0.9}, 2);
  check(found.counts == std::vector<std::int32_t>({2, 2, 2, 2}), "similar");
  tokens.texts.characters.assign(79, 0);
  tokens.texts.offsets = {0, 0, 79};
  tokens.numbers = {0, 1};
  const auto longer = entries.reached(tokens, {1, 0, 1}, {0, 3}, {0.9}, 3);
  check(longer.starts == std::vector<std::int64_t>({0, 0, 1, 2}), "similar, longer");
}

}  // namespace

int main() {
  test_threads_read_pages();
  test_types_and_columns();
  test_patterns();
  test_search();
  test_firings();
  test_similar();
  std::puts("text: good");
}
