#!/usr/bin/env python3
"""Times commands that read runs: bench/runs/measure.py SPORE DIR [ROUNDS]

DIR is what bench/runs/make.py filled. Each command is run once to warm up, then ROUNDS times; told are
the best and the middle time of the whole process, the middle of its processor time (user and system,
which other work on the machine changes less), the most memory it ever held, and beside them what
`SPORE --version` takes: that much of each is starting a process at all. Exits with one where a promise
is not kept: of `list`, `dashboard` and `stats` 100 ms, of `show` 50 ms beyond the start of a process,
each in the middle, and of all of them 100 MB of memory.
"""
import os
import statistics
import subprocess
import sys
import time

COMMANDS = [
    ["--version"],
    ["runs", "list"],
    ["runs", "list", "--status", "escalated"],
    ["runs", "list", "--min-cost", "9"],
    ["runs", "stats"],
    ["runs", "stats", "--since", "30d"],
    ["runs", "cost"],
    ["runs", "cost", "--by", "role"],
    ["runs", "cost", "--by", "model"],
    ["runs", "cost", "--by", "day"],
    ["runs", "cost", "--by", "experiment"],
    ["runs", "top"],
    ["runs", "top", "--by", "time"],
    ["runs", "show"],
    ["runs", "timeline"],
    ["runs", "compare-experiments", "no-context", "unlabelled"],
    ["runs", "export", "--since", "7d", "-o", "week.html"],
    ["dashboard"],
    ["health"],
]

# In milliseconds, by command; `--version` is taken off those that are true.
PROMISED = {
    "runs list": (100, False),
    "runs stats": (100, False),
    "dashboard": (100, False),
    "runs show": (50, True),
}
MOST_MEMORY = 100


def once(spore, where, words):
    began = time.perf_counter()
    child = subprocess.Popen([spore, *words], cwd=where, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = (time.perf_counter() - began) * 1000
    return wall, (used.ru_utime + used.ru_stime) * 1000, used.ru_maxrss / 1024, child.returncode, error


def main():
    spore, where = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 15
    missed, start = [], 0.0
    print(f"{'command':52} {'best':>9} {'middle':>9} {'processor':>10} {'memory':>9}")
    for words in COMMANDS:
        _, _, _, code, error = once(spore, where, words)
        name = " ".join(words)
        if code not in (0, 1):
            print(f"{name:52} exit {code}: {error.decode().strip().splitlines()[:1]}")
            missed.append(f"{name} exits with {code}")
            continue
        seen = [once(spore, where, words) for _ in range(rounds)]
        times = [one[0] for one in seen]
        processor = statistics.median(one[1] for one in seen)
        memory = max(one[2] for one in seen)
        middle = statistics.median(times)
        print(f"{name:52} {min(times):6.1f} ms {middle:6.1f} ms {processor:7.1f} ms {memory:6.1f} MB")
        start = middle if words == ["--version"] else start
        most, is_beyond_start = PROMISED.get(name, (None, False))
        took = middle - start if is_beyond_start else middle
        if most is not None and took > most:
            missed.append(f"{name} takes {took:.1f} ms, more than {most}")
        if memory >= MOST_MEMORY:
            missed.append(f"{name} takes {memory:.1f} MB of memory, {MOST_MEMORY} or more")
    print(f"load of the last minute: {os.getloadavg()[0]:.1f}")
    for one in missed:
        print(f"NOT KEPT: {one}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
