"""``python -m evaluation``: see `evaluation.cli.commands`."""

from evaluation.cli.commands import app

if __name__ == "__main__":
    app()
