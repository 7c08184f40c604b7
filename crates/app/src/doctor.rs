//! `spore doctor`: what is there, what each missing thing costs, and how to get it.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use spore_effects::Tool;

use crate::{Result, Surroundings, Workspace};

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    pub name: String,
    pub ok: bool,
    /// Its version, or what is wrong.
    pub detail: String,
    /// What its absence costs, and what to do; empty where all is well.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remedy: String,
    /// Whether nothing can be run without it.
    pub required: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Checkup {
    pub root: String,
    pub findings: Vec<Finding>,
}

impl Checkup {
    /// Returns whether a run could start.
    pub fn can_run(&self) -> bool {
        self.findings.iter().all(|finding| finding.ok || !finding.required)
    }
}

/// Looks around. Never changes anything, and a broken part is a finding, not an error.
pub fn doctor(around: &Surroundings) -> Result<Checkup> {
    let workspace = Workspace::find(around)?;
    let mut findings = vec![
        program("git", &["--version"], true, "no run can start: install git"),
        program("sh", &["-c", "echo POSIX shell"], true, "gates cannot run: install a POSIX shell"),
        repository(workspace.root()),
        project(around, &workspace),
        state_home(&around.state_home),
    ];
    for (name, remedy) in [
        ("cargo", "gates of Rust projects cannot run: install a Rust toolchain"),
        ("python3", "gates of Python projects cannot run: install Python 3"),
        ("node", "gates of JavaScript projects cannot run: install Node"),
    ] {
        findings.push(program(name, &["--version"], false, remedy));
    }
    Ok(Checkup { root: workspace.root().display().to_string(), findings })
}

fn program(name: &str, args: &[&str], required: bool, remedy: &str) -> Finding {
    let answer = Tool::new(name).args(args).timeout(Duration::from_secs(10)).output();
    let (ok, detail) = match answer {
        Ok(output) if output.is_success() => {
            (true, output.text().lines().next().unwrap_or_default().to_owned())
        }
        Ok(output) => (false, format!("exits with {}", output.code)),
        Err(error) => (false, error.to_string()),
    };
    finding(name, ok, detail, remedy, required)
}

fn repository(root: &Path) -> Finding {
    let found = spore_git::Repository::discover(root).and_then(|found| found.head());
    let (ok, detail) = match found {
        Ok(head) => (true, format!("HEAD is {}", &head.as_str()[..12])),
        Err(error) => (false, error.to_string()),
    };
    finding(
        "repository",
        ok,
        detail,
        "no run can start here: work in a git repository with a commit",
        true,
    )
}

fn project(around: &Surroundings, workspace: &Workspace) -> Finding {
    if !workspace.is_initialised() {
        let remedy = "nothing is lost: the first run makes it, or `spore init`";
        return finding("project", false, "no .spore/ yet".to_owned(), remedy, false);
    }
    let opened = workspace.config(around, &[]).and_then(|config| workspace.journal(&config));
    let (ok, detail) = match opened {
        Ok(_) => (true, ".spore/ can be read".to_owned()),
        Err(error) => (false, error.to_string()),
    };
    finding("project", ok, detail, "its runs cannot be read: see the message", true)
}

fn state_home(path: &Path) -> Finding {
    let made = spore_effects::files::create_private_dir(path);
    let (ok, detail) = match made {
        Ok(()) => (true, path.display().to_string()),
        Err(error) => (false, format!("{}: {error}", path.display())),
    };
    finding(
        "checkouts",
        ok,
        detail,
        "checkouts cannot be made: set XDG_STATE_HOME to a writable directory",
        true,
    )
}

fn finding(name: &str, ok: bool, detail: String, remedy: &str, required: bool) -> Finding {
    let remedy = if ok { String::new() } else { remedy.to_owned() };
    Finding { name: name.to_owned(), ok, detail, remedy, required }
}
