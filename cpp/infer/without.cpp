#include "infer/without.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <string>

#include "infer/limited.hpp"

namespace caesura {
namespace {

// The loss of a path that does not exist, or has not been found yet.
constexpr double kNever = std::numeric_limits<double>::infinity();

// The answers for all segments of one problem without limits.  The constructor runs the sweep and
// the search, which settles case 1 of without.hpp for all segments; answer(i) adds case 2 for one.
class Without {
 public:
  Without(const Problem& problem, Method method, Workspace& work, const Reading& reading,
          const std::vector<LabelledSegment>& segments)
      : g_(problem.lattice(method)),
        reading_(reading),
        segments_(segments),
        tables_(tables_in(g_, work.doubles(tables_size(g_)))) {
    back_.start = work.ints(table_size(g_));
    back_.previous = work.ints(table_size(g_));
    possible_ = kernels().best(g_, work, &tables_, back_, &last_, nullptr) > kMinusInfinity;
    if (!possible_) return;
    walk_ = std::make_unique<Walk>(problem, g_, tables_);
    rest_.assign(4 * static_cast<std::size_t>(g_.T + 1) * g_.Q, kNever);
    next_.resize(rest_.size());
    best_.resize(segments.size());
    read_best_path();
    search();
  }

  // Finds the best segmentation without segment i, as the difference from best_path().  Returns
  // false if there is none.
  bool answer(int i, Detour& out) {
    if (!possible_) return false;
    parents_.clear();
    if (reading_.tags())
      leave_run(i);
    else
      leave_segment(i);
    if (best_[i].loss == kNever) return false;
    make_detour(i, out);
    return true;
  }
  // The best segmentation overall.
  const std::vector<LabelledSegment>& best_path() const { return path_; }

 private:
  // The cheapest path found so far: the best path from the start to `from`, the term from `from` to
  // `to`, and the best path from `to` to the end.
  struct Way {
    double loss = kNever;
    Node from{}, to{};
    bool inside = false;  // `from` is reached inside the segment, by parents_
  };
  struct Candidate {
    double loss;
    Node node;
    bool operator<(const Candidate& other) const { return loss > other.loss; }
  };

  // The label of a state; whether the tag of q continues the segment of the tag of p; and whether
  // the reading of a state has the label of segment i.
  int label(int q) const { return g_.order[g_.rank[q]]; }
  bool joined(int p, int q) const { return reading_.joined[label(p) * g_.Y + label(q)] != 0; }
  bool has_label(int q, int i) const { return reading_.label[label(q)] == segments_[i].label; }
  // The least loss of any path from a node to the end, or kNever if none has been found yet.
  double& rest(const Node& node) { return rest_[walk_->key(node)]; }

  // Writes the terms of a node to terms_ and returns the largest value.
  double list(const Node& node) {
    walk_->terms(node, terms_);
    double most = kMinusInfinity;
    for (const Term& term : terms_) most = std::max(most, term.value);
    return most;
  }
  // Proposes a path without segment i: through the term from `from` to `to`, with this total loss.
  void offer(int i, double loss, const Node& from, const Node& to, bool inside = false) {
    if (loss < best_[i].loss) best_[i] = {loss, from, to, inside};
  }

  // Reads the segments of the best path, and its state at each boundary where a segment ends:
  //
  //   on_path[T] = last,   on_path[s] = previous[s][on_path[e]]   for each segment [s, e)
  //
  void read_best_path() {
    path_ = trace(g_, back_, last_);
    on_path_.assign(g_.T + 1, -1);
    int q = last_;
    for (auto segment = path_.rbegin(); segment != path_.rend(); ++segment) {
      on_path_[segment->end] = q;
      if (segment->start > 0)
        q = back_.previous[static_cast<std::ptrdiff_t>(segment->start) * g_.stride + q];
    }
  }

