"""``python -m modal_env``: see `modal_env.cli.commands`."""

from modal_env.cli.commands import app

if __name__ == "__main__":
    app()
