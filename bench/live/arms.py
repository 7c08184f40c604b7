"""Four ways to have one task done by one model, with equal budgets."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import urllib.request

TURNS = 5
BOUNCES = 3
ANSWER_TOKENS = 768
CONTEXT = 8192
# Turns and bounces are the budget: a busy machine must not change what is found.
SESSION_TIME = "3h"
# Task files tell the minute and the run's id: with these fixed, equal runs ask equal questions.
CLOCK = "2026-01-01T00:00:00Z"
# Exit codes of Spore that say something of the work. Others are faults of the machine or the call, and
# no result.
ENDS = (0, 1, 3, 10, 11, 12)


class NoResult(Exception):
    """An arm could not be played, which says nothing of the model."""

ARMS = ["one-shot", "loop", "gates", "whole"]

SETTINGS = """\
[orchestrate]
backend = "llama-server"
summarize = false

[session]
idle = "1h"

[local]
first_output = "1h"

[local.llama_server]
context_window = {context}
max_output_tokens = {answer}
tools = "text"

[gates]
only = true

[gates.commands.test]
run = "{check}"
"""

# Agrees with every change that the checks let through, so that they alone decide.
AGREES = "\n".join(
    f"""[[session]]
role = "verifier"
bounce = {bounce}
final = '<verdict>{{"nonce": "$NONCE", "verdict": "supports", "confidence": 1.0, "reason": "the checks decide"}}</verdict>'
"""
    for bounce in range(1, BOUNCES + 1)
)


class Bench:
    """The program under test and the server of its model."""

    def __init__(self, spore, served):
        self.spore, self.address, self.served = spore, served.address, served
        told = subprocess.run([spore, "--version"], capture_output=True, text=True).stdout.strip()
        self.version = f"{told} {hashlib.sha256(pathlib.Path(spore).read_bytes()).hexdigest()[:12]}"
        # One for each call, so that equal calls in equal directories ask equal questions.
        self.calls = 0

    def environment(self, home):
        self.calls += 1
        return {
            "SPORE_TEST_CLOCK": CLOCK,
            "SPORE_TEST_SEED": str(self.calls),
            "PATH": os.environ["PATH"],
            "PYENV_ROOT": os.environ.get("PYENV_ROOT", str(pathlib.Path.home() / ".pyenv")),
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "SPORE_LOCAL_LLAMA_SERVER_ADDRESS": self.address,
        }

    def run(self, home, repo, words):
        asked = [self.spore, *words]
        ran = subprocess.run(
            asked, cwd=repo, env=self.environment(home), capture_output=True, text=True
        )
        try:
            return ran, json.loads(ran.stdout or "null")
        except json.JSONDecodeError:
            return ran, None

    def ask(self, messages):
        body = {"messages": messages, "max_tokens": ANSWER_TOKENS, "temperature": 0, "seed": 1}
        asked = urllib.request.Request(
            f"{self.address}/v1/chat/completions",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=3600) as answer:
            return json.load(answer)


def play(bench, exercise, arm, place):
    """Has one exercise done one way; returns the row of the results."""
    shutil.rmtree(place, ignore_errors=True)
    repo = place / "repo"
    exercise.lay_out(repo)
    bench.calls = 0
    started, thought = time.monotonic(), bench.served.processor_seconds()
    row = {"one-shot": one_shot, "loop": loop, "gates": gates, "whole": whole}[arm](
        bench, exercise, place, repo
    )
    minutes = round((time.monotonic() - started) / 60, 3)
    # What the model itself took, whatever else the machine was doing.
    thought = round((bench.served.processor_seconds() - thought) / 60, 3)
    budget = {"turns": TURNS, "bounces": BOUNCES, "answer_tokens": ANSWER_TOKENS, "context": CONTEXT}
    row = {"task": exercise.slug, "arm": arm, **row, "minutes": minutes, "processor_minutes": thought}
    row |= {"budget": budget, "spore": bench.version, "track": exercise.version}
    row["wrongly_claimed"] = row["claimed"] and not row["solved"]
    return row


def one_shot(bench, exercise, place, repo):
    """The model alone: one question, and its longest block of code is the file."""
    asked = (
        f"{exercise.task()}\n\nThe file is now:\n\n```python\n{exercise.files[exercise.solution]}"
        f"```\n\nAnswer with the whole new {exercise.solution} in one block of code."
    )
    answer = bench.ask([{"role": "user", "content": asked}])
    choice = answer["choices"][0]
    text = choice["message"]["content"] or ""
    blocks = re.findall(r"^```[a-z0-9]*\n(.*?)^```", text, re.M | re.S)
    claimed = bool(blocks) and choice["finish_reason"] == "stop"
    if blocks:
        # The longest: what follows the file may be an example of its use.
        (repo / exercise.solution).write_text(max(blocks, key=len))
    usage = answer["usage"]
    return {
        "claimed": claimed,
        "solved": exercise.is_solved(repo),
        "tokens": usage["prompt_tokens"] + usage["completion_tokens"],
        "bounces": 1,
        "ended": choice["finish_reason"],
    }


def settle(exercise, repo, check=None):
    check = check or exercise.check
    settings = SETTINGS.format(context=CONTEXT, answer=ANSWER_TOKENS, check=check)
    (repo / ".spore").mkdir()
    (repo / ".spore/config.toml").write_text(settings)


def loop(bench, exercise, place, repo):
    """Spore's own tool loop in the directory itself: no gates, no verifier."""
    settle(exercise, repo)
    words = ["spawn", "--role", "coder", "--backend", "llama-server", "--json"]
    limits = ["--max-turns", str(TURNS * BOUNCES), "--timeout", SESSION_TIME]
    ran, _ = bench.run(place, repo, [*words, *limits, "--prompt", exercise.task()])
    must_have_ended(ran)
    _, answer = bench.run(place, repo, ["runs", "show", "--json"])
    answer = answer or {}
    return {
        "changed": (repo / exercise.solution).read_text() != exercise.files[exercise.solution],
        "claimed": ran.returncode == 0,
        "solved": exercise.is_solved(repo),
        "tokens": tokens((answer.get("run") or {}).get("tokens")),
        "bounces": 1,
        "ended": ending(ran, answer),
    }


