#include "infer/walk.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/interrupt.hpp"
#include "lattice/theta.hpp"

namespace caesura {

// base(t) = increment[1] + ... + increment[t], kept as a high and a low part, since the difference
// of two long sums would lose digits.  Row t of each table is relative to base(t).
Walk::Walk(const Problem& problem, const Lattice& lattice, const Tables& tables)
    : problem_(problem), g_(lattice), tables_(tables) {
  Total base;
  for (int t = 0; t <= g_.T; ++t) {
    base.add(tables_.increment[t]);
    base_high_.push_back(base.high);
    base_low_.push_back(base.low);
  }
}

double Walk::offset(int s, int e) const {
  return (base_high_[s] - base_high_[e]) + (base_low_[s] - base_low_[e]);
}

// Targets below Y are labels; the others are label histories, with which those of a state may end.
bool Walk::holds(int target, int state) const {
  if (target < g_.Y) return g_.order[g_.rank[state]] == target;
  return problem_.automaton().ends_in(state, target - g_.Y);
}

// The emission of token t with the label of the state; -inf where it is not allowed.
double Walk::token(int t, int state) const {
  const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(t) * g_.Y + g_.order[g_.rank[state]];
  return g_.allowed != nullptr && !g_.allowed[at] ? kMinusInfinity : g_.emission[at];
}

// theta(s, e) of all segments [s, e) with s = e - 1, ..., low, in one pass over the potentials.
// `open` is the same sum for segments that continue beyond e, to which only potentials with an open
// end apply, but no span score.  The cost is O(e - low) plus the number of potentials with
// start >= low that end at or before e.
void Walk::thetas(int e, int state, int low, std::vector<Theta>& out) const {
  out.clear();
  ThetaSum closed, open;
  for (int s = e - 1; s >= low; --s) {
    ThetaSum closed_here, open_here;
    // The potentials that start at s are sorted by end.
    for (int i = g_.by_start[s]; i < g_.by_start[s + 1]; ++i) {
      const Potential& p = g_.potentials[g_.starting[i]];
      if (p.end > e) break;
      if (!holds(p.target, state)) continue;
      closed_here.add(p.start, p.end, p.flags, p.score, e);
      open_here.add(p.start, p.end, p.flags, p.score, e + 1);
    }
    if (g_.spans != nullptr && e - s <= g_.span_length) {
      const int y = g_.order[g_.rank[state]];
      closed_here.own +=
          g_.spans[(static_cast<std::ptrdiff_t>(s) * g_.span_length + (e - s - 1)) * g_.Y + y];
    }
    closed.step(token(s, state), closed_here);
    open.step(token(s, state), open_here);
    out.push_back({s, closed.value(), open.value()});
  }
}

// The score of the arc (p, q) at boundary t: transition[y0, y] + the edges at t + entry[q].  The
// cost is O(log n) for n edges at t.
double Walk::transition(int t, int p, int q) const {
  // Edges and labels are by rank here (Lattice::order).
  const int i = g_.rank[p], j = g_.rank[q];
  if (i == j && !g_.same_label_adjacent) return kMinusInfinity;
  double value = g_.transition[g_.order[i] * g_.Y + g_.order[j]];
  // The edges at a boundary are sorted by previous label and label.
  const Edge* end = g_.edges + g_.by_position[t + 1];
  const Edge* edge = std::lower_bound(
      g_.edges + g_.by_position[t], end, std::pair(i, j),
      [](const Edge& a, std::pair<int, int> b) { return std::pair(a.previous, a.label) < b; });
  for (; edge != end && edge->previous == i && edge->label == j; ++edge) value += edge->score;
  return value + (g_.entry == nullptr ? 0.0 : g_.entry[q]);
}

double Walk::token_score(int t, int q) const {
  std::vector<Theta> scores;
  thetas(t + 1, q, t, scores);
  return scores[0].closed;
}

// In an unbounded state, [s, e) is a term of its own until s enters the open term: s > A(e - 1).
bool Walk::in_window(int s, int e, int q) const {
  if (g_.fence[e] > s) return false;
  if (q < g_.unbounded) return s > g_.reach[e - 1];
  return e - s <= g_.longest && g_.fitting[e - s] > q;
}

// The terms of a row of the sweep, as in walk.hpp.  The value of the node is their sum (or
// maximum), up to a constant that all terms of one node share:
//
//   final         = alpha[T][p] + end[y]                          for the accepting states p
//   hat[s][q]     = alpha[s][p] + transition(s, p, q)             for the arcs (p, q)
//   alpha[e][q]   = hat[s][q] + theta(s, e) + base(s) - base(e - 1)   for the starts in the window
//                   O[e - 1][q] + what an open segment gains by ending at e
//   O[e][q]       = the same for segments that continue, for the starts s <= A(e) in the window
//
// A node with a window of k starts costs O(k) and the potentials in its window.
void Walk::terms(const Node& node, std::vector<Term>& out) const {
  out.clear();
  const auto [kind, e, q] = node;
  auto push = [&](NodeKind from, int at, int state, double value) {
    if (value > kMinusInfinity) out.push_back({{from, at, state}, value});
  };
  auto at = [&](const double* table, int t, int state) {
    return table[static_cast<std::ptrdiff_t>(t) * g_.stride + state];
  };
  if (kind == NodeKind::kFinal) {
    for (int p = 0; p < g_.Q; ++p) {
      const double end = g_.accepting[p] ? g_.end[g_.order[g_.rank[p]]] : kMinusInfinity;
      push(NodeKind::kClosed, g_.T, p, at(tables_.alpha, g_.T, p) + end);
    }
    return;
  }
  if (kind == NodeKind::kBegun) {
    // Without a list of arcs the model is first-order, and every label may follow every other.
    if (g_.in_ptr == nullptr) {
      for (int p = 0; p < g_.Q; ++p) {
        push(NodeKind::kClosed, e, p, at(tables_.alpha, e, p) + transition(e, p, q));
      }
    } else {
      for (int k = g_.in_ptr[q]; k < g_.in_ptr[q + 1]; ++k) {
        const int p = g_.in_state[k];
        push(NodeKind::kClosed, e, p, at(tables_.alpha, e, p) + transition(e, p, q));
      }
    }
    return;
  }
  // kClosed and kOpen: the segments in state q that end at e, or continue beyond it.
  const bool open_state = q < g_.unbounded;
  // low is the first start in the window.  It is at or after the last forced boundary before e, and
  // for an unbounded state after A(e - 1), for a bounded one within its longest segment.
  const bool closing = kind == NodeKind::kClosed;
  int low = g_.fence[e];
  if (open_state) {
    low = std::max(low, g_.reach[e - 1] + 1);
  } else {
    int longest = 0;
    // States are in descending order of their bounds, so a state allows the lengths 1 to longest.
    while (longest < g_.longest && g_.fitting[longest + 1] > q) ++longest;
    low = std::max(low, e - longest);
  }
  std::vector<Theta> scores;
  thetas(e, q, low, scores);
  // One term for each start in the window, later ones first.
  for (const Theta& theta : scores) {
    // A start after A(e) still has a term of its own beyond e, and is not part of O[e].
    if (!closing && theta.start > g_.reach[e]) continue;
    const double value = (closing ? theta.closed : theta.open) + at(tables_.hat, theta.start, q) +
                         offset(theta.start, e - 1);
    push(NodeKind::kBegun, theta.start, q, value);
  }
  // step: what a segment that started at or before A(e - 1) gains at token e - 1.
  if (!open_state || e == 1) return;
  double step = token(e - 1, q);
  for (int i = g_.by_end[e]; i < g_.by_end[e + 1]; ++i) {
    const Potential& p = g_.potentials[i];
    // Such a segment starts before the core, and ends at e or beyond it.
    if (!applies(p.start, p.end, p.flags, p.start - 1, closing ? e : e + 1)) continue;
    if (holds(p.target, q)) step += p.score;
  }
  push(NodeKind::kOpen, e - 1, q, at(tables_.open, e - 1, q) + step);
}

// ln P(s | e, q) = hat[s][q] + theta(s, e) + base(s) - base(e) - alpha[e][q].  The open term is not
// needed, because every start down to `low` is evaluated on its own.
void Walk::log_shares(int low, int end, int state, std::vector<double>& out) const {
  out.assign(end - low, kMinusInfinity);
  const double total = tables_.alpha[static_cast<std::ptrdiff_t>(end) * g_.stride + state];
  if (total == kMinusInfinity) return;
  std::vector<Theta> scores;
  thetas(end, state, low, scores);
  for (const auto& [start, closed, open] : scores) {
    const int length = end - start;
    // Starts descend, so all further segments are too long or cross the forced boundary as well.
    const bool too_long =
        state >= g_.unbounded && (length > g_.longest || g_.fitting[length] <= state);
    if (too_long || g_.fence[end] > start) break;
    const double hat = tables_.hat[static_cast<std::ptrdiff_t>(start) * g_.stride + state];
    out[length - 1] = closed + hat + offset(start, end) - total;
  }
}

// ln P(p | t, q) = alpha[t][p] + transition(t, p, q) - hat[t][q].  Both rows are relative to
// base(t).
double Walk::log_arc(int t, int p, int q) const {
  const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(t) * g_.stride;
  const double total = tables_.hat[row + q];
  if (total == kMinusInfinity) return kMinusInfinity;
  return tables_.alpha[row + p] + transition(t, p, q) - total;
}

// Fills the four words of the state, which must not all be 0, from one seed, which may be 0.
Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) {  // splitmix64
    seed += 0x9e3779b97f4a7c15;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    word = z ^ (z >> 31);
  }
}

