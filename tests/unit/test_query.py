"""The query of a database source: one statement, one parameter, found where it is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.errors import SpecError
from expectations.request.query import Query

BOUND = {
    "select :period": "select $1",
    "select 1 where q = :period and p=:period": "select 1 where q = $1 and p=$1",
    "select :period::date": "select $1::date",
    "select x::period": "select x::period",
    "select ':period'": "select ':period'",
    "select 'it''s :period'": "select 'it''s :period'",
    "select E'it\\'s :period', :period": "select E'it\\'s :period', $1",
    "select e'\\\\', :period": "select e'\\\\', $1",
    "select name':period', 'x\\', :period": "select name':period', 'x\\', $1",
    'select ":period", "a"":period"': 'select ":period", "a"":period"',
    "select `:period`": "select `:period`",
    "select $$ :period $$, $tag$ :period $$ $tag$, :period": "select $$ :period $$, $tag$ :period "
    "$$ $tag$, $1",
    "select 1 -- :period\n, :period": "select 1  \n, $1",
    "select 1 -- it's\n, :period": "select 1  \n, $1",
    "select /* :period ' */ :period": "select   $1",
    "select 1; -- done": "select 1",
    "select ';' ;\n": "select ';'",
    "(SELECT 1)": "(SELECT 1)",
    "/* first */ WITH x AS (SELECT 1) SELECT * FROM x": "  WITH x AS (SELECT 1) SELECT * FROM x",
    "table persons": "table persons",
    "values (1), (2)": "values (1), (2)",
    "select a$b, 1e5, a[1 : 2], b @> c": "select a$b, 1e5, a[1 : 2], b @> c",
    "select 'https://example.org/x'": "select 'https://example.org/x'",
}


@pytest.mark.parametrize("text", BOUND)
def test_the_period_is_bound_where_it_is_a_parameter_and_nowhere_else(text: str) -> None:
    query = Query.of(text)
    assert query.written("$1") == BOUND[text]
    assert query.has_period == ("$1" in BOUND[text])


REFUSED = {
    "": "must begin with SELECT, WITH, TABLE, VALUES",
    "-- select 1": "must begin with SELECT",
    "delete from persons": "must begin with SELECT",
    "explain select 1": "must begin with SELECT",
    "'select'": "must begin with SELECT",
    "select 1; select 2": "must be one statement",
    "select 1; delete from persons;": "must be one statement",
    "select 1;;": "must be one statement",
    "select 'open": "every quote in a query must be closed",
    'select "open': "every quote in a query must be closed",
    "select E'open\\'": "every quote in a query must be closed",
    "select 1 /* open": "every comment in a query must be closed",
    "select /* a /* b */ c */ 1": "comments in a query must not be nested",
    "select :periodic": "the only parameter of a query is :period; 1 other is in it",
    "select :a, $1, ?, ?2, @b, $c": "6 other are in it",
    "select dblink('postgresql://SECRET:SECRET@host/db')": "an address with a password",
}


@pytest.mark.parametrize("text", REFUSED)
def test_anything_but_one_query_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(SpecError, match=REFUSED[text]) as raised:
        Query.of(text)
    assert "SECRET" not in str(raised.value)


@given(st.text(alphabet="se :period'\"$-/*\n;E\\x", max_size=30))
def test_text_outside_the_parameter_is_never_lost_or_added(noise: str) -> None:
    try:
        query = Query.of("select " + noise)
    except SpecError:
        return
    again = Query.of(query.written(":period"))
    assert again == query
