"""``python -m training``: see `training.cli.commands`."""

from training.cli.commands import app

if __name__ == "__main__":
    app()
