// Forward-backward over segments and label histories, for learning with label patterns.
//
// The recursion is that of segmental.hpp, with states (program.hpp) in place of labels where a
// segment starts or ends, and with one sequence in each lane of a vector: all lanes then perform
// the same operations between states.  The factor of a segment from s to e, term[s, e], is shared
// by all states with the same label, or differs by state if features of the segment depend on the
// labels before it:
//
//   alpha[e][q] = sum over s of hat[s][q] term[s, e]  +  going[e][q] closing[e]
//   hat[e]      = entry * in(alpha[e])                          entry: factors of its patterns
//
// going: segments that have joined the open term and so share all further factors.  They form a
// queue: a label with a length bound drops the oldest start at each step.  The backward pass, with
// ratio[s][q] = P(a segment starts at s in state q) / hat[s][q]:
//
//   ratio[s]    = sum over e of term[s, e] back[e]  +  joined[s] beyond[s]
//   back[e]     = in'(entry * ratio[e])
//
// beyond[s]: the backward sum of a segment at the boundary where it joined, from a queue over its
// ends.
//
// It is 8.4 times as fast as the general sweeps (line "label patterns counts" of bench/twins.py).
#pragma once

#include "automaton/program.hpp"
#include "learn/segmental.hpp"

namespace caesura::CAESURA_ISA {

// A value that underflows is lost, which costs at most the value times the backward sum at that
// place.  Backward sums must therefore stay below kFarAhead.  If one does not, or if a product of
// factors exceeds kMost, the general sweeps must answer.
constexpr real kFarAhead = kDouble ? 1e100 : 1e10f;

// Clamps a backward sum.  A value that is too large is replaced and its lane marked, so that no
// infinity is multiplied by 0 during the sweep; marked lanes go to the general sweeps at the end.
struct Ahead {
  ivec far = ivec{};
  vec operator()(vec value) {
    far |= value > kFarAhead;
    return min(value, splat(kFarAhead));
  }
};

// move: to[move.to] += from[move.from], over rows of vectors.  move_back: its transpose.
inline void move(const std::vector<Move>& moves, const real* from, real* to) {
  for (const Move *one = moves.data(), *end = one + moves.size(); one != end; ++one) {
    store(to + one->to * W, load(to + one->to * W) + load(from + one->from * W));
  }
}
inline void move_back(const std::vector<Move>& moves, const real* to, real* from) {
  for (const Move *one = moves.data(), *end = one + moves.size(); one != end; ++one) {
    store(from + one->from * W, load(from + one->from * W) + load(to + one->to * W));
  }
}

// kByState: whether the rows of scores are of states rather than of labels.
template <bool kByState>
class HighOrder {
 public:
  // lengths, known: [W], one for each lane; an empty lane has length 0.  sites: the sites of all
  // lanes, sorted like those of one sequence.
  HighOrder(const Weights<real>& weights, const std::int32_t* lengths, const Known* known,
            const Site* sites, int n_sites, Workspace& workspace)
      : w(weights),
        h(*weights.program),
        n_classes(weights.histories->n_classes()),
        shorter_class(weights.histories->shorter_class.data()),
        T(*std::max_element(lengths, lengths + W)),
        n(h.lanes),
        c(kByState ? h.lanes : h.Y),
        lengths(lengths),
        known(known),
        sites(sites),
        n_sites(n_sites),
        work(workspace),
        spans(T, sites, n_sites, 0, true, workspace) {}

  // rows: [T + n_sites][c][W] scores, replaced by their exps.  entries: [T][entry classes][W]
  // scores of the attributes at each boundary, replaced by their exps; may be null.  log_z: [W]
  // receives ln Z, or NaN if a value left the safe range and the general sweeps must answer.
  void forward(real* rows, real* entries, double* log_z);

  // Replaces the rows and entries by expected counts, and adds those of pairs, states, starts and
  // ends to the gradient, times the weight of each lane.  Lanes of weight 0 are not counted; the
  // weight of a lane that left the safe range becomes 0.
  void backward(real* weight, Gradient<real>& gradient);

 private:
  const Weights<real>& w;
  const ArcProgram& h;
  const int n_classes;
  const std::int32_t* shorter_class;
  const int T, n, c;
  const std::int32_t* lengths;
  const Known* known;
  const Site* sites;
  const int n_sites;
  Workspace& work;
  const Spans spans;

  // In the shapes below, each entry is a vector with one value for each lane.
  real* x = nullptr;        // [rows][c]
  real* entry = nullptr;    // [T][entry classes]
  real* hat = nullptr;      // [T + 1][n]
  real* going = nullptr;    // [T + 1][n]
  real* alpha = nullptr;    // [n] at the current end,
  real* endings = nullptr;  // [n] S, right behind alpha, and one zero
  real* singles = nullptr;  // [T + 1][single labels] S of these states
  real* gain = nullptr;     // [T + 1][c] g[e], including the scale
  // [T + 1][c] the same for segments that started before e - 1: 0 where e - 1 is a required
  // boundary.  Equal to gain if no sequence has constraints on boundaries.
  real* grow = nullptr;
  real* closing = nullptr;        // [T + 1][c]
  real* terms = nullptr;          // [by e, s][c]
  real* joined = nullptr;         // [T][c] factor of a segment from s up to where it joins
  real* joining_share = nullptr;  // [T][c] probability that a segment from s joins
  real* cover = nullptr;    // [T + 1][c] expected segments that have joined before e and reach e
  real* scratch[6] = {};    // see prepare_cover
  real* live = nullptr;     // [ring][c]
  real* classed = nullptr;  // [entry classes]
  real* beyond = nullptr;   // [ring][n]
  int kept = 0;             // number of rows of `back`, a ring
  std::int32_t* joins = nullptr;  // [T] where segments from s join; T + 1: nowhere
  std::int64_t* at = nullptr;     // [T + 1] first row of terms that end at e
  int ring = 1;
  real scale[W];  // factor of the next gains
  double log_scale[W] = {}, masses[W];
  real last_mass[W] = {};
  ivec bad = ivec{};

