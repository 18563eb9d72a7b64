// Features of whole segments and of the segments before them, identified by hashed keys.
//
//   columns of tokens --> SpanCorpus
//   SpanFeatures x one sequence --> SpanKeys: rows of weights for tokens, spans and pairs of spans
//
// The score of a segmentation is the sum over its segments j of
//
//   w . phi(x, segment j)                          templates of tokens, features of segments
//   w . phi(x, segments j - 1, j)                  pairs: previous.text & this.text
//   w . phi(x, segments j - 2, j - 1, j)           triples
//   transition[label j - 1, label j]
//
// plus one more term for the end: a template that looks at this segment and at an earlier one also
// fires with the end of the sequence as `this`, just as it fires at the first segment with the
// beginning as `previous`.  Search, ln Z and marginals all include both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "encode/corpus.hpp"
#include "lattice/lattice.hpp"
#include "lattice/problem.hpp"
#include "learn/span_table.hpp"

namespace caesura {

// The possible values of a part of a template, in the order of caesura/features/lookback.py.
enum class Said : std::uint8_t { kText, kLength, kFirst, kLast, kBefore, kAfter, kLabel };

struct SegmentPart {
  int role;  // 0: this segment, 1: the previous one, 2: the one before that
  Said said;
  int column;
};

// The core of the attributes of a token template: those with the anchor t count for the segments to
// which the core [t - before, t + after) with these flags applies.
struct Group {
  int before, after;
  std::uint8_t flags;
  bool edge = false;  // for no segment, but for the boundary t > 0; the key has the previous label
  bool operator==(const Group& o) const {
    return before == o.before && after == o.after && flags == o.flags && edge == o.edge;
  }
  bool applies(int t, int b, int e) const {
    return !edge && caesura::applies(t - before, t + after, flags, b, e);
  }
  // Calls visit(t) for the anchors t whose core applies to [b, e): one unless both sides are open.
  template <class Visit>
  void for_anchors(int b, int e, Visit visit) const {
    const int last = flags & kOpenStart ? e - after : b + before;
    for (int t = flags == kOpenStart ? last : b + before; t <= last; ++t)
      if (applies(t, b, e)) visit(t);
  }
};
// The cores of the first and of the last token of a segment of any length.
constexpr Group kAtStart{0, 1, kOpenEnd}, kAtEnd{0, 1, kOpenStart};

struct TokenTemplate {
  std::vector<Part> parts;
  int group;
  std::uint64_t salt;
};

// A template of segments.  Its key is a hash of the salt and of the parts of each role.
struct SegmentTemplate {
  std::vector<SegmentPart> parts[3];  // by role
  std::uint64_t salt;
  bool fires_at_end = false;  // whether it looks at this segment and at an earlier one
  bool by_start = false;      // of this segment, it sees only where it starts
  bool by_end = false;        // of this segment, it sees only where it ends
  bool labels[3] = {};        // whether it sees the label of an earlier segment
  int depth() const {
    return !parts[2].empty() || labels[2] ? 2 : (!parts[1].empty() || labels[1]);
  }
};

struct SpanFeatures {
  int n_columns = 0, n_labels = 1;
  bool boundary_weights = true;
  std::vector<Group> groups;
  std::vector<TokenTemplate> tokens;
  std::vector<SegmentTemplate> spans;   // of depth 0
  std::vector<SegmentTemplate> joints;  // of depth 1 or 2 and by_start
  std::vector<SegmentTemplate> pairs;   // the other templates of depth 1 or 2
  std::vector<int> text_columns;        // columns whose texts are used
  bool sees_everything = false;         // whether a user-written feature sees all earlier segments

  void add_tokens(std::vector<Part> parts, Place place, std::uint64_t salt);
  // Does not raise errors: the caller has checked roles and columns.
  void add_segments(const std::vector<SegmentPart>& parts, std::uint64_t salt);
  // Returns the number of earlier segments that are looked at, or kEverything.
  int depth() const;
  static constexpr std::size_t kMostPairs = 64;  // of the templates in `joints`, and in `pairs`
  static constexpr int kEverything = 1 << 20;
};

// A corpus as columns of hashes.
struct SpanCorpus {
  struct Values {
    std::vector<std::int64_t> ptr;  // [tokens + 1], or empty if each token has one value
    std::vector<std::int32_t> ids;
    std::vector<double> weights;        // empty if all are 1
    std::vector<std::uint64_t> hashes;  // [ids]
    std::uint64_t hash(std::int32_t id) const {
      return id < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(id)) : hashes[id];
    }
  };
  struct Fired {
    std::int32_t start, end;  // in the sequence
    std::uint8_t flags;       // kOpenStart | kOpenEnd
    std::uint64_t key;
    double value;
    bool applies(int b, int e) const { return caesura::applies(start, end, flags, b, e); }
    // Calls visit(b, e) for the spans of at most L tokens, in a sequence of T, to which it applies.
    template <class Visit>
    void for_spans(int T, int L, Visit visit) const {
      for (int b = flags & kOpenStart ? std::max(0, end - L) : start; b <= start; ++b) {
        const int last = flags & kOpenEnd ? std::min(b + L, T) : std::min(end, b + L);
        for (int e = end; e <= last; ++e) visit(b, e);
      }
    }
  };
  std::vector<std::int64_t> offsets{0};  // [sequences + 1]
  std::vector<Values> columns;
  std::vector<std::int64_t> fired_ptr{0};  // [sequences + 1]
  std::vector<Fired> fired;                // sorted by start within a sequence

