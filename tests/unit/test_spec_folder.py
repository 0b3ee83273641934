"""All specs of a folder, with faulty ones among them."""

import pytest

from expectations.request.spec_folder import read_all
from tests.conftest import Request


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"release: [", "line 1"),
        (b"release: {name: Small}\n", "release.name"),
        (b"- a list\n", "it is not a mapping"),
        (b"\xff\xfe\x00", "must be UTF-8"),
        (b"", "it is not a mapping"),
    ],
)
def test_a_faulty_spec_is_named_and_the_others_are_read(
    request_of: Request, content: bytes, words: str
) -> None:
    request_of.write()
    (request_of.folder / "broken.yaml").write_bytes(content)
    files, faults = read_all(request_of.folder)
    assert [(file.name, file.spec.release.name) for file in files] == [("spec.yaml", "small")]
    (fault,) = faults
    assert str(fault).startswith("broken.yaml must be a valid spec; it is not: ")
    assert words in str(fault)
    assert "\n" not in str(fault)


def test_a_spec_that_cannot_be_read_is_a_fault_of_its_file_alone(request_of: Request) -> None:
    request_of.write()
    (request_of.folder / "folder.yaml").mkdir()
    files, (fault,) = read_all(request_of.folder)
    assert [file.name for file in files] == ["spec.yaml"]
    assert "folder.yaml must be a valid spec" in str(fault)
    assert read_all(request_of.folder / "nowhere") == ([], [])
