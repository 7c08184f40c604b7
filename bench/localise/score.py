#!/usr/bin/env python3
"""Scores rankings beside the two shared baselines, with paired intervals.

usage: score.py SHARED_BENCH CASES.jsonl MIRRORS NAME=RANKED.jsonl ...

SHARED_BENCH holds localise_baselines.py, whose scorer and baselines every project uses. MIRRORS
has one folder `owner+name/repo` (a git directory) for each repository. A case that a ranking
does not answer scores zero. Baselines are computed once and kept beside the cases.
"""
import collections
import json
import os
import random
import sys

METRICS = ["acc1", "acc5", "acc10", "hit5", "rec8", "mrr"]


def strict_first(ranked, gold):
    """The shared scorer's acc1 is satisfied by any right file; this one wants all of them."""
    return len(gold) == 1 and ranked[:1] == gold


def baselines(shared, cases_path, cases, mirrors):
    kept = cases_path + ".baselines.json"
    if os.path.exists(kept):
        return json.load(open(kept))
    found = {"bm25": [], "fused": []}
    for case in cases:
        directory = f"{mirrors}/{case['repo'].replace('/', '+')}/repo"
        found["bm25"].append(shared.rank(directory, case)[:200])
        found["fused"].append(shared.fused(directory, case)[:200])
    json.dump(found, open(kept, "w"))
    return found


def interval(ours, theirs, repos, rounds=2000):
    """A paired bootstrap: repositories first, then the cases of each."""
    by_repo = collections.defaultdict(list)
    for repo, a, b in zip(repos, ours, theirs):
        by_repo[repo].append(float(a) - float(b))
    rng, groups, means = random.Random(7), list(by_repo.values()), []
    for _ in range(rounds):
        drawn = [x for _ in groups for g in [rng.choice(groups)] for x in rng.choices(g, k=len(g))]
        means.append(sum(drawn) / len(drawn))
    means.sort()
    mean = sum(map(sum, groups)) / sum(map(len, groups))
    return mean, means[int(0.025 * rounds)], means[int(0.975 * rounds)]


def mean(rows, metric):
    return sum(float(row[metric]) for row in rows) / max(len(rows), 1)


def main():
    sys.path.insert(0, sys.argv[1])
    import localise_baselines as shared

    cases_path, mirrors = sys.argv[2], sys.argv[3]
    cases = [json.loads(line) for line in open(cases_path)]
    rankings = dict(baselines(shared, cases_path, cases, mirrors))
    speed, in_budget = {}, {}
    for argument in sys.argv[4:]:
        name, path = argument.split("=", 1)
        answers = {(a["repo"], a["commit"]): a for a in map(json.loads, open(path))}
        rankings[name] = [answers.get((c["repo"], c["commit"]), {}).get("ranked", []) for c in cases]
        times = sorted(a["ms"]["rank"] for a in answers.values() if "ms" in a)
        if times:
            speed[name] = times[len(times) // 2]
        for tokens in ("in_4000", "in_8000"):
            shares = [answers.get((c["repo"], c["commit"]), {}).get(tokens, 0) for c in cases]
            in_budget.setdefault(name, []).append(sum(shares) / max(len(shares), 1))
    scored = {}
    for name, ranked in rankings.items():
        scored[name] = [dict(shared.score(r, c["gold"]), strict1=strict_first(r, c["gold"])) for r, c in zip(ranked, cases)]
    repos = [case["repo"] for case in cases]
    strata = {
        "all": [True] * len(cases),
        "file not named": [not case["names_file"] for case in cases],
        "file named": [case["names_file"] for case in cases],
    }
    for repo in dict.fromkeys(repos):
        strata[repo] = [r == repo for r in repos]
    for stratum, mask in strata.items():
        print(f"\n{stratum}, n = {sum(mask)}")
        for name, rows in scored.items():
            rows = [row for row, kept in zip(rows, mask) if kept]
            figures = " ".join(f"{m} {mean(rows, m):.3f}" for m in ["strict1", *METRICS])
            print(f"  {name:18} {figures}")
    print("\nbeside the fused baseline (mean difference, 95 % interval by repository)")
    for name in list(rankings)[2:]:
        for metric in ["mrr", "acc5", "rec8"]:
            ours = [row[metric] for row in scored[name]]
            theirs = [row[metric] for row in scored["fused"]]
            print("  {:18} {:5} {:+.3f}  [{:+.3f}, {:+.3f}]".format(name, metric, *interval(ours, theirs, repos)))
    for name, (small, large) in in_budget.items():
        print(f"  {name:18} recall {small:.3f} in a task file of 4,000 tokens, {large:.3f} in 8,000")
    for name, median in speed.items():
        print(f"  {name:18} {median:.1f} ms a query (median)")


if __name__ == "__main__":
    main()
