"""Checks pages with axe-core, which is in tests/vendor."""

from functools import cache
from pathlib import Path

from tests.browser import Browser

SCRIPT = Path(__file__).parent / "vendor" / "axe-core-4.14.0" / "axe.min.js"
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa")


def violations(window: Browser) -> list[str]:
    """Name the rules that the page breaks, and the elements that break them; frames are left out.

    The script runs beside the page, whose own policy does not apply to it.
    """
    if not window.evaluate("typeof axe === 'object'"):
        window.evaluate(_script())
    options = f"{{runOnly: {list(RULES)}, resultTypes: ['violations'], iframes: false}}"
    found = window.evaluate(f"axe.run({options}).then(result => result.violations)")
    return [
        f"{rule['id']}: {node['html']} {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
    ]


@cache
def _script() -> str:
    return SCRIPT.read_text(encoding="utf-8")
