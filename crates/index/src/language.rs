//! Which language a file is written in.

use std::fmt;

macro_rules! languages {
    ($($name:ident $word:literal $tier:ident $($ending:literal)*,)*) => {
        /// A language that can be read.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Language {
            $($name,)*
        }

        impl Language {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// Returns how much is read of it.
            pub const fn tier(self) -> Tier {
                match self {
                    $(Self::$name => Tier::$tier,)*
                }
            }

            fn of_ending(ending: &str) -> Option<Self> {
                match ending {
                    $($($ending)|* => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

/// How much is read of a language.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tier {
    /// Every kind of node and of edge.
    Full,
    /// Definitions, documentation, and calls by name.
    Basic,
    /// Sections, and the names they mention.
    Document,
}

languages! {
    Rust "rust" Full "rs",
    Python "python" Full "py" "pyi",
    TypeScript "typescript" Full "ts" "mts" "cts",
    Tsx "tsx" Full "tsx",
    JavaScript "javascript" Full "js" "jsx" "mjs" "cjs",
    Go "go" Full "go",
    Java "java" Basic "java",
    Kotlin "kotlin" Basic "kt" "kts",
    C "c" Basic "c" "h",
    Cpp "cpp" Basic "cc" "cpp" "cxx" "hpp" "hh" "hxx",
    CSharp "csharp" Basic "cs",
    Ruby "ruby" Basic "rb",
    Php "php" Basic "php",
    Swift "swift" Basic "swift",
    Scala "scala" Basic "scala" "sc",
    Bash "bash" Basic "sh" "bash",
    Markdown "markdown" Document "md" "markdown",
    Rst "rst" Document "rst",
}

impl Language {
    /// Returns the language of a file by its name.
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, ending) = name.rsplit_once('.')?;
        Self::of_ending(&ending.to_ascii_lowercase())
    }

    /// Returns the languages whose names can mean each other's.
    pub(crate) const fn family(self) -> Family {
        match self {
            Self::Rust => Family::Rust,
            Self::Python => Family::Python,
            Self::TypeScript | Self::Tsx | Self::JavaScript => Family::Script,
            Self::Go => Family::Go,
            Self::Java | Self::Kotlin | Self::Scala => Family::Jvm,
            Self::C | Self::Cpp => Family::C,
            Self::CSharp => Family::CSharp,
            Self::Ruby => Family::Ruby,
            Self::Php => Family::Php,
            Self::Swift => Family::Swift,
            Self::Bash => Family::Shell,
            Self::Markdown | Self::Rst => Family::Document,
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Languages whose names can mean each other's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    Rust,
    Python,
    Script,
    Go,
    Jvm,
    C,
    CSharp,
    Ruby,
    Php,
    Swift,
    Shell,
    Document,
}

impl Family {
    /// Returns whether a member of the own type may be called by its bare name.
    pub(crate) const fn reaches_own_members(self) -> bool {
        matches!(self, Self::Jvm | Self::C | Self::CSharp | Self::Ruby | Self::Swift)
    }

    /// Returns whether what is in another file is seen only if it is imported.
    pub(crate) const fn needs_imports(self) -> bool {
        matches!(self, Self::Rust | Self::Python | Self::Script)
    }
}
