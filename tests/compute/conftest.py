"""A cluster that the tests of one file share."""

from collections.abc import Iterator

import pytest

from tests.compute.cluster import Cluster, running


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running(tmp_path_factory.mktemp("cluster")) as started:
        yield started
