"""Reads a spec from its YAML file."""

import csv
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import yaml
from pydantic import ValidationError

from algorithms.errors import SpecError, StorageError
from expectations.request.faults import faults
from expectations.request.sections.database import ENDING
from expectations.request.spec import ADDRESS, ReleaseSpec

PLACES = ("public_folder", "register_folder", "staging_folder", "vault_key")
TLS_FILES = ("ca", "cert", "key")
MERGE = "tag:yaml.org,2002:merge"
MOST_BYTES = 500_000
"""Size of the largest spec; parsing takes seconds for each megabyte."""
MOST_VALUES = 100_000
"""Values that a spec may have, once each of its aliases is replaced by what it names."""


@dataclass(frozen=True)
class SpecFile:
    """A spec, and the file it was read from.

    Attributes
    ----------
    name : str
        Name of the file, without its folder.
    sha256 : str
        Fingerprint of the bytes of the file.
    spec : ReleaseSpec
        The spec, with absolute paths.
    """

    name: str
    sha256: str
    spec: ReleaseSpec


def load(path: Path) -> ReleaseSpec:
    """Read a spec from a YAML file; paths in it become absolute.

    Raises
    ------
    StorageError, SpecError
        As `read` does.
    """
    return read(path).spec


def read(path: Path) -> SpecFile:
    """Read a spec from a YAML file, and fingerprint the bytes that were read.

    Raises
    ------
    StorageError
        If the file cannot be read.
    SpecError
        If it is not YAML or not a spec; the message names every fault with its path.
    """
    return parsed(raw_of(path), path)


def raw_of(path: Path) -> bytes:
    """Read the bytes of a spec file.

    Raises
    ------
    StorageError
        If the file cannot be read.
    SpecError
        If it is too large for a spec.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise StorageError(
            f"the spec must be a readable file; {str(path)!r} is not ({error.strerror}): check its "
            "name, and whether you may read it"
        ) from None
    if len(raw) > MOST_BYTES:
        raise SpecError(
            f"the spec must have at most {MOST_BYTES:,} bytes; {str(path)!r} has more: check that "
            "it is a spec"
        )
    return raw


def parsed(raw: bytes, path: Path) -> SpecFile:
    """Parse the bytes of a spec file; relative paths start from the folder of ``path``.

    Raises
    ------
    SpecError
        If they are not YAML or not a spec; the message names every fault with its path.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise SpecError(f"the spec must be UTF-8 text; {str(path)!r} is not") from None
    content = from_yaml(text)
    if not isinstance(content, dict):
        raise SpecError(
            "the spec must be a YAML mapping with the keys "
            f"{', '.join(ReleaseSpec.model_fields)}; it is not a mapping"
        )
    spec = from_content(content, path.absolute().parent)
    return SpecFile(path.name, hashlib.sha256(raw).hexdigest(), spec)


def from_content(content: dict[str, Any], folder: Path) -> ReleaseSpec:
    """Validate the content of a spec, and read the files that it names.

    Parameters
    ----------
    content : dict
        The sections of the spec.
    folder : Path
        The folder from which relative paths start.

    Raises
    ------
    SpecError
        If it is not a spec; the message names every fault with its path.
    """
    anchored = _with_query(_from_folder(content, folder))
    return validated(_with_hierarchies(anchored, folder))


def validated(content: dict[str, Any]) -> ReleaseSpec:
    """Validate the content of a spec.

    Raises
    ------
    SpecError
        If it is not a spec; the message names every fault with its path.
    """
    try:
        return ReleaseSpec.model_validate(content)
    except ValidationError as error:
        raise SpecError("\n".join(faults(error))) from None


def from_yaml(text: str, what: str = "the spec") -> Any:
    """Parse YAML, more strictly than YAML itself does; ``what`` names it to the user.

    Raises
    ------
    SpecError
        If it is not YAML, or gives a key twice.
    """
    try:
        return yaml.load(text, Loader=_Plain)
    except yaml.YAMLError as error:
        raise SpecError(f"{what} must be valid YAML; {_yaml_fault(error)}") from None
    except RecursionError:
        raise SpecError(f"{what} must be valid YAML; it is nested too deeply") from None


class _Plain(yaml.SafeLoader):
    """Read text, numbers, truth values, lists and mappings.

    A mapping that gives a key twice is refused, where plain YAML silently keeps the last; a date
    stays text, as it is written. Aliases that would multiply to a huge document are refused.
    """

    def get_single_node(self) -> yaml.Node | None:
        node = super().get_single_node()
        if node is not None and _values(node, {}) > MOST_VALUES:
            raise _fault(f"it has more than {MOST_VALUES:,} values, with aliases replaced", node)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        except (ValueError, TypeError, LookupError, AttributeError):
            raise _fault(
                "this looks like a number, date or truth value and is not a valid one",
                node,
            ) from None
        if isinstance(value, str) and not _is_plain(value):
            raise _fault("a text must not contain NUL characters or unpaired surrogates", node)
        return value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == MERGE:
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise _fault("a key must be a text; this is a list or a mapping", key_node)
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise _fault(f"the key {key!r} is given twice: keep one", key_node)
            seen.add(key)
        return super().construct_mapping(node, deep)


