"""Study files: reading them with one clear line per defect, and writing them."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from kafka_pareto.errors import StudyError
from kafka_pareto.producer_properties import DEFAULTS, PropertyValue, parse_properties, typed_value
from kafka_pareto.study import STUDY_NAME, ForeignCluster, Study

_UNION_TAGS = ("categorical", "integer", "float", "int")


def load_study(path: Path) -> Study:
    """Reads and checks a study file.

    Raises:
        StudyError: One line per defect, each with file, key, value and rule.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise StudyError(str(path), [f"cannot be read: {error.strerror}"]) from error
    return parse_study(text, str(path), path.parent)


def load_named_study(folder: Path, name: str) -> Study:
    """Reads `<folder>/<name>.yaml`.

    Raises:
        StudyError: If there is none, naming those that there are, or if it is not called like its file.
    """
    path = folder / f"{name}.yaml"
    if not re.fullmatch(STUDY_NAME, name) or not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.yaml")))
        raise StudyError(str(folder), [f"{name}: there is no such study; there are {known or 'none'}"])
    study = load_study(path)
    if study.name != name:
        raise StudyError(str(path), [f"name: {study.name!r}: must be the file's own name, {name!r}"])
    return study


def parse_study(text: str, file: str, folder: Path | None = None) -> Study:
    """Checks the text of a study file; `file` names it in messages.

    A `baseline` that is a string names a `producer.properties` relative to `folder`; the study then holds its values.

    Raises:
        StudyError: One line per defect, each with file, key, value and rule.
    """
    try:
        content = yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        raise StudyError(file, [f"is not valid YAML: {' '.join(str(error).split())}"]) from error
    if not isinstance(content, dict):
        raise StudyError(file, ["must be a mapping of keys to values"])
    if folder is not None and isinstance(content.get("baseline"), str):
        content["baseline"] = _properties_in_file(folder / content["baseline"], file)
    return _validated(content, file)


def dump_study(study: Study) -> str:
    """The study as YAML that `parse_study` reads back as an equal study."""
    content = study.model_dump(mode="json", exclude_none=True)
    if study.durability is not None:
        content["durability"] = study.durability.name
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def with_overrides(
    study: Study,
    record_sizes_bytes: list[int] | None = None,
    seed: int | None = None,
    repetitions: int | None = None,
    cluster: ForeignCluster | None = None,
) -> Study:
    """The study with what a single campaign wants otherwise, checked like a file.

    Fewer repetitions than the study's minimum lower that minimum too: they were asked for.

    Raises:
        StudyError: Naming the override and the rule that it breaks.
    """
    content = study.model_dump(exclude_none=True)
    if record_sizes_bytes is not None:
        content["record_sizes_bytes"] = record_sizes_bytes
    if seed is not None:
        content["seed"] = seed
    if repetitions is not None:
        minimum = max(2, min(study.protocol.minimum_valid_repetitions, repetitions))
        content["protocol"] |= {"repetitions": repetitions, "minimum_valid_repetitions": minimum}
    if cluster is not None:
        content["cluster"] = cluster.model_dump(exclude_none=True)
    return _validated(content, f"{study.name} with this campaign's overrides")


def _validated(content: dict[str, Any], file: str) -> Study:
    try:
        return Study.model_validate(content)
    except ValidationError as error:
        raise StudyError(file, _problems(error)) from error


def _properties_in_file(path: Path, study_file: str) -> dict[str, PropertyValue]:
    """The tunable properties of a user's `producer.properties`; addresses, credentials and classes are passed over."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise StudyError(study_file, [f"baseline: {path}: cannot be read: {error.strerror}"]) from error
    found: dict[str, PropertyValue] = {}
    for name, value in parse_properties(text).items():
        if name in DEFAULTS:
            try:
                found[name] = typed_value(name, value)
            except ValueError as error:
                raise StudyError(study_file, [f"baseline: {path}: {error}"]) from error
    return found


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML that refuses a key given twice, which plain YAML would silently overwrite."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is given twice", node.start_mark)
        return super().construct_mapping(node, deep)


def _problems(error: ValidationError) -> list[str]:
    """One line per key; of a number that may be whole or not, pydantic reports both refusals."""
    return list({_key(detail): _problem(detail) for detail in reversed(error.errors())}.values())[::-1]


def _key(detail: Any) -> str:
    return ".".join(str(part) for part in detail["loc"] if part not in _UNION_TAGS)


def _problem(detail: Any) -> str:
    key, rule = _key(detail), detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(detail["loc"][-1]), _known_keys(detail["loc"]), n=1)
        rule = "is not a key of a study" + (f"; did you mean {near[0]}?" if near else "")
    if detail["type"] == "int_type" and _UNION_TAGS[-1] in detail["loc"]:
        rule = "Input should be a number"
    value = detail["input"]
    shown = "" if isinstance(value, (dict, list)) and len(str(value)) > 60 else f" {value!r}:"
    return f"{key}:{shown} {rule}" if key else rule


def _known_keys(location: tuple[Any, ...]) -> list[str]:
    model: Any = Study
    for part in location[:-1]:
        field = getattr(model, "model_fields", {}).get(part)
        model = getattr(field, "annotation", None)
    return list(getattr(model, "model_fields", {}))
