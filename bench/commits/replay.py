#!/usr/bin/env python3
"""Honest commits of public projects, replayed as if an agent had made them.

    bench/commits/replay.py choose MIRRORS     writes chosen.jsonl: which commits, before any is replayed
    bench/commits/replay.py run MIRRORS [--probes] [--only NAME] [--most N]
                                               replays them, a line each in results.jsonl or probes.jsonl
    bench/commits/replay.py table              writes the table of README.md, and of the README above
    bench/commits/replay.py doubtful           each refused one and each doubt, to be read

MIRRORS holds a git directory for each repository of repositories.json, as OWNER+NAME/repo. The
tools of their suites come from PATH, and from VIRTUAL_ENV where it is set; nothing is installed.
`run` goes on where it was left, and keeps its clones below $COMMITS_WORK (a temporary directory
otherwise). What is eligible is said in README.md.
"""

import argparse
import base64
import collections
import datetime
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SPORE = pathlib.Path(os.environ.get("SPORE", ROOT / "target/release/spore"))
LONGEST = 20.0
PROBED = 60

VERDICT = '{"nonce":"$NONCE","verdict":"supports","confidence":0.9,"reason":"it does what its task says"}'
SUMMARY = '<summary>{"title":"Done","summary":"It was done at once.","lessons":[]}</summary>'


