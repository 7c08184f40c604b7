#!/usr/bin/env python3
"""Fits the ranker's weights to what `localise signals` wrote down.

usage: fit.py SIGNALS.jsonl... > assets/ranker.toml

A listwise softmax: each case shares one unit of probability among its right files, and the
weights are those under which the right files are likeliest, held small (L2) and of the right
sign, so that they carry over to repositories that were never seen. Every repository counts
the same, however many cases it has. Needs numpy and scipy.
"""
import argparse
import json
import sys

import numpy as np
from scipy.optimize import minimize

# Signals that may speak either way; all others only for a file, or only against it.
EITHER = set("""is_test is_tooling is_documentation depth size is_entry test_of_repair test_of_novelty
changes_counted language_share documentation_asked""".split())
AGAINST = set("never_changed is_generated is_fixture is_example test_when_documentation".split())
RIVALS = 400


def read(paths):
    names, cases = None, []
    for path in paths:
        with open(path) as lines:
            head = json.loads(next(lines))["signals"]
            assert names in (None, head), "signals of different versions"
            names = head
            for line in lines:
                case = json.loads(line)
                values = np.array([file["f"] for file in case["files"]], np.float32)
                right = np.array([file["gold"] for file in case["files"]], bool)
                if right.any() and not right.all():
                    cases.append((case["repo"], values, right))
    return names, cases


def thin(values, right, weights):
    """Keeps the files that could be mistaken for the right ones."""
    if len(values) <= RIVALS:
        return values, right
    order = np.argsort(-(values @ weights))[:RIVALS]
    keep = np.union1d(order, np.nonzero(right)[0])
    return values[keep], right[keep]


def fit(names, cases, strength, start=None):
    bounds = [(None, None) if n in EITHER else (None, 0) if n in AGAINST else (0, None) for n in names]
    if start is None:
        start = np.array([0.5 if n.startswith(("text", "similar", "path")) else 0.0 for n in names])
    repos = {repo for repo, _, _ in cases}
    share = {repo: 1000 / sum(r == repo for r, _, _ in cases) for repo in repos}
    parts = [(share[repo], *thin(values, right, start)) for repo, values, right in cases]
    rows = np.concatenate([values for _, values, _ in parts])
    sizes = np.array([len(values) for _, values, _ in parts])
    firsts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    of = np.repeat(np.arange(len(parts)), sizes)
    target = np.concatenate([right / right.sum() for _, _, right in parts])
    weight = np.repeat([w for w, _, _ in parts], sizes)
    total = sum(w for w, _, _ in parts)

    def loss(w):
        score = rows @ w
        most = np.maximum.reduceat(score, firsts)
        chance = np.exp(score - most[of])
        norm = np.add.reduceat(chance, firsts)
        log = score - most[of] - np.log(norm)[of]
        slope = rows.T @ (weight * (chance / norm[of] - target))
        value = -(weight * target * log).sum() / total + strength * (w @ w) / 200
        return value, slope / total + strength * w / 100

    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 400})
    return found.x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("signals", nargs="+")
    parser.add_argument("--strength", type=float, default=10.0)
    parser.add_argument("--drop", default="", help="signals to leave out, by comma")
    arguments = parser.parse_args()
    names, cases = read(arguments.signals)
    dropped = set(filter(None, arguments.drop.split(",")))
    for _, values, _ in cases:
        for name in dropped:
            values[:, names.index(name)] = 0
    weights = fit(names, cases, arguments.strength)
    weights = fit(names, cases, arguments.strength, weights)
    print("# How much each signal counts when files are ranked for a task: data, not code.")
    print("# Fitted by bench/localise/fit.py; bench/localise/README.md says on what.")
    print("\n[weights]")
    for name, value in zip(names, weights):
        if name not in dropped and abs(value) >= 5e-3:
            print(f"{name} = {value:.3f}")
    print(f"{len(cases)} cases, {(abs(weights) >= 5e-3).sum()} signals", file=sys.stderr)


if __name__ == "__main__":
    main()
