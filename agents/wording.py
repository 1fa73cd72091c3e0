"""How errors quote a value that is wrong."""

from __future__ import annotations

from welfare_env.checks import shown

told = shown