  // Computes rest(node) in ascending order (Dijkstra's algorithm), until no term can improve an
  // answer:
  //
  //   rest(final) = 0
  //   rest(from)  = min over the nodes that `from` has a term to of loss(term) + rest(node)
  //
  // Losses are not negative, so rest(node) is final when the node leaves the heap.  next[from] is
  // the node that attains the minimum, which leads along the best path to the end.
  void search() {
    std::priority_queue<Candidate> heap;
    rest(walk_->final()) = 0.0;
    heap.push({0.0, walk_->final()});
    const auto period = static_cast<std::int64_t>(std::max<std::size_t>(segments_.size(), 64));
    double worst = kNever;  // of the answers found so far
    for (std::int64_t step = 1; !heap.empty(); ++step) {
      const auto [loss, node] = heap.top();
      heap.pop();
      // A stale entry: a path with less loss was found after it had been pushed.
      if (loss > rest(node)) continue;
      // Terms that lose more than the worst answer so far cannot improve any answer:
      //
      //   worst = max over i of best[i].loss
      //
      // This takes a pass over the segments, so it is brought up to date only once in a while.
      if (step % period == 0) {
        check_interrupt();
        worst = 0.0;
        for (const Way& way : best_) worst = std::max(worst, way.loss);
      }
      if (loss >= worst) return;
      const double most = list(node);
      // rest(from) = min(rest(from), most - value + rest(node)) for the terms of the node
      for (const Term& term : terms_) {
        const double total = loss + (most - term.value);
        if (total >= worst) continue;
        avoid(term.from, node, total);
        if (total >= rest(term.from)) continue;
        rest(term.from) = total;
        next_[walk_->key(term.from)] = node;
        if (!walk_->is_start(term.from)) heap.push({total, term.from});
      }
    }
  }

  // Case 1: offers a term to each segment that no path through the term contains:
  //
  //   best[i] = min(best[i], loss)   if the term covers the start of segment i without beginning a
  //                                  segment with its label there
  //
  void avoid(const Node& from, const Node& to, double loss) {
    // The first segment that starts at t or later; segments are sorted and disjoint.
    auto first_from = [&](int t) {
      return static_cast<int>(
          std::lower_bound(segments_.begin(), segments_.end(), t,
                           [](const LabelledSegment& a, int b) { return a.start < b; }) -
          segments_.begin());
    };
    const int count = static_cast<int>(segments_.size());
    if (reading_.tags()) {
      // A term into kBegun(t) is a pair of tags; at the start of the sequence there is only the
      // first tag.
      const bool pair = to.kind == NodeKind::kBegun;
      if (!pair && !walk_->is_start(from)) return;
      const int at = pair ? to.at : 0, i = first_from(at);
      if (i == count || segments_[i].start != at) return;
      if (has_label(to.state, i) && !(pair && joined(from.state, to.state))) return;
      offer(i, loss, from, to);
      return;
    }
    if (from.kind != NodeKind::kBegun && from.kind != NodeKind::kOpen) return;
    // The term covers the tokens [from.at, to.at), and so the starts of these segments.
    for (int i = first_from(from.at); i < count && segments_[i].start < to.at; ++i) {
      const bool begins = from.kind == NodeKind::kBegun && segments_[i].start == from.at;
      if (!begins || !has_label(from.state, i)) offer(i, loss, from, to);
    }
  }

