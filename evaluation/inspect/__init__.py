"""Tasks of inspect-ai: ``inspect eval evaluation/self_play --model openai/MODEL -T years=3``; see docs/inspect.md.

inspect-ai is the extra `inspect`; only this subpackage imports it. inspect finds the tasks in `tasks` (an entry point);
`solver` plays the games, `model` adapts inspect's models to our protocol, and `scoring` computes the measures.
"""
