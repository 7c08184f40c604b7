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


def read(results):
    """Returns the rows that were written whole."""
    rows = []
    for line in results.read_text().splitlines() if results.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            # The machine stopped while it was written: that arm is played again.
            continue
    return rows


def keep(results, row):
    """Adds a row, on a line of its own also after one that was not written whole."""
    before = results.read_bytes() if results.exists() else b""
    with open(results, "a") as kept:
        if before and not before.endswith(b"\n"):
            kept.write("\n")
        kept.write(json.dumps(row) + "\n")


def of_one_kind(rows, version):
    """Returns the rows that can be compared: of this budget, and of one version of the track."""
    return [row for row in rows if row["budget"] == arms.BUDGET and row["track"] == version]


def lines(rows):
    rows = of_one_kind(rows, rows[-1]["track"]) if rows else []
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
        "| | solved | claimed | **wrongly claimed** | claimed and changed something | of these wrongly | "
        "tokens a task | model's processor minutes a task | bounces |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for arm in arms.ARMS:
        own = [by[task, arm] for task in tasks]
        count = lambda key: sum(bool(row[key]) for row in own)
        changed = [row for row in own if row["claimed"] and row["changed"]]
        wrongly = sum(row["wrongly_claimed"] for row in changed)
        mean = lambda key: sum(row[key] for row in own) / len(own)
        cell = lambda key: "{} ({:.0%}–{:.0%})".format(count(key), *wilson(count(key), len(own)))
        made.append(
            f"| {NAMES[arm]} | {cell('solved')} | {count('claimed')} | {cell('wrongly_claimed')} | "
            f"{len(changed)} | {wrongly} ({share(wrongly, len(changed))}) | "
            f"{mean('tokens'):.0f} | {mean('processor_minutes'):.1f} | {mean('bounces'):.1f} |"
        )
    made += ["", *told(rows, tasks), "", "Paired by task:", ""]
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


def share(hits, count):
    """The interval of a share, where there is one."""
    return "{:.0%}–{:.0%}".format(*wilson(hits, count)) if count else "none"


def told(rows, tasks):
    """What has to be known to read the table."""
    versions = dict.fromkeys(row["spore"] for row in rows if row["task"] in tasks)
    first = [row["first_request_tokens"] for row in rows if row.get("first_request_tokens")]
    said = [
        "In brackets the 95 % interval of the share (Wilson). What an arm claims is not one and the same: the "
        "one shot claims with an answer that has a block of code and was not cut off; the loop with a session "
        "that ends by itself, also one that called no tool, which the columns on changes leave out; Spore with "
        "exit code 0. Neither the one shot nor the loop gets the output of a check from us (the loop may run "
        "the tests, the one shot never sees them), while `--fix-red` tells Spore's coder what is red from the "
        "beginning.",
    ]
    if first:
        said += ["", f"The loop's first request had {min(first)} to {max(first)} tokens, as the server counts."]
    jobs = sorted({row["jobs"] for row in rows if row["task"] in tasks})
    said += ["", f"Tasks at once: {', '.join(str(one) for one in jobs)}."]
    return said + ["", f"Spore: {', '.join(f'`{one}`' for one in versions)}; track `{rows[-1]['track']}`."]


def show(results, write):
    made = "\n".join(lines(read(results)))
    if not write:
        print(made)
        return
    whole = README.read_text()
    before, rest = whole.split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}")