def _values(node: yaml.Node, known: dict[int, int]) -> int:
    """Count the values of a document with all aliases replaced; one within itself has no end."""
    if not isinstance(node, yaml.CollectionNode):
        return 1
    if id(node) not in known:
        known[id(node)] = MOST_VALUES
        parts = (part for entry in node.value for part in _parts(entry))
        known[id(node)] = 1 + sum(_values(part, known) for part in parts)
    return known[id(node)]


def _parts(entry: yaml.Node | tuple[yaml.Node, yaml.Node]) -> tuple[yaml.Node, ...]:
    return entry if isinstance(entry, tuple) else (entry,)


def _date_as_written(loader: _Plain, node: yaml.ScalarNode) -> str:
    loader.construct_yaml_timestamp(node)  # a day that is in no calendar is a fault
    return str(node.value)


_Plain.add_constructor("tag:yaml.org,2002:timestamp", _date_as_written)


def _is_plain(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _fault(words: str, node: yaml.Node) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, words, node.start_mark)


def _from_folder(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Make the paths of a spec absolute: relative ones start from its folder."""
    anchored = dict(content)
    for section, keys in (("source", ("path", "query")), ("publication", PLACES)):
        anchored[section] = _anchored(content.get(section), keys, folder)
    anchored["compute"] = compute_from_folder(content.get("compute"), folder)
    return {key: value for key, value in anchored.items() if key in content}


def compute_from_folder(section: Any, folder: Path) -> Any:
    """Make the paths of the section ``compute`` absolute."""
    anchored = _anchored(section, ("scratch_folder",), folder)
    if isinstance(anchored, dict) and "tls" in anchored:
        anchored["tls"] = _anchored(anchored["tls"], TLS_FILES, folder)
    return anchored


def _anchored(section: Any, keys: tuple[str, ...], folder: Path) -> Any:
    if not isinstance(section, dict):
        return section
    return {
        key: str(folder / value) if key in keys and _is_path(value) else value
        for key, value in section.items()
    }


def _is_path(value: Any) -> TypeGuard[str]:
    # a path would lose one of the slashes, by which an address is recognised and refused
    return isinstance(value, str) and ADDRESS not in value


def _with_query(content: dict[str, Any]) -> dict[str, Any]:
    """Fill in the query that the source names: it changes the result as a spec does.

    Raises
    ------
    SpecError
        If the file cannot be read.
    """
    source = content.get("source")
    query = source.get("query") if isinstance(source, dict) else None
    if not isinstance(source, dict) or not _is_path(query) or not query.lower().endswith(ENDING):
        return content
    try:
        raw = Path(query).read_bytes()
        text = raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, UnicodeDecodeError):
        raise SpecError(
            f"source.query: must be a readable file in UTF-8; {query!r} is not"
        ) from None
    digest = hashlib.sha256(raw).hexdigest()
    return {**content, "source": {**source, "query_sha256": digest, "query_text": text}}


def _with_hierarchies(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Fill in the lines of the files that hierarchies name: they change the result as a spec does.

    Raises
    ------
    SpecError
        If a file cannot be read; the message names every such file.
    """
    columns = content.get("columns")
    hierarchies = columns.get("hierarchies") if isinstance(columns, dict) else None
    if not isinstance(columns, dict) or not isinstance(hierarchies, dict):
        return content
    filled, faults = {}, []
    for name, section in hierarchies.items():
        filled[name] = section
        if isinstance(section, dict) and isinstance(section.get("file"), str | Path):
            file = folder / section["file"]
            try:
                raw = file.read_bytes()
                rows = _lines(raw.decode("utf-8-sig"))
            except (OSError, UnicodeDecodeError, csv.Error):
                faults.append(
                    f"columns.hierarchies.{name}.file: must be a readable CSV file in UTF-8; "
                    f"{str(file)!r} is not"
                )
                continue
            if not rows:
                faults.append(f"columns.hierarchies.{name}.file: must have lines; it is empty")
            digest = hashlib.sha256(raw).hexdigest()
            filled[name] = {**section, "file": str(file), "sha256": digest, "rows": rows}
    if faults:
        raise SpecError("\n".join(faults))
    return {**content, "columns": {**columns, "hierarchies": filled}}


def _lines(text: str) -> list[list[str]]:
    """Read the lines of a hierarchy; a semicolon in the first line separates its fields."""
    delimiter = ";" if ";" in text.partition("\n")[0] else ","
    return [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if row]


def _yaml_fault(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it cannot be parsed"
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}" if mark else problem
