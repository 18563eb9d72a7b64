// Features of whole segments and of the segments before them, as keys.
//
//   columns of tokens --> SpanCorpus
//   SpanFeatures x one sequence --> SpanKeys: rows of weights for places, spans and pairs of spans
//
// What a segmentation scores is the sum over its segments j of
//
//   w . phi(x, segment j)                          templates of tokens, features of segments
//   w . phi(x, segments j - 1, j)                  pairs: previous.text & this.text
//   w . phi(x, segments j - 2, j - 1, j)           triples
//   transition[label j - 1, label j]
//
// and of one more term for the end: a template that looks at this segment and at one before it also
// fires where `this` is the end of the sequence, as it fires at the first segment, where `previous`
// is the beginning.  Search, ln Z and marginals all count both.
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

// The values that a part of a template can have; in the order of caesura/features/lookback.py.
enum class Said : std::uint8_t { kText, kLength, kFirst, kLast, kBefore, kAfter, kLabel };

struct SegmentPart {
  int role;  // 0: this segment, 1: the previous one, 2: the one before that
  Said said;
  int column;
};

// Where the attribute of a template of tokens counts for the segment [b, e), its anchor being t.
enum class GroupKind : std::uint8_t {
  kRange,   // b + low <= t < e - high
  kStart,   // t == b, and the segment has `low` tokens or more
  kEnd,     // t == e - 1, and the segment has `low` tokens or more
  kSingle,  // t == b == e - 1
  kEdge     // t == b > 0; its key goes with the label before too
};
struct Group {
  GroupKind kind;
  int low, high;
  bool operator==(const Group& o) const { return kind == o.kind && low == o.low && high == o.high; }
  bool applies(int t, int b, int e) const {
    switch (kind) {
      case GroupKind::kRange:
        return b + low <= t && t < e - high;
      case GroupKind::kStart:
        return t == b && e - b >= low;
      case GroupKind::kEnd:
        return t == e - 1 && e - b >= low;
      case GroupKind::kSingle:
        return t == b && e == b + 1;
      default:
        return false;
    }
  }
};

struct TokenTemplate {
  std::vector<Part> parts;
  int group;
  std::uint64_t salt;
};

// A template of segments.  Its key is salt x this x previous x earlier, each the hash of its parts.
struct SegmentTemplate {
  std::vector<SegmentPart> parts[3];  // by role
  std::uint64_t salt;
  bool fires_at_end = false;  // it looks at this segment and at one before it
  bool by_start = false;      // of this segment it sees where it starts, nothing else
  bool by_end = false;        // of this segment it sees where it ends, nothing else
  bool labels[3] = {};        // whether it sees the label of a segment before this one
  int depth() const {
    return !parts[2].empty() || labels[2] ? 2 : (!parts[1].empty() || labels[1]);
  }
};

struct SpanFeatures {
  int n_columns = 0, n_labels = 1;
  bool boundary_weights = true;
  std::vector<Group> groups;
  std::vector<TokenTemplate> tokens;
  std::vector<SegmentTemplate> spans;   // depth 0
  std::vector<SegmentTemplate> joints;  // that see no more of this segment than where it starts
  std::vector<SegmentTemplate> pairs;   // the others
  std::vector<int> text_columns;        // whose texts are looked at
  bool sees_everything = false;  // a feature written by the user looks at all segments before

  void add_tokens(std::vector<Part> parts, Place place, std::uint64_t salt);
  // Raises no error: the caller has checked roles and columns.
  void add_segments(const std::vector<SegmentPart>& parts, std::uint64_t salt);
  // How many segments before this one are looked at.
  int depth() const;
  static constexpr std::size_t kMostPairs = 64;  // of templates in `joints`, and in `pairs`
  static constexpr int kEverything = 1 << 20;
};

// Sequences as columns of hashes.
struct SpanCorpus {
  struct Values {
    std::vector<std::int64_t> ptr;  // [tokens + 1], or empty: one value for each token
    std::vector<std::int32_t> ids;
    std::vector<double> weights;        // or empty: all are 1
    std::vector<std::uint64_t> hashes;  // of the values, by id
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
    // Calls visit(b, e) for the spans of at most L of T tokens to which it applies.
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
  std::vector<Fired> fired;                // by start in each sequence

