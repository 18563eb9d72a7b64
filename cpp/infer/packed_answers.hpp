// A compact list of the segmentations of one sequence.
//
// The segments of a segmentation are adjacent, so their lengths and labels determine it.  These are
// stored as integers of variable length, with seven bits in each byte: a segment whose length and
// label are below 128 takes two bytes, compared with twelve for a LabelledSegment.
#pragma once

#include <cstdint>
#include <vector>

#include "infer/answers.hpp"

namespace caesura {

class PackedAnswers {
 public:
  void add(const std::vector<LabelledSegment>& segments, double score);
  std::size_t size() const { return places_.size(); }
  double score(std::size_t k) const { return places_[k].score; }
  // Writes the segments of answer k.
  void unpack(std::size_t k, std::vector<LabelledSegment>& segments) const;
  std::vector<Answer> unpacked() const;
  // Sorts by score, best first, and equal scores in the order of ties.hpp.
  void sort();

 private:
  struct Place {
    double score;
    std::int64_t begin;  // in bytes_
    std::int32_t count;  // segments
  };
  std::vector<Place> places_;
  std::vector<std::uint8_t> bytes_;
};

// At most n answers, best first.  The lattice must be prepared as for answer_n_best.
PackedAnswers packed_n_best(const Problem&, Method, Workspace&, int n);

}  // namespace caesura
