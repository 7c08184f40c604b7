"""The tasks: Exercism's Python track, which nobody here wrote and which is not in this repository.

The rule, written down before any task was run: the practice exercises of the track's
`config.json` that are not deprecated and have a difficulty of at most 2, in the order of that
file, the first 30. The stub with its tests is the repository; the instructions are the task; the
tests, which are in the standard library's `unittest`, are the gate.
"""

import functools
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

RULE = "first 30 practice exercises in the order of config.json, not deprecated, difficulty <= 2"
COUNT = 30
HARDEST = 2
# Seconds that one run of the tests may take.
PATIENCE = 120

# Fixed, so that equal tasks have equal commits.
IDENTITY = {
    "GIT_AUTHOR_NAME": "live",
    "GIT_AUTHOR_EMAIL": "live@example.org",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "live",
    "GIT_COMMITTER_EMAIL": "live@example.org",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


class Track:
    """A copy of the track: a work tree, or a repository without one."""

    def __init__(self, place):
        self.place = pathlib.Path(place)
        self.is_tree = (self.place / "config.json").exists()
        self.version = hashlib.sha256(self.read("config.json").encode()).hexdigest()[:12]

    def read(self, path):
        if self.is_tree:
            return (self.place / path).read_text()
        asked = ["git", "-C", self.place, "show", f"HEAD:{path}"]
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout

    def has(self, path):
        try:
            return bool(self.read(path))
        except (OSError, subprocess.CalledProcessError):
            return False

    def exercises(self):
        practice = json.loads(self.read("config.json"))["exercises"]["practice"]
        fit = [
            one["slug"]
            for one in practice
            if one.get("status") != "deprecated" and one["difficulty"] <= HARDEST
        ]
        return [Exercise(self, slug) for slug in fit[:COUNT]]


class Exercise:
    def __init__(self, track, slug):
        self.slug, self.version = slug, track.version
        folder = f"exercises/practice/{slug}"
        files = json.loads(track.read(f"{folder}/.meta/config.json"))["files"]
        self.files = {
            name: track.read(f"{folder}/{name}")
            for kind in ("solution", "test", "editor")
            for name in files.get(kind, [])
        }
        self.solution = files["solution"][0]
        self.tests = files["test"]
        docs = [f"{folder}/.docs/{name}.md" for name in ("instructions", "instructions.append")]
        self.instructions = "\n\n".join(track.read(doc) for doc in docs if track.has(doc))

    @property
    def check(self):
        modules = " ".join(test.removesuffix(".py") for test in self.tests)
        return f"python3 -m unittest {modules}"

    def task(self):
        return (
            f"Implement {self.solution} so that all tests in {', '.join(self.tests)} pass. "
            f"Change {self.solution} alone. The check is `{self.check}`.\n\n{self.instructions}"
        )

    def lay_out(self, place):
        """Makes the repository: the stub with its tests, in one commit."""
        place.mkdir(parents=True)
        for name, text in self.files.items():
            (place / name).write_text(text)
        (place / ".gitignore").write_text("__pycache__/\n.spore/\n")
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "stub"]):
            subprocess.run(["git", "-C", place, *words], check=True, env=git_env(place))

    def is_changed(self, place):
        """Returns whether the solution in `place` is another than the stub, or gone."""
        try:
            return (place / self.solution).read_bytes() != self.files[self.solution].encode()
        except OSError:
            return True

    def is_solved(self, place):
        """Returns whether the exercise's own tests, put back, are green in `place`.

        They run what the model wrote: without the user's home and environment, and without the network
        where a user may do that, but in no sandbox.
        """
        for test in self.tests:
            # The model may have put anything in its place.
            if (place / test).is_symlink() or not (place / test).is_file():
                remove(place / test)
            (place / test).write_text(self.files[test])
        with tempfile.TemporaryDirectory() as home:
            # What a test starts ends with it, also where it is cut off.
            ran = subprocess.Popen(
                [*apart(), "sh", "-c", self.check],
                cwd=place,
                env=bare_env(home),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                return ran.wait(PATIENCE) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                try:
                    os.killpg(ran.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                ran.wait()


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@functools.cache
def apart():
    """What a command is put behind to have no network and to leave no process."""
    words = ["unshare", "--user", "--map-current-user", "--net", "--pid", "--fork", "--kill-child"]
    try:
        is_there = subprocess.run([*words, "true"], capture_output=True).returncode == 0
    except OSError:
        is_there = False
    return words if is_there else []


def bare_env(home):
    """Enough to start Python."""
    pyenv = os.environ.get("PYENV_ROOT", str(pathlib.Path.home() / ".pyenv"))
    return {
        "PATH": os.environ["PATH"],
        "PYENV_ROOT": pyenv,
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def git_env(place):
    return {"PATH": os.environ["PATH"], "HOME": str(place.parent), **IDENTITY}
