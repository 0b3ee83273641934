"""All specs of a folder, with faulty ones among them."""

import os
from pathlib import Path

import pytest

from expectations.request import spec_folder
from expectations.request.spec_file import SpecFile
from expectations.request.spec_folder import read_all
from tests.conftest import Request
from tests.yaml_bomb import bomb


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"release: [", "line 1"),
        (b"release: {name: Small}\n", "release.name"),
        (b"- a list\n", "it is not a mapping"),
        (b"\xff\xfe\x00", "must be UTF-8"),
        (b"", "it is not a mapping"),
        (b"\x89PNG\r\n\x1a\n\0", "must be UTF-8"),
        (b"release: &a {name: *a}\n", "more than 100,000 values"),
        (b"release: " + b"[" * 5000, "nested too deeply"),
        (b"#" * 500_001, "at most 500,000 bytes"),
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


@pytest.mark.parametrize("pattern", ["[%s]", "{<<: [%s]}", "{a: [%s]}"])
def test_aliases_that_multiply_are_refused_before_they_do(
    request_of: Request, pattern: str
) -> None:
    request_of.write()
    (request_of.folder / "bomb.yaml").write_bytes(bomb(pattern))
    files, (fault,) = read_all(request_of.folder)
    assert [file.name for file in files] == ["spec.yaml"]
    assert "it has more than 100,000 values, with aliases replaced" in str(fault)


def test_a_spec_may_name_a_value_once_and_use_it_again(request_of: Request) -> None:
    text = request_of.write().read_text(encoding="utf-8")
    assert "il: 100.0" in text
    text = text.replace("dld: 100.0", "dld: &whole 100.0").replace("il: 100.0", "il: *whole")
    request_of.path.write_text(text, encoding="utf-8")
    (file,), faults = read_all(request_of.folder)
    assert (file.spec.gate.ceilings.il, faults) == (100.0, [])


def test_whatever_is_no_file_keeps_nobody_waiting(request_of: Request) -> None:
    request_of.write()
    os.mkfifo(request_of.folder / "pipe.yaml")
    (request_of.folder / "loop.yaml").symlink_to("loop.yaml")
    (request_of.folder / "gone.yaml").symlink_to("nowhere")
    Path(os.fsdecode(os.fsencode(request_of.folder) + b"/\xff.yaml")).touch()
    files, faults = read_all(request_of.folder)
    assert [file.name for file in files] == ["spec.yaml"]
    names = [str(fault).partition(" must")[0] for fault in faults]
    assert names == ["gone.yaml", "loop.yaml", "pipe.yaml", "\ufffd.yaml"]
    assert [str(fault).endswith("it is not a file") for fault in faults] == [True] * 3 + [False]


def test_a_fault_that_nobody_foresaw_hides_no_other_spec(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_of.write()
    (request_of.folder / "odd.yaml").touch()
    read = spec_folder.read

    def stumbling(path: Path) -> SpecFile:
        return read(path) if path.name == "spec.yaml" else 1 / 0  # type: ignore[return-value]

    monkeypatch.setattr(spec_folder, "read", stumbling)
    files, (fault,) = read_all(request_of.folder)
    assert [file.name for file in files] == ["spec.yaml"]
    assert str(fault).endswith("it is not: it cannot be read (ZeroDivisionError)")


def test_two_specs_of_one_dataset_are_faults_of_both(request_of: Request) -> None:
    text = request_of.write().read_text(encoding="utf-8")
    (request_of.folder / "twin.yaml").write_text(text, encoding="utf-8")
    files, faults = read_all(request_of.folder)
    # what they have released is still audited
    assert [file.name for file in files] == ["spec.yaml", "twin.yaml"]
    assert [str(fault).partition(":")[0] for fault in faults] == [
        "spec.yaml must be a valid spec; it is not",
        "twin.yaml must be a valid spec; it is not",
    ]
    assert "twin.yaml and spec.yaml both release 'small'" in str(faults[1])


def test_a_spec_that_cannot_be_read_is_a_fault_of_its_file_alone(request_of: Request) -> None:
    request_of.write()
    (request_of.folder / "folder.yaml").mkdir()
    files, (fault,) = read_all(request_of.folder)
    assert [file.name for file in files] == ["spec.yaml"]
    assert "folder.yaml must be a valid spec" in str(fault)
    assert read_all(request_of.folder / "nowhere") == ([], [])
