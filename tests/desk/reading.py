"""Reads pages of the desk as people do: headings, tables and notices."""

from fastapi import FastAPI
from lxml import html
from starlette.testclient import TestClient

from flows.desk.server import Answer, Server
from flows.operation.status import Status
from tasks.store.desk_pages import key_of
from tests.desk.quarters import Quarters

Rows = list[list[str]]


class Page:
    """One page that was answered with 200."""

    def __init__(self, client: TestClient, path: str) -> None:
        answer = client.get(path)
        assert answer.status_code == 200, (path, answer.status_code)
        self.text = answer.text
        self._root = html.fromstring(answer.text)

    @property
    def words(self) -> str:
        """All text of the page, with single spaces."""
        return plain(self._root.find("body"))

    @property
    def sections(self) -> list[str]:
        """The headings below that of the page."""
        return [plain(heading) for heading in self._root.iter("h2")]

    @property
    def notices(self) -> list[str]:
        """What the page says first."""
        return [plain(part) for part in self._root.find_class("notice")]

    @property
    def facts(self) -> dict[str, str]:
        """The list of facts at the top."""
        terms = zip(self._root.iter("dt"), self._root.iter("dd"), strict=True)
        return {plain(term): plain(fact) for term, fact in terms}

    def table(self, caption: str) -> Rows:
        """Give the rows of the table whose caption begins so, without its head."""
        return [[plain(cell) for cell in row] for row in self._table(caption).iterfind("tbody/tr")]

    def head(self, caption: str) -> list[str]:
        """Give the titles of the columns of a table."""
        return [plain(cell) for cell in self._table(caption).iterfind("thead/tr/th")]

    def captions(self) -> list[str]:
        """List the captions of all tables."""
        return [plain(caption) for caption in self._root.iter("caption")]

    def links(self) -> set[str]:
        """List the addresses that the page leads to, frames and forms included."""
        names = ("href", "src", "action")
        return {part.get(name) for part in self._root.iter() for name in names if part.get(name)}

    def _table(self, caption: str) -> html.HtmlElement:
        (found,) = [
            table
            for table in self._root.iter("table")
            if plain(table.find("caption")).startswith(caption)
        ]
        return found


def plain(part: html.HtmlElement) -> str:
    """Give the text of a part of a page, without the signs that only decorate it."""
    texts = part.xpath(".//text()[not(ancestor::*[@aria-hidden='true'])]")
    return " ".join(" ".join(texts).split())


class Said(Server):
    """A Prefect server that has said something."""

    def __init__(self, status: Status) -> None:
        super().__init__()
        self._said = Answer(status)

    def answer(self) -> Answer:
        return self._said


def let_server_say(desk: FastAPI, status: Status) -> None:
    """Let the desk hear an answer of a Prefect server."""
    object.__setattr__(desk.state.library, "server", Said(status))


def address(quarters: Quarters, attempt: str) -> str:
    """Give the path of the page of an attempt."""
    return f"/releases/{key_of(quarters.register)}/{attempt}"