  int n_sequences() const { return static_cast<int>(offsets.size()) - 1; }
  int length(int i) const { return static_cast<int>(offsets[i + 1] - offsets[i]); }
};

// A user-written feature: the keys of a segment given all segments before it.
struct Incremental {
  virtual ~Incremental() = default;
  virtual void keys(int sequence, const std::vector<LabelledSegment>& before,
                    const LabelledSegment& segment, std::vector<std::uint64_t>& out) = 0;
};

// A model: features, keys with rows of weights, and the weights.
struct SpanModel {
  SpanFeatures features;
  KeyTable table;
  std::vector<HashBits> texts;   // [text columns] the texts of spans that occur in some key
  Table<double> w;               // [rows][labels]
  std::vector<double> weighted;  // [rows][labels] sum of date times update, or empty
  double date = 0.0;             // number of examples seen
};

// The constraints and biases of labels.
struct SpanRules {
  std::vector<std::int32_t> bounds;                    // [Y] longest segment, at least 1
  std::vector<std::uint8_t> barred;                    // [Y][Y]
  std::vector<std::uint8_t> barred_start, barred_end;  // [Y]
  std::vector<double> bias;  // [Y] added to the score of every segment of a label
};

// The keys of one sequence, and their rows in the model.
class SpanKeys {
 public:
  struct At {  // a row that counts for the segments to which the group applies
    std::int32_t group, t, row;
    double value;
  };
  struct Edge {
    std::int32_t t, previous, row;
    double value;
  };
  struct Fire {
    std::int32_t fired, row;
  };
  struct Of {  // a row of a span
    std::int32_t span, row;
  };

  // Finds the rows of all keys except those of pairs and triples.
  void prepare(const SpanModel& model, const SpanCorpus& corpus, int sequence, int longest);

  // Frees the hashes that for_pairs() and similar functions need.
  void forget_hashes();

  int T = 0, L = 0;
  int span(int b, int e) const { return b * L + (e - b - 1); }
  int start_of(int span) const { return span / L; }
  int end_of(int span) const { return span / L + span % L + 1; }

  std::vector<At> at;
  std::vector<Edge> edges;
  std::vector<Fire> fires;
  std::vector<Of> of;

  // for_pairs() calls visit(key) for each template of `pairs` whose texts may all occur in a key,
  // and for_joints() for each such template of `joints`, whose keys do not depend on where this
  // segment ends.  A span of -1 stands for the beginning.  label, label2: the labels of the
  // previous and of the earlier segment.
  template <class Visit>
  void for_pairs(int span, int previous, int label, int earlier, int label2, Visit visit) const {
    std::uint64_t alive = alive_[0][span];
    if (previous >= 0) alive &= alive_[1][previous];
    if (earlier >= 0) alive &= alive_[2][earlier];
    for (; alive != 0; alive &= alive - 1) {
      const int f = __builtin_ctzll(alive);
      visit(pair_key(features_->pairs[f], this_[f * n_spans_ + span], f, previous, label, earlier,
                     label2));
    }
  }
  template <class Visit>
  void for_joints(int start, int previous, int label, int earlier, int label2, Visit visit) const {
    const int J = static_cast<int>(features_->joints.size());
    for (int f = 0; f < J; ++f) {
      if (previous >= 0 && !((joint_alive_[0][previous] >> f) & 1)) continue;
      if (earlier >= 0 && !((joint_alive_[1][earlier] >> f) & 1)) continue;
      visit(joint_key(f, start, previous, label, earlier, label2));
    }
  }
  // Calls visit(key) for the templates that fire at the end of the sequence.
  template <class Visit>
  void for_ends(int previous, int label, int earlier, int label2, Visit visit) const {
    for (const auto* some : {&features_->spans, &features_->joints, &features_->pairs})
      for (const SegmentTemplate& one : *some)
        if (one.fires_at_end) visit(end_key(one, previous, label, earlier, label2));
  }

