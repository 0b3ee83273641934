"""The skeleton of a page: one file that holds all it needs, for screens, phones and paper."""

import re
from collections.abc import Collection, Iterable, Sequence
from html import escape

from tasks.reporting.style import STYLE

# the page could not fetch anything even if it held an address
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


MINUS = "\N{MINUS SIGN}"


class Html(str):
    """Text that is markup already; all other text is escaped where it enters a page."""

    __slots__ = ()


def safe(text: str) -> str:
    """Escape text, and leave markup as it is."""
    return text if isinstance(text, Html) else escape(text)


def together(parts: Iterable[str]) -> Html:
    """Put parts of a page one after the other."""
    return Html("\n".join(safe(part) for part in parts if part))


def page(title: str, body: str, *, about: str = "") -> str:
    """Write a whole page.

    Parameters
    ----------
    title : str
        Its first heading.
    body : str
        What follows; markup if it is of type Html.
    about : str
        A line above the title.
    """
    kicker = f'<p class="about">{safe(about)}</p>\n' if about else ""
    return f"""<!DOCTYPE html>
<html lang="en-GB">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>
{STYLE}</style>
</head>
<body>
<main>
<header>
{kicker}<h1>{safe(title)}</h1>
</header>
{safe(body)}
</main>
</body>
</html>
"""


def anchor(heading: str) -> str:
    """Name the place of a heading within its page."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def section(heading: str, *parts: str) -> Html:
    """Set parts under a heading of the second level."""
    name = anchor(heading)
    return Html(
        f'<section aria-labelledby="{name}">\n<h2 id="{name}">{safe(heading)}</h2>\n'
        f"{together(parts)}\n</section>"
    )


def subsection(heading: str, *parts: str) -> Html:
    """Set parts under a heading of the third level."""
    return together([Html(f"<h3>{safe(heading)}</h3>"), *parts])


def contents(headings: Iterable[str]) -> Html:
    """List the sections of a page."""
    items = "".join(f'<li><a href="#{anchor(h)}">{safe(h)}</a></li>' for h in headings)
    return Html(f'<nav aria-label="Sections"><ol>{items}</ol></nav>')


def paragraph(*texts: str) -> Html:
    """Write sentences, with a space between them."""
    return Html(f"<p>{' '.join(safe(text) for text in texts if text)}</p>")


def small(*texts: str) -> Html:
    """Write what explains and can be passed over."""
    return Html(f'<p class="small">{" ".join(safe(text) for text in texts if text)}</p>')


def bullets(texts: Iterable[str]) -> Html:
    """List sentences."""
    return Html("<ul>" + "".join(f"<li>{safe(text)}</li>" for text in texts) + "</ul>")


def strong(text: str) -> Html:
    """Set a word in bold."""
    return Html(f"<strong>{safe(text)}</strong>")


def code(text: str) -> Html:
    """Set a word that is typed as it stands."""
    return Html(f"<code>{safe(text)}</code>")


def preformatted(text: str, label: str) -> Html:
    """Set lines as they stand."""
    return Html(
        f'<pre tabindex="0" role="region" aria-label="{escape(label)}">'
        f"<code>{safe(text)}</code></pre>"
    )


def explained(term: str, explanation: str) -> Html:
    """Set a term with its explanation below, for the first cell of a row."""
    return Html(f'{safe(term)}<span class="explanation">{safe(explanation)}</span>')


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str,
    numbers: Collection[int] = (),
) -> Html:
    """Write a table whose first column names the rows.

    Parameters
    ----------
    headings : sequence of str
        Of the columns.
    rows : iterable of sequences of str
        The cells.
    caption : str
        What the table shows.
    numbers : collection of int
        Columns that are aligned to the right.
    """

    def of(j: int) -> str:
        return ' class="number"' if j in numbers else ""

    head = "".join(f'<th scope="col"{of(j)}>{safe(text)}</th>' for j, text in enumerate(headings))
    lines = (
        f'<tr><th scope="row"{of(0)}>{safe(first)}</th>'
        + "".join(f"<td{of(j)}>{safe(text)}</td>" for j, text in enumerate(cells, start=1))
        + "</tr>"
        for first, *cells in rows
    )
    return Html(
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table>\n<caption>{safe(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n"
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def bar(share: float) -> Html:
    """Draw a share of the width of a cell; its number stands in a cell beside it."""
    percent = f"{100.0 * min(max(share, 0.0), 1.0):.1f}"
    return Html(f'<span class="bar" aria-hidden="true" style="width:{percent}%"></span>')


def definitions(pairs: Iterable[tuple[str, str]]) -> Html:
    """List terms with what they are here."""
    items = "".join(
        f"<div><dt>{safe(term)}</dt><dd>{safe(what)}</dd></div>" for term, what in pairs
    )
    return Html(f"<dl>{items}</dl>")


def verdict(passed: bool, words: tuple[str, str] = ("passed", "failed")) -> Html:
    """Say whether something holds, by a sign, a word and a colour."""
    kind, sign, word = ("good", "✓", words[0]) if passed else ("bad", "✗", words[1])
    return Html(
        f'<span class="{kind}"><span aria-hidden="true">{sign}</span>&nbsp;{safe(word)}</span>'
    )


def signed(value: float) -> str:
    """Write a change to four decimals; one that rounds to nothing has no sign."""
    text = f"{value:+.4f}"
    return "0.0000" if float(text) == 0.0 else text.replace("-", MINUS)


def plain(value: float) -> str:
    """Write a number of any size to six digits, never as a power of ten if it is large."""
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:,.6g}"


def notice(kind: str, heading: str, *parts: str) -> Html:
    """Set what must be seen first in a box; kinds are good, caution, bad and plain."""
    signs = {"good": "✓", "caution": "!", "bad": "✗", "plain": "="}
    return Html(
        f'<div class="notice {kind}"><p class="decision"><span aria-hidden="true">{signs[kind]}'
        f"</span> {safe(heading)}</p>\n{together(parts)}\n</div>"
    )


def figure(drawing: Html, caption: str) -> Html:
    """Set a picture over its caption."""
    return Html(f"<figure>\n{drawing}\n<figcaption>{safe(caption)}</figcaption>\n</figure>")


def side_by_side(figures: Iterable[Html]) -> Html:
    """Set pictures beside each other, or below each other where it is narrow."""
    return Html(f'<div class="pictures">\n{together(figures)}\n</div>')
