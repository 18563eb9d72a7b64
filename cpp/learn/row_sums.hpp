// Sums of attributes that often occur together are computed once and become rows of the table.
//
// The words around a token determine many attributes at once (a part of speech, the pair, the
// triple), so the same runs of attributes recur.  As in byte-pair encoding,
// frequent adjacent pairs are merged, for several passes.  On CoNLL-2000
// with CRFsuite's template a token has 7.6 rows of the table in place of 13.3; reading rows takes
// most of the time of an evaluation.
#pragma once

#include "learn/design.hpp"

namespace caesura {

void share(Design& design);
// The design as it was before.
void unshare(Design& design);

}  // namespace caesura
