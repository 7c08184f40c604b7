"""Four ways to have one task done by one model, with equal budgets."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import urllib.request

TURNS = 8
BOUNCES = 3
ANSWER_TOKENS = 1024
CONTEXT = 8192
# Turns and bounces are the budget: a busy machine must not change what is found.
SESSION_TIME = "3h"

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

# By its exit code alone: what failed before has to pass, too.
[gates]
allow_red = true

[gates.commands.test]
run = "{check}"
parser = "plain"
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

    def environment(self, home):
        return {
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
    started, thought = time.monotonic(), bench.served.processor_seconds()
    row = {"one-shot": one_shot, "loop": loop, "gates": gates, "whole": whole}[arm](
        bench, exercise, place, repo
    )
    minutes = round((time.monotonic() - started) / 60, 3)
    # What the model itself took, whatever else the machine was doing.
    thought = round((bench.served.processor_seconds() - thought) / 60, 3)
    row = {"task": exercise.slug, "arm": arm, **row, "minutes": minutes, "processor_minutes": thought}
    row["wrongly_claimed"] = row["claimed"] and not row["solved"]
    return row


def one_shot(bench, exercise, place, repo):
    """The model alone: one question, and its last block of code is the file."""
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
        (repo / exercise.solution).write_text(blocks[-1])
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
    _, answer = bench.run(place, repo, ["runs", "show", "--json"])
    answer = answer or {}
    return {
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
        place, repo, ["orchestrate", "--json", *limits, *words, exercise.task()]
    )
    answer = answer or {}
    bounces = answer.get("bounces") or []
    trees = [bounce["tree"] for bounce in bounces if bounce.get("tree")]
    verdicts = [bounce["verdict"]["ruling"] for bounce in bounces if bounce.get("verdict")]
    return {
        "claimed": ran.returncode == 0,
        "solved": bool(trees) and is_tree_solved(exercise, place, repo, trees[-1]),
        "tokens": tokens((answer.get("run") or {}).get("tokens")),
        "bounces": len(bounces),
        "verdicts": verdicts,
        "ended": ending(ran, answer),
    }


def is_tree_solved(exercise, place, repo, tree):
    """Judges the tree that Spore judged, in a directory of our own."""
    judged = place / "judged"
    judged.mkdir()
    for store in (repo / ".spore/work.git", repo / ".git"):
        packed = subprocess.run(
            ["git", "--git-dir", store, "archive", tree], capture_output=True
        )
        if packed.returncode == 0:
            subprocess.run(["tar", "-x"], cwd=judged, input=packed.stdout, check=True)
            return exercise.is_solved(judged)
    return False


def tokens(usage):
    return sum(usage.values()) if usage else 0


def ending(ran, answer):
    reason = (answer.get("run") or {}).get("reason") or answer.get("reason")
    told = reason or ran.stderr.strip().splitlines()[-1:] or ""
    return f"exit {ran.returncode}: {told if isinstance(told, str) else told[0]}"[:300]
