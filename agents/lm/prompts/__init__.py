"""What a model is told: `building` puts prompts together from the sentences in `wording`.

`describe` puts a position into words, `quoting` what others have said; `ablation` takes parts out.
"""

from agents.lm.prompts.building import LONGEST_SUMMARY, Prompt, build, summarise
from agents.lm.prompts.wording import Flavour

__all__ = ["LONGEST_SUMMARY", "Flavour", "Prompt", "build", "summarise"]
