"""The interfaces of sklearn-crfsuite and python-crfsuite: change one import.

::

    from sklearn_crfsuite import CRF            ->  from caesura.compat import CRF
    from sklearn_crfsuite import metrics        ->  from caesura.compat import metrics
    from pycrfsuite import Trainer, Tagger      ->  from caesura.compat import Trainer, Tagger

Parameters, attributes and objectives mean the same.  What differs:

- Model files are Caesura's own; files that CRFsuite wrote cannot be read, so train once more.
- The algorithms are ``lbfgs``, ``l2sgd``, ``ap``, ``pa`` and ``arow``, with CRFsuite's parameters.
- Data is checked: NaN and infinite values, and strings in the place of lists, are errors.
- Everything else that a `caesura.ChainCRF` can do, `CRF.model_` and `Tagger.model` can do.

`caesura.compat.metrics` and `caesura.compat.scorers` are those of sklearn-crfsuite, and need
scikit-learn.  `caesura.compat.seqeval` has the metrics of seqeval.
"""

from __future__ import annotations

from caesura.compat.crf import CRF
from caesura.compat.items import ItemSequence
from caesura.compat.logparser import LabelScore, TrainLogParser
from caesura.compat.tagger import ModelInfo, Tagger
from caesura.compat.trainer import BaseTrainer, Trainer, TrainingLog
from caesura.errors import CaesuraError as CRFSuiteError

__all__ = [
    "CRF",
    "CRFSUITE_VERSION",
    "BaseTrainer",
    "CRFSuiteError",
    "ItemSequence",
    "LabelScore",
    "ModelInfo",
    "Tagger",
    "TrainLogParser",
    "Trainer",
    "TrainingLog",
]

CRFSUITE_VERSION = "0.12.2"
"""The version of CRFsuite whose interface this is."""
