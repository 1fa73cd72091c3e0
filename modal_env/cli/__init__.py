"""The commands of ``python -m modal_env``, their tables and plots."""
