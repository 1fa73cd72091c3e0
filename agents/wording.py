"""How errors quote a wrong value."""

from __future__ import annotations

from welfare_env.checks import shown

told = shown
