// Rules on the sequence of labels, by name, and the small automata that they compile to.
//
// Rules speak about symbols.  In a model of segments a symbol is a label.  In a chain the labels
// are tags, and the symbols are the labels of the segments that the tags spell: a rule then moves
// only where a tag begins a new segment.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace caesura {

// Thrown when a problem exceeds a limit; what() names the limit and a remedy.
struct TooLarge : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One rule as an automaton over symbols that starts in state 0.
struct Rule {
  int states = 0;
  std::vector<std::int32_t> next;  // [states][symbols]; -1 if the symbol is forbidden in this state
  std::vector<std::uint8_t> accepting;  // [states]
};

enum Limit : std::uint8_t { kNoLimit = 0, kAtMostOnce = 1, kExactlyOnce = 2 };

struct RuleSet {
  std::vector<std::uint8_t> once;  // [symbols] a Limit each; empty if there are none
  std::vector<std::vector<std::int32_t>> ordered;  // symbols that may occur in this order only
  std::vector<Rule> tables;                        // any other rules
  std::vector<std::int32_t> symbol;  // [Y] the symbol of each label; empty: the label itself
  std::vector<std::uint8_t> joined;  // [Y][Y] the second label continues the segment of the first;
                                     // empty: every label begins a segment

  bool empty() const { return limits() == 0 && ordered.empty() && tables.empty(); }
  int limits() const;  // number of symbols with a limit
  int symbol_of(int y) const { return symbol.empty() ? y : symbol[y]; }
  bool begins(int previous, int y, int Y) const {
    return previous < 0 || joined.empty() || !joined[static_cast<std::size_t>(previous) * Y + y];
  }
  // The number of symbols, given the number of labels.
  int symbols(int Y) const;
  // Every rule as an automaton.  Rules about limits come first, in the order of their symbols.
  std::vector<Rule> compiled(int Y) const;
  // The same rules without the limits on symbols outside `tracked` ([symbols]).
  RuleSet tracking(const std::vector<std::uint8_t>& tracked) const;
  // Whether a whole sequence of labels keeps all rules.
  bool kept_by(const std::vector<std::int32_t>& labels, int Y) const;
  // Whether it keeps one of the compiled rules.
  bool keeps(const Rule& rule, const std::vector<std::int32_t>& labels, int Y) const;
  // The symbols whose limit a whole sequence of labels breaks.
  std::vector<std::int32_t> broken_by(const std::vector<std::int32_t>& labels, int Y) const;
};

// The joint state of all rules as one number, the memory of a label sequence.  Memories are
// numbered as they are reached, 0 first.  There may be millions, so that the states of all rules
// are packed into a few words, and a symbol moves only the rules that it can move.
//
// What cannot matter any more is forgotten: that a symbol has occurred, where it cannot occur
// again, since an ordered rule or the pairs of labels that may follow each other forbid it from
// here on.  A symbol that must occur, has not, and cannot any more makes a sequence forbidden.
class RuleMemory {
 public:
  // follows: [Y][Y] whether a label may follow another; null if all may.
  RuleMemory(const RuleSet& rules, int Y, const std::uint8_t* follows = nullptr);
  // The memory after label y, or -1 if y is forbidden.  `previous` is the label before, or -1.
  std::int32_t next(std::int32_t memory, int previous, int y);
  bool accepts(std::int32_t memory) const;
  int size() const { return static_cast<int>(known_.size() / words_); }

 private:
  static constexpr std::int32_t kUnknown = -2, kEmpty = -1;
  // Where the state of a rule stands in the words of a memory.
  struct Field {
    std::size_t word;
    int shift;
    std::uint64_t mask;
  };
  // Limits on symbols that cannot occur any more, as bits of a memory: those of the symbols that
  // may or may not have occurred, and of those that must have.
  struct Past {
    std::vector<std::uint64_t> forgotten, needed;  // [words]
  };
  void find_past(const std::uint8_t* follows);
  bool forget(const Past& past);  // in packed_; false if a required symbol cannot occur any more
  std::int32_t number_of(const std::vector<std::uint64_t>& packed);
  std::size_t slot_of(const std::uint64_t* packed) const;
  std::int32_t state(const std::uint64_t* packed, std::size_t rule) const {
    const Field& field = fields_[rule];
    return static_cast<std::int32_t>(packed[field.word] >> field.shift & field.mask);
  }
  const RuleSet& set_;
  int Y_, symbols_;
  std::vector<Rule> rules_;
  std::vector<Field> fields_;                      // [rules]
  std::vector<std::vector<std::int32_t>> moving_;  // [symbols] the rules that each may move
  std::vector<Past> after_;                        // [symbols] what is past after each
  std::vector<std::vector<Past>> in_order_;        // [rules][states] and in a state of an order
  std::size_t words_ = 1;
  std::vector<std::uint64_t> known_, packed_;  // [memories][words], and one more
  std::vector<std::int32_t> slots_;  // a hash table of memories; its size is a power of two
  std::vector<std::int32_t> next_;   // [memories][symbols]
};

// The rule of one of these names over a number of symbols: "at most once", "exactly once",
// "at least twice" (one symbol), "ordered", "disordered" (several).  Throws std::invalid_argument
// for any other name.
Rule named_rule(const std::string& name, const std::vector<std::int32_t>& some, int symbols);

}  // namespace caesura
