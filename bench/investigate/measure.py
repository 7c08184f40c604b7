#!/usr/bin/env python3
"""Measures what an investigation costs by itself, beside a scan of the same tree.

usage: measure.py SPORE TREE [ROUNDS]

SPORE is the program, TREE what `make.py` made. A model on this machine answers at once, so what is
measured is Spore's own processor time, user and system, of each command with all its children. The
planner leaves out all but the target's own directory and those right in it: a look at one directory is
a session, whose cost is the model's. Ends with 1 where what is bounded takes more than twice a scan.
"""
import json, os, resource, shutil, subprocess, sys, tempfile

from model import Model, environment, serve


BOUNDED = ["counted, first", "counted, again", "read, again"]


def spent(command, cwd, env):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 12):
        sys.exit(f"{command}: {done.returncode}\n{done.stderr[-2000:]}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    spore, tree = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    home = tempfile.mkdtemp()
    top = [name for name in sorted(os.listdir(tree)) if os.path.isdir(os.path.join(tree, name))]
    deep = [f"{one}/{name}" for one in top for name in sorted(os.listdir(os.path.join(tree, one)))
            if os.path.isdir(os.path.join(tree, one, name))]
    env = environment(home, serve(deep))
    model = [spore, "investigate", "--backend", "api", "--model", "claude-sonnet-4-5", "--yes", "--json"]
    rows = []
    for _ in range(rounds):
        for state in (os.path.join(tree, ".spore"), home + "/state"):
            shutil.rmtree(state, ignore_errors=True)
        row = {"scan": spent([spore, "scan"], tree, env)}
        if subprocess.run([spore, "init"], cwd=tree, env=env, capture_output=True).returncode != 0:
            subprocess.run(["git", "init", "-q"], cwd=tree)
            subprocess.run([spore, "init"], cwd=tree, env=env, check=True, capture_output=True)
        row["counted, first"] = spent([spore, "investigate", "--no-model"], tree, env)
        row["counted, again"] = spent([spore, "investigate", "--no-model"], tree, env)
        calls = Model.calls
        row["read, first"] = spent(model, tree, env)
        row["calls"] = Model.calls - calls
        calls = Model.calls
        row["read, again"] = spent(model, tree, env)
        row["calls again"] = Model.calls - calls
        row["page"] = spent([spore, "investigate", "--no-model", "-o", home + "/report.html"], tree, env)
        rows.append(row)
        print(json.dumps(row), flush=True)
    median = lambda name: sorted(row[name] for row in rows)[len(rows) // 2]
    scan = median("scan")
    for name in rows[0]:
        of = median(name)
        ratio = "" if name.startswith("calls") else f"  {of / scan:5.2f} of a scan"
        print(f"{name:16} {of:8.2f}{ratio}")
    over = [name for name in BOUNDED if median(name) > 2 * scan]
    print("page in", home + "/report.html", os.path.getsize(home + "/report.html"), "bytes")
    if over:
        sys.exit(f"more than twice a scan: {', '.join(over)}")


main()
