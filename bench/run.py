"""Run the main benchmarks one after the other: make bench."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> None:
    here = Path(__file__).parent
    pictures = here.parent / "docs" / "pictures"
    for name, options in {
        "chain.py": [],
        "once.py": [],
        "scaling.py": ["--plot", str(pictures / "scaling.png")],
        "segments.py": [],
        "growth.py": ["--plot", str(pictures / "training-size.png")],
        "crfsuite.py": [],
        "segment.py": [],
        "peers.py": [],
    }.items():
        print(f"\n== {name} ==", flush=True)
        subprocess.run([sys.executable, str(here / name), *options], check=True)


if __name__ == "__main__":
    main()
