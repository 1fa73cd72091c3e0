"""``python -m modal_env``: see `modal_env.cli.commands`."""

from modal_env.cli.commands import app
from modal_env.console import print_anything

if __name__ == "__main__":
    print_anything()
    app()
