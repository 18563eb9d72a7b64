// Sums of attributes that often occur together are computed once and become rows of the table.
//
// The words around a token determine many attributes at once (a part of speech, a pair, a triple),
// so the same runs of attributes recur.  As in byte-pair encoding, frequent adjacent pairs are
// merged in several passes.  On CoNLL-2000 with CRFsuite's template, a token then has 7.6 rows of
// the table instead of 13.3.  Reading rows takes most of the time of an evaluation.
#pragma once

#include "learn/design.hpp"

namespace caesura {

void share(Design& design);
// Restores the design as it was before share().
void unshare(Design& design);

}  // namespace caesura