def git(directory, *arguments, text=True):
    done = subprocess.run(["git", "-C", str(directory), *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace") if text else done.stdout


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def repositories():
    return json.loads((HERE / "repositories.json").read_text())


# What is eligible.


class Suite:
    """One repository's suite, run plainly in a checkout of its own, and what it said of each tree."""

    def __init__(self, place, mirror, repository):
        # A suite that has to be built first is not written down here: SUITE says how it is run.
        command = repository.get("suite") or os.environ.get("SUITE")
        if not command:
            sys.exit(f"{repository['name']}: SUITE has to say how its tests are run")
        self.tree, self.command, self.known = place / "plain", command, {}
        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", mirror, self.tree], check=True)

    def is_green(self, commit):
        tree = git(self.tree, "rev-parse", f"{commit}^{{tree}}").strip()
        if tree not in self.known:
            git(self.tree, "checkout", "--quiet", "--force", "--detach", commit)
            git(self.tree, "clean", "--quiet", "-ffd")
            begun = processor_time()
            try:
                done = subprocess.run(["sh", "-c", self.command], cwd=self.tree, stdin=subprocess.DEVNULL,
                                      capture_output=True, timeout=30 * LONGEST)
                is_green = done.returncode == 0
            except subprocess.TimeoutExpired:
                is_green = False
            self.known[tree] = (is_green, processor_time() - begun)
        return self.known[tree]


def processor_time():
    """Seconds that programs we started used: how busy the machine is does not make a suite slow."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def touches_code(mirror, commit, endings):
    names = git(mirror, "diff-tree", "--no-commit-id", "--name-only", "--no-renames", "-r", "-z", commit)
    return any(name.endswith(tuple(endings)) for name in names.split("\0"))


def choose(mirrors):
    chosen = []
    known = lines_of(HERE / "chosen.jsonl")
    for repository in repositories():
        name, wanted = repository["name"], repository["commits"]
        of_this = [one for one in known if one["repository"] == name]
        mirror = mirrors / name.replace("/", "+") / "repo"
        looked_at = passed_over = 0
        with tempfile.TemporaryDirectory() as place:
            suite = Suite(pathlib.Path(place), mirror, repository)
            walk = ["rev-list", "--date-order", "--min-parents=1", "--max-parents=1", repository["tip"]]
            commits = git(mirror, *walk).split()
            # What is known is gone on with.
            for commit in commits[commits.index(of_this[-1]["commit"]) + 1 if of_this else 0:]:
                if len(of_this) >= wanted:
                    break
                looked_at += 1
                if not touches_code(mirror, commit, repository["endings"]):
                    continue
                (before, at), (after, took) = suite.is_green(f"{commit}^"), suite.is_green(commit)
                if not before or not after or max(at, took) > LONGEST:
                    passed_over += 1
                    continue
                of_this.append({"repository": name, "commit": commit, "parent": git(mirror, "rev-parse", f"{commit}^").strip()})
        print(f"{name}: {len(of_this)} of {looked_at} looked at, {passed_over} not green at both", file=sys.stderr, flush=True)
        chosen += of_this
        # One of each repository in turn, so that a part of the list is a part of every repository.
        later = [one["name"] for one in repositories()][len({one["repository"] for one in chosen}):]
        ordered = interleaved(chosen + [one for one in known if one["repository"] in later])
        with open(HERE / "chosen.jsonl", "w") as file:
            file.writelines(json.dumps(one) + "\n" for one in ordered)


def interleaved(chosen):
    """The commits of each repository in their order, spread evenly over the whole list."""
    counts = collections.Counter(one["repository"] for one in chosen)
    seen, placed = collections.Counter(), []
    for one in chosen:
        seen[one["repository"]] += 1
        placed.append(((seen[one["repository"]] - 0.5) / counts[one["repository"]], one))
    return [one for _, one in sorted(placed, key=lambda pair: pair[0])]


# Replaying one.


class Project:
    """One repository as a person has it, with Spore in it."""

    def __init__(self, work, mirror, repository, probes):
        self.mirror, self.repository = mirror, repository
        self.place = work / (repository["name"].replace("/", "+") + ("+probes" if probes else ""))
        self.tree = self.place / "project"
        if not self.tree.exists():
            self.place.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", mirror, self.tree], check=True)
        (self.tree / ".spore").mkdir(exist_ok=True)
        settings = repository.get("settings", "")
        (self.tree / ".spore/config.toml").write_text(settings)
        self.env = {**os.environ, "XDG_STATE_HOME": str(self.place / "state")}
        self.env.pop("SPORE_ROOT", None)
        if probes:
            self.env["SPORE_GATES_PROBE"] = "all"

    def replay(self, one):
        commit, parent = one["commit"], one["parent"]
        git(self.tree, "checkout", "--quiet", "--force", "-B", "replayed", parent)
        patch = git(self.mirror, "diff", "--binary", "--full-index", "--no-renames", parent, commit, text=False)
        scenario = self.place / "scenario.toml"
        scenario.write_text(script(patch))
        subject = git(self.mirror, "log", "-1", "--format=%s", commit).strip() or "a change"
        command = [SPORE, "orchestrate", subject, "--backend", "replay", "--scenario", scenario,
                   "--max-bounces", "1", "--experiment", "no-context", "--apply", "none", "--json", "-q"]
        begun = time.perf_counter()
        done = subprocess.run(command, cwd=self.tree, env=self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        took = time.perf_counter() - begun
        found = {**one, "exit": done.returncode, "seconds": round(took, 1)}
        try:
            report = json.loads(done.stdout)
        except ValueError:
            return {**found, "level": "error", "said": (done.stderr or done.stdout)[-1500:]}
        return {**found, **self.read(report, commit)}

    def read(self, report, commit):
        run = report["run"]["id"]
        records = self.tree / ".spore/runs" / run / "bounce-1/gates"
        results = read_json(records / "results.json") or []
        proof = read_json(records / "proof.json")
        said = events(self.tree, run)
        found = {"run": run, "outcome": report["run"].get("outcome"), **touched(self.mirror, commit)}
        found["level"] = proof["level"] if proof else "refused"
        if proof:
            found["doubts"] = proof.get("doubts", [])
            found["new"] = {kind: len(names) for kind, names in proof["new"].items()}
            found["kept"] = proof["kept"]["passed"]
        else:
            closed = [one["payload"].get("reason", "") for one in said if one["type"] in ("bounce.closed", "run.finished")]
            found["why"] = closed[0][:1000] if closed else "nothing is said"
        own = [one for one in results if not one.get("restored")]
        found["gates_ms"] = sum(one["duration_ms"] for one in own)
        found["runs"] = len(list(records.glob("*.log")))
        found["check_ms"] = between(said, "snapshot.taken", "gates.finished")
        found["base_ms"] = sum(one["duration_ms"] for one in read_json(records.parent.parent / "baseline/results.json") or [])
        found["base_step_ms"] = between(said, "run.started", "bounce.started")
        trees = [one["payload"]["tree"] for one in said if one["type"] == "snapshot.taken"]
        found["same_tree"] = trees == [git(self.mirror, "rev-parse", f"{commit}^{{tree}}").strip()]
        if proof and proof.get("hunks"):
            found["hunks"] = collections.Counter(hunk["noticed"] for hunk in proof["hunks"]["hunks"])
        return found


def read_json(path):
    return json.loads(path.read_text()) if path.exists() else None


def events(tree, run):
    """What happened in one run, in its order."""
    lines = [line for path in sorted((tree / ".spore/events").glob("*.jsonl")) for line in path.read_text().splitlines()]
    return [one for one in map(json.loads, lines) if one.get("trace") == run]


def between(said, first, last):
    """Milliseconds from the first event of one type to the next of another."""
    moment = lambda one: datetime.datetime.fromisoformat(one["ts"]).timestamp() * 1000
    begun = next((at for at, one in enumerate(said) if one["type"] == first), None)
    ended = next((one for one in said[begun:] if one["type"] == last), None) if begun is not None else None
    return round(moment(ended) - moment(said[begun])) if ended else None


# What a commit touches, by a rule of our own that knows nothing of Spore's.

TEST = re.compile(r"(^|/)(tests?|testing|__tests__|testdata)/|(^|/)(test_?[^/]*|[^/]*_test|conftest)\.py$|[.-](test|spec)\.[cm]?[jt]sx?$|(^|/)test\.[cm]?js$")
SETTINGS = re.compile(r"(^|/)(setup\.(py|cfg)|tox\.ini|pytest\.ini|pyproject\.toml|noxfile\.py|[Mm]akefile|package\.json|Cargo\.toml|build\.rs|"
                      r"\.mocharc[^/]*|\.eslintrc[^/]*|eslint\.config\.[^/]*|\.npmrc|\.coveragerc|\.pre-commit-config\.yaml|clippy\.toml)$|"
                      r"^\.github/workflows/|(^|/)\.cargo/|\.travis\.yml$|\.gitlab-ci\.yml$")


def touched(mirror, commit):
    """Which tests and settings a commit touches: `tests` is the worst of none, added and changed."""
    names = git(mirror, "diff-tree", "--no-commit-id", "--name-status", "--no-renames", "-r", "-z", commit).split("\0")[:-1]
    files = list(zip(names[1::2], names[0::2]))
    kinds = {how for path, how in files if TEST.search(path)}
    in_rust = any(path.endswith(".rs") and how == "M" and has_inline_tests(mirror, commit, path) for path, how in files)
    tests = "changed" if kinds - {"A"} or in_rust else "added" if kinds else "none"
    settings = sorted(path for path, _ in files if SETTINGS.search(path))
    changed = sorted(path for path, how in files if how != "A" and TEST.search(path))
    return {"files": len(files), "tests": tests, "settings": settings, "changed_tests": changed}


def has_inline_tests(mirror, commit, path):
    """Whether a commit touches what stands behind the first `#[cfg(test)]` of a file, or a doctest."""
    parts = [git(mirror, "show", f"{version}:{path}") for version in (f"{commit}^", commit)]
    tests = [part.partition("#[cfg(test)]")[2] for part in parts]
    examples = [[line for line in part.splitlines() if re.match(r"\s*//[/!]", line)] for part in parts]
    return tests[0] != tests[1] or examples[0] != examples[1]


def script(patch):
    """The scenario: the coder applies the commit, the verifier agrees, the summarizer has a word."""
    text = base64.encodebytes(patch).decode()
    apply = ("base64 -d .replayed.patch > \"$TMPDIR/patch\" && rm .replayed.patch && "
             "git apply --binary --whitespace=nowarn \"$TMPDIR/patch\"")
    return f"""
[[session]]
role = "coder"
bounce = 1
final = "done"
steps = [{{ write = ".replayed.patch", content = '''
{text}''' }}, {{ run = '''{apply}''' }}]

[[session]]
role = "verifier"
bounce = 1
final = '''<verdict>{VERDICT}</verdict>'''

[[session]]
role = "summarizer"
final = '''{SUMMARY}'''
"""


def replay(mirrors, probes, only, most):
    by_name = {one["name"]: one for one in repositories()}
    results = HERE / ("probes.jsonl" if probes else "results.jsonl")
    known = {one["commit"] for one in lines_of(results)}
    chosen = lines_of(HERE / "chosen.jsonl")
    if probes:
        chosen = chosen[:PROBED]
    todo = [one for one in chosen if one["commit"] not in known and (not only or one["repository"] == only)][:most]
    work = pathlib.Path(os.environ.get("COMMITS_WORK") or tempfile.mkdtemp(prefix="commits-"))
    projects = {}
    for number, one in enumerate(todo, 1):
        name = one["repository"]
        if name not in projects:
            mirror = mirrors / name.replace("/", "+") / "repo"
            projects[name] = Project(work, mirror, by_name[name], probes)
        found = projects[name].replay(one)
        with open(results, "a") as file:
            file.write(json.dumps(found) + "\n")
        what = found.get("why") or "; ".join(found.get("doubts", [])) or found.get("said", "")
        print(f"{number}/{len(todo)} {name} {one['commit'][:9]} {found['level']} {found['seconds']} s {what[:200]}", flush=True)


# What came of it.

LEVELS = ["refused", "checked", "proved", "seen"]


def is_quiet(one):
    """No test that was there and no setting is touched: a refusal would be a false alarm."""
    return one["tests"] != "changed" and not one["settings"]


def is_named_rightly(one):
    """Whether the reason of a refusal is something that the commit does: it names a file that the commit
    touches, or tests of such a file that fail or are missing as they were before."""
    why = one.get("why", "")
    if any(path in why for path in one["settings"] + one["changed_tests"]):
        return True
    stems = {pathlib.PurePath(path).stem for path in one["changed_tests"]}
    names_no_files = one["repository"] in ("micromatch/picomatch", "rust-lang/cfg-if")
    return "with the base's tests" in why and (any(stem in why for stem in stems) or names_no_files and one["tests"] == "changed")


def share(part, whole):
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def row(name, found):
    counts = collections.Counter(one["level"] for one in found)
    return f"| {name} | {len(found)} | " + " | ".join(str(counts[level]) for level in LEVELS[:3]) + " |"


def ratio(found, of="check_ms", to="gates_ms"):
    """The median of one time against another, and their sums."""
    pairs = [(one[of], one[to]) for one in found if one.get(of) and one.get(to)]
    if not pairs:
        return "nothing measured"
    median = statistics.median(a / b for a, b in pairs)
    return f"{median:.2f} x (in sum {sum(a for a, _ in pairs) / sum(b for _, b in pairs):.2f} x, {len(pairs)} commits)"


def runs(found, *tests):
    """How often the suite was run on changes that were not refused."""
    counts = collections.Counter(one["runs"] for one in found if one["tests"] in tests and one["level"] != "refused" and "runs" in one)
    return ", ".join(f"{times} times ({count})" for times, count in sorted(counts.items())) or "never"


def kind_of_doubt(doubt):
    return re.sub(r"`[^`]*`|(?<=line )[0-9]+", "…", doubt)


def tables():
    found = [one for one in lines_of(HERE / "results.jsonl") if one["level"] != "error"]
    chosen = lines_of(HERE / "chosen.jsonl")
    quiet, loud = [one for one in found if is_quiet(one)], [one for one in found if not is_quiet(one)]
    refused = [one for one in loud if one["level"] == "refused"]
    text = ["| commits | | refused | checked | proved |", "|---|---|---|---|---|",
            row("that leave existing tests and settings alone", quiet), row("that touch some", loud), row("all", found)]
    short = "\n".join(text)
    text = [f"{share(len(found), len(chosen))} of the chosen commits were replayed.", "", short, ""]
    text += ["| repository | | refused | checked | proved |", "|---|---|---|---|---|"]
    names = list(dict.fromkeys(one["repository"] for one in chosen))
    text += [row(name, [one for one in found if one["repository"] == name]) for name in names]
    alarms = sum(one["level"] == "refused" for one in quiet)
    text += ["", f"- False alarms: {share(alarms, len(quiet))} of those that leave existing tests and settings alone.",
             f"- Of {len(refused)} refused ones that touch some, the reason is named rightly in {sum(map(is_named_rightly, refused))}.",
             f"- What a check runs, the change itself included: the suite {runs(found, 'none')} where no test was touched, "
             f"{runs(found, 'added', 'changed')} where one was. By the clock the whole check took "
             f"{ratio([one for one in found if one['tests'] == 'none' and one['level'] != 'refused'])} of the gates' own time on the change "
             f"where none was, {ratio([one for one in found if one['tests'] != 'none' and one['level'] != 'refused'])} where one was."]
    doubts = collections.Counter(kind_of_doubt(doubt) for one in found for doubt in one.get("doubts", []))
    if doubts:
        text += ["", "Why what is only checked is not proved:", "", "| times | doubt |", "|---|---|"]
        text += [f"| {count} | {doubt} |" for doubt, count in doubts.most_common()]
    probed = [one for one in lines_of(HERE / "probes.jsonl") if one["level"] != "error"]
    with_hunks = [one for one in probed if one.get("hunks")]
    if probed:
        hunks = collections.Counter()
        for one in with_hunks:
            hunks.update(one["hunks"])
        told = ", ".join(f"{kind} {count}" for kind, count in hunks.most_common())
        text += ["", f"With probes of every hunk, on the first {len(probed)}: {share(sum(one['level'] == 'seen' for one in probed), len(probed))} are *seen*; "
                 f"{share(hunks['seen'], sum(hunks.values()))} of the hunks ({told}). The whole check takes {ratio(with_hunks)} of the gates' own time on the change."]
    return short, "\n".join(text)


def write_between(path, text):
    """Replaces what stands between the two marks of a document."""
    before, rest = path.read_text().split("<!-- commits -->", 1)
    after = rest.split("<!-- /commits -->", 1)[1]
    path.write_text(f"{before}<!-- commits -->\n{text}\n<!-- /commits -->{after}")


def doubtful():
    for one in lines_of(HERE / "results.jsonl"):
        if one["level"] in ("refused", "error") or one.get("doubts"):
            print(f"{one['repository']} {one['commit'][:10]} {one['level']} tests {one.get('tests')} settings {one.get('settings')}")
            print("   ", one.get("why") or one.get("said") or "; ".join(one["doubts"]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["choose", "run", "table", "doubtful"])
    parser.add_argument("mirrors", nargs="?", type=pathlib.Path)
    parser.add_argument("--probes", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--most", type=int)
    asked = parser.parse_args()
    if asked.what == "choose":
        choose(asked.mirrors.resolve())
    elif asked.what == "run":
        replay(asked.mirrors.resolve(), asked.probes, asked.only, asked.most)
    elif asked.what == "table":
        short, whole = tables()
        write_between(HERE / "README.md", whole)
        write_between(ROOT / "README.md", short)
    else:
        doubtful()
