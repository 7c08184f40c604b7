//! Tests of the repository's files: their text, their lints, and the names in `ARCHITECTURE.md`.

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    /// Every text file that git tracks or would track.
    fn files() -> Vec<(PathBuf, String)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
        let listed = std::process::Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&root)
            .output()
            .unwrap();
        String::from_utf8(listed.stdout)
            .unwrap()
            .split('\0')
            .filter(|name| !name.is_empty() && *name != "LICENSE" && *name != "Cargo.lock")
            .filter_map(|name| {
                let text = std::fs::read_to_string(root.join(name)).ok()?;
                Some((PathBuf::from(name), text))
            })
            .collect()
    }

    #[track_caller]
    fn check(what: &str, fault: impl Fn(&Path, &str) -> bool) {
        let found: Vec<String> = files()
            .iter()
            .flat_map(|(path, text)| {
                text.lines()
                    .enumerate()
                    .filter(|(_, line)| fault(path, line))
                    .map(|(number, _)| format!("{}:{}", path.display(), number + 1))
                    .collect::<Vec<_>>()
            })
            .collect();
        assert!(found.is_empty(), "{what}: {found:?}");
    }

    fn is(path: &Path, extension: &str) -> bool {
        path.extension().is_some_and(|found| found == extension)
    }

    /// Samples and recordings are other programs' texts, which no rule of ours changes.
    fn is_sample(path: &Path) -> bool {
        let recorded = ["samples", "transcripts", "reports"];
        path.components().any(|part| recorded.iter().any(|name| part.as_os_str() == *name))
    }

    #[test]
    fn no_line_ends_in_white_space() {
        check("trailing white space", |path, line| {
            // rustfmt checks Rust files, in which a recorded text may end in a space.
            !is(path, "rs") && !is(path, "snap") && !is_sample(path) && line.ends_with([' ', '\t'])
        });
    }

    #[test]
    fn no_test_is_switched_off_without_a_reason() {
        let bare = format!("#[{}]", "ignore");
        check("a test is ignored without saying why", |path, line| {
            is(path, "rs") && line.trim() == bare
        });
    }

    /// The lints that an attribute at the start of a line switches off.
    fn switched_off(text: &str) -> Vec<String> {
        let starts = ["#[expect(", "#![expect(", "#[allow(", "#![allow("];
        let mut lints = Vec::new();
        for (at, _) in text.match_indices('#') {
            let before = text[..at].rsplit('\n').next().unwrap_or_default();
            let Some(start) = starts.iter().find(|start| text[at..].starts_with(**start)) else {
                continue;
            };
            if before.trim().is_empty() {
                let inside = &text[at + start.len()..];
                let inside = inside.split(")]").next().unwrap_or_default();
                let inside = inside.split("reason").next().unwrap_or_default();
                let names = inside.split(',').map(str::trim).filter(|name| !name.is_empty());
                lints.extend(names.map(|name| name.trim_start_matches("clippy::").to_owned()));
            }
        }
        lints
    }

    /// To switch off what is not on says nothing, and looks like a rule that is run.
    #[test]
    fn only_lints_that_are_on_are_switched_off() {
        // These two are on without being asked for.
        let mut on = vec!["dead_code", "too_many_arguments"];
        let files = files();
        let (_, manifest) = files.iter().find(|(path, _)| path == Path::new("Cargo.toml")).unwrap();
        for table in manifest.split("\n[").filter(|table| table.starts_with("workspace.lints.")) {
            on.extend(table.lines().filter_map(|line| Some(line.split_once(" = ")?.0)));
        }
        for (path, text) in files.iter().filter(|(path, _)| is(path, "rs")) {
            for lint in switched_off(text) {
                assert!(on.contains(&lint.as_str()), "{}: {lint} is not on", path.display());
            }
        }
    }

    #[test]
    fn nothing_is_left_unfinished() {
        let words = [concat!("TO", "DO"), concat!("FIX", "ME")];
        check("unfinished work", |path, line| {
            is(path, "rs") && words.iter().any(|word| line.contains(word))
        });
    }

    #[test]
    fn no_file_names_a_home_directory() {
        let places = [concat!("/ro", "ot/"), concat!("/ho", "me/")];
        check("a path of one machine", |path, line| {
            !is(path, "snap") && places.iter().any(|place| line.contains(place))
        });
    }

    #[test]
    fn the_architecture_fits_on_a_few_pages() {
        let text =
            files().into_iter().find(|(path, _)| path == Path::new("ARCHITECTURE.md")).unwrap().1;
        assert!(text.lines().count() < 240);
    }

    /// An invariant that names a test must name one that exists.
    #[test]
    fn the_tests_that_the_architecture_names_exist() {
        let files = files();
        let (_, architecture) =
            files.iter().find(|(path, _)| path == Path::new("ARCHITECTURE.md")).unwrap();
        let sources: String = files
            .iter()
            .filter(|(path, _)| is(path, "rs"))
            .map(|(_, text)| text.as_str())
            .collect();
        let mut named = 0;
        for line in architecture.lines().filter(|line| line.contains("(test:")) {
            for name in
                line.split('`').skip(1).step_by(2).filter(|name| name.matches('_').count() > 2)
            {
                named += 1;
                assert!(sources.contains(&format!("fn {name}(")), "no test {name}");
            }
        }
        assert!(named >= 10, "only {named} invariants name their test");
    }

    /// Crates whose comments are still being rewritten. To be empty.
    const UNVOICED: &[&str] = &[];

    /// Returns the crate that a source file belongs to; `None` for tests and other files.
    fn crate_of(path: &Path) -> Option<&str> {
        let mut parts = path.iter().filter_map(|part| part.to_str());
        let name = match (parts.next()?, is(path, "rs")) {
            ("crates", true) => parts.next()?,
            ("xtask", true) => "xtask",
            _ => return None,
        };
        (parts.next() == Some("src")).then_some(name)
    }

    /// A comment that speaks of an unnamed person hides which process, person or file acts.
    #[test]
    fn comments_name_their_actor() {
        let unnamed = [
            "somebody",
            "nobody",
            "whoever",
            "anybody",
            "everybody",
            "someone",
            "anyone",
            "everyone",
        ];
        check("a comment does not name its actor", |path, line| {
            let (Some(name), Some((_, comment))) = (crate_of(path), line.split_once("//")) else {
                return false;
            };
            let comment = comment.to_lowercase();
            let mut words = comment.split(|letter: char| !letter.is_alphanumeric());
            !UNVOICED.contains(&name)
                && (words.any(|word| unnamed.contains(&word)) || comment.contains("came to"))
        });
    }

    /// Names that several types still have, each in a crate that is being renamed. To be empty.
    const SHARED: &str = "";

    /// Returns the name of the type that a line begins to define.
    fn type_defined(line: &str) -> Option<&str> {
        let mut line = line.trim_start();
        if let Some(public) = line.strip_prefix("pub") {
            let bare = public.strip_prefix('(').and_then(|scope| scope.split_once(')'));
            line = bare.map_or(public, |(_, rest)| rest).trim_start();
        }
        let kinds = ["struct ", "enum ", "trait ", "union "];
        let name = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
        let end = name.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(name.len());
        name[..end].starts_with(char::is_uppercase).then_some(&name[..end])
    }

    /// Returns the files of modules that are compiled for tests only, without their `.rs`.
    fn test_modules(files: &[(PathBuf, String)]) -> Vec<PathBuf> {
        let of_file = |(path, text): &(PathBuf, String)| {
            let stem = path.file_stem().unwrap_or_default();
            let is_root = ["lib", "main", "mod"].iter().any(|name| stem == *name);
            let dir = if is_root { path.with_file_name("") } else { path.with_extension("") };
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            lines
                .windows(2)
                .filter(|pair| pair[0] == "#[cfg(test)]")
                .filter_map(|pair| pair[1].split_once("mod ")?.1.strip_suffix(';'))
                .map(|name| dir.join(name))
                .collect::<Vec<_>>()
        };
        files.iter().filter(|(path, _)| is(path, "rs")).flat_map(of_file).collect()
    }

    /// Returns the lines before a file's own tests, which by convention are its end.
    fn production(text: &str) -> impl Iterator<Item = &str> {
        let mut next = text.lines().skip(1);
        text.lines().take_while(move |line| {
            let next = next.next().unwrap_or_default();
            *line != "#[cfg(test)]" || !(next.starts_with("mod ") && next.ends_with('{'))
        })
    }

    /// With two types of one name a reader has to look at the imports to know which is meant.
    /// Exempt are the arguments of commands, called after the command in its own file, and
    /// aliases such as `Result`.
    #[test]
    fn no_two_types_have_one_name() {
        let files = files();
        let for_tests = test_modules(&files);
        let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (path, text) in &files {
            let is_for_tests = for_tests.iter().any(|module| path.starts_with(module))
                || for_tests.contains(&path.with_extension(""));
            if crate_of(path).is_none() || is_for_tests {
                continue;
            }
            for name in production(text).filter_map(type_defined) {
                let is_of_command = name.ends_with("Args") && path.starts_with("crates/cli");
                if !is_of_command && !SHARED.split_whitespace().any(|shared| shared == name) {
                    places.entry(name).or_default().push(path.display().to_string());
                }
            }
        }
        assert!(places.len() > 500, "only {} types were found", places.len());
        places.retain(|_, places| places.len() > 1);
        assert!(places.is_empty(), "types of one name: {places:#?}");
    }

    /// Places of `app` that write files and are no part of a run: nothing goes on after them, or
    /// they write what only lives as long as a process.
    const OTHER_WRITERS: &[&str] = &[
        // The door itself.
        "base/files.rs",
        // An export before nodes are removed, inside of the store's own transaction.
        "graph/garbage.rs",
        // A task for memory must not replace one of the same name.
        "memory/inbox.rs",
        // The embedding model, downloaded and checked file by file.
        "search/model_files.rs",
        // What a check's programs note for as long as it runs, in its own temporary directory.
        "checks/reached.rs",
        // Temporary directories of sessions, and a token that only its user may read.
        "session/broker/home.rs",
        "toolbox/token.rs",
        // The demonstration's own directory, and where a reader of events has got to.
        "setup/demo.rs",
        "events/tail.rs",
    ];

    /// Durable effects are named by the door that they go through, or the kill matrix would
    /// not see them: files by `base::files`, rows by `base::stores`.
    #[test]
    fn files_are_written_through_one_door() {
        let writes = [
            "fs::write(",
            "fs::rename(",
            "fs::remove_file(",
            "fs::remove_dir_all(",
            "fs::copy(",
            "write_atomic(",
            "create_atomic(",
            "File::create(",
            "fs::OpenOptions::new(",
            "File::options(",
        ];
        let (mut found, mut owners) = (Vec::new(), 0);
        for (path, text) in files() {
            let Ok(room) = path.strip_prefix("crates/app/src") else { continue };
            let is_test = room.iter().any(|name| name == "tests" || name == "tests.rs");
            if !is(&path, "rs") || is_test {
                continue;
            }
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let owns = OTHER_WRITERS.iter().any(|owner| room == Path::new(owner));
            owners += usize::from(owns);
            let is_bare = |line: &str| writes.iter().any(|write| line.contains(write));
            let is_store = |line: &str| line.contains("Sqlite") && !room.starts_with("base/stores");
            for (number, line) in code.lines().enumerate() {
                let is_comment = line.trim_start().starts_with("//");
                if !is_comment && ((is_bare(line) && !owns) || is_store(line)) {
                    found.push(format!("{}:{}", path.display(), number + 1));
                }
            }
        }
        assert!(found.is_empty(), "a write that no kill matrix sees: {found:?}");
        assert_eq!(owners, OTHER_WRITERS.len(), "an owner that is gone is still on the list");
    }

    /// Those that other work is under way in, or that only ever show the paths of tests.
    const OTHER_SHOWERS: &[&str] = &["git", "secrets", "testkit", "fake-agent", "scripted-model"];

    #[test]
    fn paths_are_shown_through_one_door() {
        let mut found = Vec::new();
        for (path, text) in files() {
            let Ok(crate_path) = path.strip_prefix("crates") else { continue };
            let mut names = crate_path.iter().filter_map(|name| name.to_str());
            let owner = names.next().unwrap_or_default();
            let is_source = names.next() == Some("src");
            let apart = |name: &str| matches!(name, "tests" | "tests.rs" | "session");
            if !is(&path, "rs") || !is_source || OTHER_SHOWERS.contains(&owner) || names.any(apart)
            {
                continue;
            }
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            // As a text of its own a path is data; in a sentence it is shown.
            let is_bare =
                |line: &str| line.replace(".display().to_string()", "").contains(".display()");
            let lines = code.lines().enumerate().filter(|(_, line)| is_bare(line));
            found.extend(lines.map(|(number, _)| format!("{}:{}", path.display(), number + 1)));
        }
        assert!(found.is_empty(), "say it with spore_plain::path: {found:?}");
    }
}
