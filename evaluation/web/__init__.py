"""Games in the browser, with people in seats (needs the extra `web`).

* `foundation`: shared parts of all sites, independent of the game;
* `games`: games with people, and their pages;
* `commands`: ``play``, ``serve`` and ``invite``.
"""
