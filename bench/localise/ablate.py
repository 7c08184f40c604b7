#!/usr/bin/env python3
"""What each group of signals is worth: refits without it and scores the repositories left out.

usage: ablate.py SIGNALS.jsonl... [--validate SIGNALS.jsonl]

Each repository is scored with weights fitted to the others, so nothing is scored with weights
that have seen it. With --validate the weights of all are scored on other cases as well.
"""
import argparse
import json

import numpy as np

import fit as fitting

GROUPS = {
    "text": "text text_subject text_rank best_unit best_units best_unit_rank named_definition name_used directory_text",
    "functions": "best_unit best_units best_unit_rank",
    "names": "named_definition name_used",
    "path": "path path_base path_directory path_rank stem",
    "file named": "file_named",
    "scope": "scope scope_loosely scope_history",
    "messages": "message_words similar_now similar_rank similar_soon similar_best directory_similar scope_history",
    "recency": "recency changes_now changes_often",
    "directory": "directory_similar directory_text",
    "kinds": "is_test test_asked test_of_repair is_tooling tooling_asked",
    "ranks": "text_rank best_unit_rank similar_rank path_rank",
    "size": "size",
}


def read(path):
    with open(path) as lines:
        names = json.loads(next(lines))["signals"]
        cases = []
        for line in lines:
            case = json.loads(line)
            values = np.array([file["f"] for file in case["files"]], np.float32).reshape(-1, len(names))
            paths = [file["path"] for file in case["files"]]
            cases.append((case["repo"], values, paths, case["gold"]))
    return names, cases


def score(values, paths, gold, weights):
    scores = values @ weights
    order = sorted(range(len(paths)), key=lambda file: (-scores[file], paths[file]))
    rank = {paths[file]: place + 1 for place, file in enumerate(order)}
    ranks = [rank.get(path, 10**9) for path in gold]
    return 1 / min(ranks), float(max(ranks) <= 5), sum(r <= 8 for r in ranks) / len(ranks)


def fitted(names, cases, strength):
    usable = []
    for repo, values, paths, gold in cases:
        right = np.array([path in gold for path in paths], bool)
        if right.any() and not right.all():
            usable.append((repo, values, right))
    start = fitting.fit(names, usable, strength)
    return fitting.fit(names, usable, strength, start)


def left_out(names, cases, strength, dropped=()):
    kept = np.array([name not in dropped for name in names])
    cases = [(repo, values * kept, paths, gold) for repo, values, paths, gold in cases]
    rows = []
    for repo in dict.fromkeys(case[0] for case in cases):
        weights = fitted(names, [case for case in cases if case[0] != repo], strength)
        rows += [score(*case[1:], weights) for case in cases if case[0] == repo]
    return np.mean(rows, axis=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("signals", nargs="+")
    parser.add_argument("--validate")
    parser.add_argument("--strength", type=float, default=10.0)
    arguments = parser.parse_args()
    names, cases = None, []
    for path in arguments.signals:
        names, found = read(path)
        cases += found
    whole = left_out(names, cases, arguments.strength)
    print(f"{'all signals':14} MRR {whole[0]:.3f}  acc@5 {whole[1]:.3f}  recall@8 {whole[2]:.3f}  (n = {len(cases)})")
    for group, members in GROUPS.items():
        without = left_out(names, cases, arguments.strength, members.split())
        change = without - whole
        print(f"- {group:12} {change[0]:+.3f}  {change[1]:+.3f}  {change[2]:+.3f}")
    if arguments.validate:
        weights = fitted(names, cases, arguments.strength)
        _, others = read(arguments.validate)
        rows = np.array([score(*case[1:], weights) for case in others])
        print("validation     MRR {:.3f}  acc@5 {:.3f}  recall@8 {:.3f}".format(*rows.mean(axis=0)))


if __name__ == "__main__":
    main()