  // Case 2 if each segment of the lattice is read as one segment.  For the states q with the label
  // of segment i = [s, end), and for all ends e other than `end`:
  //
  //   open(e) = least loss of the paths from the start of the segment to kOpen(e, q) inside it
  //   best[i] = min(best[i], loss of the terms of kClosed(e, q) from inside + rest(kClosed(e, q)))
  //
  // where terms from inside are those from kBegun(s, q), to which the best path loses nothing, and
  // from kOpen(e - 1, q), to which it loses open(e - 1).  From e = end on, every path through
  // kOpen(e, q) is without segment i, so it is offered with rest(kOpen(e, q)) and followed no more.
  void leave_segment(int i) {
    const auto [s, end, y] = segments_[i];
    for (int q = 0; q < g_.Q; ++q) {
      if (!has_label(q, i)) continue;
      const Node begun{NodeKind::kBegun, s, q};
      double open = kNever;
      for (int e = s + 1; e <= g_.T; ++e) {
        if (e % 64 == 0) check_interrupt();
        const double before = open;
        // The least loss of the terms of a node that come from inside the segment.
        auto from_inside = [&](const Node& node) {
          double least = kNever;
          const double most = list(node);
          for (const Term& term : terms_) {
            // Terms from other starts belong to other segments.
            const bool starts = term.from.kind == NodeKind::kBegun && term.from.at == s;
            const bool goes_on = term.from.kind == NodeKind::kOpen;
            if (starts || goes_on)
              least = std::min(least, most - term.value + (starts ? 0.0 : before));
          }
          return least;
        };
        // A segment that ends at e, unless that is the end of segment i.
        const Node closed{NodeKind::kClosed, e, q}, going_on{NodeKind::kOpen, e, q};
        if (e != end) offer(i, from_inside(closed) + rest(closed), begun, closed);
        open = q < g_.unbounded && e < g_.T ? from_inside(going_on) : kNever;
        if (e < end) continue;
        // Beyond `end`, every continuation is without segment i, so the best one is taken.
        if (open < kNever) offer(i, open + rest(going_on), begun, going_on);
        open = kNever;
        if (e == g_.T || !walk_->in_window(s, e + 1, q)) break;
      }
    }
  }

  // Case 2 if tags spell the segment.  inside[t][q] is the least loss of a path that begins segment
  // i = [s, end) at its start, continues it, and is in state q at token t:
  //
  //   inside[s][q] = min over the states p of loss(arc (p, q) at s)   if q begins the segment there
  //   inside[t][q] = min over the states p that q continues of inside[t - 1][p] + loss(arc (p, q))
  //
  // A path leaves the segment through an arc that does not continue it before its end, or that
  // continues it at its end:
  //
  //   best[i] = min(best[i], inside[t - 1][p] + loss(arc (p, q)) + rest(kBegun(t, q)))
  void leave_run(int i) {
    const auto [s, end, y] = segments_[i];
    std::vector<double> inside(g_.Q, kNever), before;
    std::vector<std::int32_t> parent(g_.Q, -1);
    // `before` is inside[t - 1], and `inside` is inside[t].
    for (int t = s; t <= std::min(end, g_.T - 1); ++t) {
      check_interrupt();
      before.swap(inside);
      inside.assign(g_.Q, kNever);
      parent.assign(g_.Q, -1);
      for (int q = 0; q < g_.Q; ++q) {
        if (t == s && !has_label(q, i)) continue;
        if (t == 0) {
          inside[q] = 0.0;
          continue;
        }
        const Node begun{NodeKind::kBegun, t, q};
        const double most = list(begun);
        // inside[t][q] and best[i], over the arcs (p, q) at t
        for (const Term& term : terms_) {
          const int p = term.from.state;
          const bool goes_on = joined(p, q);
          const double loss = most - term.value + (t == s ? 0.0 : before[p]);
          if (t == s ? goes_on : before[p] == kNever) continue;
          if (t > s && goes_on == (t == end)) {  // it ends before `end`, or continues beyond it
            offer(i, loss + rest(begun), term.from, begun, true);
          } else if (t < end && loss < inside[q]) {
            inside[q] = loss;
            parent[q] = p;
          }
        }
      }
      parents_.push_back(parent);
    }
  }

