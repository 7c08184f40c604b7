//! What is known of tools: which run what they are given, and which settings each looks for.

/// What a program does with its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolKind {
    Shell,
    Sourced,
    Python,
    Make,
    PackageManager,
    CMake,
    Other,
}

pub(super) fn kind_of(name: &str) -> ToolKind {
    match name {
        "sh" | "ash" | "bash" | "dash" | "ksh" | "zsh" => ToolKind::Shell,
        "." | "source" => ToolKind::Sourced,
        "make" | "gmake" => ToolKind::Make,
        "npm" | "pnpm" | "yarn" | "bun" | "lerna" | "turbo" | "nx" => ToolKind::PackageManager,
        "cmake" | "ctest" => ToolKind::CMake,
        _ if is_python(name) => ToolKind::Python,
        _ => ToolKind::Other,
    }
}

fn is_python(name: &str) -> bool {
    let rest = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Words of a package manager that stand in front of the name of a script.
pub(super) const RUNS_SCRIPT: &[&str] =
    &["run", "run-script", "rum", "exec", "foreach", "workspaces", "workspace", "-r"];

/// Where a tool looks for its settings.
pub(super) struct SettingsOf {
    tools: &'static [&'static str],
    /// Only with one of these words among its arguments, if there are any.
    with: &'static [&'static str],
    /// Where it runs.
    pub(super) here: &'static [&'static str],
    /// There and in every directory above.
    pub(super) upwards: &'static [&'static str],
    /// Wherever the project has them; with a star in front, an ending.
    pub(super) anywhere: &'static [&'static str],
    /// Beside every file of the first name, one of the second.
    pub(super) beside: &'static [(&'static str, &'static str)],
}

const NONE: SettingsOf =
    SettingsOf { tools: &[], with: &[], here: &[], upwards: &[], anywhere: &[], beside: &[] };

static SETTINGS: &[SettingsOf] = &[
    SettingsOf {
        tools: &["pytest", "py.test"],
        upwards: &[
            "pytest.ini",
            ".pytest.ini",
            "pyproject.toml",
            "tox.ini",
            "setup.cfg",
            "conftest.py",
        ],
        anywhere: &["conftest.py"],
        ..NONE
    },
    SettingsOf { tools: &["tox"], here: &["tox.ini", "pyproject.toml", "setup.cfg"], ..NONE },
    SettingsOf { tools: &["nox"], here: &["noxfile.py"], ..NONE },
    SettingsOf {
        tools: &["ruff"],
        upwards: &["ruff.toml", ".ruff.toml", "pyproject.toml"],
        ..NONE
    },
    SettingsOf {
        tools: &["mypy"],
        here: &["mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"],
        ..NONE
    },
    SettingsOf {
        tools: &["cargo"],
        upwards: &[".cargo/config.toml", ".cargo/config", "rust-toolchain", "rust-toolchain.toml"],
        here: &["Cargo.toml", "Cargo.lock"],
        anywhere: &["Cargo.toml"],
        beside: &[("Cargo.toml", "build.rs")],
        ..NONE
    },
    SettingsOf {
        tools: &["cargo"],
        with: &["clippy"],
        upwards: &["clippy.toml", ".clippy.toml"],
        ..NONE
    },
    SettingsOf {
        tools: &["cargo", "rustfmt"],
        with: &["fmt"],
        upwards: &["rustfmt.toml", ".rustfmt.toml"],
        ..NONE
    },
    SettingsOf { tools: &["cargo"], with: &["nextest"], here: &[".config/nextest.toml"], ..NONE },
    SettingsOf {
        tools: &["go"],
        upwards: &["go.work", "go.mod"],
        here: &["go.sum", "vendor/modules.txt"],
        anywhere: &["go.mod"],
        ..NONE
    },
    SettingsOf {
        tools: &["golangci-lint"],
        upwards: &[".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"],
        ..NONE
    },
    SettingsOf {
        tools: &["jest"],
        here: &[
            "package.json",
            "jest.config.js",
            "jest.config.ts",
            "jest.config.mjs",
            "jest.config.cjs",
            "jest.config.json",
            "babel.config.js",
            ".babelrc",
        ],
        ..NONE
    },
    SettingsOf {
        tools: &["vitest"],
        here: &[
            "vitest.config.ts",
            "vitest.config.js",
            "vitest.config.mts",
            "vitest.config.mjs",
            "vite.config.ts",
            "vite.config.js",
            "vite.config.mts",
            "vite.config.mjs",
            "vitest.workspace.ts",
        ],
        ..NONE
    },
    SettingsOf {
        tools: &["mocha"],
        here: &[
            "package.json",
            ".mocharc.js",
            ".mocharc.cjs",
            ".mocharc.yaml",
            ".mocharc.yml",
            ".mocharc.json",
            ".mocharc.jsonc",
            "test/mocha.opts",
        ],
        ..NONE
    },
    SettingsOf { tools: &["tsc", "ts-node", "tsx"], here: &["tsconfig.json"], ..NONE },
    SettingsOf {
        tools: &["eslint"],
        upwards: &[
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.cjs",
            ".eslintrc",
            ".eslintrc.js",
            ".eslintrc.cjs",
            ".eslintrc.json",
            ".eslintrc.yml",
            ".eslintignore",
        ],
        ..NONE
    },
    SettingsOf {
        tools: &["cmake", "ctest"],
        here: &["CMakePresets.json", "CTestConfig.cmake", "CTestCustom.cmake"],
        ..NONE
    },
    SettingsOf {
        tools: &["mvn", "mvnw"],
        here: &[".mvn/maven.config", ".mvn/jvm.config", ".mvn/extensions.xml"],
        anywhere: &["pom.xml"],
        ..NONE
    },
    SettingsOf {
        tools: &["gradle", "gradlew"],
        here: &[
            "settings.gradle",
            "settings.gradle.kts",
            "gradle.properties",
            "gradle/wrapper/gradle-wrapper.properties",
            "gradle/wrapper/gradle-wrapper.jar",
            "gradle/libs.versions.toml",
        ],
        anywhere: &["build.gradle", "build.gradle.kts"],
        ..NONE
    },
    SettingsOf {
        tools: &["dotnet"],
        upwards: &[
            "Directory.Build.props",
            "Directory.Build.targets",
            "global.json",
            "nuget.config",
        ],
        anywhere: &["*.csproj", "*.fsproj", "*.sln", "*.runsettings"],
        ..NONE
    },
];

