"""What ``caesura demo`` runs: references made here, learnt, tested and cut into fields."""

import typer

from caesura.cli.demo import demo

if __name__ == "__main__":
    typer.run(demo)
