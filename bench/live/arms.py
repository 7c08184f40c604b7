"""Four ways to have one task done by one model, with equal budgets."""

import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import track

TURNS = 5
BOUNCES = 3
ANSWER_TOKENS = 768
CONTEXT = 8192
# Turns and bounces are the budget: a busy machine must not change what is found.
SESSION_TIME = "3h"
# An arm that takes longer is ended and has solved nothing. An idle machine needs a tenth of it.
ARM_SECONDS = 4 * 3600
# Task files tell the minute and the run's id: with these fixed, equal runs ask equal questions.
CLOCK = "2026-01-01T00:00:00Z"
# Exit codes of Spore that say something of the work. Others are faults of the machine or the call, and
# no result.
ENDS = (0, 1, 3, 10, 11, 12)
BUDGET = {
    "turns": TURNS,
    "bounces": BOUNCES,
    "answer_tokens": ANSWER_TOKENS,
    "context": CONTEXT,
    "hours": ARM_SECONDS // 3600,
}


class NoResult(Exception):
    """An arm could not be played, which says nothing of the model."""


class TookTooLong(Exception):
    """An arm used up its time."""


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
# What the judge outside gives the same check.
timeout = "{patience}s"

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
        self.spore, self.served, self.memo = spore, served, served.memo()
        self.address = self.memo.url
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

    def run(self, home, repo, words, seconds=None):
        asked = [self.spore, *words]
        with tempfile.TemporaryFile("w+") as told, tempfile.TemporaryFile("w+") as said:
            started = subprocess.Popen(
                asked, cwd=repo, env=self.environment(home), stdout=told, stderr=said
            )
            try:
                code = started.wait(seconds)
            except subprocess.TimeoutExpired:
                # Spore ends what it has started itself when it is asked to.
                started.send_signal(signal.SIGINT)
                try:
                    started.wait(60)
                except subprocess.TimeoutExpired:
                    started.kill()
                    started.wait()
                raise TookTooLong from None
            told.seek(0)
            said.seek(0)
            ran = subprocess.CompletedProcess(asked, code, told.read(), said.read())
        try:
            return ran, json.loads(ran.stdout or "null")
        except json.JSONDecodeError:
            return ran, None

    def is_served(self):
        """Returns whether the model's server itself answers, not what was kept of it."""
        try:
            urllib.request.urlopen(f"{self.served.address}/v1/models", timeout=60).close()
            return True
        except (OSError, http.client.HTTPException):
            return False

    def ask(self, messages):
        body = {"messages": messages, "max_tokens": ANSWER_TOKENS, "temperature": 0, "seed": 1}
        asked = urllib.request.Request(
            f"{self.address}/v1/chat/completions",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(asked, timeout=ARM_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise NoResult(f"the server answers {error.code}: {error.read()[:300]!r}") from None
        except TimeoutError:
            raise TookTooLong from None
        except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
            raise NoResult(f"the server does not answer: {error}") from None


def play(bench, exercise, arm, place):
    """Has one exercise done one way; returns the row of the results."""
    shutil.rmtree(place, ignore_errors=True)
    repo = place / "repo"
    exercise.lay_out(repo)
    bench.calls = 0
    started, thought = time.monotonic(), bench.memo.seconds
    way = {"one-shot": one_shot, "loop": loop, "gates": gates, "whole": whole}[arm]
    try:
        row = way(bench, exercise, place, repo)
    except TookTooLong:
        ended = f"took longer than {ARM_SECONDS // 3600} hours"
        row = {"claimed": False, "changed": False, "solved": False, "tokens": 0, "bounces": 0, "ended": ended}
    minutes = round((time.monotonic() - started) / 60, 3)
    # What the model itself took, whatever else the machine was doing.
    thought = round((bench.memo.seconds - thought) / 60, 3)
    row = {"task": exercise.slug, "arm": arm, **row, "minutes": minutes, "processor_minutes": thought}
    row |= {"budget": BUDGET, "spore": bench.version, "track": exercise.version}
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
        "changed": exercise.is_changed(repo),
        "solved": exercise.is_solved(repo),
        "tokens": usage["prompt_tokens"] + usage["completion_tokens"],
        "bounces": 1,
        "ended": choice["finish_reason"],
    }


def settle(exercise, repo, check=None):
    check = check or exercise.check
    settings = SETTINGS.format(context=CONTEXT, answer=ANSWER_TOKENS, check=check, patience=track.PATIENCE)
    (repo / ".spore").mkdir()
    (repo / ".spore/config.toml").write_text(settings)


def loop(bench, exercise, place, repo):
    """Spore's own tool loop in the directory itself: no gates, no verifier."""
    settle(exercise, repo)
    bench.memo.counted.clear()
    words = ["spawn", "--role", "coder", "--backend", "llama-server", "--json"]
    limits = ["--max-turns", str(TURNS * BOUNCES), "--timeout", SESSION_TIME]
    ran, _ = bench.run(place, repo, [*words, *limits, "--prompt", exercise.task()], ARM_SECONDS)
    _, answer = bench.run(place, repo, ["runs", "show", "--json"])
    answer = answer or {}
    must_have_ended(bench, ran, answer)
    return {
        "changed": exercise.is_changed(repo),
        "claimed": ran.returncode == 0,
        "solved": exercise.is_solved(repo),
        "tokens": tokens((answer.get("run") or {}).get("tokens")),
        "bounces": 1,
        "first_request_tokens": next(iter(bench.memo.counted), None),
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
    words = ["orchestrate", "--fix-red", "--json", *limits, *words, exercise.task()]
    ran, answer = bench.run(place, repo, words, ARM_SECONDS)
    answer = answer or {}
    must_have_ended(bench, ran, answer)
    bounces = answer.get("bounces") or []
    trees = [bounce["tree"] for bounce in bounces if bounce.get("tree")]
    verdicts = [bounce["verdict"]["ruling"] for bounce in bounces if bounce.get("verdict")]
    judged = [judge(exercise, place, repo, tree) for tree in trees]
    solved = [is_solved for is_solved, _ in judged]
    return {
        "claimed": ran.returncode == 0,
        "changed": bool(judged) and judged[-1][1],
        "solved": bool(solved) and solved[-1],
        # Whether the tree of each bounce was: what the evidence of a red check was worth.
        "solved_by_bounce": solved,
        "tokens": tokens((answer.get("run") or {}).get("tokens")),
        "bounces": len(bounces),
        "verdicts": verdicts,
        "ended": ending(ran, answer),
    }


def judge(exercise, place, repo, tree):
    """Judges the tree that Spore judged, in a directory of our own: solved, and other than the stub."""
    judged = place / "judged"
    shutil.rmtree(judged, ignore_errors=True)
    judged.mkdir()
    for store in (repo / ".spore/work.git", repo / ".git"):
        packed = subprocess.run(
            ["git", "--git-dir", store, "archive", tree], capture_output=True
        )
        if packed.returncode == 0:
            subprocess.run(["tar", "-x"], cwd=judged, input=packed.stdout, check=True)
            return exercise.is_solved(judged), exercise.is_changed(judged)
    raise NoResult(f"the tree {tree} that was judged is in neither repository")


# What Spore says of a server on this machine that is gone.
SILENCE = "no answer from "


def must_have_ended(bench, ran, answer):
    """Refuses an end that says nothing of the model. A session that waits for a person may be one."""
    if ran.returncode not in ENDS:
        raise NoResult(f"exit {ran.returncode}: {ran.stderr[-500:]}")
    if ran.returncode == 3 and (SILENCE in ending(ran, answer) or not bench.is_served()):
        raise NoResult(f"its server was gone: {ending(ran, answer)}")


def tokens(usage):
    return sum(usage.values()) if usage else 0


def ending(ran, answer):
    reason = (answer.get("run") or {}).get("reason") or answer.get("reason")
    told = reason or ran.stderr.strip().splitlines()[-1:] or ""
    return f"exit {ran.returncode}: {told if isinstance(told, str) else told[0]}"[:300]
