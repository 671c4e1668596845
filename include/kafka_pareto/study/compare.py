"""Studies that compare levels of factors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias

from pydantic import Field, JsonValue, model_validator

from kafka_pareto.errors import BadInputError, did_you_mean
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.study.factors import Configuration, Factor, FactorValue, distinct
from kafka_pareto.study.parts import Grid, Part, Series, Table, Variants
from kafka_pareto.study.quantity import Value, Values
from kafka_pareto.study.setting import Setting
from kafka_pareto.study.study import Study

FEWEST_BLOCKS = 3
MeansByCase: TypeAlias = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Mean by case, configuration id and quantity."""


class Compare(Study):
    """Adds the parts to compare. Each block measures every level once, the reference included.

    `reference` overrides defaults for all levels. `published_by` names the author and the machine of published numbers.
    """

    reference: dict[str, PropertyValue] = Field(default_factory=dict)
    tables: list[Table] = Field(default_factory=list)
    variants: list[Variants] = Field(default_factory=list)
    series: list[Series] = Field(default_factory=list)
    grid: Grid | None = None
    published_by: str = ""

    baseline_key: ClassVar[str] = "reference"
    throughputs_by_clients: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Names the factors that count clients, each with the throughputs that may grow with it."""
    latencies_by_size: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Names the factors along which latencies may jump, each with these latencies."""

    @abstractmethod
    def settings(self) -> Mapping[str, Setting]:
        """Map each setting of this driver by name."""

    @property
    def fewest_levels(self) -> int:
        """Return the fewest levels of a part; a driver may allow a single one."""
        return 2

    @property
    @abstractmethod
    def compared(self) -> tuple[str, ...]:
        """List the tested quantities."""

    def derived_quantities(self, values: Values) -> dict[str, Value]:  # noqa: ARG002 (for drivers that declare any)
        """Return the driver's `derived_quantities` from a repetition's row: head, quantities and configuration."""
        return {}

    def predicted(self, level: Configuration, means: MeansByCase) -> dict[str, float]:  # noqa: ARG002 (for models)
        """Predict quantities of a level (all factors given) from other levels' means; empty without a model."""
        return {}

    def conflict_in(self, level: Configuration) -> str:  # noqa: ARG002 (for drivers whose settings exclude each other)
        """Return which settings of a level conflict; empty if none do."""
        return ""

    def described_protocol(self) -> dict[str, str]:
        """Describe how one repetition is run, as names and texts."""
        return {"pause before each repetition": f"{self.protocol.cool_down_s:g} s"}

    @property
    def parts(self) -> list[Part]:
        """List the variants, then the tables, the series and the grid."""
        return [*self.variants, *self.tables, *self.series, *([self.grid] if self.grid else [])]

    def part(self, case: str) -> Part:
        """Return the part of this name."""
        return next(part for part in self.parts if part.part == case)

    @property
    def cases(self) -> list[str]:
        """List the parts' names."""
        return [part.part for part in self.parts]

    def keys_of_cases(self, cases: Sequence[str]) -> dict[str, JsonValue]:
        """Return the study file's keys with these parts only."""
        if unknown := [case for case in cases if case not in self.cases]:
            known = ", ".join(self.cases)
            raise BadInputError(f"parts: {unknown[0]!r}: is not a part of study {self.name}; its parts are {known}")
        kept = [part for part in self.parts if part.part in cases]
        lists = {"variants": Variants, "tables": Table, "series": Series}
        found: dict[str, JsonValue] = {
            key: [part.model_dump() for part in kept if isinstance(part, kind)] for key, kind in lists.items()
        }
        levels = [level for part in kept for level in self.levels_of(part.part)]
        return found | {"grid": self.grid.model_dump() if self.grid in kept else None} | self.unused_keys(levels)

    def unused_keys(self, levels: Sequence[Configuration]) -> dict[str, JsonValue]:  # noqa: ARG002
        """Return the study file's keys without what none of these levels uses."""
        return {}

    def case_overrides(self, cases: Sequence[str]) -> dict[str, JsonValue]:
        """Return the DAG parameter that limits a campaign to these parts."""
        return {"parts": list(cases)}

    def one_line_table(self) -> dict[str, str]:
        """Return factor and levels of a study with one plain table only, which a command line can state; else empty."""
        if self.grid or self.variants or self.series or len(self.tables) != 1:
            return {}
        table = self.tables[0]
        is_plain = table.model_dump(exclude_defaults=True).keys() == {"factor", "levels"}
        return {"factor": table.factor, "levels": ",".join(map(str, table.levels))} if is_plain else {}

    def table_of(self, factor: str, levels: Sequence[PropertyValue]) -> dict[str, Any]:
        """Return a table as in a file, adding the reference's level if missing."""
        try:
            typed = self._setting(factor, "factor").of(levels)
        except ValueError as error:
            raise BadInputError(f"study {self.name}: {error}") from error
        reference = self._of_reference(factor)
        wanted = typed if reference in typed else [reference, *typed]
        if self.one_line_table() and factor == self.tables[0].factor:
            of_file = self.tables[0].levels
            if self._typed(factor, of_file) == wanted:  # as the file writes them, so that the studies are equal
                return {"factor": factor, "levels": of_file}
        return {"factor": factor, "levels": wanted}

    @property
    def varied_factors(self) -> dict[str, Factor]:
        """Map everything that any part varies or fixes to all of its values, the reference's included."""
        values: dict[str, list[FactorValue]] = {}
        for part in self.parts:
            given = {**{name: [value] for name, value in part.fixed.items()}, **part.factors}
            for name, levels in given.items():
                known = values.setdefault(name, [self._of_reference(name)])
                known += [value for value in self._typed(name, levels) if value not in known]
        return {name: self.settings()[name].factor(levels) for name, levels in values.items()}

    def baseline_configuration(self, case: str = "") -> Configuration:
        """Return the reference, with what the part fixes."""
        fixed = self.part(case).fixed if case else {}
        known = {**self.effective({}), **{name: self.settings()[name].value(value) for name, value in fixed.items()}}
        return {name: known[name] for name in self.varied_factors}

    def levels_of(self, case: str) -> list[Configuration]:
        """Return the distinct configurations of a part in file order, the reference among them."""
        reference, known = self.baseline_configuration(case), self.settings()
        given = [{name: known[name].value(value) for name, value in each.items()} for each in self.part(case).settings]
        return distinct({**reference, **each} for each in given)

    def effective(self, configuration: Configuration) -> dict[str, FactorValue]:
        """Return the value of every setting: the configuration's, else the reference's, else the default."""
        return {name: self._of_reference(name) for name in self.settings()} | dict(configuration)

    def stated(self, configuration: Configuration) -> dict[str, FactorValue]:
        """Return the settings of reference and configuration, without defaults."""
        return {name: self._of_reference(name) for name in self.reference} | dict(configuration)

    def broker_properties(self, configuration: Configuration) -> dict[str, FactorValue]:
        """Return the properties that the study's own brokers need for this configuration."""
        properties = self.own_brokers.property_values if self.own_brokers else {}
        for name, value in self.stated(configuration).items():
            setting = self.settings()[name]
            if setting.scope == "broker":
                properties |= dict.fromkeys(setting.properties or (name,), value)
        return properties

    def varies_brokers(self, case: str) -> bool:
        """Return whether the part's levels need different broker properties."""
        return any(self.settings()[name].scope == "broker" for name in self.part(case).factors)

    @model_validator(mode="after")
    def _parts_are_sound(self) -> Self:
        if not self.parts:
            raise ValueError("a comparison needs tables, variants, series or a grid")
        for name, value in self.reference.items():
            self._check_values(name, [value], "reference")
        for part in self.parts:
            place = f"part {part.part}"
            for name, value in part.fixed.items():
                self._check_values(name, [value], f"{place}: fixed")
            for name, levels in part.factors.items():
                if isinstance(part, Variants):
                    self._check_values(name, levels, place)
                else:
                    self._check_levels(name, levels, part, place)
        if twice := sorted({name for name in self.cases if self.cases.count(name) > 1}):
            raise ValueError(f"part {twice[0]}: exists twice; rename one of them")
        for part in self.parts:  # a part's levels hold the factors of all parts, so these are checked before
            self._check_whole(part, f"part {part.part}")
        return self

    @model_validator(mode="after")
    def _blocks_and_testbed_fit(self) -> Self:
        if self.protocol.repetitions < FEWEST_BLOCKS:
            raise ValueError(
                f"protocol.repetitions {self.protocol.repetitions}: must be at least {FEWEST_BLOCKS}; each is a block, "
                "and fewer give no useful interval"
            )
        if self.protocol.order != "blocks" or self.protocol.adaptive is not None:
            raise ValueError("a comparison is measured in order blocks, without adaptive repetitions")
        if self.protocol.noise_repetitions:
            raise ValueError(
                f"protocol.noise_repetitions {self.protocol.noise_repetitions}: must be 0 in a comparison; its blocks "
                "show the noise"
            )
        own, known = self.own_brokers, self.settings()
        given = [name for name in (*self.varied_factors, *self.reference) if known[name].scope == "broker"]
        if given and not own:
            raise ValueError(
                f"{given[0]}: is a broker's setting; it needs testbed: {{brokers: 3}}, because settings of "
                "existing clusters are never changed"
            )
        properties = [each for name in given for each in known[name].properties or (name,)]
        if own and (both := [name for name in own.properties if name in properties]):
            raise ValueError(f"testbed.properties.{both[0]}: is set by a factor or the reference, too")
        return self

    def _setting(self, name: str, place: str) -> Setting:
        known = self.settings()
        if name not in known:
            raise ValueError(
                f"{place}: {name}: is not a setting of the driver {self.driver}{did_you_mean(name, known)}"
            )
        return known[name]

    def _check_values(self, name: str, values: Sequence[PropertyValue], place: str) -> list[FactorValue]:
        setting = self._setting(name, place)
        try:
            return setting.of(values)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error

    def _check_levels(self, name: str, levels: Sequence[PropertyValue], part: Part, place: str) -> None:
        """Require distinct levels that include the reference's: what the part fixes, else the study's."""
        typed = self._check_values(name, levels, place)
        if len(set(typed)) != len(typed):
            raise ValueError(f"{place}: {name}: a level is listed twice")
        reference = self._typed(name, [part.fixed[name]])[0] if name in part.fixed else self._of_reference(name)
        if reference not in typed:
            raise ValueError(
                f"{place}: {name}: the reference {reference!r} is not among its levels "
                f"{', '.join(map(str, typed))}; add it"
            )

    def _check_whole(self, part: Part, place: str) -> None:
        levels = self.levels_of(part.part)
        if isinstance(part, Variants):
            if len(part.variants) < self.fewest_levels:
                raise ValueError(
                    f"{place}: number of variants {len(part.variants)}: must be at least {self.fewest_levels}, or "
                    "there is no comparison"
                )
            if len(levels) != len(part.variants):
                raise ValueError(f"{place}: two variants have the same settings; remove one of them")
            if self.baseline_configuration(part.part) not in levels:
                raise ValueError(f"{place}: no variant is the reference; add one that sets nothing, like ours: {{}}")
        for quantity, numbers in part.published.items():
            names = [each.name for each in self.declaration.quantities]
            if quantity not in names:
                raise ValueError(
                    f"{place}: published.{quantity}: is not a quantity of the driver {self.driver}"
                    f"{did_you_mean(quantity, names)}"
                )
            if len(numbers) != len(levels):
                raise ValueError(f"{place}: published.{quantity}: has {len(numbers)} numbers for {len(levels)} levels")
        if conflict := next(filter(None, map(self.conflict_in, levels)), ""):
            raise ValueError(f"{place}: {conflict}")

    def _of_reference(self, name: str) -> FactorValue:
        setting = self.settings()[name]
        return setting.value(self.reference.get(name, setting.default))

    def _typed(self, name: str, levels: Sequence[PropertyValue]) -> list[FactorValue]:
        return self.settings()[name].of(levels)


def compare_study(study: Study) -> Compare:
    """Return the study as a comparison; reject any other."""
    if not isinstance(study, Compare):
        raise BadInputError(f"study {study.name}: kind: {study.kind!r}: must be compare here")
    return study
