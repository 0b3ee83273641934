"""Reads the query of a database source: one statement that only reads, with one parameter."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from algorithms.errors import SpecError

PARAMETER = ":period"
"""Stands in a query for the period of the run."""
FIRST_WORDS = ("select", "with", "table", "values")

TOKEN = re.compile(
    r"""
    (?P<blank>      \s+ | --[^\n]*                              )
  | (?P<comment>    /\*                                         )
  | (?P<quoted>     [eE]'(?:[^'\\]|\\.|'')*'
                  | '(?:[^']|'')*'
                  | "(?:[^"]|"")*"
                  | `(?:[^`]|``)*`
                  | \$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$ )
  | (?P<word>       [^\W\d][\w$]*                               )
  | (?P<number>     [0-9][\w.]*                                 )
  | (?P<cast>       ::                                          )
  | (?P<period>     :period(?![\w$])                            )
  | (?P<parameter>  [:@$]\w+ | \?[0-9]*                         )
  | (?P<end>        ;                                           )
  | (?P<other>      .                                           )
    """,
    re.VERBOSE | re.DOTALL,
)
"""The tokens of SQL that PostgreSQL and SQLite read alike; other queries are refused."""
CREDENTIALS = re.compile(r"://[^\s/'\"]*@")


@dataclass(frozen=True)
class Query:
    """A query, cut where its parameter stands; comments are left out.

    Attributes
    ----------
    parts : tuple of str
        The text before, between and after the places of `PARAMETER`.
    """

    parts: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a query.

        Raises
        ------
        SpecError
            If it is not a single query; the message does not quote it.

        Examples
        --------
        >>> Query.of("SELECT ':period', :period::date -- :period").written("$1")
        "SELECT ':period', $1::date"
        """
        if CREDENTIALS.search(text):
            raise SpecError("a query must not contain an address with a password; this one does")
        tokens = list(_tokens(text))
        _check_one_query(tokens)
        others = sum(kind == "parameter" for kind, _ in tokens)
        if others:
            raise SpecError(
                f"the only parameter of a query is {PARAMETER}; {others} other "
                f"{'is' if others == 1 else 'are'} in it: write values into the query, and put a "
                "space after an operator that begins like a parameter (:, @, $, ?)"
            )
        parts = [""]
        for kind, token in tokens:
            if kind == "period":
                parts.append("")
            elif kind != "end":
                parts[-1] += token
        parts[-1] = parts[-1].rstrip()
        return cls(tuple(parts))

    @property
    def has_period(self) -> bool:
        """Whether the query depends on the period."""
        return len(self.parts) > 1

    def written(self, placeholder: str) -> str:
        """Write the query with the placeholder of a database in place of its parameter."""
        return placeholder.join(self.parts)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Cut a query into tokens; a comment counts as a blank."""
    position = 0
    while position < len(text):
        match = TOKEN.match(text, position)
        assert match is not None
        kind, token, position = match.lastgroup or "", match.group(), match.end()
        if token.startswith("--"):
            token = " "
        elif kind == "comment":
            position = _end_of_comment(text, position)
            kind, token = "blank", " "
        elif token in ("'", '"', "`") or (token in ("e", "E") and text.startswith("'", position)):
            raise SpecError("every quote in a query must be closed; one is not")
        yield kind, token


def _end_of_comment(text: str, start: int) -> int:
    end = text.find("*/", start)
    if end < 0:
        raise SpecError("every comment in a query must be closed; one is not")
    if "/*" in text[start:end]:
        raise SpecError("comments in a query must not be nested; one contains another")
    return end + len("*/")


def _check_one_query(tokens: list[tuple[str, str]]) -> None:
    content = [(kind, token) for kind, token in tokens if kind != "blank"]
    if content and content[-1][0] == "end":
        content.pop()
    if any(kind == "end" for kind, _ in content):
        raise SpecError("a query must be one statement; a semicolon separates several")
    first = next((token.lower() for _, token in content if token != "("), "")
    if first not in FIRST_WORDS:
        raise SpecError(
            f"a query must begin with {', '.join(map(str.upper, FIRST_WORDS))}; this one does not"
        )
