"""Format tables as aligned text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal


def table_lines(
    rows: Sequence[Sequence[str]], other_columns: Literal["left", "right"] = "right", gap: str = "  "
) -> list[str]:
    """Align the columns of rows of equal length, `gap` apart; the first column is aligned left."""
    if not rows:
        return []
    from tabulate import DataRow, TableFormat, tabulate  # noqa: PLC0415 (takes 0.15 s to load, and a measuring step rarely needs it)

    alignment = ["left", *[other_columns] * (len(rows[0]) - 1)]
    row = DataRow("", gap, "")
    plain = TableFormat(None, None, None, None, headerrow=row, datarow=row, padding=0, with_header_hide=None)
    text: str = tabulate(rows, tablefmt=plain, disable_numparse=True, colalign=alignment)
    return text.splitlines()
