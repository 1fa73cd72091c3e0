"""Games in the browser, with people in seats (needs the extra `web`).

* `foundation`: what every page stands on; it knows no game;
* `games`: games with people, and their pages;
* `watching`: running commands of this machine; its terminal half needs no extra;
* `study_kit`: studies with people, from one TOML file;
* `commands`: ``play`` and ``serve``.
"""
