"""Reading study files, with one clear line per defect, and writing them."""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from kafka_pareto.errors import StudyError, did_you_mean
from kafka_pareto.kafka.client_rules import ClientName
from kafka_pareto.kafka.settings_forms import decoded
from kafka_pareto.kafka.user_settings import ClientFile, nothing_used, read_client_file
from kafka_pareto.study.cluster_names import YAML_ERRORS
from kafka_pareto.study.declarations import driver_module, driver_names
from kafka_pareto.study.identifiers import STUDY_NAME
from kafka_pareto.study.section import Section
from kafka_pareto.study.study import Study

AnyStudy = TypeVar("AnyStudy", bound=Study)
AnySection = TypeVar("AnySection", bound=Section)
_WHOLE_OR_NOT = "int"
_UNION_TAGS = (
    *("categorical", "integer", "float", _WHOLE_OR_NOT),
    *("payload_made", "payload_file", "payload_sampled", "payload_compressible"),
    *("choose_by_name", "choose_by_order", "choose_by_weights"),
    *("testbed_brokers", "testbed_cluster"),
)
_LARGEST_FILE_BYTES = 16 << 20
_LARGEST_NUMBER = 1 << 63
_brief = reprlib.Repr()
_brief.maxstring = 80


def load_study(path: Path) -> Study:
    """Read and validate a study file."""
    return parse_study(_read_text(path, str(path), ""), str(path), path.parent)


def load_named_study(folder: Path, name: str) -> Study:
    """Read `<folder>/<name>.yaml`; raises StudyError, with the known names, if it is missing or has another name."""
    path = folder / f"{name}.yaml"
    if not re.fullmatch(STUDY_NAME, name) or not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.yaml")))
        raise StudyError(str(folder), [f"{name}: there is no such study; there are {known or 'none'}"])
    study = load_study(path)
    if study.name != name:
        raise StudyError(str(path), [f"name: {study.name!r}: must be the file's own name, {name!r}"])
    return study


def parse_study(text: str, file: str, folder: Path | None = None) -> Study:
    """Validate the text of a study file by its `kind` and `driver`; `file` names it in messages.

    A `baseline` (of a comparison: `reference`) that is a string names a client's settings file relative to `folder`, if
    the driver takes one; the study then holds its values. Files with payload or logs must be in `folder` or below;
    their text is read by `read_corpus`.
    """
    content = _mapping(text, file)
    model = _class_of(content, file)
    if folder is not None and (settings := _settings_file(model, content, file, folder)):
        content[model.baseline_key] = settings.used
    study = checked(model, content, file)
    if folder is not None:
        read_corpus(study, folder, file)
    return study


def baseline_client_of(path: Path) -> ClientName:
    """Return the client whose settings file may replace the baseline of the study in this file."""
    return _class_of(_mapping(_read_text(path, str(path), ""), str(path)), str(path)).client_of_file()


def settings_file_of(folder: Path, name: str) -> tuple[str, ClientFile] | None:
    """Return the settings file that the study `<folder>/<name>.yaml` names, and its settings; None if it names none."""
    path = folder / f"{name}.yaml"
    content = _mapping(_read_text(path, str(path), ""), str(path))
    model = _class_of(content, str(path))
    settings = _settings_file(model, content, str(path), folder)
    return None if settings is None else (content[model.baseline_key], settings)


def _settings_file(model: type[Study], content: dict[str, Any], file: str, folder: Path) -> ClientFile | None:
    key, named = model.baseline_key, content.get(model.baseline_key)
    if model.baseline_client is None or not isinstance(named, str):
        return None
    place = f"{key}: {folder / named}: "
    try:
        settings = read_client_file(decoded(_read_bytes(folder / named, file, place)), model.baseline_client)
    except ValueError as error:
        raise StudyError(file, [f"{place}{error}"]) from error
    if not settings.used:
        raise StudyError(file, [f"{place}{nothing_used(model.baseline_client, settings)}"])
    return settings


def read_section(path: Path, model: type[AnySection]) -> AnySection:
    """Read a file with a single section, validated like a study."""
    content = _mapping(_read_text(path, str(path), ""), str(path))
    return checked(model, content, str(path))


def read_corpus(study: Study, folder: Path, file: str) -> str | None:
    """Return the text to send, None if the study names no file; raises StudyError if it is unreadable or unusable."""
    name = study.text_file()
    if name is None:
        return None
    place = f"{study.text_key}: {folder / name}: "
    text = _read_text(folder / name, file, place)
    if fault := study.fault_of_text(text):
        raise StudyError(file, [f"{place}{fault}"])
    return text


def dump_study(study: Study) -> str:
    """Return the study as YAML that `parse_study` reads back as an equal study."""
    content = study.model_dump(mode="json", exclude_none=True)
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


