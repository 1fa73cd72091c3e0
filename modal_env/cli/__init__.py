"""The commands of ``python -m modal_env``, their tables and their pictures."""
