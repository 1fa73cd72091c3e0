"""Pictures of results as HTML and SVG, in plain strings: for notebooks, and for the page of `welfare-env modal page`.

Everything here takes names and numbers and returns text; names are escaped, so they are never read as markup.
"""
