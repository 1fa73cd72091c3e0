"""Games of other programs, turned into ours: `welfare_env.import_game` and the command ``welfare-env import``.

- `files`: which program wrote a file. `nodes`: values of a file with their places, for errors.
- `diplomacy_games`: the `diplomacy` package, and AI_Diplomacy, which adds to its files. `webdiplomacy`: that site.
- `foreign`: what all of them are read into, and its replay by our engine, which must agree after every phase.
"""