def gates(bench, exercise, place, repo):
    """Gates and evidence; the verifier is a script that always agrees."""
    scenario = place / "agrees.toml"
    scenario.write_text(AGREES)
    more = '\n[roles.verifier]\nbackend = "replay"\n'
    return orchestrate(bench, exercise, place, repo, more, ["--scenario", str(scenario)])


def whole(bench, exercise, place, repo):
    """Gates, evidence and the same model as verifier."""
    return orchestrate(bench, exercise, place, repo, "", [])


def orchestrate(bench, exercise, place, repo, settings, words):
    settle(exercise, repo)
    with open(repo / ".spore/config.toml", "a") as config:
        config.write(settings)
    limits = ["--max-turns", str(TURNS), "--max-bounces", str(BOUNCES), "--timeout", SESSION_TIME]
    ran, answer = bench.run(
        place, repo, ["orchestrate", "--fix-red", "--json", *limits, *words, exercise.task()]
    )
    must_have_ended(ran)
    answer = answer or {}
    bounces = answer.get("bounces") or []
    trees = [bounce["tree"] for bounce in bounces if bounce.get("tree")]
    verdicts = [bounce["verdict"]["ruling"] for bounce in bounces if bounce.get("verdict")]
    solved = [is_tree_solved(exercise, place, repo, tree) for tree in trees]
    return {
        "claimed": ran.returncode == 0,
        "solved": bool(solved) and solved[-1],
        # Whether the tree of each bounce was: what the evidence of a red check was worth.
        "solved_by_bounce": solved,
        "tokens": tokens((answer.get("run") or {}).get("tokens")),
        "bounces": len(bounces),
        "verdicts": verdicts,
        "ended": ending(ran, answer),
    }


def is_tree_solved(exercise, place, repo, tree):
    """Judges the tree that Spore judged, in a directory of our own."""
    judged = place / "judged"
    shutil.rmtree(judged, ignore_errors=True)
    judged.mkdir()
    for store in (repo / ".spore/work.git", repo / ".git"):
        packed = subprocess.run(
            ["git", "--git-dir", store, "archive", tree], capture_output=True
        )
        if packed.returncode == 0:
            subprocess.run(["tar", "-x"], cwd=judged, input=packed.stdout, check=True)
            return exercise.is_solved(judged)
    return False


def must_have_ended(ran):
    if ran.returncode not in ENDS:
        raise NoResult(f"exit {ran.returncode}: {ran.stderr[-500:]}")


def tokens(usage):
    return sum(usage.values()) if usage else 0


def ending(ran, answer):
    reason = (answer.get("run") or {}).get("reason") or answer.get("reason")
    told = reason or ran.stderr.strip().splitlines()[-1:] or ""
    return f"exit {ran.returncode}: {told if isinstance(told, str) else told[0]}"[:300]
