"""Something new takes a file or two: throw-away additions to a copy of the code."""

import json
import os
from pathlib import Path

import pytest

from tests.conftest import Request
from tests.copies import Copy

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="other processes do not count for coverage"
)

CYCLE = '''"""Hours, weekdays and directions: after the last comes the first."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from algorithms.attributes.attribute import group_means
from algorithms.rounding.grid import Grid


@dataclass(frozen=True)
class Cycle:
    name: str
    length: int

    has_line: ClassVar[bool] = False

    def scale(self, values):
        x = _points(values, self.length)
        spread = ((x - x.mean(axis=0)) ** 2).sum()
        unit = np.sqrt((len(x) - 1) / spread) if spread else 1.0
        return Circle(self.length, unit, unit * x.mean(axis=0))

    def represent(self, values, groups, weights=None, scale=None):
        x = group_means(_points(values, self.length), groups, weights)
        turns = np.arctan2(x[:, 1], x[:, 0]) / (2.0 * np.pi)
        return np.rint(turns * self.length).astype(np.int64) % self.length

    def numbers(self, values):
        return None

    def write(self, values):
        return values


@dataclass(frozen=True)
class Circle:
    length: int
    unit: float
    centre: np.ndarray

    one_label: ClassVar[bool] = False

    @property
    def grid(self):
        return Grid(np.zeros(2), np.zeros(2), np.zeros(2, dtype=bool))

    def embed(self, values):
        return self.unit * _points(values, self.length)

    def average(self, values, groups, weights=None):
        return group_means(self.embed(values), groups, weights)


def _points(values, length):
    angles = 2.0 * np.pi * values / length
    return np.column_stack([np.cos(angles), np.sin(angles)])
'''

READ_CYCLE = '''"""Positions on a cycle in files."""

from expectations.numbers import to_integers


class CycleKind:
    def input_rules(self, attribute):
        return iter(())

    def read(self, attribute, column):
        return attribute, to_integers(column) % attribute.length

    def output_rules(self, attribute):
        return iter(())
'''

RELEASE_IT = """
import json, sys
from pathlib import Path
from algorithms.comparison import Comparison
from expectations.published.recomputed import recompute
from expectations.published.verifier import verify
from expectations.gate import Verdicts
from expectations.manifest import Record
from expectations.request.spec_file import load
from tasks.ingest import ingest
from tasks.judge import judge
from tasks.pipeline import mask_and_measure, plainly
from tasks.profile import profile
from tasks.publish import publish
from tasks.validate import validate

spec = load(Path(sys.argv[1]))
table, _ = validate.fn(ingest.fn(spec)[0], spec)
files, evaluation = mask_and_measure(table, spec, plainly)
masked = files.masked
verdicts = Verdicts(evaluation, spec.gate, spec.microaggregation.k, spec.columns)
approval = judge.fn(masked, verdicts, spec).approval
record = Record.of(spec, started_by="Ana")
folder = publish.fn(masked, approval, spec, record, profile.fn(files)).folder
found = verify(folder)
measures = recompute(found)
json.dump([found.k_found, sorted(measures), evaluation.measures], sys.stdout)
"""

ROWS = """\
id,zone,staff,sales,score
a,23,1,10.5,1
b,0,2,11.5,2
c,1,1,10.0,3
d,12,40,90.0,4
e,11,42,91.0,
f,13,44,95.0,6
g,12,90,9.0,7
"""


def test_a_kind_of_column_is_two_files_its_place_in_the_spec_and_its_name(
    request_of: Request, tmp_path: Path
) -> None:
    copy = Copy(tmp_path / "copy")
    copy.add("algorithms/attributes/cycle.py", CYCLE)
    copy.insert(
        "algorithms/attributes/__init__.py",
        "from algorithms.attributes.category import Category\n",
        "from algorithms.attributes.cycle import Cycle\n",
    )
    copy.add("expectations/suites/kinds/cycle.py", READ_CYCLE)
    kinds = "expectations/suites/kinds/__init__.py"
    copy.insert(kinds, "    Category,\n", "    Cycle,\n")
    copy.insert(
        kinds,
        "from expectations.suites.kinds.category import CategoryKind\n",
        "from expectations.suites.kinds.cycle import CycleKind\n",
    )
    copy.insert(kinds, "COLUMN_KINDS: Mapping[type, Kind[Any]] = {\n", "    Cycle: CycleKind(),\n")
    columns = "expectations/request/sections/columns.py"
    copy.insert(columns, "import Attribute, Category, ", "Cycle, ")
    copy.insert(
        columns, "    categories: tuple[str, ...] = ()\n", "    cycles: dict[str, int] = {}\n"
    )
    copy.insert(
        columns,
        "        rule = self.published.get(name)\n",
        "        if name in self.cycles:\n            return Cycle(name, self.cycles[name])\n",
    )
    words = "tasks/public_files.py"
    copy.insert(words, "    Category,\n", "    Cycle,\n")
    copy.insert(
        words,
        "    match attribute:\n",
        '        case Cycle():\n            return Kind("cycle")\n',
    )
    assert len(copy.new_files) == 2
    assert len(copy.changes) == 4
    added = sum(line.startswith("+") for lines in copy.changes.values() for line in lines)
    assert added == 11

    request_of.source.write_text(ROWS, encoding="utf-8")
    for how in ({"method": "mdav"}, {"method": "best", "options": {"iterations": 20}}):
        spec = request_of.write(
            release={"period": f"2026-{how['method']}"},
            columns={
                "quasi_identifiers": ["zone", "staff", "sales"],
                "confidential": ["score"],
                "cycles": {"zone": 24},
            },
            microaggregation={"k": 3, **how},
        )
        k, recomputed, measures = json.loads(copy.run(RELEASE_IT, str(spec)))
        assert k == 3
        assert "l_distinct" in recomputed
        assert measures["il_bound"] <= measures["il"]
        # the hours around midnight are close to each other
        data = request_of.public / "small" / f"2026-{how['method']}" / "data.csv"
        hours = {line.split(",")[0] for line in data.read_text(encoding="utf-8").splitlines()[1:]}
        assert "0" in hours


MEASURE = '''"""How many groups there are."""

from algorithms.measure import Measure

MEASURES = (
    Measure(
        name="groups",
        title="groups",
        kind="risk",
        unit="",
        better="higher",
        definition="Distinct combinations of published quasi-identifiers.",
        paper="SWE02",
        run=lambda files: float(files.sizes.size),
        needs_original=False,
        least=1.0,
    ),
)
'''


def test_a_measure_is_one_file_and_its_name_on_the_list(
    request_of: Request, tmp_path: Path
) -> None:
    copy = Copy(tmp_path / "copy")
    copy.add("algorithms/risk/groups.py", MEASURE)
    copy.insert("algorithms/measures.py", "    dld,\n", "    groups,\n")
    copy.insert("algorithms/measures.py", "        classes, ", "groups, ")
    assert len(copy.new_files) == 1
    assert list(copy.changes) == ["algorithms/measures.py"]
    gate = {"ceilings": {"il": 100.0, "dld": 100.0}, "floors": {"groups": 2.0}}
    k, recomputed, measures = json.loads(copy.run(RELEASE_IT, str(request_of.write(gate=gate))))
    assert k == 3
    assert "groups" in recomputed
    assert measures["groups"] == 2.0
