"""Tasks of inspect-ai: ``inspect eval evaluation/self_play --model openai/MODEL -T years=3``; see docs/inspect.md.

inspect-ai is the extra `inspect`; nothing else of this package imports it. inspect finds the tasks in `tasks` (an entry
point); `solver` plays their games, `model` has inspect's models as ours, and `scoring` measures.
"""
