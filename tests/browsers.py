"""What tests that open pages in a real browser need."""

import os
from pathlib import Path

import pytest

from tools.browser import chromium

IN_A_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="needs Chromium (Debian: apt install chromium)"),
]
AXE = Path(os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js"))
NEEDS_AXE = pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core (npm install axe-core; AXE_CORE=PATH)")
