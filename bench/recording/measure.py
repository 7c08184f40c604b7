"""What recording costs a check: the same command with and without, in turn.

    cargo build --release -p spore-effects --bin effects-test-shim
    python3 bench/recording/measure.py target/release/effects-test-shim opens
    python3 bench/recording/measure.py target/release/effects-test-shim run DIR 'cargo test --offline'

`opens` tells the cost of one look-up, below the root of interest and outside of it. `run` runs
a command in DIR, which is changed by what the command writes, and tells the times and what was
recorded. Both run a session that Landlock holds, as a gate's is where no root can be made anew;
the record works the same way there.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

OPENS = """
import os, sys, time
path, count = sys.argv[1], int(sys.argv[2])
best = 1e9
for _ in range(7):
    start = time.perf_counter()
    for _ in range(count):
        try: os.close(os.open(path, os.O_RDONLY))
        except FileNotFoundError: pass
    best = min(best, time.perf_counter() - start)
print("PER_CALL", best / count * 1e6)
"""


def session(shim, cwd, args, recorded):
    """Returns the seconds it took, the record, and what was printed."""
    plan = {
        "token": os.urandom(16).hex(),
        "program": args[0],
        "args": args[1:],
        "cwd": cwd,
        "env": [[name, value] for name, value in os.environ.items()],
        "grace": {"interrupt_ms": 1000, "terminate_ms": 1000},
        "stdin": False,
        "confinement": {
            "write": ["/"],
            "devices": ["/dev"],
            "hide": [],
            "read": [],
            "no_tcp": False,
        },
    }
    wanted = json.dumps({"root": cwd, "max_paths": 1_000_000}) if recorded else ""
    start = time.perf_counter()
    done = subprocess.run(
        [shim, "record"], input=f"{json.dumps(plan)}\n{wanted}\n", capture_output=True, text=True
    )
    took = time.perf_counter() - start
    record = json.loads(done.stdout.splitlines()[-1])
    return took, record, done


def opens(shim):
    with tempfile.TemporaryDirectory() as cwd:
        cwd = os.path.realpath(cwd)
        open(os.path.join(cwd, "there"), "w").close()
        for what, path in [("there", "there"), ("missing", "missing"), ("outside", "/etc/passwd")]:
            cost = []
            for recorded in [False, True]:
                _, _, done = session(shim, cwd, [sys.executable, "-I", "-c", OPENS, path, "5000"], recorded)
                cost.append(float(done.stderr.split("PER_CALL")[1]))
            print(f"{what:8} {cost[0]:6.2f} us plain, {cost[1]:6.2f} us recorded, {cost[1] - cost[0]:6.2f} us more")


def run(shim, cwd, command, rounds=7):
    cwd = os.path.realpath(cwd)
    times, record, code = {False: [], True: []}, None, set()
    session(shim, cwd, ["sh", "-c", command], False)
    for _ in range(rounds):
        for recorded in [False, True]:
            took, told, done = session(shim, cwd, ["sh", "-c", command], recorded)
            times[recorded].append(took)
            code.add(done.returncode)
            record = told or record
    plain, with_record = statistics.median(times[False]), statistics.median(times[True])
    best = min(times[True]) / min(times[False])
    print(f"{command}: {plain:.3f} s plain, {with_record:.3f} s recorded, {with_record / plain:.2f} x "
          f"(best against best {best:.2f} x), exit codes {sorted(code)}")
    print({name: len(value) if isinstance(value, list) and name != "why" else value
           for name, value in record.items()})


if sys.argv[2] == "opens":
    opens(sys.argv[1])
else:
    run(sys.argv[1], sys.argv[3], sys.argv[4], *map(int, sys.argv[5:]))
