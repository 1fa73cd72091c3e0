"""``python -m training``: see `training.cli.commands`."""

from modal_env.console import print_anything
from training.cli.commands import app

if __name__ == "__main__":
    print_anything()
    app()
