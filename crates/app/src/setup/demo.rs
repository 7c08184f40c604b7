//! A sample repository with a failing test, and the scenario of an agent that gets it right
//! at the third attempt.

use std::fs;
use std::path::{Path, PathBuf};

use spore_effects::Tool;
use spore_model::Fault;

use crate::{Error, Result};

pub const DEMO_TASK: &str = "make split_bill share the cents that do not divide evenly, so that the parts add up to the whole";

/// Where the demo was laid out.
pub struct DemoRepository {
    pub root: PathBuf,
    pub scenario: PathBuf,
}

const FILES: [(&str, &str); 3] = [
    ("bill.py", include_str!("../../../../assets/demo/bill.py")),
    ("test_bill.py", include_str!("../../../../assets/demo/test_bill.py")),
    ("README.md", include_str!("../../../../assets/demo/README.md")),
];

const SCENARIO: &str = include_str!("../../../../assets/demo/scenario.toml");

/// Writes the sample repository below `dir`, which must be empty or missing.
pub fn lay_out_demo(dir: &Path) -> Result<DemoRepository> {
    let failed = |source| Error::io(format!("cannot write {}", spore_plain::path(dir)), source);
    if dir.exists() && !dir.is_dir() {
        return Err(Error::new(
            Fault::Usage,
            format!("{} is not a directory", spore_plain::path(dir)),
        )
        .hint("name an empty directory, or none for a temporary one"));
    }
    // Asked first: without git there would be half a demo left.
    Tool::new("git").arg("--version").output()?;
    fs::create_dir_all(dir).map_err(failed)?;
    if fs::read_dir(dir).map_err(failed)?.next().is_some() {
        return Err(Error::new(Fault::Usage, format!("{} is not empty", spore_plain::path(dir)))
            .hint("name an empty directory, or none for a temporary one"));
    }
    let root = dir.join("bill");
    fs::create_dir(&root).map_err(failed)?;
    for (name, content) in FILES {
        fs::write(root.join(name), content).map_err(failed)?;
    }
    let scenario = dir.join("scenario.toml");
    fs::write(&scenario, SCENARIO).map_err(failed)?;
    let commit: [&[&str]; 3] = [
        &["init", "--quiet", "--initial-branch=main"],
        &["add", "--all"],
        &[
            "-c",
            "user.name=Demo",
            "-c",
            "user.email=demo@localhost",
            "commit",
            "--quiet",
            "--message=a bill and its test",
        ],
    ];
    for args in commit {
        let output = Tool::new("git").args(args).cwd(&root).output()?;
        if !output.is_success() {
            return Err(Error::new(Fault::Missing, "git could not make the sample repository")
                .hint(output.complaint()));
        }
    }
    Ok(DemoRepository { root, scenario })
}