// xoshiro256** (Blackman and Vigna): the same numbers on every machine, unlike the distributions of
// the standard library.
std::uint64_t Random::next() {
  auto rotate = [](std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); };
  const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = rotate(state_[3], 45);
  return result;
}

// 53 random bits, the digits of a double, in [0, 1).
double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

// Segments are delimited by kClosed and kBegun nodes; the open nodes between them are skipped.
std::vector<LabelledSegment> segments_of(const Lattice& g, const std::vector<Node>& path) {
  std::vector<LabelledSegment> segments;
  int end = g.T;
  for (const Node& node : path) {
    if (node.kind == NodeKind::kClosed) end = node.at;
    if (node.kind == NodeKind::kBegun) {
      segments.push_back({node.at, end, g.order[g.rank[node.state]]});
    }
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

// start[e][q] and previous[s][q], from T back to 0; O(number of segments).
std::vector<LabelledSegment> trace(const Lattice& g, const Back& back, int last) {
  std::vector<LabelledSegment> segments;
  for (int e = g.T, state = last; e > 0;) {
    const int s = back.start[static_cast<std::ptrdiff_t>(e) * g.stride + state];
    segments.push_back({s, e, g.order[g.rank[state]]});
    if (s > 0) state = back.previous[static_cast<std::ptrdiff_t>(s) * g.stride + state];
    e = s;
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

// alpha, hat and, if a label is unbounded, open: [T + 1][stride] each; then increment: [T + 1].
std::size_t table_size(const Lattice& g) { return static_cast<std::size_t>(g.T + 1) * g.stride; }

std::size_t tables_size(const Lattice& g) {
  constexpr std::size_t kMost = 1'000'000'000;  // 8 GB
  const std::size_t size = table_size(g) * (g.unbounded > 0 ? 3 : 2) + g.T + 1;
  if (size > kMost) {
    throw TooLarge("p",
                   "the rows of a sweep over " + std::to_string(g.T) + " tokens and " +
                       std::to_string(g.Q) +
                       " states of labels and rules would take more than 8 GB",
                   "limit fewer labels to one occurrence, or use shorter patterns or sequences");
  }
  return size;
}

Tables tables_in(const Lattice& g, double* memory) {
  Tables tables;
  tables.alpha = memory;
  tables.hat = tables.alpha + table_size(g);
  tables.open = tables.hat + table_size(g);
  tables.increment = g.unbounded > 0 ? tables.open + table_size(g) : tables.open;
  return tables;
}

void SegmentCount::add(std::size_t segments) {
  total_ += kSegmentsPerAnswer + static_cast<std::int64_t>(segments);
  ++answers_;
  check(0);
}

void SegmentCount::check(std::int64_t answers) const {
  if (total_ + kSegmentsPerAnswer * answers > kMostSegments) throw std::overflow_error("segments");
}

// From the end back to the start, choosing each term of a node with probability exp(term - node).
std::vector<LabelledSegment> sample_one(const Walk& walk, Random& random) {
  return segments_of(walk.lattice(), sample_path(walk, random));
}

}  // namespace caesura
