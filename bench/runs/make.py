#!/usr/bin/env python3
"""Fills a project with runs: bench/runs/make.py SPORE DIR [RUNS [STEPS_EACH]]

Makes DIR a project with `SPORE init` and puts runs into its journal, with two bounces each, the
sessions and checks of these, and as many steps and booked sessions as asked for. The newest have the
files that say what their sessions were told, and the memory has the lines that stand in these. The same figures come
out every time. Rows are written in bulk and not by the program: it commits each step by itself, which
is what a run needs and would take an hour here. Columns that the journal has and this file does not
name keep their defaults.
"""
import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import time

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
DAY = 86_400_000
# Midnight, so that the newest runs are among those of the last days, which a dashboard rates.
END = int(time.time() * 1000) // DAY * DAY
MODELS = ["claude-sonnet-4-5", "gpt-5-codex", "gemini-2.5-pro", "qwen3-coder"]
ROLES = ["coder", "verifier", "summarizer", "tester"]
ENDS = [("success", None)] * 14 + [("needs_escalation", "no attempt held")] * 4 + [
    ("failure", "the agent did not start"), ("failure", "the checks were red")]


def ulid(millis, number):
    value = (millis << 80) | (number * 0x9E3779B97F4A7C15F39C + 1) % (1 << 80)
    letters = []
    for _ in range(26):
        letters.append(ALPHABET[value & 31])
        value >>= 5
    return "".join(reversed(letters))


