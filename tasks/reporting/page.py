"""Pages from templates; each page is one file that holds all it needs."""

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

MINUS = "\N{MINUS SIGN}"
LINE = 100
"""Characters in a line of plain text."""

MOST_CONCERNS = 8
"""The most measures that a page lists as those to look at first."""


def anchor(heading: str) -> str:
    """Name the place of a heading within its page.

    Examples
    --------
    >>> anchor("Linkage, by column")
    'linkage-by-column'
    """
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def capitalised(text: str) -> str:
    """Start with a capital letter, and leave the rest as it is.

    Examples
    --------
    >>> capitalised("iL is 9 %")
    'IL is 9 %'
    """
    return f"{text[:1].upper()}{text[1:]}"


def signed(value: float) -> str:
    """Write a change to four decimals; a change that rounds to zero has no sign.

    Examples
    --------
    >>> signed(0.5), signed(-0.00001)
    ('+0.5000', '0.0000')
    """
    text = f"{value:+.4f}"
    return "0.0000" if float(text) == 0.0 else text.replace("-", MINUS)


def counted(change: int) -> str:
    """Write the change of a count; no change has no sign.

    Examples
    --------
    >>> counted(1234), counted(0)
    ('+1,234', '0')
    """
    return f"{change:+,}".replace("-", MINUS) if change else "0"


def in_words(names: Iterable[str]) -> str:
    """List names in a sentence.

    Examples
    --------
    >>> in_words(["age", "sex", "income"]), in_words(["age"])
    ('age, sex and income', 'age')
    """
    *first, last = [*names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def paragraph(text: str) -> str:
    r"""Break a paragraph of plain text into lines, between words but not before a per cent sign.

    Examples
    --------
    >>> paragraph("one\n two")
    'one two\n'
    """
    words = " ".join(text.split()).replace(" %", "\0%")
    lines = textwrap.wrap(words, LINE, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ") + "\n"


def six_digits(value: float) -> str:
    """Write a number to six digits, and a large one as a whole number rather than a power of ten.

    Examples
    --------
    >>> six_digits(1234567.8), six_digits(0.125)
    ('1,234,568', '0.125')
    """
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:,.6g}"


def thousands(count: int) -> str:
    """Write a count with a comma between thousands.

    Examples
    --------
    >>> thousands(12345)
    '12,345'
    """
    return f"{count:,}"


def file_uri(path: str) -> str:
    """Give the address of a file on the machine that holds it.

    Examples
    --------
    >>> file_uri("/reports/one page.html")
    'file:///reports/one%20page.html'
    """
    return Path(path).as_uri()


TEMPLATES = Environment(
    loader=PackageLoader("tasks.reporting"),
    autoescape=select_autoescape(["html"]),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
TEMPLATES.filters |= {
    "anchor": anchor,
    "capitalised": capitalised,
    "counted": counted,
    "file_uri": file_uri,
    "in_words": in_words,
    "paragraph": paragraph,
    "signed": signed,
    "six_digits": six_digits,
    "thousands": thousands,
    "zip": zip,
}


def render(template: str, **values: object) -> str:
    """Fill in a template; a value that it names and is not given is an error.

    Parameters
    ----------
    template : str
        Its file name; values are escaped if that ends in ``.html``.
    **values : object
        Values that the template shows.
    """
    return TEMPLATES.get_template(template).render(values)
