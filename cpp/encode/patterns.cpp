#include "encode/patterns.hpp"

#include <algorithm>
#include <string_view>

namespace caesura {

bool CharacterSet::holds(char32_t c, const Characters& characters) const {
  bool found = false;
  for (const auto& [low, high] : ranges) found |= low <= c && c <= high;
  if (!found && (flags != 0 || !lacking.empty())) {
    const std::uint16_t own = characters[c].flags;
    found = (own & flags) != 0;
    for (const std::uint16_t flag : lacking) found |= (own & flag) == 0;
  }
  return found != negated;
}

// Parses an expression into a tree, then translates the tree into states.
class PatternBuilder {
 public:
  PatternBuilder(const std::vector<char32_t>& source, bool search)
      : source_(source), search_(search) {}

  std::optional<Pattern> build() {
    const int root = alternatives(0);
    if (failed_ || at_ != source_.size()) return std::nullopt;
    out_.states_.push_back({Pattern::kAccept, -1, -1});
    out_.start_ = write(root, 0);
    if (failed_) return std::nullopt;
    return std::move(out_);
  }

 private:
  static constexpr int kDeepest = 50, kMostCopies = 1000;
  static constexpr std::size_t kMostNodes = 20'000;
  enum class Kind { kSet, kAssertion, kSequence, kAlternatives, kRepeat };
  struct Node {
    Kind kind;
    int set;                    // kSet: index of the set; kAssertion: constant of Pattern
    std::vector<int> children;  // kSequence (may be empty), kAlternatives, kRepeat (one)
    int low, high;              // kRepeat; high < 0 if unbounded
    bool nullable;              // whether it matches the empty word
    bool lazy = false;          // kRepeat: whether to repeat as few times as possible
  };

  int fail() {
    failed_ = true;
    return -1;
  }
  bool more() const { return at_ < source_.size(); }
  bool next_is(char32_t c) const { return more() && source_[at_] == c; }
  bool take(char32_t c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  static bool one_of(char32_t c, std::string_view set) {
    return c < 128 && set.find(static_cast<char>(c)) != std::string_view::npos;
  }

  int add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }
  int add_set(CharacterSet set) {
    out_.sets_.push_back(std::move(set));
    return add({Kind::kSet, static_cast<int>(out_.sets_.size()) - 1, {}, 0, 0, false});
  }

  // alternatives := sequence ("|" sequence)*
  int alternatives(int depth) {
    if (depth > kDeepest) return fail();
    std::vector<int> children;
    bool nullable = false;
    do {
      const int child = sequence(depth);
      if (failed_) return -1;
      nullable |= nodes_[child].nullable;
      children.push_back(child);
    } while (take('|'));
    if (children.size() == 1) return children[0];
    return add({Kind::kAlternatives, -1, std::move(children), 0, 0, nullable});
  }

  // sequence := (atom repeat?)*
  int sequence(int depth) {
    std::vector<int> children;
    bool nullable = true;
    while (more() && !next_is('|') && !next_is(')')) {
      const int child = repeated(atom(depth));
      if (failed_ || nodes_.size() > kMostNodes) return fail();
      nullable &= nodes_[child].nullable;
      children.push_back(child);
    }
    return add({Kind::kSequence, -1, std::move(children), 0, 0, nullable});
  }

  // atom := "(" alternatives ")" | "(?:" alternatives ")" | "[" ... "]" | "." | escape | literal
  int atom(int depth) {
    const char32_t c = source_[at_++];
    if (c == '(') {
      if (take('?') && !take(':')) return fail();
      const int inner = alternatives(depth + 1);
      if (failed_ || !take(')')) return fail();
      return inner;
    }
    if (one_of(c, "*+?{")) return fail();  // nothing to repeat
    const int assertion = assertion_of(c);
    if (assertion != 0) {
      if (!search_) return fail();
      return add({Kind::kAssertion, assertion, {}, 0, 0, true});
    }
    CharacterSet set;
    if (c == '[') {
      if (!read_set(set)) return fail();
    } else if (c == '.') {
      set.negated = true;
      set.ranges.emplace_back('\n', '\n');
    } else if (c == '\\') {
      char32_t literal = 0;
      const int kind = escape(set, literal);
      if (kind == kNothing) return fail();
      if (kind == kLiteral) set.ranges.emplace_back(literal, literal);
    } else {
      set.ranges.emplace_back(c, c);
    }
    return add_set(std::move(set));
  }

