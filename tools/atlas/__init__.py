"""Makes the map of the standard board in `welfare_env/render/atlas`: `python -m tools.atlas`.

The land of today's countries, from Natural Earth, is divided among the provinces by the nearest town of 1900, and the
water by the nearest position at sea (`sources.json`). Needs shapely (extra `dev`), and npm to download the countries.
"""
