// Exponentials of the scores of pairs of labels, in rows that are padded to whole vectors.
#pragma once

#include <cstdint>

namespace caesura {

// A block of columns of a label matrix, and the rows that are not zero in it.  begin and width are
// counted in vectors.
struct Panel {
  int begin, width;
  const std::int32_t* sources;
  int count;
  bool dense;  // sources lists all rows
};

template <class Real>
struct LabelWeights {
  int Y = 0, stride = 0;
  const Real* transition = nullptr;  // [stride][stride] exp, previous label first, zero padding
  const Real* transposed = nullptr;  // [stride][stride]
  const Panel* panels = nullptr;     // of transition
  const Panel* back_panels = nullptr;
  int n_panels = 0, n_back_panels = 0;
  const Real* first = nullptr;  // [stride] exp of the start scores
  const Real* last = nullptr;   // [stride] exp of the end scores
};

}  // namespace caesura
