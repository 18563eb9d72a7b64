// Forward-backward over segments and label histories, for learning with patterns of labels.
//
// As segmental.hpp, with states (program.hpp) in place of labels where a segment begins or ends,
// and with a sequence in each lane of a vector: the operations between states are then the same in
// all lanes.  The factor of a segment from s to e, term[s, e], is shared by all states with the
// same label, or differs by state where features of the segment depend on the labels before it:
//
//   alpha[e][q] = sum over s of hat[s][q] term[s, e]  +  going[e][q] closing[e]
//   hat[e]      = entry * in(alpha[e])                          entry: factors of its patterns
//
// going: segments that have joined, and share all further factors.  They form a queue: a label with
// a longest segment drops its oldest.  Back, with ratio[s][q] = P(a segment starts at s in state q)
// / hat[s][q]:
//
//   ratio[s]    = sum over e of term[s, e] back[e]  +  joined[s] beyond[s]
//   back[e]     = in'(entry * ratio[e])
//
// beyond[s]: the backward sum of a segment that has joined, a queue over its ends.
//
// It is 8.4 times as fast as the general sweeps (line "label patterns counts" of bench/twins.py).
#pragma once

#include "automaton/program.hpp"
#include "learn/segmental.hpp"

namespace caesura::CAESURA_ISA {

// A number that underflows is lost, which costs at most its value times the backward sum at that
// place.  Backward sums must therefore stay below kFarAhead; where one does not, or a product of
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

// to[move.to] += from[move.from], over rows of vectors; and the transpose.
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

// kByState: rows are of states, else of labels.
template <bool kByState>
class HighOrder {
 public:
  // lengths, known: of each lane; length 0: an empty lane.  The sites are those of any of them.
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

  // rows: [T + n_sites][c][W] and entries: [T][entry classes][W], what states gain at each
  // boundary, or null; scores, replaced by exps.  log_z: [W]; NaN: a number left the safe range,
  // the general sweeps must answer.
  void forward(real* rows, real* entries, double* log_z);

  // Replaces the rows and entries by expected counts, and adds those of pairs, states, starts and
  // ends, times the weight of each lane.  Lanes of weight 0 count nothing; the weight of a lane
  // that left the safe range becomes 0.
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

  // All rows are of vectors.
  real* x = nullptr;        // [rows][c]
  real* entry = nullptr;    // [T][entry classes]
  real* hat = nullptr;      // [T + 1][n]
  real* going = nullptr;    // [T + 1][n]
  real* alpha = nullptr;    // [n] of the current end,
  real* endings = nullptr;  // [n] right after it S, and one zero
  real* singles = nullptr;  // [T + 1][single labels] S of these
  real* gain = nullptr;     // [T + 1][c] g[e], with the scale
  real* grow = nullptr;  // [T + 1][c] and for segments that started before e - 1; where nothing is
                         // forced, the same
  real* closing = nullptr;        // [T + 1][c]
  real* terms = nullptr;          // [by e, s][c]
  real* joined = nullptr;         // [T][c] factor of a segment from s when it joins
  real* joining_share = nullptr;  // [T][c] and the probability that one joins
  real* cover = nullptr;          // [T + 1][c] expected segments that have joined and reach e
  real* scratch[6] = {};          // see prepare_cover
  real* live = nullptr;           // [ring][c]
  real* classed = nullptr;        // [entry classes]
  real* beyond = nullptr;         // [ring][n]
  int kept = 0;                   // rows of `back`: all that are asked for again
  std::int32_t* joins = nullptr;  // [T] where s joins, T + 1: nowhere
  std::int64_t* at = nullptr;     // [T + 1] terms
  int ring = 1;
  real scale[W];  // of each lane, at the current end
  double log_scale[W] = {}, masses[W];
  real last_mass[W] = {};
  ivec bad = ivec{};

  // A queue of starts, or of ends in the backward pass, for each label: sums from the younger to
  // each of the older ones, as they were when it was turned, and one sum over those that came
  // since.
  struct Queue {
    std::int32_t* oldest;  // [Y]
    std::int32_t* turn;    // [Y] where the younger ones begin
    std::int64_t* first;   // [Y] rows of `older`
    real* older;           // [by label, position modulo its longest][states of the label]
    real* since;           // [c] gained since they were turned
    real* younger;         // [n]
  };
  Queue queue;

  real* states(real* table, std::int64_t t) const { return table + t * n * W; }
  real* row(real* table, std::int64_t t) const { return table + t * c * W; }
  real* term(int s, int e) const { return terms + (at[e] + s - spans.low[e]) * c * W; }
  // What the states of one label gain: vector k is of its k-th state.  Everything that the loops
  // over states read is held by value, because a store might alias anything else.
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
  // What is ahead of segments of label y that end at e, by state.
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
  // Adds value(k) of the states of a label to a row of them, or to one number for the label.
  template <class Value>
  static void add_up(int m, real* to, Value value) {
    if (kByState) {
      for (int k = 0; k < m; ++k) store(to + k * W, load(to + k * W) + value(k));
      return;
    }
    vec even = vec{}, odd = vec{};  // two sums, so that additions do not depend on each other
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
  // 0 in the lanes where a boundary has the mark, else 1.
  vec without(int e, BoundaryMarks mark) const {
    vec out = splat(1);
    for (int b = 0; b < W; ++b) {
      if (known[b].boundary != nullptr && e > 0 && e < lengths[b] && (known[b].boundary[e] & mark))
        out[b] = 0;
    }
    return out;
  }
  template <class Visit>
  void for_numbers(int y, Visit visit) const {  // of a row of gains
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
  // What segments from one start gain up to an end, what is ahead of them there, by state, and
  // where their probability goes.
  struct Meeting {
    Gains by;
    const real* to;
    real* share;
  };
  static constexpr int kMeetings = 3;  // at once
  void begin_back(int s, real* back, real* ratio);
  template <int N>
  void meet_ends(const Meeting* ends, int s, int y, bool fresh, real* ratio);
  void leave(int e, const real* ratio, real* into, real* direct, real* back, real* entered);
  real* back_at(real* back, int e) const { return states(back, e % kept); }
  void end_at(int e, vec share, real* back) const;
  void row_counts(real* stops, vec weight, Gradient<real>& gradient);
};

}  // namespace caesura::CAESURA_ISA
