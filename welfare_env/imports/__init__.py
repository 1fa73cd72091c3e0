"""Import of games saved by other programs: `welfare_env.import_game` and the command ``welfare-env import``."""
