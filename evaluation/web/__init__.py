"""A game in the browser, with people in seats (needs the extra `web`). ``welfare-env play`` starts it.

* `settings`, `table`: the game, without network: its steps, people's answers, and the journal on disk (`journal`);
* `hosting`: the game with its folder, clock and policies; `seats`: who has which seat;
* `seen`, `routes`, `page`, `events`: what pages get;
* `serving`, `guard`: the server, and what it refuses; `commands`: ``play``.
"""
