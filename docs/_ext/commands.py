"""Reference of the faces."""


def setup(app):
    pass
