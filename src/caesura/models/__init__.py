"""The estimators: declare features, fit, predict, inspect, explain, save, load."""

from caesura.models.chain import ChainCRF
from caesura.models.files import load
from caesura.models.pruned import PrunedSemiCRF
from caesura.models.semi import SemiCRF

__all__ = ["ChainCRF", "PrunedSemiCRF", "SemiCRF", "load"]
