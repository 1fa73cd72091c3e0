"""Players of `modal_env`."""
