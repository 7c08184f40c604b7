"""The live suite: Spore with a real, small model on this machine, on tasks nobody here wrote.

    cargo xtask live install             weights and server, once, into the user's cache
    cargo xtask live run --track DIR     every task, each of four ways; goes on where it stopped
    cargo xtask live cases --track DIR   resume, isolation, proof level, an investigation, memory's judge
                                         and a list of ten tasks, with the real model [--only NAME]
    cargo xtask live table [--write]     the table of the results, also into the README
    cargo xtask live serve               the model on 127.0.0.1, until Ctrl-C
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request

import arms
import cases
import memo
import table
import track
import weights

MODEL = "qwen2.5-coder-1.5b-instruct-q4_k_m"
HERE = pathlib.Path(__file__).resolve().parent


class Served:
    """The model's server, ended with us."""

    def __init__(self, model, threads, port=0):
        words = [weights.python(), HERE / "serve.py", weights.weights(model)]
        more = ["--context", str(arms.CONTEXT), "--threads", str(threads), "--port", str(port)]
        log = open(weights.home() / "server.log", "w")
        self.process = subprocess.Popen(
            [*words, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            sys.exit(f"live: the server did not start, see {log.name}")
        self.wait()
        self.memo = memo.Memo(self.address, weights.home() / "answers" / model, self.computed)
        self.served, self.address = self.address, self.memo.url

    def wait(self):
        """Waits until the weights are loaded: before that it answers 503."""
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{self.address}/v1/models", timeout=10).close()
                return
            except OSError:
                time.sleep(1)
        sys.exit(f"live: {self.address} does not serve its model")

    def processor_seconds(self):
        return self.memo.processor_seconds()

    def computed(self):
        """What the server has computed so far, in all of its threads."""
        words = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def run(asked):
    results = pathlib.Path(asked.results)
    rows = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    done = {(row["task"], row["arm"]) for row in rows}
    exercises = track.Track(asked.track).exercises()[: asked.tasks]
    with Served(MODEL, asked.threads) as served:
        bench = arms.Bench(asked.spore, served)
        for exercise in exercises:
            for arm in arms.ARMS:
                if (exercise.slug, arm) in done:
                    continue
                place = weights.home() / "work" / exercise.slug / arm
                try:
                    row = arms.play(bench, exercise, arm, place)
                except arms.NoResult as fault:
                    weights.say(f"{exercise.slug}, {arm}: no result: {fault}")
                    continue
                weights.say(json.dumps(row))
                with open(results, "a") as kept:
                    kept.write(json.dumps(row) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("task", choices=["install", "run", "cases", "table", "serve"])
    parser.add_argument("--track", default=os.environ.get("SPORE_LIVE_TRACK"))
    parser.add_argument("--spore", default=os.environ.get("SPORE_LIVE_SPORE"))
    parser.add_argument("--results", default=HERE / "results.jsonl")
    parser.add_argument("--tasks", type=int, default=track.COUNT)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--only", action="append", help="of the cases: this one, may be repeated")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.task in ("run", "cases") and not asked.track:
        sys.exit("live: --track DIR names a copy of github.com/exercism/python")
    if asked.task == "install":
        weights.say(f"{weights.weights(MODEL)}, {weights.python()}")
    elif asked.task == "run":
        run(asked)
    elif asked.task == "cases":
        with Served(MODEL, asked.threads) as served:
            cases.play(arms.Bench(asked.spore, served), track.Track(asked.track).exercises(), asked.only)
    elif asked.task == "serve":
        with Served(MODEL, asked.threads, asked.port) as served:
            weights.say(f"{MODEL} at {served.served}")
            try:
                sys.stdin.read()
            except KeyboardInterrupt:
                pass
    else:
        table.show(pathlib.Path(asked.results), asked.write)


if __name__ == "__main__":
    main()