  // A queue with two stacks for each label: of starts, or of ends in the backward pass.  The older
  // elements have sums from the youngest of them to each, taken when the queue was last turned,
  // that is, when the younger elements became the older ones.  The elements that came later, the
  // younger ones, have one sum.
  struct Queue {
    std::int32_t* oldest;  // [Y]
    std::int32_t* turn;    // [Y] first of the younger elements
    std::int64_t* first;   // [Y] first row of `older`
    real* older;           // [by label, position modulo its bound][states of the label]
    real* since;           // [c] factor gained since the queue was turned
    real* younger;         // [n] sum over the younger elements
  };
  Queue queue;

  real* states(real* table, std::int64_t t) const { return table + t * n * W; }
  real* row(real* table, std::int64_t t) const { return table + t * c * W; }
  real* term(int s, int e) const { return terms + (at[e] + s - spans.low[e]) * c * W; }
  // The factors of the states of one label: [k] is that of its k-th state.  Everything that the
  // loops over states read is held by value, because a store might alias anything else.
  struct Gains {
    const real* row;
    vec same;
    vec operator[](int k) const { return kByState ? load(row + k * W) : same; }
  };
  Gains of(const real* gains, int y) const {
    const real* at = gains + (kByState ? h.first[y] : y) * W;
    return {at, load(at)};
  }
  int count(int y) const { return h.last[y] - h.first[y]; }
  static void add_products(const real* from, Gains by, int m, real* to) {
    for (int k = 0; k < m; ++k) store(to + k * W, load(to + k * W) + load(from + k * W) * by[k]);
  }
  int bound(int y) const { return w.bounds[y] == 0 || w.bounds[y] > T ? T : w.bounds[y]; }
  // The backward sums of segments of label y that end at e, by state.
  struct Ends {
    const real* ahead;
    Gains closes;
    bool closed;
    vec operator[](int k) const {
      return closed ? load(ahead + k * W) * closes[k] : load(ahead + k * W);
    }
  };
  Ends ends_at(int y, int e, real* back) const {
    const real* ahead = back_at(back, e) + h.first[y] * W;
    return {ahead, spans.closes ? of(row(closing, e), y) : Gains{nullptr, splat(1)}, spans.closes};
  }
  // Adds value(k) of the m states of a label to a row of states, or to a single sum for the label.
  template <class Value>
  static void add_up(int m, real* to, Value value) {
    if (kByState) {
      for (int k = 0; k < m; ++k) store(to + k * W, load(to + k * W) + value(k));
      return;
    }
    // Two sums, so that consecutive additions do not depend on each other.
    vec even = vec{}, odd = vec{};
    int k = 0;
    for (; k + 2 <= m; k += 2) {
      even += value(k);
      odd += value(k + 1);
    }
    if (k < m) even += value(k);
    store(to, load(to) + (even + odd));
  }
  int at_label(int y) const { return (kByState ? h.first[y] : y) * W; }
  bool can_join(int y, int s) const { return s + bound(y) > joins[s]; }
  bool has_blocks(int y) const { return bound(y) > 1 && bound(y) < T; }
  // The length of a block of cover_block.
  int block(int y) const { return std::max(1, bound(y) - spans.widest); }
  real* older(int y, int position) const {
    return queue.older + (queue.first[y] + position % bound(y) * count(y)) * W;
  }
  bool is_hinted() const {
    return std::any_of(known, known + W, [](const Known& one) { return one.boundary != nullptr; });
  }
  // Returns 0 in the lanes in which boundary e has the mark, else 1.
  vec without(int e, BoundaryMarks mark) const {
    vec out = splat(1);
    for (int b = 0; b < W; ++b) {
      if (known[b].boundary != nullptr && e > 0 && e < lengths[b] && (known[b].boundary[e] & mark))
        out[b] = 0;
    }
    return out;
  }
  // Calls visit(q * W) for each number q of label y in a row of gains.
  template <class Visit>
  void for_numbers(int y, Visit visit) const {
    for (int q = kByState ? h.first[y] : y; q < (kByState ? h.last[y] : y + 1); ++q) visit(q * W);
  }

  void prepare();
  void clear(int oldest, int turn);
  void exponentials();
  void gain_step(int e);
  vec state_step(int e);
  void turn(int y, int e);
  void gain_since(int y, const real* gains);
  void carry(int e, vec total);
  void enter(int e);
  void finish(int e, double* log_z);

  void turn_back(int y, int e, real* back);
  void ahead(int s, real* back);
  void cover_block(int y, int lo, real* back);
  void cover_crossing(int y, int begin, int end, int hi, real* back);
  void prepare_cover();
  void end_back(int e, real* back, real* stops);
  // What segments from one start gain up to an end (or up to where they join), the backward sum
  // there, by state, and where their probability is stored.
  struct Meeting {
    Gains by;
    const real* to;
    real* share;
  };
  static constexpr int kMeetings = 3;  // ends that meet_ends takes at once
  void begin_back(int s, real* back, real* ratio);
  template <int N>
  void meet_ends(const Meeting* ends, int s, int y, bool fresh, real* ratio);
  void leave(int e, const real* ratio, real* into, real* direct, real* back, real* entered);
  real* back_at(real* back, int e) const { return states(back, e % kept); }
  void end_at(int e, vec share, real* back) const;
  void row_counts(real* stops, vec weight, Gradient<real>& gradient);
};

}  // namespace caesura::CAESURA_ISA
