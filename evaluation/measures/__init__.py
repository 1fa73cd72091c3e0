"""From the record of a game to numbers, and from numbers of games to intervals."""
