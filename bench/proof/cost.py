#!/usr/bin/env python3
"""What the proof of a change costs: how often its checks run the suite, and the time of a processor.

    cargo build --release -p spore-cli
    python3 bench/proof/cost.py [600x10 60x100 100x10 20x50]

Makes a project whose suite burns a known time (so many tests of so many milliseconds each, in ten files), hands
in changes of five kinds as an agent would, and reads what each run of the checks said of itself: how many
tests it ran and what its process used, its own start included. The measure is the run on the change as it is,
which is what its gates cost by themselves, or, where all its tests ran among canaries alone, the plain run of the base. `SPORE` names another build than the release's.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SPORE = os.environ.get("SPORE") or str(HERE.parents[1] / "target/release/spore")
VERDICT = '{"verdict": "supports", "failure_class": null, "probed_beyond": true, "summary": "s", "evidence": ["e"]}'
SUMMARY = '{"did_what": "w", "produced_what": "p", "struggled_with": "s", "validator_said": "v"}'
FILES = 10

CALC = "import json\nimport os\n\n\ndef add(a, b):\n    return a + b\n\n\ndef names():\n    " \
       "with open(os.path.join(os.path.dirname(__file__), 'names.json')) as file:\n        return json.load(file)\n"
HELPER = '''import atexit
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RAN = [0]
atexit.register(lambda: print(f"used {time.process_time():.3f} s, ran {RAN[0]}", file=sys.stderr))


def burn(seconds):
    RAN[0] += 1
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
'''
HEAD = "import unittest\n\nimport helper\nimport calc\n\n\nclass Case(unittest.TestCase):\n"
TEST = "    def test_{name}(self):\n        helper.burn({seconds})\n        self.assertEqual({asked}, {value})\n\n"


def suite(count, seconds):
    for number in range(FILES):
        own = range(number, count, FILES)
        tests = [TEST.format(name=f"{one:04}", seconds=seconds, asked=f"calc.add({one}, 1)", value=one + 1) for one in own]
        yield f"tests/test_{number}.py", HEAD + "".join(tests)


def changes(seconds):
    """What a coder writes, by what it touches."""
    more = CALC.replace("a + b", "b + a") + "\n\ndef double(a):\n    return a + a\n"
    new = TEST.format(name="double", seconds=seconds, asked="calc.double(4)", value=8)
    product = write("calc.py", CALC.replace("a + b", "b + a"))
    into = f"printf '%s' {quoted_shell(new)} >> tests/test_0.py"
    return {
        "no test": [product],
        "a test added": [write("calc.py", more), write("tests/test_new.py", HEAD + new)],
        "a test file changed": [write("calc.py", more), f"{{ run = {json.dumps(into)} }}"],
        "data": [product, write("names.json", '["a", "b", "c"]\n')],
        "held out": [write("calc.py", more)],
    }


def quoted_shell(text):
    return "'" + text.replace("'", "'\\''") + "'"


def write(path, text):
    return f"{{ write = {json.dumps(path)}, content = {json.dumps(text)} }}"


def scenario(steps, tests):
    tester = f'[[session]]\nrole = "tester"\nfinal = "done"\nsteps = [{tests}]\n'
    return f"""
{tester}
[[session]]
role = "coder"
bounce = 1
final = "done"
steps = [{", ".join(steps)}]

[[session]]
role = "verifier"
bounce = 1
final = '''<verdict>{VERDICT}</verdict>'''

[[session]]
role = "summarizer"
final = '''{SUMMARY}'''
"""


def lay_out(place, count, seconds):
    tree = place / "project"
    files = dict(suite(count, seconds)) | {
        "calc.py": CALC,
        "names.json": '["a", "b"]\n',
        "tests/helper.py": HELPER,
        "tests/test_names.py": HEAD + "    def test_names(self):\n        self.assertIn('a', calc.names())\n",
        ".gitignore": ".spore/\n__pycache__/\n",
    }
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost", "-C", tree]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "a project"], check=True)
    return tree


def settings(held_out, is_short):
    """The measure is the processor's time, so what is short is not left to a clock that others slow down."""
    gate = '[gates.commands.test]\nrun = "python3 -B -m unittest discover -v -s tests"\nparser = "unittest"\n'
    whole = "1m" if is_short else "0s"
    return f"[gates]\nonly = true\ncanary_whole = \"{whole}\"\nhold_out = {'true' if held_out else 'false'}\n{gate}"


def said(records):
    """What each run of the checks said of itself, by its log."""
    found = {}
    for log in sorted(records.glob("*.log")):
        used = re.findall(r"used ([0-9.]+) s, ran (\d+)", log.read_text(errors="replace"))
        name = log.name.removeprefix("test").removesuffix(".log").strip(".") or "the change"
        found[name] = (sum(float(one[0]) for one in used), sum(int(one[1]) for one in used))
    return found


def measure(place, tree, what, steps, seconds, is_short):
    (tree / ".spore").mkdir(exist_ok=True)
    (tree / ".spore/config.toml").write_text(settings(what == "held out", is_short))
    held = HEAD + TEST.format(name="held", seconds=seconds, asked="calc.double(5)", value=10)
    (place / "scenario.toml").write_text(scenario(steps, write("tests/test_held.py", held)))
    env = {**os.environ, "HOME": str(place / "home"), "XDG_STATE_HOME": str(place / "state")}
    (place / "home").mkdir(exist_ok=True)
    command = [SPORE, "orchestrate", "a change", "--backend", "replay", "--scenario", place / "scenario.toml",
               "--max-bounces", "1", "--experiment", "no-context", "--apply", "none", "--json", "-q"]
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    try:
        run = json.loads(done.stdout)["run"]["id"]
    except (ValueError, KeyError):
        sys.exit(done.stderr + done.stdout)
    records = tree / ".spore/runs" / run / "bounce-1/gates"
    proof = records / "proof.json"
    level = json.loads(proof.read_text())["level"] if proof.exists() else "refused"
    return level, said(records), said(records.parent.parent / "baseline")


def main():
    for size in sys.argv[1:] or ["600x10", "60x100", "100x10", "20x50"]:
        count, each = map(int, size.split("x"))
        place = pathlib.Path(tempfile.mkdtemp(prefix="proof-cost-"))
        tree = lay_out(place, count, each / 1000)
        print(f"{count} tests of {each} ms:")
        plain = None
        for what, steps in changes(each / 1000).items():
            level, runs, base = measure(place, tree, what, steps, each / 1000, count * each < 2000)
            plain = base.get("the change", plain)
            own = runs.get("the change", plain)
            whole = sum(used for used, _ in runs.values())
            each_run = ", ".join(f"{name} {used:.2f} s ({ran})" for name, (used, ran) in runs.items())
            tests = sum(ran for _, ran in runs.values()) / own[1]
            print(f"  {what}: {level}; {whole / own[0]:.2f} x the time, {tests:.2f} x the tests: {each_run}", flush=True)
            if base:
                each_run = ", ".join(f"{name} {used:.2f} s ({ran})" for name, (used, ran) in base.items())
                print(f"    at the base: {each_run}", flush=True)
        shutil.rmtree(place, ignore_errors=True)


main()