  // Joins the best path to the term, the term, and the best path from it to the end, as far as they
  // differ from the best path overall.
  void make_detour(int i, Detour& out) {
    const Way& way = best_[i];
    std::vector<Node> nodes;  // from the end to the start
    // Whether a node ends a segment of the best path, which is then followed from there on.
    auto is_best = [&](const Node& node) {
      return node.kind == NodeKind::kClosed && on_path_[node.at] == node.state;
    };
    // From the term towards the end, until the best path is joined.
    for (Node node = way.to; node.kind != NodeKind::kFinal; node = next_[walk_->key(node)]) {
      nodes.push_back(node);
      if (is_best(node)) break;
    }
    const int end = nodes.empty() ? g_.T : nodes.back().at;
    std::reverse(nodes.begin(), nodes.end());
    Node node = way.from;
    // From the term back through the tags of the segment that was left.
    for (int t = node.at - 1; way.inside && t >= segments_[i].start; --t) {
      nodes.push_back({NodeKind::kClosed, t + 1, node.state});
      nodes.push_back({NodeKind::kBegun, t, node.state});
      if (t > 0) node = {NodeKind::kClosed, t, parents_[t - segments_[i].start][node.state]};
    }
    // Back to the start, or until the best path is joined.
    while (!walk_->is_start(nodes.back()) && !is_best(node)) {
      nodes.push_back(node);
      if (!walk_->is_start(node)) node = before(node);
    }
    // The segments between `start` and `end` are those that differ.  Each is a pair of nodes,
    // kClosed(e, q) and then kBegun(s, q), since `nodes` runs from the end to the start.
    const bool from_start = walk_->is_start(nodes.back());
    const int start = from_start ? 0 : node.at;
    out.possible = true;
    out.segments.clear();
    int stop = end;
    for (const Node& one : nodes) {
      if (one.kind == NodeKind::kClosed) stop = one.at;
      if (one.kind == NodeKind::kBegun) out.segments.push_back({one.at, stop, label(one.state)});
    }
    std::reverse(out.segments.begin(), out.segments.end());
    auto first_from = [&](int t) {
      return std::lower_bound(path_.begin(), path_.end(), t,
                              [](const LabelledSegment& a, int b) { return a.start < b; });
    };
    out.same_first = static_cast<int>(first_from(start) - path_.begin());
    out.same_last = static_cast<int>(path_.end() - first_from(end));
  }
  // The node before a node on the best path to it: by back-pointers, and for an open node, which
  // has none, by its best term:
  //
  //   before(kBegun(s, q))  = kClosed(s, previous[s][q])
  //   before(kClosed(e, q)) = kBegun(start[e][q], q)
  //   before(kOpen(e, q))   = argmax over its terms of value
  //
  Node before(const Node& node) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(node.at) * g_.stride + node.state;
    if (node.kind == NodeKind::kBegun) return {NodeKind::kClosed, node.at, back_.previous[at]};
    if (node.kind == NodeKind::kClosed) return {NodeKind::kBegun, back_.start[at], node.state};
    const double most = list(node);
    for (const Term& term : terms_) {
      if (term.value == most) return term.from;
    }
    return node;  // an open node always has a term
  }

