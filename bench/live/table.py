"""The table of the results, paired by task, with intervals."""

import json
import math
import pathlib

import arms
import track

NAMES = {
    "one-shot": "the model alone, one shot",
    "loop": "`api` loop alone",
    "gates": "Spore, gates without verifier",
    "whole": "whole Spore",
}
BEGIN, END = "<!-- live:begin -->", "<!-- live:end -->"
README = pathlib.Path(__file__).resolve().parents[2] / "README.md"


def wilson(hits, count):
    """The 95 % interval of a share."""
    if count == 0:
        return 0.0, 1.0
    z, share = 1.96, hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def difference(pairs):
    """The mean difference of pairs of yes and no, and its 95 % interval.

    Agresti and Min's: half a pair is added to each of the four kinds, so that few pairs, or none that
    differ, do not look like certainty.
    """
    count = len(pairs) + 2
    more, less = (pairs.count(1) + 0.5) / count, (pairs.count(-1) + 0.5) / count
    half = 1.96 * math.sqrt((more + less - (more - less) ** 2) / count)
    return sum(pairs) / len(pairs), max(-1.0, more - less - half), min(1.0, more - less + half)


def lines(rows):
    by = {(row["task"], row["arm"]): row for row in rows}
    tasks = [
        task
        for task in dict.fromkeys(row["task"] for row in rows)
        if all((task, arm) in by for arm in arms.ARMS)
    ]
    if not tasks:
        return ["No task was finished in all four ways yet."]
    made = [
        f"{len(tasks)} tasks of Exercism's Python track ({track.RULE}), each in all four ways:",
        "",
        "| | solved | claimed | **wrongly claimed** | tokens a task | model's processor minutes a task | bounces |",
        "|---|---|---|---|---|---|---|",
    ]
    for arm in arms.ARMS:
        own = [by[task, arm] for task in tasks]
        count = lambda key: sum(bool(row[key]) for row in own)
        mean = lambda key: sum(row[key] for row in own) / len(own)
        cell = lambda key: "{} ({:.0%}–{:.0%})".format(count(key), *wilson(count(key), len(own)))
        made.append(
            f"| {NAMES[arm]} | {cell('solved')} | {count('claimed')} | {cell('wrongly_claimed')} | "
            f"{mean('tokens'):.0f} | {mean('processor_minutes'):.1f} | {mean('bounces'):.1f} |"
        )
    made += ["", "In brackets the 95 % interval of the share (Wilson). Paired by task:", ""]
    for one, other, key in [
        ("gates", "loop", "solved"),
        ("gates", "one-shot", "solved"),
        ("whole", "gates", "solved"),
        ("one-shot", "whole", "wrongly_claimed"),
        ("loop", "whole", "wrongly_claimed"),
        ("loop", "gates", "wrongly_claimed"),
    ]:
        pairs = [int(by[task, one][key]) - int(by[task, other][key]) for task in tasks]
        mean, low, high = difference(pairs)
        made.append(
            f"- {key.replace('_', ' ')}, {NAMES[one]} against {NAMES[other]}: {mean:+.0%} "
            f"({low:+.0%} to {high:+.0%}), better in {pairs.count(1)} tasks and worse in "
            f"{pairs.count(-1)}"
            if key == "solved"
            else f"- wrongly claimed, {NAMES[one]} against {NAMES[other]}: {mean:+.0%} "
            f"({low:+.0%} to {high:+.0%})"
        )
    for arm in ("gates", "whole"):
        trees = [by[task, arm].get("solved_by_bounce") or [False] for task in tasks]
        pairs = [int(tree[-1]) - int(tree[0]) for tree in trees]
        mean, low, high = difference(pairs)
        made.append(
            f"- solved, last attempt against first, {NAMES[arm]}: {mean:+.0%} ({low:+.0%} to {high:+.0%}); "
            f"{sum(len(tree) > 1 for tree in trees)} tasks had more than one attempt"
        )
    if len(tasks) < track.COUNT:
        made += ["", f"Only {len(tasks)} of {track.COUNT} tasks were finished: too few to conclude much."]
    return made


def show(results, write):
    text = results.read_text() if results.exists() else ""
    made = "\n".join(lines([json.loads(line) for line in text.splitlines()]))
    if not write:
        print(made)
        return
    whole = README.read_text()
    before, rest = whole.split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}")
