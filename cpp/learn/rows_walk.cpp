#include "learn/rows_walk.hpp"

#include "infer/ranking.hpp"

namespace caesura {

RowsWalk::RowsWalk(const Design& d, const Weights<double>& w, int i, const Known& known,
                   const BestTables& tables)
    : w_(w),
      known_(known),
      tables_(tables),
      sites_(d.site.data() + d.sites[i]),
      T_(d.length(i)),
      Y_(w.Y),
      n_sites_(d.n_sites(i)),
      stride_(w.stride) {}

// The terms of a node, as in rows_walk.hpp:
//
//   kFinal        alpha(T, z), with the score of ending in z
//   kBegun(s, y)  alpha(s, z) + transition(s, z, y)
//   kClosed(e, y) hat(s, y) + the score of [s, e) with label y
void RowsWalk::terms(const Node& node, std::vector<Term>& out) const {
  out.clear();
  const auto [kind, t, y] = node;
  if (kind == NodeKind::kClosed) {
    closed_terms(t, y, out);
    return;
  }
  const double* alpha = tables_.alpha + static_cast<std::ptrdiff_t>(t) * stride_;
  for (int z = 0; z < Y_; ++z) {
    const double value = alpha[z] + (kind == NodeKind::kBegun ? transition(t, z, y) : 0.0);
    if (value > kMinusInfinity) out.push_back({{NodeKind::kClosed, t, z}, value});
  }
}

// The earliest start of a segment of label y that ends at e.
int RowsWalk::first_start(int e, int y) const {
  const int longest = w_.bounds[y] == 0 ? e : std::min(w_.bounds[y], e);
  int s = e - 1;
  while (s > e - longest && (known_.boundary == nullptr || !(known_.boundary[s] & kForced))) --s;
  return s;
}

// Appends hat(s, y) + theta(s, e, y) for all starts, later ones first:
//
//   theta(s, e, y) = sum over the tokens t of [s, e) of rows[t][y]
//                    + sum over the sites k that apply to [s, e) of rows[T + k][y]
//
// in one pass over the sites that end at or before e (lattice/theta.hpp).
void RowsWalk::closed_terms(int e, int y, std::vector<Term>& out) const {
  const int low = first_start(e, y);
  here_.assign(e - low, {});
  for (int k = 0; k < n_sites_ && sites_[k].end <= e; ++k) {
    const Site& site = sites_[k];
    if (site.start < low) continue;
    here_[site.start - low].add(site.start, site.end, site.flags, at(tables_.rows, T_ + k, y), e);
  }
  ThetaSum theta;
  for (int s = e - 1; s >= low; --s) {
    theta.step(at(tables_.rows, s, y), here_[s - low]);
    const double value = at(tables_.hat, s, y) + theta.value();
    if (value > kMinusInfinity) out.push_back({{NodeKind::kBegun, s, y}, value});
  }
}

// The score of a path of segments (s_k, e_k, y_k):
//
//   first[y_1] + last[y_n] + sum over k of theta(s_k, e_k, y_k) + transition(s_k, y_(k - 1), y_k)
//
// as a compensated sum, so that it does not depend on the order in which the enumeration added it
// up.
double RowsWalk::score(const std::vector<LabelledSegment>& segments) const {
  Total total;
  segment_at_.resize(T_);
  for (std::size_t k = 0; k < segments.size(); ++k) {
    const auto [s, e, y] = segments[k];
    total.add(k == 0 ? w_.log_first[y] : transition(s, segments[k - 1].label, y));
    for (int t = s; t < e; ++t) {
      segment_at_[t] = static_cast<std::int32_t>(k);
      total.add(at(tables_.rows, t, y));
    }
  }
  total.add(w_.log_last[segments.back().label]);
  // Each site belongs to the segment that covers its first token, if it applies to it at all.
  for (int k = 0; k < n_sites_; ++k) {
    const Site& site = sites_[k];
    const auto [s, e, y] = segments[segment_at_[site.start]];
    if (applies(site.start, site.end, site.flags, s, e)) total.add(at(tables_.rows, T_ + k, y));
  }
  return total.value();
}

std::vector<LabelledSegment> rows_best_kept(const RowsWalk& walk, const Condition& condition) {
  constexpr int kFew = 16;  // with more, the general sweeps are faster
  auto is_kept = [&](const std::vector<LabelledSegment>& segments) {
    return condition.kept_by(segments.data(), static_cast<int>(segments.size()), walk.n_labels());
  };
  return first_segments(walk, walk.length(), kFew, is_kept);
}

std::vector<Answer> rows_n_best(const RowsWalk& walk, int n) {
  std::vector<Answer> out;
  auto add = [&](const std::vector<LabelledSegment>& segments, const SegmentCount&) {
    out.push_back({true, walk.score(segments), segments});
  };
  rank_segments(walk, walk.length(), n, add);
  std::stable_sort(out.begin(), out.end(), comes_first);
  return out;
}

}  // namespace caesura
