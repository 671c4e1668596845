"""Write JUnit XML, which continuous integration servers read."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class JUnitTest:
    """A test of a suite: failed or skipped with that message, else passed."""

    name: str
    output: str
    failure: str = ""
    skipped: str = ""


def junit_suite(name: str, class_name: str, tests: Sequence[JUnitTest]) -> bytes:
    """Return the suite in UTF-8."""
    counts = {
        "tests": len(tests),
        "failures": sum(bool(each.failure) for each in tests),
        "errors": 0,
        "skipped": sum(bool(each.skipped) for each in tests),
    }
    suite = ET.Element("testsuite", {"name": name, **{key: str(count) for key, count in counts.items()}})
    for test in tests:
        case = ET.SubElement(suite, "testcase", classname=class_name, name=test.name)
        for element, message in (("failure", test.failure), ("skipped", test.skipped)):
            if message:
                ET.SubElement(case, element, message=message)
        ET.SubElement(case, "system-out").text = test.output
    ET.indent(suite)
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"
