"""``python -m evaluation``: the command ``welfare-env``."""

from evaluation.cli.main import main

if __name__ == "__main__":
    main()