  const Lattice& g_;
  const Reading& reading_;
  const std::vector<LabelledSegment>& segments_;
  Tables tables_;
  Back back_;
  int last_ = 0;
  bool possible_ = false;
  std::unique_ptr<Walk> walk_;
  std::vector<double> rest_;  // [nodes]
  std::vector<Node> next_;    // [nodes] the next node on the best path to the end
  std::vector<Way> best_;     // [segments]
  std::vector<LabelledSegment> path_;
  std::vector<std::int32_t> on_path_;               // [T + 1] state of the best path, or -1
  std::vector<std::vector<std::int32_t>> parents_;  // [t - start][Q] previous state, of leave_run
  std::vector<Term> terms_;
};

// The whole segmentation that a detour from a path describes.
std::vector<LabelledSegment> joined_to(const Detour& detour,
                                       const std::vector<LabelledSegment>& path) {
  std::vector<LabelledSegment> whole(path.begin(), path.begin() + detour.same_first);
  whole.insert(whole.end(), detour.segments.begin(), detour.segments.end());
  whole.insert(whole.end(), path.end() - detour.same_last, path.end());
  return whole;
}

// The difference between a whole segmentation and a path.
Detour difference(std::vector<LabelledSegment> whole, const std::vector<LabelledSegment>& path) {
  auto same = [](const LabelledSegment& a, const LabelledSegment& b) {
    return a.start == b.start && a.end == b.end && a.label == b.label;
  };
  const auto first = std::mismatch(whole.begin(), whole.end(), path.begin(), path.end(), same);
  const auto last = std::mismatch(whole.rbegin(), std::make_reverse_iterator(first.first),
                                  path.rbegin(), std::make_reverse_iterator(first.second), same);
  Detour out{true,
             static_cast<int>(first.first - whole.begin()),
             static_cast<int>(last.first - whole.rbegin()),
             {}};
  out.segments.assign(first.first, last.first.base());
  return out;
}

// The answers for the segments `asked`, under limits on occurrences.  To answer all of them
// together might need many limits to be tracked, but each alone needs only a few; so those that
// need more than kTogether are answered one by one.
void within_limits(const Problem& problem, Method method, Workspace& work, const Reading& reading,
                   const std::vector<LabelledSegment>& path,
                   const std::vector<LabelledSegment>& segments, const std::vector<int>& asked,
                   std::vector<Detour>& out) {
  constexpr int kTogether = 3;
  const RuleSet& rules = problem.input().rules;
  std::vector<int> left = asked;
  // One segment alone may track as many limits as an automaton can; several together only a few.
  const int most = left.size() == 1 ? std::min(rules.limits(), kMostTracked) : kTogether;
  // Answers the segments that are left, with some limits tracked.  An answer that breaks no limit
  // is final, as in limited.hpp; the others are left for the next round.
  auto solve = [&](std::unique_ptr<Problem> relaxed, std::vector<int>& breaks) {
    std::vector<LabelledSegment> some;
    for (const int i : left) some.push_back(segments[i]);
    work.clear();
    Without without(*relaxed, method, work, reading, some);
    std::vector<int> broken;
    for (std::size_t k = 0; k < left.size(); ++k) {
      Detour& detour = out[left[k]] = {};
      if (!without.answer(static_cast<int>(k), detour)) continue;
      std::vector<LabelledSegment> whole = joined_to(detour, without.best_path());
      const auto symbols = rules.broken_by(labels_of(whole), problem.input().Y);
      for (const std::int32_t symbol : symbols) ++breaks[symbol];
      if (!symbols.empty()) broken.push_back(left[k]);
      detour = difference(std::move(whole), path);
    }
    left = std::move(broken);
  };
  if (relax_limits(problem, method, most, asked.size() == 1, solve)) return;
  if (asked.size() == 1) {
    throw TooLarge("constrain",
                   "the best segmentation without a segment breaks more than " +
                       std::to_string(kMostTracked) +
                       " limits to one occurrence, and the sets of labels that can have occurred "
                       "are too many to track",
                   "limit fewer labels");
  }
  for (const int i : left) within_limits(problem, method, work, reading, path, segments, {i}, out);
}

}  // namespace

std::vector<Detour> answer_without(const Problem& problem, Method method, Workspace& work,
                                   const Reading& reading, const std::vector<LabelledSegment>& path,
                                   const std::vector<LabelledSegment>& segments) {
  check_scores(problem);
  std::vector<Detour> out(segments.size());
  if (segments.empty()) return out;
  if (problem.input().rules.limits() > 0) {
    std::vector<int> all(segments.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    within_limits(problem, method, work, reading, path, segments, all, out);
    return out;
  }
  Without without(problem, method, work, reading, segments);
  // With ties, the best path of the sweep may be another one than `path`.
  const bool is_path = difference(without.best_path(), path).segments.empty() &&
                       without.best_path().size() == path.size();
  // Detours are relative to the best path of the sweep; make them relative to `path`.
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!without.answer(static_cast<int>(i), out[i])) continue;
    if (!is_path) out[i] = difference(joined_to(out[i], without.best_path()), path);
  }
  return out;
}

}  // namespace caesura
