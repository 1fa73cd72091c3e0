"""Import of games saved by other programs: `welfare_env.import_game` and the command ``welfare-env import``.

- `files`: recognizes the program that wrote a file. `nodes`: JSON values with their places, for errors.
- `diplomacy_games`: reads the format of the `diplomacy` package and AI_Diplomacy. `webdiplomacy`: reads that site's.
- `foreign`: the common form of imported games, and their replay by our engine, which must match after every phase.
"""
