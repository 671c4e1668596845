"""Compare proposals by how much of a front they choose from: `python -m benchmarks.front_candidates`.

A front of four objectives has thousands of configurations. From the kept campaign `cold_burst_seven`, after its design
and after its second round, each record size's next round is proposed from the whole front, from some of it, and without
it. All proposals are judged by the same new draws from the posterior: the hypervolume that they add.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from kafka_pareto.analysis.hypervolume import volume
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.search import acquisition
from kafka_pareto.search.pareto_search import search
from kafka_pareto.surrogates.surrogate import feature_encoding, fit_surrogate, measured_objectives
from tests.golden.kept_campaign import write_kept_campaign

CAMPAIGN = "cold_burst_seven"
ROUNDS = (1, 3)
FRONTS: dict[str, int | None] = {"the whole front": None, "1,024 of it": 1024, "256 of it": 256, "none of it": 0}


def main() -> None:
    """Print mean time and gain of a proposal, by what it chooses from."""
    found = pd.DataFrame(_proposals())
    means = found.groupby("chosen_from", sort=False)[["seconds", "gain"]].mean()
    whole = means.loc["the whole front"]
    print(f"{CAMPAIGN}: {found.case.nunique()} record sizes, after {' and '.join(map(str, ROUNDS))} rounds;")
    print(f"fronts of {found.front.min():,} to {found.front.max():,} configurations\n")
    print("| chosen from | seconds per size | hypervolume added, ratio to the whole front |")
    print("|---|---|---|")
    for name, row in means.iterrows():
        print(f"| {name} | {row.seconds:.1f} | {row.gain / whole.gain:.3f} |")


def _proposals() -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        campaign = write_kept_campaign(Path(folder), CAMPAIGN)
        study = campaign.tune
        for rounds in ROUNDS:
            trials = summarise_trials(campaign.read_measurements(study.cases, range(rounds)), study)
            posteriors, encoding = acquisition.searched_objectives(study, trials), feature_encoding(study, trials)
            surrogates = {each: fit_surrogate(study, encoding, trials, each) for each in measured_objectives(trials)}
            for case in study.cases:
                own = trials[trials.case == case]
                front = search(study, case, surrogates, own).front
                proposed, seconds = {}, {}
                for name, most in FRONTS.items():
                    count = len(front) if most is None else min(most, len(front))
                    part = front.iloc[np.linspace(0, len(front) - 1, count).round().astype(int)]
                    began = time.perf_counter()
                    proposed[name] = acquisition.propose(study, case, trials, posteriors, part, rounds)
                    seconds[name] = time.perf_counter() - began
                every = pd.DataFrame([each for some in proposed.values() for each in some]).assign(case=case)
                draws = acquisition._draws(study, own, every, posteriors, np.random.default_rng(study.seed))
                fronts, at = [acquisition._front(each) for each in draws.measured], 0
                before = np.mean([volume(each) for each in fronts])
                for name, some in proposed.items():
                    losses, at = draws.candidates[:, at : at + len(some)], at + len(some)
                    after = [volume(acquisition._front(np.vstack(pair))) for pair in zip(fronts, losses, strict=True)]
                    row = {"case": case, "front": len(front), "chosen_from": name, "seconds": seconds[name]}
                    found.append({**row, "gain": float(np.mean(after) - before)})
    return found


if __name__ == "__main__":
    main()
