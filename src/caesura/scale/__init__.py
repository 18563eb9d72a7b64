"""Work on many parts at once: processes of this machine, or a Dask or Ray cluster.

Models learn from parts with `fit_parts`; here are the executors, bulk segmentation, and bulk loads.
"""

from caesura.executors import Executor, Here, Processes, Tree, added, opened, total
from caesura.scale.batches import SegmentBatches, segment_batches
from caesura.scale.bulk import Manifest, Part, segment_files
from caesura.scale.loads import LoadedFile, LoadManifest, load_files

__all__ = [
    "Executor",
    "Here",
    "LoadManifest",
    "LoadedFile",
    "Manifest",
    "Part",
    "Processes",
    "SegmentBatches",
    "Tree",
    "added",
    "load_files",
    "opened",
    "segment_batches",
    "segment_files",
    "total",
]
