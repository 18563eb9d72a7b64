"""Server metrics in the Prometheus text format."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["Metrics"]

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """Counters of requests, texts and segments, and response times.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.end("/segment", 200, 0.004)
    >>> line = 'caesura_requests_total{route="/segment",status="200"} 1.0'
    >>> line in metrics.text().decode()
    True
    """

    def __init__(self) -> None:
        self._all = CollectorRegistry()
        named = ("route", "status")
        self._requests = Counter(
            "caesura_requests", "Requests by route and status.", named, registry=self._all
        )
        self._seconds = Histogram(
            "caesura_request_seconds",
            "Seconds from a request to the end of its answer.",
            ("route",),
            buckets=BUCKETS,
            registry=self._all,
        )
        self._now = Gauge("caesura_requests_now", "Requests at this moment.", registry=self._all)
        self._texts = Counter(
            "caesura_texts", "Texts that were answered.", ("model",), registry=self._all
        )
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def begin(self) -> None:
        """Count a request that begins."""
        self._now.inc()

    def end(self, route: str, status: int, seconds: float) -> None:
        """Count a request that has ended."""
        self._now.dec()
        if (route, status) not in self._known:  # looking up a labelled counter is slow
            self._known[route, status] = (
                self._requests.labels(route, str(status)),
                self._seconds.labels(route),
            )
        requests, times = self._known[route, status]
        requests.inc()
        times.observe(seconds)

    def texts(self, model: str, count: int) -> None:
        """Count texts."""
        self._texts.labels(model).inc(count)

    def text(self) -> bytes:
        """Return all metrics as text."""
        return generate_latest(self._all)
