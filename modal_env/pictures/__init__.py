"""Pictures of results as HTML and SVG, in plain strings: for notebooks, and for the page of `welfare-env modal page`.

Everything here takes names and numbers and returns text; what a name holds is shown as text, never as markup.
"""
