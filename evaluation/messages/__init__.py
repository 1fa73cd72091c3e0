"""Analysis of messages, and of promises and whether they are kept."""
