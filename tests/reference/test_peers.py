"""What sdcMicro prints, where its measures are defined as ours."""

import pytest

from algorithms.measures import MEASURES
from tests.reference.printed import measured
from tests.reference.readings import READINGS
from tests.tables import compare_rows

pytestmark = [pytest.mark.reference, pytest.mark.needs("benchmark sets")]


@pytest.mark.parametrize(
    ("dataset", "share_within", "il1s"),
    [("tarragona", 0.046, 0.101), ("census", 0.000, 0.115), ("eia", 0.655, 0.017)],
)
def test_interval_risk_and_il1s_of_mdav_are_those_of_sdcmicro(
    dataset: str, share_within: float, il1s: float
) -> None:
    """Called dRisk there, as a share; and IL1s averaged per cell."""
    _, x, published = measured(dataset, 3, READINGS["MDAV"])
    files = compare_rows(x, published, 3)
    assert MEASURES["within_records"].run(files) == pytest.approx(100 * share_within, abs=0.05)
    assert MEASURES["il1s"].run(files) == pytest.approx(il1s, abs=0.0005)
