"""``python -m evaluation``: see `evaluation.cli.commands`."""

from evaluation.cli.commands import app
from modal_env.streams import print_anything

if __name__ == "__main__":
    print_anything()
    app()