  // Returns the assertion that begins with c, which was just read, or 0.  Consumes the rest of it.
  int assertion_of(char32_t c) {
    if (c == '^') return Pattern::kAtStart;
    if (c == '$') return Pattern::kBeforeEnd;
    constexpr std::string_view kNames = "AZbB";
    if (c != '\\' || !more() || !one_of(source_[at_], kNames)) return 0;
    constexpr int kKinds[] = {Pattern::kAtStart, Pattern::kAtEnd, Pattern::kBoundary,
                              Pattern::kNoBoundary};
    return kKinds[kNames.find(static_cast<char>(source_[at_++]))];
  }

  // A lazy repetition ("*?") denotes the same language.  A possessive one ("*+") does not, and is
  // rejected.
  int repeated(int child) {
    if (failed_ || !more()) return child;
    int low = 0, high = -1;
    if (take('?')) {
      high = 1;
    } else if (take('+')) {
      low = 1;
    } else if (take('{')) {
      if (!read_counts(low, high)) return fail();
    } else if (!take('*')) {
      return child;
    }
    const bool lazy = take('?');
    if (more() && one_of(source_[at_], "*+?{")) return fail();
    if (nodes_[child].kind == Kind::kAssertion) return fail();  // Python: nothing to repeat
    // Python ends a loop whose body matched the empty word, so it may match less than the language.
    if (nodes_[child].nullable && high != 1) return fail();
    const bool nullable = low == 0 || nodes_[child].nullable;
    return add({Kind::kRepeat, -1, {child}, low, high, nullable, lazy});
  }

  // Reads {m}, {m,}, {,n} or {m,n} after the opening brace.  Rejects anything else, which Python
  // takes literally.
  bool read_counts(int& low, int& high) {
    const int m = number();
    const bool comma = take(',');
    const int n = comma ? number() : m;
    if (!take('}') || m > kMostCopies || n > kMostCopies || (m < 0 && n < 0)) return false;
    low = m < 0 ? 0 : m;
    high = n;
    return high < 0 || low <= high;
  }
  int number() {
    int value = -1;
    for (; more() && source_[at_] >= '0' && source_[at_] <= '9'; ++at_) {
      value =
          std::min(std::max(value, 0) * 10 + static_cast<int>(source_[at_] - '0'), kMostCopies + 1);
    }
    return value;
  }

  enum { kNothing, kLiteral, kFlag };
  // Reads an escape after the backslash: a literal character, or a flag that is added to the set.
  int escape(CharacterSet& set, char32_t& literal) {
    if (!more()) return kNothing;
    const char32_t c = source_[at_++];
    constexpr std::string_view kNames = "dwsDWS", kControls = "ntrfva", kMeant = "\n\t\r\f\v\a";
    constexpr std::uint16_t kFlags[] = {kIsDecimal, kIsWord, kIsSpace};
    if (one_of(c, kNames)) {
      const std::size_t k = kNames.find(static_cast<char>(c));
      if (k < 3) {
        set.flags |= kFlags[k];
      } else {
        set.lacking.push_back(kFlags[k - 3]);
      }
      return kFlag;
    }
    if (one_of(c, kControls)) {
      literal = static_cast<char32_t>(kMeant[kControls.find(static_cast<char>(c))]);
      return kLiteral;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter || (c >= '0' && c <= '9')) return kNothing;
    literal = c;
    return kLiteral;
  }

  // Reads a set after its opening bracket.  Rejects what Python warns about as a possible set
  // operation.
  bool read_set(CharacterSet& set) {
    set.negated = take('^');
    for (bool first = true; first || !next_is(']'); first = false) {
      if (!more() || next_is('[')) return false;
      if (at_ + 1 < source_.size() && source_[at_] == source_[at_ + 1] &&
          one_of(source_[at_], "-&~|"))
        return false;
      char32_t low = 0, high = 0;
      const int kind = member(set, low);
      if (kind == kNothing) return false;
      if (kind == kFlag) {
        if (next_is('-') && at_ + 1 < source_.size() && source_[at_ + 1] != ']') return false;
        continue;
      }
      high = low;
      if (next_is('-') && at_ + 1 < source_.size() && source_[at_ + 1] != ']') {
        ++at_;
        if (next_is('[') || next_is('-') || member(set, high) != kLiteral || high < low)
          return false;
      }
      set.ranges.emplace_back(low, high);
    }
    return take(']');
  }
  int member(CharacterSet& set, char32_t& literal) {
    if (take('\\')) return escape(set, literal);
    if (!more()) return kNothing;
    literal = source_[at_++];
    return kLiteral;
  }

