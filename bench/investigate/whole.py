#!/usr/bin/env python3
"""Investigates a whole repository against a model on this machine and counts its calls.

usage: whole.py SPORE REPOSITORY

A clone of the repository is investigated once, again, after one edit, and by four at once.
"""
import json, os, subprocess, sys, tempfile, time

from model import Model, environment, serve


def main():
    spore, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    home = tempfile.mkdtemp()
    env = environment(home, serve())
    said = {}
    for jobs in ("1", "4"):
        tree = os.path.join(home, f"tree{jobs}")
        subprocess.run(["git", "clone", "-q", source, tree], check=True)
        subprocess.run([spore, "init"], cwd=tree, env=env, check=True, capture_output=True)
        for what in ("first", "again", "one edit", "again"):
            if what == "one edit":
                deepest = max((root for root, _, files in os.walk(tree) if files and "/." not in root),
                              key=lambda root: root.count("/"))
                name = sorted(name for name in os.listdir(deepest) if os.path.isfile(os.path.join(deepest, name)))[0]
                with open(os.path.join(deepest, name), "a") as out:
                    out.write("\n")
            calls, begun = Model.calls, time.time()
            done = subprocess.run([spore, "investigate", "--backend", "api", "--model", "claude-sonnet-4-5", "--budget",
                                   "100", "--jobs", jobs, "--json"], cwd=tree, env=env, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(done.stderr[-3000:])
            answer = json.loads(done.stdout)
            of = answer["passes"]["directories"]
            print(f"{jobs} at once, {what}: {Model.calls - calls} calls, {time.time() - begun:.0f} s, {of}", flush=True)
            if what == "first":
                said[jobs] = [(one["path"], one["kind"], one["summary"]) for one in answer["places"]]
    files = sum(kind == "file" for _, kind, _ in said["1"])
    print("the same entries:", said["1"] == said["4"], len(said["1"]), "of which files:", files)
    if said["1"] != said["4"] or not files:
        sys.exit("one at a time and four at once do not say the same of every file and directory")


main()
