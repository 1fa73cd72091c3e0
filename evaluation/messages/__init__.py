"""Analysis of messages and promises."""
