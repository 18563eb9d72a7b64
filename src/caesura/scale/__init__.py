"""Work on many parts at once: processes of this machine, or a Dask or Ray cluster."""

from caesura.executors import Executor, Here, Processes, Tree, added, opened, total

__all__ = ["Executor", "Here", "Processes", "Tree", "added", "opened", "total"]
