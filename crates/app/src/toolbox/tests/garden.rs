//! A small project for tests: a function, what it calls, and a test of it.

use std::path::PathBuf;
use std::sync::Arc;

use spore_effects::{FixedClock, Ids, Probe, Tool};
use spore_model::{RunId, Timestamp};
use tempfile::TempDir;

use crate::indexing::{IndexAsked, IndexSource, Silent, index};
use crate::toolbox::Toolbox;
use crate::{Interrupt, Surroundings};

pub(crate) const LIB: &str = "\
/// Waters every bed.
pub fn water_all(beds: &[u32]) -> u32 {
    let litres = beds.iter().sum();
    // Twice, for the heat.
    pour(litres)
}

/// Pours from the can.
fn pour(litres: u32) -> u32 {
    litres * 2
}
";

const TEST: &str = "\
#[test]
fn every_bed_is_watered() {
    assert_eq!(garden::water_all(&[1, 2]), 6);
}
";

pub(crate) struct Garden {
    dir: TempDir,
}

impl Garden {
    /// A repository with one commit, and a Spore project.
    pub(crate) fn planted() -> Self {
        let garden = Self { dir: tempfile::tempdir().unwrap() };
        garden.write("Cargo.toml", "[package]\nname = \"garden\"\nedition = \"2024\"\n");
        garden.write("src/lib.rs", LIB);
        garden.write("tests/watering.rs", TEST);
        garden.git(&["init", "--quiet", "--initial-branch=main"]);
        garden.git(&["add", "--all"]);
        garden.git(&["commit", "--quiet", "--message", "plant"]);
        crate::base::init::init(&garden.around()).unwrap();
        garden.index();
        garden
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut tool = Tool::new("git").args(args).cwd(&self.root());
        for who in ["AUTHOR", "COMMITTER"] {
            tool = tool
                .env(format!("GIT_{who}_NAME"), "Test")
                .env(format!("GIT_{who}_EMAIL"), "test@localhost")
                .env(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z");
        }
        let output = tool.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(output.is_success(), "git {args:?}: {}", output.complaint());
        output.text()
    }

    /// A copy of the work tree, as an agent's.
    pub(crate) fn checkout(&self) -> PathBuf {
        let dir = self.dir.path().canonicalize().unwrap().join("checkout");
        let (from, to) = (self.root().display().to_string(), dir.display().to_string());
        self.git(&["clone", "--quiet", &from, &to]);
        dir
    }

    pub(crate) fn run(&self) -> RunId {
        RunId::from_parts(1_767_225_600_000, 7)
    }

    pub(crate) fn index(&self) {
        index(&self.around(), &IndexAsked::new(IndexSource::WorkTree), &Silent).unwrap();
    }

    pub(crate) fn toolbox(&self) -> Toolbox {
        Toolbox::of_work_tree(&self.around()).unwrap()
    }

    pub(crate) fn around(&self) -> Surroundings {
        let clock: Arc<dyn spore_effects::Clock> =
            Arc::new(FixedClock(Timestamp::from_millis(1_767_225_600_000)));
        Surroundings {
            ids: Ids::seeded(Arc::clone(&clock), 1),
            clock,
            probe: Probe::idle(),
            exe: PathBuf::from("/opt/spore"),
            cwd: self.root(),
            root: Some(self.root()),
            variables: vec![("TMPDIR".to_owned(), self.dir.path().display().to_string())],
            config_file: self.dir.path().join("config.toml"),
            state_home: self.dir.path().join("state"),
            credentials: crate::base::credentials::Credentials::default(),
            interrupt: Interrupt::default(),
            starter: None,
        }
    }
}
