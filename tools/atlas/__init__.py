"""How the drawing of the standard board in `welfare_env/render/atlas` is made: `python -m tools.atlas`.

Countries of today, from Natural Earth, are divided among the provinces by towns of 1900, and the water by positions at
sea (`sources.json`). Needs shapely (extra `dev`) and npm, through which the countries are fetched.
"""
