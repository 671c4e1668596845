"""Options of a command from a model's fields: one declaration for steps, commands, `make` and Airflow's forms."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

import typer
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from kafka_pareto.study.options import AnyOptions, read_options


def flag(name: str) -> str:
    """Return a field's option, such as `--record-sizes`."""
    return f"--{name.replace('_', '-')}"


def with_options(
    model: type[AnyOptions],
    named: Callable[[str], str] = flag,
    read: Callable[[Mapping[str, Any]], AnyOptions] | None = None,
    positional: Collection[str] = (),
    further: Mapping[str, Collection[str]] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one option per field of the model; it receives them as a function `options`.

    Args:
        model: Its fields' descriptions are the help.
        named: The option of each field.
        read: Parses the given values; by default the model.
        positional: Fields passed as positional arguments.
        further: Further names of a field's option.
    """

    def decorated(main: Callable[..., None]) -> Callable[..., None]:
        def command(**said: Any) -> None:
            given = {name: said.pop(name) for name in model.model_fields}
            given = {name: value for name, value in given.items() if value not in (None, False)}
            main(options=lambda: read(given) if read else read_options(model, given, named), **said)

        parameters = list(inspect.signature(main, eval_str=True).parameters.values())
        added = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=False if field.annotation is bool else None,
                annotation=_annotation(
                    field, [named(name), *(further or {}).get(name, ())], is_positional=name in positional
                ),
            )
            for name, field in model.model_fields.items()
        ]
        others = [each for each in parameters if each.name != "options"]
        cast(Any, command).__signature__ = inspect.Signature([*others, *added])
        command.__name__, command.__doc__ = main.__name__, main.__doc__
        return command

    return decorated


def _annotation(field: FieldInfo, names: list[str], *, is_positional: bool) -> Any:
    """Return the parameter type for Typer: a text, parsed by the model, or a flag."""
    text = field.description or ""
    if field.default not in (None, "", False, PydanticUndefined):
        text = f"{text} Default: {field.default}."
    if is_positional:
        return Annotated[str | None, typer.Argument(help=field.description, show_default=False)]
    kind = bool if field.annotation is bool else str | None
    return Annotated[kind, typer.Option(*names, help=text, show_default=False, metavar=_metavar(field))]


def _metavar(field: FieldInfo) -> str | None:
    """Return the value's type as a word; None to use Typer's."""
    kinds = set(_kinds(field.annotation))
    return "LIST" if list in kinds else "NUMBER" if kinds & {int, float} else "FILE" if Path in kinds else None


def _kinds(annotation: Any) -> Iterator[Any]:
    """Yield all classes in an annotation."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif origin in (UnionType, Union):
        for each in get_args(annotation):
            yield from _kinds(each)
    else:
        yield origin or annotation