def main():
    spore, where = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000
    each = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    os.makedirs(where, exist_ok=True)
    if not os.path.exists(os.path.join(where, ".git")):
        subprocess.run(["git", "init", "-q", where], check=True)
        with open(os.path.join(where, "answer.txt"), "w") as file:
            file.write("42\n")
        git = ["git", "-C", where, "-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", "begin"], check=True)
    subprocess.run([spore, "init"], cwd=where, check=True, stdout=subprocess.DEVNULL)
    # The journal is made by the first command that reads it.
    subprocess.run([spore, "runs", "list"], cwd=where, check=True, stdout=subprocess.DEVNULL)
    database = sqlite3.connect(os.path.join(where, ".spore", "spore.db"))
    database.execute("PRAGMA synchronous = OFF")
    database.execute("BEGIN")
    newest = fill(database, runs, each)
    database.execute("COMMIT")
    database.execute("ANALYZE")
    for table in ["run", "step", "ledger"]:
        print(table, database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    database.close()
    tell(where, newest)


def tell(where, newest):
    """Writes lines into the memory, and beside the sessions of runs which of them these were told."""
    lines = [f"- Line {number} of the memory says what holds in part {number}" for number in range(40)]
    memory = os.path.join(where, ".spore", "memory")
    os.makedirs(memory, exist_ok=True)
    with open(os.path.join(memory, "CLAUDE.md"), "w") as file:
        file.write("# What holds\n\n" + "\n".join(lines) + "\n")
    said = [" ".join(line[2:].split()) for line in lines]
    hashes = [hashlib.sha256(line.encode()).hexdigest()[:12] for line in said]
    for at, run in enumerate(newest):
        for bounce in (1, 2):
            for role in ("coder", "verifier"):
                beside = os.path.join(where, ".spore", "runs", run, f"bounce-{bounce}", role)
                os.makedirs(beside, exist_ok=True)
                told = [hashes[(at + step) % len(hashes)] for step in range(20)]
                carried = {"files": ["src/a.rs"], "symbols": [], "lessons": [], "memory_lines": told,
                           "tokens": 900}
                with open(os.path.join(beside, "carried.json"), "w") as file:
                    json.dump(carried, file)


def fill(database, runs, each):
    lot = random.Random(1)
    number = 0
    roots = []
    settings = json.dumps({"backend": "claude", "apply": "branch", "base": "0" * 40,
                           "roles": {role: {"model": MODELS[0], "turns": 50} for role in ROLES},
                           "limits": {"first_output": 90, "idle": 600, "notes": "x" * 800}})
    for run in range(runs):
        started = END - 180 * DAY + run * (180 * DAY // runs)
        outcome, reason = lot.choice(ENDS)
        is_open = run >= runs - 5
        root = ulid(started, number)
        roots.append(root)
        trace = root
        number += 1
        experiment = lot.choice([None, None, "no-context", "small-model"])
        task = f"task {run % 997}: make part {run % 31} of the {lot.choice(['parser', 'store', 'page'])} hold"
        sessions, total, turns_all = [], 0, 0
        when = started + 1_000
        row(database, "run", id=root, parent=None, trace=trace, kind="orchestrate", name=task, task=task,
            attempt=1, depth=0, backend="claude", model=None, state="parked" if is_open else "ended",
            outcome=None if is_open else outcome, park="budget" if is_open else None, reason=reason,
            started=started, ended=None, experiment=experiment, settings=settings)
        for bounce in (1, 2):
            parent = ulid(when, number)
            number += 1
            named = json.dumps({"named": 3, "changed": [
                {"path": "src/a.rs", "rank": lot.choice([1, 2, None])}]})
            row(database, "run", id=parent, parent=root, trace=trace, kind="bounce", name=f"bounce {bounce}",
                task=None, attempt=bounce, depth=1, state="ended",
                outcome="success" if bounce == 2 and outcome == "success" else "failure",
                started=when, ended=when + 60_000, experiment=experiment, settings=named)
            for _ in range(each // 2):
                session = ulid(when, number)
                number += 1
                role, model = lot.choice(ROLES), lot.choice(MODELS)
                tokens = [lot.randrange(500, 90_000), lot.randrange(50, 9_000), lot.randrange(0, 400_000),
                          lot.randrange(0, 20_000)]
                cost = tokens[0] * 3_000 + tokens[1] * 15_000 + tokens[2] * 300 + tokens[3] * 3_750
                turns = lot.randrange(1, 40)
                total, turns_all = total + cost, turns_all + turns
                ended = when + lot.randrange(2_000, 30_000)
                estimated = int(lot.random() < 0.02)
                paid = dict(turns=turns, input_tokens=tokens[0], output_tokens=tokens[1],
                            cache_read_tokens=tokens[2], cache_write_tokens=tokens[3], cost_nanos=cost,
                            cost_estimated=estimated)
                row(database, "run", id=session, parent=parent, trace=trace, kind="session", name=role,
                    task=None, attempt=1, depth=2, role=role, backend="claude", model=model, state="ended",
                    outcome="success", started=when, ended=ended, experiment=experiment, settings="null",
                    **paid)
                sessions.append(dict(session=session, root=root, role=role, backend="claude", model=model,
                                     interrupted=0, booked=ended, **paid))
                when = ended + 100
        for at in range(each):
            result = json.dumps({"kind": "step", "number": at, "text": "what the step left " * 8})
            row(database, "step", run=root, key=f"step/{at}", **{"class": "keyed"}, attempt=1,
                intent=json.dumps({"now": started + at}), result=result, begun=started + at * 100,
                finished=started + at * 100 + 50)
        for bill in sessions:
            row(database, "ledger", **bill)
        if not is_open:
            is_estimated = max(bill["cost_estimated"] for bill in sessions)
            change = "UPDATE run SET ended = ?, cost_nanos = ?, cost_estimated = ?, turns = ? WHERE id = ?"
            database.execute(change, (when, total, is_estimated, turns_all, root))
    # More are not looked at for what they were told.
    return roots[-1_200:]


COUNTS = dict(turns=0, input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0,
              cost_nanos=0, cost_estimated=0)


def row(database, table, **values):
    if table == "run":
        values = {**COUNTS, **values}
    names = ", ".join(f'"{name}"' for name in values)
    marks = ", ".join("?" * len(values))
    database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(values.values()))


if __name__ == "__main__":
    main()
