"""The live suite: Spore with a real, small model on this machine, on tasks nobody here wrote.

    cargo xtask live install             weights and server, once, into the user's cache
    cargo xtask live run --track DIR     every task, each of four ways; goes on where it stopped
    cargo xtask live cases --track DIR   resume, isolation, proof level, an investigation, memory's judge
                                         and a list of ten tasks, with the real model [--only NAME]
    cargo xtask live table [--write]     the table of the results, also into the README
    cargo xtask live serve               the model on 127.0.0.1, until Ctrl-C
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import arms
import cases
import memo
import table
import track
import weights

MODEL = "qwen2.5-coder-1.5b-instruct-q4_k_m"
# How often a server that stopped is started again.
STARTS = 3
HERE = pathlib.Path(__file__).resolve().parent


class Served:
    """The model's server, ended with us: the one that was installed, or a `llama-server`."""

    def __init__(self, model, asked, port=0):
        self.program, self.model = asked.server, model
        if self.program:
            self.words = llama_server(asked, weights.weights(model), port)
        else:
            words = [weights.python(), HERE / "serve.py", weights.weights(model)]
            more = ["--context", arms.CONTEXT, "--threads", asked.threads, "--at-once", asked.jobs]
            self.words = [str(word) for word in [*words, *more, "--port", port]]
        # Processor seconds of servers that ended, and of this one when it was last asked.
        self.earlier = self.latest = 0.0
        self.start()
        self.meter = memo.Meter(self.computed)

    def memo(self):
        """Returns a door to this server that remembers answers, for one arm at a time."""
        return memo.Memo(self, weights.home() / "answers" / self.model, self.meter)

    def start(self):
        log = open(weights.home() / "server.log", "a")
        if self.program:
            self.process = subprocess.Popen(
                self.words, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
            self.address = f"http://127.0.0.1:{self.words[-1]}"
        else:
            self.process = subprocess.Popen(
                self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
            self.address = self.process.stdout.readline().strip()
        if not self.address:
            sys.exit(f"live: the server did not start, see {log.name}")
        self.wait(log.name)

    def start_again(self):
        """Puts a new server in the place of one that is gone."""
        self.end()
        self.earlier, self.latest = self.earlier + self.latest, 0.0
        self.start()

    def wait(self, log):
        """Waits until the weights are loaded: before that it answers 503."""
        for _ in range(600):
            if self.process.poll() is not None:
                sys.exit(f"live: the server did not start, see {log}")
            try:
                urllib.request.urlopen(f"{self.address}/v1/models", timeout=10).close()
                return
            except (OSError, http.client.HTTPException):
                time.sleep(1)
        sys.exit(f"live: {self.address} does not serve its model")

    def computed(self):
        """What the server has computed so far, in all of its threads."""
        try:
            text = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return self.earlier + self.latest
        words = text.rsplit(")", 1)[1].split()
        self.latest = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        return self.earlier + self.latest

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        try:
            # Ours ends with its input; `llama-server` reads none.
            self.process.terminate() if self.program else self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def llama_server(asked, model, port):
    """Returns the call of a `llama-server` that answers as ours does (`serve.py`)."""
    if port == 0:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    words = [asked.server, "--model", model, "--alias", MODEL, "--jinja", "--temp", "0", "--seed", "1"]
    # The context is that of all questions together; each has an equal part of it.
    words += ["--parallel", asked.jobs, "--ctx-size", arms.CONTEXT * asked.jobs, "--no-kv-unified"]
    words += ["--threads", asked.threads, "--threads-batch", asked.threads, "--host", "127.0.0.1"]
    return [str(word) for word in [*words, "--port", port]]


class Run:
    """All tasks in all arms, several tasks at once; the arms of a task one after the other.

    They ask some questions alike, and the second finds the answer of the first.
    """

    def __init__(self, asked, served):
        self.asked, self.served, self.again = asked, served, STARTS
        self.results, known = pathlib.Path(asked.results), track.Track(asked.track)
        self.left = known.exercises()[: asked.tasks]
        rows = table.read(self.results)
        own = table.of_one_kind(rows, known.version)
        if len(own) < len(rows):
            weights.say(f"{len(rows) - len(own)} rows are of another budget or track: not counted")
        self.done = {(row["task"], row["arm"]) for row in own}
        self.lock = threading.Lock()

    def work(self):
        bench = arms.Bench(self.asked.spore, self.served)
        while exercise := self.next():
            for arm in arms.ARMS:
                if (exercise.slug, arm) not in self.done:
                    self.play(bench, exercise, arm)

    def next(self):
        with self.lock:
            return self.left.pop(0) if self.left and self.again >= 0 else None

    def play(self, bench, exercise, arm):
        place = weights.home() / "work" / exercise.slug / arm
        try:
            row = arms.play(bench, exercise, arm, place)
        except arms.NoResult as fault:
            weights.say(f"{exercise.slug}, {arm}: no result: {fault}")
            self.mend(bench)
            return
        # What a word costs the processor depends on how many are said at once.
        row["jobs"] = self.asked.jobs
        weights.say(json.dumps(row))
        with self.lock:
            table.keep(self.results, row)

    def mend(self, bench):
        """Puts a new server in the place of one that is gone, a few times."""
        with self.lock:
            if bench.is_served():
                return
            self.again -= 1
            if self.again >= 0:
                self.served.start_again()


def run(asked):
    with Served(MODEL, asked) as served:
        work = Run(asked, served)
        with concurrent.futures.ThreadPoolExecutor(asked.jobs) as workers:
            for worker in [workers.submit(work.work) for _ in range(asked.jobs)]:
                worker.result()
    if work.again < 0:
        sys.exit("live: the server stops again and again; the same command goes on")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("task", choices=["install", "run", "cases", "table", "serve"])
    parser.add_argument("--track", default=os.environ.get("SPORE_LIVE_TRACK"))
    parser.add_argument("--spore", default=os.environ.get("SPORE_LIVE_SPORE"))
    parser.add_argument("--results", default=HERE / "results.jsonl")
    parser.add_argument("--tasks", type=int, default=track.COUNT)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--jobs", type=int, default=1, help="of `run`: so many tasks at once")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--server", help="a `llama-server` instead of the one that `install` brings")
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
        with Served(MODEL, asked) as served:
            cases.play(arms.Bench(asked.spore, served), track.Track(asked.track).exercises(), asked.only)
    elif asked.task == "serve":
        with Served(MODEL, asked, asked.port) as served:
            weights.say(f"{MODEL} at {served.address}")
            try:
                sys.stdin.read()
            except KeyboardInterrupt:
                pass
    else:
        table.show(pathlib.Path(asked.results), asked.write)


if __name__ == "__main__":
    main()
