"""Prompts: `building` assembles them from the sentences in `wording`.

`describe` puts positions into words, `quoting` quotes messages of others; `parts` names what can be left out or added.
"""

from agents.lm.prompts.building import LONGEST_SUMMARY, Prompt, build, summarise
from agents.lm.prompts.wording import Contents, Flavour

__all__ = ["LONGEST_SUMMARY", "Contents", "Flavour", "Prompt", "build", "summarise"]
