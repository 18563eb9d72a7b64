// Attributes that often come together are added up once: their sum becomes a row of the table.
//
// The words around a token determine many attributes at once (a part of speech, the pair, the
// triple), so the same runs of attributes come again and again.  As in byte-pair encoding,
// neighbours that are seen often together become one, and so on for some passes.  On CoNLL-2000
// with CRFsuite's template a token has 7.6 rows of the table in place of 13.3; the reading of rows
// is most of the time of an evaluation.
#pragma once

#include "learn/design.hpp"

namespace caesura {

void share(Design& design);
// The design as it was before.
void unshare(Design& design);

}  // namespace caesura
