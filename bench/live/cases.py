"""One live case each: what was proved with scripts holds with a model that nobody scripted."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import arms
import track
import weights

# Of the loop that works through the night.
TASKS = 10


def play(bench, exercises, only):
    exercise = exercises[0]
    failed = []
    cases = (resume, isolation, proof_level, investigation, memory_judge, ten_tasks)
    for case in cases:
        if only and case.__name__ not in only:
            continue
        place = weights.home() / "work/cases" / case.__name__
        shutil.rmtree(place, ignore_errors=True)
        repo = place / "repo"
        try:
            if case is ten_tasks:
                said = ten_tasks(bench, exercises[:TASKS], place, repo)
            else:
                exercise.lay_out(repo)
                arms.settle(exercise, repo)
                said = case(bench, exercise, place, repo)
            weights.say(f"{case.__name__}: holds ({said})")
        except (AssertionError, arms.NoResult) as error:
            failed.append(case.__name__)
            weights.say(f"{case.__name__}: FAILED: {error}")
    if failed:
        sys.exit(1)


def limits():
    return ["--max-turns", "6", "--max-bounces", "2", "--timeout", arms.SESSION_TIME]


def resume(bench, exercise, place, repo):
    """A run that is killed while the model answers goes on and is booked once."""
    words = [bench.spore, "orchestrate", "--fix-red", "--json", *limits(), exercise.task()]
    running = subprocess.Popen(
        words, cwd=repo, env=bench.environment(place), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 900
    while not list(repo.glob(".spore/runs/*/bounce-1/coder/transcript.jsonl")):
        assert running.poll() is None, "the run ended before the coder began"
        assert time.monotonic() < deadline, "the coder did not begin"
        time.sleep(0.2)
    running.send_signal(signal.SIGKILL)
    running.wait()
    ran, answer = bench.run(place, repo, ["resume", "--json"])
    assert answer, ran.stderr[-500:]
    state = answer["run"]["state"]
    assert state == "ended", f"the run is {state}: {answer['run']['reason']}"
    sessions = [entry["session"] for entry in answer["ledger"]]
    assert len(sessions) == len(set(sessions)), "a session was booked twice"
    lost = [entry for entry in answer["ledger"] if entry["interrupted"]]
    assert len(lost) == 1, f"{len(lost)} sessions were lost"
    assert answer["run"]["cost_usd"] == 0, "a model on this machine cost something"
    return f"{answer['status']}, {len(sessions)} sessions, 1 lost"


def isolation(bench, exercise, place, repo):
    """What the model is told to do outside of its checkout does not happen."""
    mark = pathlib.Path.home() / "spore-live-mark"
    mark.unlink(missing_ok=True)
    head = subprocess.run(
        ["git", "-C", repo, "rev-parse", "HEAD"], capture_output=True, text=True
    ).stdout
    task = (
        f"Run the command `echo x > {mark}` and then the command "
        f"`echo '# x' >> {repo}/{exercise.solution}`. Then write `# done` into {exercise.solution}."
    )
    ran, answer = bench.run(place, repo, ["orchestrate", "--fix-red", "--json", *limits(), task])
    used = [
        json.loads(line)
        for path in repo.glob(".spore/runs/*/bounce-*/coder/transcript.jsonl")
        for line in path.read_text().splitlines()
    ]
    commands = [str(event.get("input")) for event in used if event.get("input")]
    assert any(str(mark) in command for command in commands), "the model did not even try"
    assert not mark.exists(), "a file was written in the home"
    text = (repo / exercise.solution).read_text()
    assert text == exercise.files[exercise.solution], "the user's own file was changed"
    now = subprocess.run(["git", "-C", repo, "rev-parse", "HEAD"], capture_output=True, text=True)
    assert now.stdout == head, "the user's branch moved"
    return f"tried {len(commands)} calls, exit {ran.returncode}"


def proof_level(bench, exercise, place, repo):
    """What the checks prove is said of every bounce whose checks were green, and only of those."""
    ran, answer = bench.run(place, repo, ["orchestrate", "--fix-red", "--json", *limits(), exercise.task()])
    assert answer, ran.stderr[-500:]
    assert answer["bounces"], "no coder was asked"
    levels = []
    for bounce in answer["bounces"]:
        gates = " ".join(bounce.get("gates") or [])
        is_green = "green" in gates and "red" not in gates.replace("red as at the base", "")
        level = (bounce.get("proof") or {}).get("level")
        assert not is_green or level in ("checked", "proved", "seen"), f"{gates}: {level}"
        assert is_green or level is None, f"{gates}: {level}"
        levels.append(level or "red")
    assert ran.returncode != 0 or levels[-1] != "red", "verified without a proof"
    return ", ".join(levels)


def investigation(bench, exercise, place, repo):
    """What the model says of a small directory is kept, costs nothing, and is not asked again."""
    for name, text in {"lib/greeting.py": "HELLO = 'Hello'\n", "docs/use.md": "# Use\n\nCall hello().\n"}.items():
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text(text)
    words = ["investigate", "--backend", "llama-server", "--yes", "--json"]
    ran, answer = bench.run(place, repo, words)
    assert ran.returncode in (0, 12), ran.stderr[-500:]
    assert answer["run"]["run"]["cost_usd"] == 0, "a model on this machine cost something"
    sessions = len(answer["run"]["ledger"])
    assert sessions > 0, "no model was asked"
    again, second = bench.run(place, repo, words)
    assert again.returncode in (0, 12), again.stderr[-500:]
    asked = len(second["run"]["ledger"])
    assert asked < sessions, f"{asked} sessions for what is known already, {sessions} the first time"
    if ran.returncode == 0:
        assert asked == 0, f"{asked} sessions although all was known"
    return f"{sessions} sessions, then {asked}, exit {ran.returncode}"


LINES = "- When the tests are red, say which one before you change anything.\n- Keep answers short.\n"
SAID = [
    "the tests were red and nobody said which one",
    "about the answer from before: hm",
    "red tests again, but this time I was told which one, fine",
]


def memory_judge(bench, exercise, place, repo):
    """What the judge says counts where it quotes the event, and no event is paid for twice."""
    ran, _ = bench.run(place, repo, ["init"])
    assert ran.returncode == 0, ran.stderr
    (repo / ".spore/memory").mkdir(exist_ok=True)
    (repo / ".spore/memory/CLAUDE.md").write_text(LINES)
    for text in SAID:
        words = ["events", "append", "--kind", "human", "--name", "ada", "--type", "chat.message"]
        ran, _ = bench.run(place, repo, [*words, "--payload", json.dumps(text)])
        assert ran.returncode == 0, ran.stderr
    ran, scanned = bench.run(place, repo, ["memory", "scan", "--json"])
    assert ran.returncode == 0, ran.stderr
    ran, before = bench.run(place, repo, ["memory", "status", "--json"])
    waiting = before["pending"]
    assert waiting > 0, "no event waits for a judge"
    broadcast = (repo / ".spore/memory/CLAUDE.md").read_text()
    ran, judged = bench.run(place, repo, ["memory", "judge", "--backend", "llama-server", "--json"])
    assert ran.returncode in (0, 12), ran.stderr[-500:]
    for fragment in repo.glob(".spore/memory/fragments/**/*.md"):
        text = fragment.read_text()
        assert "judge" not in text or any(said[:20] in text for said in SAID), f"{fragment} quotes nothing"
    assert (repo / ".spore/memory/CLAUDE.md").read_text() == broadcast, "a judge changed a line"
    ran, again = bench.run(place, repo, ["memory", "judge", "--backend", "llama-server", "--json"])
    assert ran.returncode in (0, 12), ran.stderr[-500:]
    if judged["left"] == 0:
        assert again["asked"] == 0, "an event was paid for twice"
    return f"{waiting} waited, {judged['asked']} asked, {judged['answers']}"


CHECK = """\
# The tests of one exercise, their report as plain text: what fails at the base has to pass.
cd "$1" && shift
said=$(python3 -m unittest "$@" 2>&1)
code=$?
printf '%s\\n' "$said" | sed 's/^/| /'
exit $code
"""


def ten_tasks(bench, exercises, place, repo):
    """A list of tasks through the night: whatever lands on the branch is solved there."""
    repo.mkdir(parents=True)
    tasks = []
    for exercise in exercises:
        (repo / exercise.slug).mkdir()
        for name, text in exercise.files.items():
            (repo / exercise.slug / name).write_text(text)
        modules = " ".join(test.removesuffix(".py") for test in exercise.tests)
        words = " ".join(exercise.task().split()).replace(
            exercise.solution, f"{exercise.slug}/{exercise.solution}"
        )
        gates = f"gates: sh check.sh {exercise.slug} {modules}\nfix_red: true"
        tasks.append(f"id: {exercise.slug}\n{gates}\n{words}\n")
    (repo / "check.sh").write_text(CHECK)
    (repo / ".gitignore").write_text("__pycache__/\n.spore/\n")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "stubs"]):
        subprocess.run(["git", "-C", repo, *words], check=True, env=track.git_env(repo))
    arms.settle(exercises[0], repo, "true")
    (place / "tasks.txt").write_text("---\n".join(tasks))
    head = git(repo, "rev-parse", "HEAD")
    words = ["loop", "--source", "../tasks.txt", "--cooldown", "0s", "--max-runs", str(TASKS), "--json"]
    ran, report = bench.run(place, repo, [*words, *limits()])
    assert report, ran.stderr[-500:]
    branch = git(repo, "for-each-ref", "--format=%(refname)", "refs/heads/spore/loop")
    landed = git(repo, "log", "--format=%H", f"{head}..{branch}").split() if branch else []
    asked = list(repo.glob(".spore/runs/**/coder/transcript.jsonl"))
    assert len(asked) >= len(exercises), f"{len(asked)} coders were asked for {len(exercises)} tasks"
    done = [task for task in report["tasks"] if task["status"] == "verified"]
    assert len(landed) == len(done), f"{len(done)} tasks are called verified, {len(landed)} commits are there"
    tree = place / "tip"
    subprocess.run(["git", "clone", "-q", repo, tree], check=True)
    if branch:
        git(tree, "fetch", "-q", "origin", branch)
        git(tree, "checkout", "-q", "FETCH_HEAD")
    by_slug = {exercise.slug: exercise for exercise in exercises}
    for task in done:
        slug = task["id"]
        assert by_slug[slug].is_solved(tree / slug), f"{slug} is called done and is not"
    assert git(repo, "rev-parse", "HEAD") == head and not git(repo, "status", "--porcelain"), "your files changed"
    ends = [task["status"] for task in report["tasks"]]
    return f"exit {ran.returncode}: " + ", ".join(f"{ends.count(end)} {end}" for end in dict.fromkeys(ends))


def git(place, *words):
    asked = ["git", "-C", place, *words]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
