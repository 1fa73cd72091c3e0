"""The gains of the tables on theorems, as files of cells, and lines of play as text and pictures."""