  int n_sequences() const { return static_cast<int>(offsets.size()) - 1; }
  int length(int i) const { return static_cast<int>(offsets[i + 1] - offsets[i]); }
};

// A feature written by the user: keys of a segment after all segments before it.
struct Incremental {
  virtual ~Incremental() = default;
  virtual void keys(int sequence, const std::vector<LabelledSegment>& before,
                    const LabelledSegment& segment, std::vector<std::uint64_t>& out) = 0;
};

// A model: declared features, keys with rows of weights, and what is possible.
struct SpanModel {
  SpanFeatures features;
  KeyTable table;
  std::vector<HashBits> texts;   // [text columns] texts of spans that are in some key
  Table<double> w;               // [rows][labels]
  std::vector<double> weighted;  // [rows][labels] sum of the updates, each times its date; or empty
  double date = 0.0;             // examples seen
};

// What is possible.
struct SpanRules {
  std::vector<std::int32_t> bounds;                    // [Y] longest segment, 1 or more
  std::vector<std::uint8_t> barred;                    // [Y][Y]
  std::vector<std::uint8_t> barred_start, barred_end;  // [Y]
  std::vector<double> bias;                            // [Y] added to every segment of a label
};

// The keys of one sequence, and the rows of those that the model has.
class SpanKeys {
 public:
  struct At {  // a row that counts for segments by a group, its anchor being t
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

  // Looks for the keys of everything but pairs.
  void prepare(const SpanModel& model, const SpanCorpus& corpus, int sequence, int longest);

  // Frees the memory that `for_pairs` and similar functions need.
  void forget_hashes();

  int T = 0, L = 0;
  int span(int b, int e) const { return b * L + (e - b - 1); }
  int start_of(int span) const { return span / L; }
  int end_of(int span) const { return span / L + span % L + 1; }

  std::vector<At> at;
  std::vector<Edge> edges;
  std::vector<Fire> fires;
  std::vector<Of> of;

  // Calls visit(key) for each template of pairs and triples that may have a row, or only of those
  // that do not depend on where this segment ends.  Spans are -1 for the beginning; `label` is the
  // label of the previous segment, `label2` that of the one before.
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
  // Calls visit(key) for the templates that fire where `this` is the end of the sequence.
  template <class Visit>
  void for_ends(int previous, int label, int earlier, int label2, Visit visit) const {
    for (const auto* some : {&features_->spans, &features_->joints, &features_->pairs})
      for (const SegmentTemplate& one : *some)
        if (one.fires_at_end) visit(end_key(one, previous, label, earlier, label2));
  }

  // Calls visit(key, value) for everything that a segment says in its context but transitions.
  // `learn`: the texts in these keys become known.
  template <class Visit>
  void for_segment(const LabelledSegment& segment, const LabelledSegment* previous,
                   const LabelledSegment* earlier, SpanModel* learn, Visit visit) const;
  template <class Visit>
  void for_end(const LabelledSegment& last, const LabelledSegment* before, SpanModel* learn,
               Visit visit) const;

 private:
  using Hashes = std::vector<std::uint64_t>;
  std::uint64_t token(int column, int t) const;  // what a column says of a token
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
  // What a segment says that is not there.
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
  std::int64_t first_ = 0;  // token of the corpus
  std::int64_t first_fired_ = 0, last_fired_ = 0;
  int n_spans_ = 0;                  // T * L; some of them leave the sequence
  std::vector<Hashes> tokens_;       // [columns][T]
  std::vector<std::uint8_t> plain_;  // [columns] one value for each token, without a weight
  std::vector<Hashes> texts_;        // [text columns][spans]
  std::vector<std::vector<std::uint8_t>> known_;  // [text columns][spans] the text may be in a key
  Hashes this_, previous_, earlier_;              // [pairs][spans]
  std::vector<std::uint64_t> alive_[3];           // [spans] by role: bits of `pairs`
  std::vector<std::uint64_t> joint_alive_[2];     // [spans] of the previous and the earlier segment
  Hashes joint_previous_, joint_earlier_;         // [joints][spans]
  Hashes joint_this_;                             // [joints][T]
  struct Pending {
    std::uint64_t key;
    std::int32_t a, b;
    double value;
  };
  std::vector<Pending> pending_;
};

// Keys of transitions: from a label, from the beginning (-1); to the end, whose weight stands in
// the first column.
std::uint64_t transition_key(int previous);
std::uint64_t ending_key(int last);

}  // namespace caesura

#include "learn/span_keys.hpp"
