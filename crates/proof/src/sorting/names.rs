//! What a file's name says of it, where nothing better is known.
//!
//! Doubt is all that most of these lists give: a name that is on one of them and should not be costs a
//! change its level, and nothing else.

/// Returns whether runner, shell or build tools go by a file of this name, wherever it lies.
pub(super) fn decides_checks(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let lower = name.to_ascii_lowercase();
    let is_config = |stem: &str| lower.starts_with(stem) && lower.contains(".config.");
    let in_folder = |end: &str| folders.split('/').any(|folder| folder.ends_with(end));
    matches!(
        lower.as_str(),
        "conftest.py"
            | "sitecustomize.py"
            | "usercustomize.py"
            | "pytest.ini"
            | "pytest.toml"
            | "tox.ini"
            | "tox.toml"
            | "setup.cfg"
            | "setup.py"
            | "noxfile.py"
            | ".coveragerc"
            | "makefile"
            | "gnumakefile"
            | "cmakelists.txt"
            | "meson.build"
            | "build.rs"
            | "rust-toolchain"
            | "rust-toolchain.toml"
            | "clippy.toml"
            | "tsconfig.json"
            | "jsconfig.json"
            | "deno.json"
            | "bunfig.toml"
            | "go.work"
            | "build.gradle"
            | "build.gradle.kts"
            | "settings.gradle"
            | "settings.gradle.kts"
            | "gradle.properties"
            | "pom.xml"
            | "rakefile"
            | "phpunit.xml"
            | "justfile"
            | "taskfile.yml"
    ) || [".mk", ".cmake", ".pth", ".pyc", ".pyo"].iter().any(|end| lower.ends_with(end))
        || [".mocharc", ".babelrc", ".eslintrc", ".npmrc", ".yarnrc", ".nycrc", ".swcrc", ".taprc"]
            .iter()
            .any(|start| lower.starts_with(start))
        || ["jest", "vitest", "vite", "babel", "ava", "karma", "webpack", "rollup", "playwright"]
            .iter()
            .any(|stem| is_config(stem))
        || is_settings_of_style(&lower)
        || lower.starts_with("tsconfig.")
        || in_folder(".dist-info")
        || in_folder(".egg-info")
        || folders.split('/').any(|folder| folder == ".cargo")
}

/// Settings of what checks style and types.
fn is_settings_of_style(lower: &str) -> bool {
    const NAMES: &[&str] = &[
        "ruff.toml",
        ".ruff.toml",
        "mypy.ini",
        ".mypy.ini",
        ".flake8",
        ".pylintrc",
        "pyrightconfig.json",
        "rustfmt.toml",
        ".rustfmt.toml",
        "tslint.json",
        "biome.json",
    ];
    NAMES.contains(&lower)
        || ["eslint.config.", ".eslintignore", ".prettier", ".stylelint", ".golangci", ".rubocop"]
            .iter()
            .any(|start| lower.starts_with(start))
}

/// Returns whether a source file is made of settings: `some.config.mjs`, `.toolrc.js`.
pub(super) fn is_settings(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.contains(".config.") || name.contains(".conf.") || is_rc(name)
}

fn is_rc(name: &str) -> bool {
    name.strip_prefix('.')
        .and_then(|rest| rest.split('.').next())
        .is_some_and(|stem| stem.ends_with("rc"))
}

/// Words in the names of modules that tests share: what they compare with, and what compares.
const WORDS_OF_TESTS: &[&str] = &[
    "test",
    "tests",
    "testing",
    "testutil",
    "testutils",
    "testlib",
    "testkit",
    "spec",
    "specs",
    "helper",
    "helpers",
    "fixture",
    "fixtures",
    "golden",
    "goldens",
    "expected",
    "expectation",
    "expectations",
    "cases",
    "vectors",
    "mock",
    "mocks",
    "stub",
    "stubs",
    "fake",
    "fakes",
    "assert",
    "asserts",
    "assertion",
    "assertions",
    "e2e",
];

/// Returns whether a source file may well be one that tests share, by its name.
pub(super) fn may_serve_tests(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    is_data_of_tests(path)
        || folders
            .split('/')
            .chain([stem])
            .flat_map(words_in)
            .any(|word| WORDS_OF_TESTS.contains(&word.as_str()))
}

/// Returns the words of a name, however it joins them.
fn words_in(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let begins = !c.is_alphanumeric() || c.is_uppercase() && before.is_lowercase();
        if begins {
            words.push(String::new());
        }
        if let Some(last) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            last.extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

/// Returns whether a new file would be imported in the place of a module that Python or one of its
/// test runners brings along. `is_package` says whether a folder is a package: what is in one has the
/// package's name before its own.
pub(super) fn shadows_module(path: &str, is_package: &dyn Fn(&str) -> bool) -> bool {
    let of = |path: &str| -> Option<(String, String)> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        Some((folder.to_owned(), name.split('.').next()?.to_owned()))
    };
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    if !matches!(ending, "py" | "pyc" | "pyo" | "so" | "pyd" | "pyi") {
        return false;
    }
    let is_known = |name: &str| MODULES.split_whitespace().any(|known| known == name);
    let Some((folder, module)) = of(path) else { return false };
    if is_known(&module) && !is_package(&folder) {
        return true;
    }
    // `json/__init__.py`, and whatever else makes a package of that name.
    let Some((above, package)) = of(&folder).filter(|_| !folder.is_empty()) else { return false };
    is_known(&package) && !is_package(&above)
}

const MODULES: &str = "\
    pytest _pytest pluggy iniconfig packaging py exceptiongroup tomli coverage xdist hypothesis nose \
    mock attr attrs colorama pygments pkg_resources setuptools site unittest2 testtools \
    abc aifc argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii \
    bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop \
    collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg \
    crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email \
    encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib \
    functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac \
    html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword \
    lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap \
    modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers \
    opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil \
    platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr \
    pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy \
    sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket \
    socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string \
    stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib \
    tempfile termios textwrap threading time timeit tkinter token tokenize tomllib trace \
    traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid \
    venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp \
    zipfile zipimport zlib zoneinfo";

/// Returns whether a file is what a shell runs.
pub(super) fn is_script(path: &str) -> bool {
    [".sh", ".bash", ".zsh", ".ksh", ".fish", ".bat", ".ps1"].iter().any(|end| path.ends_with(end))
}

/// Returns whether a file lies where tests keep what they compare with.
pub(super) fn is_data_of_tests(path: &str) -> bool {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    let names = ["fixtures", "fixture", "golden", "goldens", "expected", "samples", "cassettes"];
    folders.split('/').any(|folder| names.contains(&folder))
}

/// Returns whether a file is code that compilers and interpreters read.
pub(super) fn is_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(_, ending)| is_source_ending(ending))
}

pub(super) fn is_source_ending(ending: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "rs", "py", "pyi", "pyx", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue",
        "svelte", "go", "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "java", "kt", "kts", "scala",
        "groovy", "cs", "fs", "vb", "rb", "php", "swift", "m", "mm", "pl", "pm", "t", "lua", "ex",
        "exs", "erl", "hs", "ml", "mli", "zig", "nim", "dart", "r", "jl", "clj", "s", "asm",
    ];
    ENDINGS.contains(&ending.to_ascii_lowercase().as_str())
}