  // Call visit(key, value) for all features of a segment, or of the end, in its context, except
  // transitions.  If `learn` is not null, the texts in these keys are added to its texts.
  template <class Visit>
  void for_segment(const LabelledSegment& segment, const LabelledSegment* previous,
                   const LabelledSegment* earlier, SpanModel* learn, Visit visit) const;
  template <class Visit>
  void for_end(const LabelledSegment& last, const LabelledSegment* before, SpanModel* learn,
               Visit visit) const;

 private:
  using Hashes = std::vector<std::uint64_t>;
  std::uint64_t token(int column, int t) const;  // the hash of the values of a token
  std::uint64_t said(const SegmentPart& part, int b, int e) const;
  std::uint64_t partial(const std::vector<SegmentPart>& parts, int b, int e) const;
  std::uint64_t partial_at(const std::vector<SegmentPart>& parts, int b, int e, bool beginning,
                           bool end) const;
  std::uint64_t finished(const SegmentTemplate& one, std::uint64_t here, std::uint64_t before,
                         int label, std::uint64_t earlier, int label2) const;
  std::uint64_t pair_key(const SegmentTemplate& one, std::uint64_t here, int f, int previous,
                         int label, int earlier, int label2) const {
    const std::uint64_t p =
        previous < 0 ? none_of(one.parts[1]) : previous_[f * n_spans_ + previous];
    const std::uint64_t q = earlier < 0 ? none_of(one.parts[2]) : earlier_of(f, earlier);
    return finished(one, here, p, label, q, label2);
  }
  // The hash of a segment before the beginning.
  static std::uint64_t none_of(const std::vector<SegmentPart>& parts) {
    return parts.empty() ? kNothing : kBeginning;
  }
  std::uint64_t earlier_of(int f, int span) const {
    return features_->pairs[f].depth() < 2 ? kBeginning : earlier_[f * n_spans_ + span];
  }
  std::uint64_t joint_key(int f, int start, int previous, int label, int earlier, int label2) const;
  std::uint64_t end_key(const SegmentTemplate& one, int previous, int label, int earlier,
                        int label2) const;
  std::uint64_t key_of(const SegmentTemplate& one, const LabelledSegment* here,
                       const LabelledSegment* previous, const LabelledSegment* earlier) const;
  void learn_texts(const SegmentTemplate& one, const LabelledSegment* here,
                   const LabelledSegment* previous, const LabelledSegment* earlier,
                   SpanModel& model) const;
  template <class Visit>
  void combinations(const TokenTemplate& one, int t, std::size_t part, std::uint64_t key,
                    double value, Visit& visit) const;
  template <class Visit>
  void for_anchor(const TokenTemplate& one, int t, Visit visit) const;

  void read_tokens(const SpanModel& model);
  void find_tokens(const SpanModel& model);
  void hash_texts(const SpanModel& model);
  void find_spans(const SpanModel& model);
  void hash_pairs(const SpanModel& model);
  bool has_text(const std::vector<SegmentPart>& parts, int span) const;
  std::uint64_t text(int column, int b, int e) const;
  int text_index(int column) const;

  static constexpr std::uint64_t kBeginning = 0x6265676e, kNothing = 0x65787477;
  const SpanFeatures* features_ = nullptr;
  const SpanCorpus* corpus_ = nullptr;
  std::int64_t first_ = 0;  // first token in the corpus
  std::int64_t first_fired_ = 0, last_fired_ = 0;
  int n_spans_ = 0;                  // T * L, including spans beyond the end of the sequence
  std::vector<Hashes> tokens_;       // [columns][T]
  std::vector<std::uint8_t> plain_;  // [columns] whether each token has one value without a weight
  std::vector<Hashes> texts_;        // [text columns][spans]
  // [text columns][spans] whether the text may occur in a key.
  std::vector<std::vector<std::uint8_t>> known_;
  Hashes this_, previous_, earlier_;           // [pairs][spans]
  std::vector<std::uint64_t> alive_[3];        // [spans] by role: a bit for each of `pairs`
  std::vector<std::uint64_t> joint_alive_[2];  // [spans] the same for `joints`, by role - 1
  Hashes joint_previous_, joint_earlier_;      // [joints][spans]
  Hashes joint_this_;                          // [joints][T]
  struct Pending {
    std::uint64_t key;
    std::int32_t a, b;
    double value;
  };
  std::vector<Pending> pending_;
};

// Keys of transitions from a label, or from the beginning (-1), and to the end; the weight of the
// latter is in the first column.
std::uint64_t transition_key(int previous);
std::uint64_t ending_key(int last);

}  // namespace caesura

#include "learn/span_keys.hpp"