  // ---- Translation into states ----

  std::int32_t add_state(Pattern::State state) {
    if (out_.states_.size() > kMostNodes) failed_ = true;
    out_.states_.push_back(state);
    return static_cast<std::int32_t>(out_.states_.size()) - 1;
  }

  // Adds the states of a node that is followed by the state `next`.  Returns its first state.
  std::int32_t write(int at, std::int32_t next) {
    if (failed_) return next;
    const Node& node = nodes_[at];
    switch (node.kind) {
      case Kind::kSet:
      case Kind::kAssertion:
        return add_state({node.set, next, -1});
      case Kind::kSequence:
        for (auto child = node.children.rbegin(); child != node.children.rend(); ++child)
          next = write(*child, next);
        return next;
      case Kind::kAlternatives: {
        std::int32_t out = write(node.children.back(), next);
        for (auto child = node.children.rbegin() + 1; child != node.children.rend(); ++child)
          out = add_state({Pattern::kSplit, write(*child, next), out});
        return out;
      }
      case Kind::kRepeat:
        break;
    }
    const int body = node.children[0];
    const bool lazy = node.lazy;
    std::int32_t out = next;
    if (node.high < 0) {
      out = add_state({Pattern::kSplit, next, next});
      const std::int32_t begin = write(body, out);
      (lazy ? out_.states_[out].other : out_.states_[out].next) = begin;
    }
    for (int k = node.low; k < node.high && !failed_; ++k) {
      const std::int32_t begin = write(body, out);
      out = add_state({Pattern::kSplit, lazy ? next : begin, lazy ? begin : next});
    }
    for (int k = 0; k < node.low && !failed_; ++k) out = write(body, out);
    return out;
  }

  const std::vector<char32_t>& source_;
  const bool search_;
  std::size_t at_ = 0;
  bool failed_ = false;
  std::vector<Node> nodes_;
  Pattern out_;
};

std::optional<Pattern> Pattern::compile(const std::vector<char32_t>& source, bool search) {
  return PatternBuilder(source, search).build();
}

// Appends the states that can be reached from `state` without reading a character.
void Pattern::close(std::int32_t state, Subset& out) {
  stack_.assign(1, state);
  while (!stack_.empty()) {
    const std::int32_t top = stack_.back();
    stack_.pop_back();
    if (seen_[top]) continue;
    seen_[top] = true;
    if (states_[top].set != kSplit) {
      out.push_back(top);
    } else {
      stack_.push_back(states_[top].next);
      stack_.push_back(states_[top].other);
    }
  }
}

std::int32_t Pattern::number(const Subset& subset) {
  const auto known = numbers_.find(subset);
  if (known != numbers_.end()) return known->second;
  const auto id = static_cast<std::int32_t>(subsets_.size());
  numbers_.emplace(subset, id);
  subsets_.push_back(subset);
  ascii_.emplace_back();
  ascii_.back().fill(-1);
  accepts_.push_back(std::any_of(subset.begin(), subset.end(), [this](std::int32_t state) {
    return states_[state].set == kAccept;
  }));
  return id;
}

void Pattern::restart() {
  numbers_.clear();
  subsets_.clear();
  ascii_.clear();
  accepts_.clear();
  seen_.assign(states_.size(), false);
  number({});
  Subset first;
  close(start_, first);
  std::sort(first.begin(), first.end());
  first_ = number(first);
}

// Returns the subset after a character: the union of close(next(q)) over the states q of the subset
// with c in set(q).
std::int32_t Pattern::step(std::int32_t from, char32_t c, const Characters& characters) {
  Subset out;
  seen_.assign(states_.size(), false);
  for (const std::int32_t state : subsets_[from]) {
    const std::int32_t set = states_[state].set;
    if (set >= 0 && sets_[set].holds(c, characters)) close(states_[state].next, out);
  }
  std::sort(out.begin(), out.end());
  if (subsets_.size() < kMostStates) {
    const std::int32_t to = number(out);
    if (c < 128) ascii_[from][c] = to;
    return to;
  }
  restart();  // the cache is full: start a new one from here
  return number(out);
}

bool Pattern::matches(const std::vector<char32_t>& word, const Characters& characters) {
  std::int32_t state = begin();
  for (const char32_t c : word) {
    state = next(state, c, characters);
    if (state == kDead) return false;
  }
  return accepts(state);
}

}  // namespace caesura
