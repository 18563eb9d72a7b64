"""``python -m caesura`` is the command line."""

from caesura.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
