#include "infer/packed_answers.hpp"

#include <algorithm>

namespace caesura {

// Writes seven bits of a number in each byte, the lowest first; all bytes but the last have the
// eighth bit set.
void PackedAnswers::add(const std::vector<LabelledSegment>& segments, double score) {
  auto put = [&](std::uint32_t number) {
    for (; number >= 128; number /= 128)
      bytes_.push_back(static_cast<std::uint8_t>(number % 128 + 128));
    bytes_.push_back(static_cast<std::uint8_t>(number));
  };
  places_.push_back({score, static_cast<std::int64_t>(bytes_.size()),
                     static_cast<std::int32_t>(segments.size())});
  // A segment starts where the one before it ends, so starts are not stored.
  for (const LabelledSegment& segment : segments) {
    put(static_cast<std::uint32_t>(segment.end - segment.start));
    put(static_cast<std::uint32_t>(segment.label));
  }
}

void PackedAnswers::unpack(std::size_t k, std::vector<LabelledSegment>& segments) const {
  const std::uint8_t* at = bytes_.data() + places_[k].begin;
  auto take = [&] {
    std::int32_t number = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint8_t byte = *at++;
      number |= (byte % 128) << shift;
      if (byte < 128) return number;
    }
  };
  segments.resize(places_[k].count);
  std::int32_t start = 0;
  for (LabelledSegment& segment : segments) {
    const std::int32_t end = start + take();
    segment = {start, end, take()};
    start = end;
  }
}

std::vector<Answer> PackedAnswers::unpacked() const {
  std::vector<Answer> out(size());
  for (std::size_t k = 0; k < size(); ++k) {
    out[k].possible = true;
    out[k].score = score(k);
    unpack(k, out[k].segments);
  }
  return out;
}

// Answers are added nearly in this order, so few of them are compared segment by segment.
void PackedAnswers::sort() {
  std::vector<std::int32_t> order(size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::int32_t>(k);
  Answer a, b;
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t i, std::int32_t j) {
    if (score(i) != score(j)) return score(i) > score(j);
    unpack(i, a.segments);
    unpack(j, b.segments);
    return comes_first(a, b);
  });
  // The bytes stay in place: only the index is sorted.
  std::vector<Place> places;
  places.reserve(size());
  for (const std::int32_t k : order) places.push_back(places_[k]);
  places_.swap(places);
}

}  // namespace caesura
