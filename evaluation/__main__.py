"""``python -m evaluation``: see `evaluation.cli.commands`."""

from evaluation.cli.main import end_at_interruptions

if __name__ == "__main__":
    end_at_interruptions()
    from evaluation.cli.commands import app
    from modal_env.console import print_anything

    print_anything()
    app()
