"""The compiled engine against the `diplomacy` package, after every phase of games of many kinds."""
