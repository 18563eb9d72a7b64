// Many answers about one sequence in little memory.
//
// The segments of a segmentation follow one another, so that their lengths and labels say all.
// These are written as bytes, seven bits of a number in each: a segment takes two bytes where its
// length and its label are below 128, in place of twelve.
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
  // The segments of answer k, in memory that is used again.
  void unpack(std::size_t k, std::vector<LabelledSegment>& segments) const;
  std::vector<Answer> unpacked() const;
  // The better score first; of equal ones, the order of ties.hpp.
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
