//! Small promises about the files themselves, kept by tests.

#[cfg(test)]
mod tests {
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

    /// Samples and recordings are what they are.
    fn is_sample(path: &Path) -> bool {
        let recorded = ["samples", "transcripts", "reports"];
        path.components().any(|part| recorded.iter().any(|name| part.as_os_str() == *name))
    }

    #[test]
    fn no_line_ends_in_white_space() {
        check("trailing white space", |path, line| {
            // rustfmt sees to Rust, where a recorded text may end in a space.
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
        assert!(text.lines().count() < 200);
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
}
