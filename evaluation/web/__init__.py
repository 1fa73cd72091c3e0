"""Games in the browser, with people in seats (needs the extra `web`).

* `foundation`: shared parts of all sites, independent of the game;
* `games`: games with people, and their pages;
* `watching`: running commands of this machine (in the terminal, it needs no extra);
* `study_kit`: studies with people, from one TOML file;
* `commands`: ``play``, ``serve`` and ``invite``.
"""