/// Returns where `name`, called like this, looks for settings.
pub(super) fn settings_of(name: &str, arguments: Arguments<'_>) -> Vec<&'static SettingsOf> {
    let fits = |one: &&SettingsOf| {
        one.tools.contains(&name) && (one.with.is_empty() || arguments.has(one.with))
    };
    SETTINGS.iter().filter(fits).collect()
}

/// The words behind a program's name.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'w>(pub(super) &'w [&'w str]);

impl<'w> Arguments<'w> {
    pub(super) fn has(self, words: &[&str]) -> bool {
        self.0.iter().any(|word| words.contains(&word.split('=').next().unwrap_or(word)))
    }

    /// The first that is no option.
    pub(super) fn first(self) -> Option<&'w str> {
        self.0.iter().find(|word| !word.starts_with('-')).copied()
    }

    /// All in front of `--` that are no options.
    pub(super) fn plain(self) -> Vec<&'w str> {
        let own = self.0.iter().take_while(|word| **word != "--");
        own.filter(|word| !word.starts_with('-')).copied().collect()
    }

    /// The word behind one of these.
    pub(super) fn after(self, options: &[&str]) -> Option<&'w str> {
        let at = self.0.iter().position(|word| options.contains(word))?;
        self.0.get(at + 1).copied()
    }

    /// The value of an option: behind it, after a `=`, or grown together with a short one.
    pub(super) fn value(self, options: &[&str]) -> Option<&'w str> {
        self.after(options).or_else(|| {
            self.0.iter().find_map(|word| {
                options.iter().find_map(|option| {
                    let rest = word.strip_prefix(option)?;
                    let is_short = option.len() == 2 && !rest.is_empty();
                    rest.strip_prefix('=').or_else(|| is_short.then_some(rest))
                })
            })
        })
    }

    /// All behind this word.
    pub(super) fn behind(self, word: &str) -> &'w [&'w str] {
        let at = self.0.iter().position(|one| *one == word);
        at.and_then(|at| self.0.get(at + 1..)).unwrap_or_default()
    }
}

/// The calls of a CMake file that lead to others, each with its first argument.
pub(super) fn cmake_calls(text: &str) -> Vec<(&str, &str)> {
    const CALLS: [&str; 3] = ["include", "add_subdirectory", "subdirs"];
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let calls = lines.filter_map(|line| {
        let (name, rest) = line.split_once('(')?;
        let call = CALLS.iter().find(|call| call.eq_ignore_ascii_case(name.trim()))?;
        let word =
            rest.split(|c: char| c.is_whitespace() || c == ')').find(|word| !word.is_empty());
        // A variable ends with `}`, behind which the rest of the path stands.
        let word = word?.trim_matches('"');
        Some((*call, word.rsplit('}').next().unwrap_or(word).trim_start_matches('/')))
    });
    calls.collect()
}
