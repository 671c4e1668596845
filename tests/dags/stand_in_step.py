"""Stands in for every step of a project whose Airflow is real; the campaign's name selects its behavior."""

import json
import os
import pathlib
import sys
import time

RECOMMENDED = {
    "verdict": "recommended",
    "configuration_id": "c0123456789",
    "properties": {"acks": "1"},
    "baseline_properties": {"acks": "all"},
    "reference_properties": {"acks": "all"},
    "pick_configuration_id": "c0123456789",
    "pick_properties": {"acks": "1"},
    "in_force_version": None,
    "reasons": [],
}
STEP = pathlib.Path(__file__).stem
OPTIONS = {name: value for name, _, value in (each.removeprefix("--").partition("=") for each in sys.argv[1:])}
CAMPAIGN = OPTIONS.get("campaign", "")
CASE = OPTIONS.get("case", "")
ROOT = pathlib.Path(os.environ["KAFKA_PARETO_STORE_FOLDER"])
STUDY = ROOT / OPTIONS.get("study", "")

cases = ["1024"] if CAMPAIGN in ("asked", "upgraded") else ["1024", "65636"]
event, notice, question = {}, None, {}


def write(key: str, text: str = "") -> None:
    path = STUDY / CAMPAIGN / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def refuse(message: str, code: int = 65) -> None:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(code)


if STEP == "design":
    if CAMPAIGN == "unasked":
        print("plan: 8 repetitions, about 1 minutes", flush=True)
        refuse("it starts only with your consent", 77)
    write("study.yaml", (STUDY / "study.yaml").read_text())
    write("plan.json", (STUDY / "plan.json").read_text())
    (STUDY / CAMPAIGN / "round=00").mkdir(exist_ok=True)
    (STUDY / CAMPAIGN / "round=00/01_design.parquet").write_bytes((STUDY / "design.parquet").read_bytes())
if STEP == "propose":
    cases = []  # the paper has no rounds
if STEP == "measure":
    for number in range(3):
        write(f"round=00/02_measurements/{CASE}/{number}.json")
    if CAMPAIGN == "hanging":
        write(f"{CASE}.pid", str(os.getpid()))
        time.sleep(600)
if STEP == "validate":
    if CAMPAIGN == "bad":
        refuse("9 of 10 rows were set aside\n  row b000: negative latency")
    write("round=00/03_validation/data_docs/index.html", "<html>docs</html>")
    write("round=00/03_validation/data_docs/static/page.html", "<html>page</html>")
if STEP == "confirm":
    write(f"06_confirmation/{CASE}/repetitions/0.json")
if STEP == "report":
    write("07_report/cards.txt", "THE CARDS\n```\n# <script>alert(1)</script> {{ 1 + 1 }}\n")
    write("07_report/cards.json", (STUDY / "cards.json").read_text())
    write("07_report/report.html", "<html>report</html>")
    event = {"study": STUDY.name, "campaign": CAMPAIGN, "cases": {"1024": RECOMMENDED}}
    notice = {
        "kind": "finished",
        "subject": f"paper:\nnew settings of {CAMPAIGN}",
        "text": "<!channel> <b>bold</b> {{ 1 + 1 }} & more",
    }
    print("THE CARDS")
if STEP in ("accept", "roll_back"):
    with (ROOT / "moves.jsonl").open("a") as moves:
        moves.write(json.dumps([STEP, OPTIONS]) + "\n")
    if OPTIONS.get("configuration") == "c0000000bad":
        refuse("--configuration: c0000000bad was not confirmed")
    asked = {"action": "ask", "study": STUDY.name, "campaign": CAMPAIGN}
    if "ask" in OPTIONS:
        cases, question = [], asked
    elif CAMPAIGN == "upgraded" and "changes-seen" not in OPTIONS:
        cases, question = [], {**asked, "changes_seen": "0123456789"}
        changes = {"schema_version": 4, "cases": {"1024": ["fingerprint.kafka_version: 4.3.1 then, 4.4.0 now"]}}
        write("08_rollout/changes/0123456789.json", json.dumps(changes))
    elif OPTIONS.get("answer") == "reject":
        cases = []
    else:
        event = {"study": STUDY.name, "cases": {"1024": {"version": 1, "campaign": CAMPAIGN}}}
    if STEP == "roll_back":
        notice = {"kind": "in_force", "subject": "paper: rolled back", "text": "1,024 B: version 2 is active"}
MACHINES = STUDY / CAMPAIGN / "load_machines" / OPTIONS.get("session", "")
if STEP == "list_load_machines":
    cases = ["1", "2"] if STUDY.name == "together" else []
if STEP == "run_load_machine":
    MACHINES.mkdir(parents=True, exist_ok=True)
    (MACHINES / CASE).touch()
    while not (MACHINES / "stopped").exists():
        time.sleep(0.1)
if STEP == "stop_load_machines":
    MACHINES.mkdir(parents=True, exist_ok=True)
    (MACHINES / "stopped").touch()
    cases = []
if STEP == "check" and (STUDY / "nothing_to_measure").exists():
    cases = []
if STEP == "check_measure" and STUDY.name == "together":
    deadline = time.monotonic() + 120
    while not any(len(list(each.iterdir())) == 2 for each in MACHINES.glob("*") if not (each / "stopped").exists()):
        if time.monotonic() > deadline:
            refuse("the load machines do not run")
        time.sleep(0.1)
    while (STUDY / "hanging").exists():
        time.sleep(0.1)
if STEP.startswith("check"):
    with (ROOT / "checks.jsonl").open("a") as checks:
        checks.write(json.dumps([STEP, OPTIONS]) + "\n")
if STEP == "check_compare":
    cases = ["1024"] if OPTIONS["study"] == "paper" else []  # it alone has drifted
    tune = {"study": "paper", "campaign": CAMPAIGN, "record_sizes": [int(case) for case in cases], "approval": False}
    event = {"study": "paper", "check": CAMPAIGN, "tune": tune} if cases else {}
    notice = {"kind": "drift" if cases else "unchanged", "subject": f"{STUDY.name}: checked", "text": "1,024 B"}
manifest = {"step": STEP, "study": STUDY.name, "campaign": CAMPAIGN, "cases": cases}
print(json.dumps({**manifest, "event": event, "notice": notice, "question": question}))
