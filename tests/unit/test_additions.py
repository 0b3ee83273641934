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

CATEGORY = '''"""Labels without order: any two of them differ alike."""

from dataclasses import dataclass

import numpy as np

from algorithms.rounding.centroids import real_centroids
from algorithms.rounding.grid import Grid


@dataclass(frozen=True)
class Category:
    name: str
    labels: tuple = ()

    def scale(self, values):
        counts = np.bincount(values, minlength=len(self.labels))
        n = len(values)
        spread = float(n * n - (counts**2).sum())
        return Corners(np.sqrt(n * (n - 1) / spread) if spread else 1.0, len(self.labels))

    def represent(self, values, groups):
        counts = np.zeros((groups.sizes.size, len(self.labels)), dtype=np.int64)
        np.add.at(counts, (groups.labels, values), 1)
        return counts.argmax(axis=1)[groups.labels]

    def numbers(self, values):
        return None

    def write(self, values):
        return np.array(self.labels, dtype=object)[values]


@dataclass(frozen=True)
class Corners:
    step: float
    count: int

    @property
    def grid(self):
        none = np.zeros(self.count)
        return Grid(none, none + self.step, np.zeros(self.count, dtype=bool))

    def embed(self, values):
        return self.step * (values[:, np.newaxis] == np.arange(self.count))

    def average(self, values, groups):
        return np.column_stack([real_centroids(column, groups) for column in self.embed(values).T])
'''

READ_CATEGORY = '''"""Labels in files."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class CategoryKind:
    def input_rules(self, attribute):
        return iter(())

    def read(self, attribute, column):
        labels = sorted(pc.unique(column).to_pylist())
        codes = pc.index_in(column, value_set=pa.array(labels))
        return replace(attribute, labels=tuple(labels)), np.asarray(codes, dtype=np.int64)

    def output_rules(self, attribute):
        return iter(())
'''

RELEASE_IT = """
import json, sys
from pathlib import Path
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
masked, evaluation = mask_and_measure(table, spec, plainly)
verdicts = Verdicts(evaluation, spec.gate, spec.microaggregation.k)
approval = judge.fn(table, masked, verdicts, spec).approval
record = Record.of(spec, started_by="Ana")
folder = publish.fn(masked.published, approval, spec, record, profile.fn(table, masked)).folder
found = verify(folder)
measures = recompute(found)
json.dump([found.k_found, sorted(measures), evaluation.measures], sys.stdout)
"""

ROWS = """\
id,zone,staff,sales,score
a,north,1,10.5,1
b,north,2,11.5,2
c,south,1,10.0,3
d,south,40,90.0,4
e,south,42,91.0,
f,north,44,95.0,6
g,west,90,9.0,7
"""


def test_a_category_is_two_files_and_its_place_in_the_spec(
    request_of: Request, tmp_path: Path
) -> None:
    copy = Copy(tmp_path / "copy")
    copy.add("algorithms/attributes/category.py", CATEGORY)
    copy.insert(
        "algorithms/attributes/__init__.py",
        "from algorithms.attributes.attribute import Attribute, Coordinates, Values\n",
        "from algorithms.attributes.category import Category\n",
    )
    copy.add("expectations/suites/kinds/category.py", READ_CATEGORY)
    copy.insert(
        "expectations/suites/kinds/__init__.py",
        "from expectations.suites.kinds.number import NumberKind\n",
        "from algorithms.attributes import Category\n"
        "from expectations.suites.kinds.category import CategoryKind\n",
    )
    copy.insert(
        "expectations/suites/kinds/__init__.py",
        "COLUMN_KINDS: Mapping[type, Kind[Any]] = {",
        "Category: CategoryKind(), ",
    )
    columns = "expectations/request/sections/columns.py"
    copy.insert(
        columns, "    integers: tuple[str, ...] = ()\n", "    categories: tuple[str, ...] = ()\n"
    )
    copy.insert(
        columns, "import Attribute, Number\n", "from algorithms.attributes import Category\n"
    )
    copy.insert(
        columns,
        "        return tuple(\n",
        "            Category(name) if name in self.categories else\n",
    )
    assert len(copy.new_files) == 2
    assert len(copy.changes) == 3
    added = sum(line.startswith("+") for lines in copy.changes.values() for line in lines)
    assert added == 7

    request_of.source.write_text(ROWS, encoding="utf-8")
    for how in ({"method": "mdav"}, {"method": "best", "options": {"iterations": 20}}):
        spec = request_of.write(
            release={"period": f"2026-{how['method']}"},
            columns={
                "quasi_identifiers": ["zone", "staff", "sales"],
                "categories": ["zone"],
                "other": [],
            },
            microaggregation={"k": 3, **how},
        )
        k, recomputed, measures = json.loads(copy.run(RELEASE_IT, str(spec)))
        assert k == 3
        assert "l_distinct" in recomputed
        assert measures["il_bound"] <= measures["il"]


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
    copy.insert("algorithms/measures.py", "from algorithms.risk import classes, ", "groups, ")
    copy.insert("algorithms/measures.py", "        classes, ", "groups, ")
    assert len(copy.new_files) == 1
    assert list(copy.changes) == ["algorithms/measures.py"]
    gate = {"ceilings": {"il": 100.0, "dld": 100.0}, "floors": {"groups": 2.0}}
    k, recomputed, measures = json.loads(copy.run(RELEASE_IT, str(request_of.write(gate=gate))))
    assert k == 3
    assert "groups" in recomputed
    assert measures["groups"] == 2.0
