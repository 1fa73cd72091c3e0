"""Tasks of inspect-ai: ``inspect eval evaluation/self_play --model openai/MODEL -T years=3``; see docs/inspect.md.

inspect-ai is the extra `inspect`; nothing else of this package imports it. `tasks` is where inspect finds the tasks (an
entry point), `games` which games they play, `solver` plays one, `model` is a model of inspect as ours, and `scoring`
measures what `evaluation.self_play` and `evaluation.exploitability` measure.
"""