@cache
def study_classes() -> dict[tuple[str, str], type[Study]]:
    """Map each `kind` and `driver` to the class that validates their study files."""
    return {
        (kind, driver): study
        for driver in driver_names()
        for kind, study in driver_module(driver, "studies").STUDIES.items()
    }


def _class_of(content: dict[str, Any], file: str) -> type[Study]:
    kind, driver = (content.get(key, Study.model_fields[key].default) for key in ("kind", "driver"))
    # Only this driver's module is imported, unless a message needs them all.
    named: dict[str, type[Study]] = driver_module(driver, "studies").STUDIES if driver in driver_names() else {}
    if isinstance(kind, str) and kind in named:
        return named[kind]
    kinds, drivers = (list(dict.fromkeys(names)) for names in zip(*study_classes(), strict=True))
    problems = [
        f"{key}: {_brief.repr(value)}: must be one of {', '.join(known)}{did_you_mean(str(value), known)}"
        for key, value, known in (("kind", kind, kinds), ("driver", driver, drivers))
        if value not in known
    ]
    if not problems:
        known = [each for other_kind, each in study_classes() if other_kind == kind]
        problems = [f"driver: {driver!r}: must be one of {', '.join(known)} where kind is {kind}"]
    raise StudyError(file, problems)


def _mapping(text: str, file: str) -> dict[str, Any]:
    try:
        content = yaml.load(text, Loader=_StudyLoader)  # noqa: S506 (a SafeLoader)
    except YAML_ERRORS as error:
        raise StudyError(file, [f"is not valid YAML: {' '.join(str(error).split())}"]) from error
    if not isinstance(content, dict):
        raise StudyError(file, ["must be a mapping of keys to values"])
    return content


def checked(model: type[AnySection], content: dict[str, Any], file: str) -> AnySection:
    """Validate the content as this model; raises StudyError with one line per defect: `file`, key, value and rule."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise StudyError(file, _problems(error, model)) from error


def _read_text(path: Path, study_file: str, place: str) -> str:
    try:
        return _read_bytes(path, study_file, place).decode("utf-8")
    except UnicodeDecodeError as error:
        raise StudyError(study_file, [f"{place}is not UTF-8 text: {error.reason} at byte {error.start}"]) from error


def _read_bytes(path: Path, study_file: str, place: str) -> bytes:
    try:
        with path.open("rb") as opened:
            content = opened.read(_LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise StudyError(study_file, [f"{place}cannot be read: {error.strerror}"]) from error
    except ValueError as error:
        raise StudyError(study_file, [f"{place}cannot be read: {error}"]) from error
    if len(content) > _LARGEST_FILE_BYTES:
        raise StudyError(study_file, [f"{place}must not be larger than {_LARGEST_FILE_BYTES >> 20} MiB"])
    return content


_MERGE = "tag:yaml.org,2002:merge"


class _StudyLoader(yaml.SafeLoader):
    """Rejects YAML that a plain loader would silently accept: duplicate keys, numbers out of range."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value if key.tag != _MERGE]
        counts = Counter(key for key in keys if isinstance(key, Hashable))
        for key in (key for key, count in counts.items() if count > 1):
            raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is given twice", node.start_mark)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        number: int = super().construct_yaml_int(node)
        if not -_LARGEST_NUMBER <= number < _LARGEST_NUMBER:
            raise yaml.constructor.ConstructorError(None, None, "a number is too large", node.start_mark)
        return number


_StudyLoader.add_constructor("tag:yaml.org,2002:int", _StudyLoader.construct_yaml_int)


def _problems(error: ValidationError, model: type[Section]) -> list[str]:
    """Return one line per key. For an int-or-float field, pydantic reports both refusals."""
    return list({_key(detail): _problem(detail, model) for detail in reversed(error.errors())}.values())[::-1]


def _key(detail: Any) -> str:
    return ".".join(str(part) for part in detail["loc"] if part not in _UNION_TAGS)


def _problem(detail: Any, model: type[Section]) -> str:
    key, rule = _key(detail), detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        rule = f"is not a key of {'a study' if issubclass(model, Study) else 'this file'}" + did_you_mean(
            str(detail["loc"][-1]), _known_keys(model, detail["loc"])
        )
    if detail["type"] == "int_type" and _WHOLE_OR_NOT in detail["loc"]:
        rule = "Input should be a number"
    value = _brief.repr(detail["input"])
    shown = "" if isinstance(detail["input"], (dict, list)) and len(value) > 60 else f" {value}:"
    return f"{key}:{shown} {rule}" if key else rule


def _known_keys(study: type[Section], location: tuple[Any, ...]) -> list[str]:
    model: Any = study
    for part in location[:-1]:
        field = getattr(model, "model_fields", {}).get(part)
        model = getattr(field, "annotation", None)
    return list(getattr(model, "model_fields", {}))
