//! `spore doctor`: what is there, what each missing thing costs, and how to get it.
//!
//! A broken part is a finding, not an error, so one visit tells of everything. Nothing is
//! changed by looking: no directory is made, no database brought up to date. Programs are
//! asked for their versions while the rest is looked at, so a visit takes less than a second.

pub(super) mod agents;
mod finding;
mod programs;

use std::path::Path;

use serde::Serialize;
use spore_agent::api::LOCAL_PRESETS;
use spore_config::{Config, Loaded};
use spore_effects::machine;
use spore_effects::session::{Confinement, RootSupport, SandboxRoot, enforceable};
use spore_git::Repository;
use spore_index::{Language, Tier};
use spore_model::RunId;
use spore_store::OpenError;

use crate::agents::backends::{self, local_server};
use crate::base::stores;
use crate::checks::needs;
use crate::checks::project;
use crate::search::model_files;
use crate::session::agent_choice::LOCAL_PATIENCE;
use crate::session::sandbox::{self, Enforcement};
use crate::session::sign_in::SignIns;
use crate::setup::names;
use crate::{Result, Surroundings, Workspace, counted};
pub use finding::DoctorFinding;
use finding::finding;
use programs::{Answer, Answers, version};

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Checkup {
    pub root: String,
    pub findings: Vec<DoctorFinding>,
}

impl Checkup {
    /// Returns whether a run could start.
    pub fn can_run(&self) -> bool {
        self.findings.iter().all(|finding| finding.ok || !finding.required)
    }
}

/// A program that only some projects or people need.
struct Optional {
    program: &'static str,
    /// What cannot be done without it, and how to get it.
    remedy: &'static str,
}

const TOOLCHAINS: [Optional; 4] = [
    Optional {
        program: "cargo",
        remedy: "checks of Rust projects cannot run: get a toolchain from https://rustup.rs",
    },
    Optional {
        program: "python3",
        remedy: "checks of Python projects cannot run: install Python 3",
    },
    Optional {
        program: "node",
        remedy: "checks of JavaScript projects cannot run: install Node.js",
    },
    Optional {
        program: "go",
        remedy: "checks of Go projects cannot run: get it from https://go.dev/dl",
    },
];

const AGENTS: [Optional; 5] = [
    Optional {
        program: "claude",
        remedy: "Claude Code cannot be used: npm install -g @anthropic-ai/claude-code",
    },
    Optional { program: "codex", remedy: "Codex cannot be used: npm install -g @openai/codex" },
    Optional { program: "opencode", remedy: "opencode cannot be used: npm install -g opencode-ai" },
    Optional {
        program: "gemini",
        remedy: "Gemini CLI cannot be used: npm install -g @google/gemini-cli",
    },
    Optional {
        program: "qwen",
        remedy: "Qwen Code cannot be used: npm install -g @qwen-code/qwen-code",
    },
];

const VERSION: &[&str] = &["--version"];

/// Checkouts and builds need room; below the second not even the journal is safe.
const SCARCE_BYTES: u64 = 1 << 30;
const TOO_FEW_BYTES: u64 = 64 << 20;

/// A larger database takes longer to check than a person wants to wait.
pub(super) const CHECKED_BYTES: u64 = 256 << 20;

/// Looks around. Never changes anything.
pub fn doctor(around: &Surroundings) -> Result<Checkup> {
    let optional = || TOOLCHAINS.iter().chain(&AGENTS);
    let questions = [("git", VERSION), ("sh", &["-c", "echo POSIX shell"][..])];
    let questions = questions
        .into_iter()
        .chain(optional().map(|one| (one.program, needs::version_words(one.program))));
    let answers = Answers::ask(around.clock.as_ref(), questions);
    let workspace = Workspace::find(around)?;
    let loaded = workspace.settings(around, &[]);
    let config = loaded.as_ref().map(|loaded| &loaded.config);
    let mut findings = vec![
        git(answers.of("git")),
        program("sh", answers.of("sh"), "checks cannot run: install a POSIX shell", true),
        repository(workspace.root()),
        project(&workspace, loaded.as_ref().err()),
    ];
    if let Ok(loaded) = &loaded {
        findings.extend(wrong_names(workspace.root(), loaded));
        findings.push(agents::finding(around, &loaded.config));
    }
    if workspace.database().exists() {
        findings.push(database(&workspace, CHECKED_BYTES));
    }
    if let Ok(config) = config {
        findings.extend(gates(around, &workspace, config));
    }
    findings.push(checkouts(&around.state_home));
    findings.extend(stale(&workspace));
    findings.push(settings(&around.config_file));
    findings.push(disk(&[&around.state_home, workspace.root()]));
    if let Ok(config) = config {
        let support = sandbox::support(around, config);
        findings.extend(not_enforced(around, config));
        findings.extend(held(machine::landlock_abi(), &support));
        findings.extend(left_sign_ins(SignIns { around, config }.left()));
    }
    findings.push(embeddings(&model_files::model_dir(around)));
    findings.push(languages());
    for Optional { program: name, remedy } in &TOOLCHAINS {
        findings.push(program(name, answers.of(name), remedy, false));
    }
    for one in &AGENTS {
        findings.push(agent(one, answers.of(one.program)));
    }
    if let Ok(config) = &config {
        findings.push(local_models(config));
    }
    Ok(Checkup { root: workspace.root().display().to_string(), findings })
}

fn program(name: &str, answer: Answer, remedy: &str, required: bool) -> DoctorFinding {
    let (ok, detail) = match answer {
        Answer::Version(version) => (true, version),
        Answer::Silent => (true, "installed; it did not tell its version in time".to_owned()),
        Answer::NotInstalled => (false, "not installed or not on PATH".to_owned()),
        Answer::Broken(why) => (false, why),
    };
    finding(name, ok, detail, remedy, required)
}

fn git(answer: Answer) -> DoctorFinding {
    let (oldest, sound) = (spore_git::OLDEST_GIT, spore_git::SOUND_GIT);
    let older_than = |(major, minor): (u32, u32), said: &str| {
        version(said).is_some_and(|found| found < (major, minor))
    };
    match answer {
        Answer::Version(said) if older_than(oldest, &said) => {
            let remedy =
                format!("no run can start: install git {}.{} or later", oldest.0, oldest.1);
            finding("git", false, said, &remedy, true)
        }
        Answer::Version(said) if older_than(sound, &said) => {
            let remedy = format!(
                "attributes such as line endings may be applied wrongly in checkouts: install git {}.{} or later",
                sound.0, sound.1
            );
            finding("git", false, said, &remedy, false)
        }
        answer => program("git", answer, "no run can start: install git", true),
    }
}

fn agent(one: &Optional, answer: Answer) -> DoctorFinding {
    let found = program(one.program, answer, one.remedy, false);
    if found.ok && !backends::NAMES.contains(&one.program) {
        let remedy = "this version of Spore cannot drive it yet";
        return DoctorFinding { ok: false, remedy: remedy.to_owned(), ..found };
    }
    found
}

/// Says which servers of models on this machine answer.
fn local_models(config: &Config) -> DoctorFinding {
    let servers = LOCAL_PRESETS.iter().filter_map(|preset| local_server(config, preset.name));
    let asked: Vec<_> = servers
        .map(|server| {
            let for_thread = server.clone();
            let asking = std::thread::spawn(move || for_thread.models(LOCAL_PATIENCE));
            (server, asking)
        })
        .collect();
    let (mut answering, mut silent) = (Vec::new(), Vec::new());
    for (server, asking) in asked {
        let place = format!("{} at {}", server.preset.name, server.address);
        match asking.join() {
            Ok(Ok(models)) if models.len() == 1 => answering.push(format!("{place} with 1 model")),
            Ok(Ok(models)) => answering.push(format!("{place} with {} models", models.len())),
            Ok(Err(_)) | Err(_) => silent.push(place),
        }
    }
    let ok = !answering.is_empty();
    let detail = match ok {
        true => format!("{} answers", answering.join(", ")),
        false => format!("no answer from {}", silent.join(", ")),
    };
    let remedy =
        "only models on this machine need one: `spore agents list` says how each is started";
    finding("local models", ok, detail, remedy, false)
}

fn repository(root: &Path) -> DoctorFinding {
    let found = Repository::discover(root).and_then(|found| found.head());
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

fn project(workspace: &Workspace, mistake: Option<&crate::Error>) -> DoctorFinding {
    if let Some(mistake) = mistake {
        let remedy = "no run can start: mend the setting";
        return finding("project", false, mistake.to_string(), remedy, true);
    }
    if !workspace.is_initialised() {
        let remedy = "nothing is lost: the first run makes it, or `spore init`";
        return finding("project", false, "no .spore/ yet".to_owned(), remedy, false);
    }
    let (ok, detail) = match machine::check_writable(&workspace.spore_dir()) {
        Ok(()) => (true, ".spore/ can be read and written".to_owned()),
        Err(error) => (false, format!(".spore/ cannot be written: {error}")),
    };
    finding("project", ok, detail, "no run can start: make it writable for this user", true)
}

/// Settings that name what is not there.
fn wrong_names(root: &Path, loaded: &Loaded) -> Vec<DoctorFinding> {
    let wrong = names::mistakes(root, loaded).into_iter().map(|(place, error)| {
        let detail = format!("{place}: {error}");
        finding("settings", false, detail, error.hint_text().unwrap_or_default(), true)
    });
    wrong.collect()
}

/// A sandbox that the settings insist on and that cannot be had.
fn not_enforced(around: &Surroundings, config: &Config) -> Option<DoctorFinding> {
    let error = Enforcement::find(around, config, &config.orchestrate.backend).err()?;
    let remedy = format!("no run can start: {}", error.hint_text().unwrap_or_default());
    Some(finding("sandbox", false, error.to_string(), &remedy, true))
}

/// Looks whether the journal can be read, and checks one of at most `checked_bytes` page by page.
pub(super) fn database(workspace: &Workspace, checked_bytes: u64) -> DoctorFinding {
    let path = workspace.database();
    let size = path.metadata().map_or(0, |metadata| metadata.len());
    let restore =
        "its runs cannot be read: restore the file, or move it away to start with no history"
            .to_owned();
    let checked = |journal: &stores::InspectedJournal| {
        if size > CHECKED_BYTES {
            return Ok("spore.db can be read; it is too large to be checked here".to_owned());
        }
        if size > checked_bytes {
            return Ok("spore.db can be read; `spore doctor` checks one so large".to_owned());
        }
        match journal.damage() {
            Ok(damage) if damage.is_empty() => Ok("spore.db is sound".to_owned()),
            Ok(damage) => {
                Err((format!("spore.db is damaged: {}", damage.join("; ")), restore.clone()))
            }
            Err(error) => Err((error.to_string(), restore.clone())),
        }
    };
    let found = match stores::inspect(&path) {
        Ok(journal) => checked(&journal),
        Err(OpenError::Older { .. }) => Ok("spore.db will be brought up to date".to_owned()),
        Err(error @ (OpenError::Empty { .. } | OpenError::Corrupt { .. })) => {
            Err((error.to_string(), restore))
        }
        // The file may well be sound: a person is not to move it away for a disk that is read-only.
        Err(error) => {
            let error = crate::Error::from(error);
            let hint = error.hint_text().unwrap_or_default();
            Err((error.to_string(), format!("its runs cannot be read: {hint}")))
        }
    };
    match found {
        Ok(detail) => finding("database", true, detail, "", true),
        Err((detail, remedy)) => finding("database", false, detail, &remedy, true),
    }
}

/// What a task would be checked with, and whether it can be. Nothing where there is no commit
/// to look at.
fn gates(around: &Surroundings, workspace: &Workspace, config: &Config) -> Option<DoctorFinding> {
    let repository = workspace.repository(around).ok()?;
    let base = repository.head().ok()?;
    let gates = match project::gates(workspace, &repository, &base, config, &[]) {
        Ok(gates) => gates,
        Err(error) => {
            let remedy =
                "no task can be checked: spore config set gates.commands.test.run \"make test\"";
            return Some(finding("gates", false, error.to_string(), remedy, true));
        }
    };
    let told = gates.iter().map(|gate| match gate.dir.as_str() {
        "" => format!("{}: {}", gate.name, gate.command),
        dir => format!("{}: {} (in {dir})", gate.name, gate.command),
    });
    let detail = told.collect::<Vec<_>>().join(", ");
    let missing = needs::missing(around, &gates);
    let needs: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let cure = if missing.iter().any(|one| one.broken.is_some()) { "mend" } else { "install" };
    let remedy = format!("no run can start without {}: {cure} it", needs.join(", "));
    Some(finding("gates", missing.is_empty(), detail, &remedy, true))
}

fn checkouts(path: &Path) -> DoctorFinding {
    let (ok, detail) = match machine::check_writable(path) {
        Ok(()) => (true, path.display().to_string()),
        Err(error) => (false, format!("{}: {error}", spore_plain::path(path))),
    };
    finding(
        "checkouts",
        ok,
        detail,
        "checkouts cannot be made: set XDG_STATE_HOME to a writable directory",
        true,
    )
}

/// Checkouts whose run is over. What was in them is kept by refs.
fn stale(workspace: &Workspace) -> Option<DoctorFinding> {
    let journal = stores::inspect(&workspace.database()).ok()?;
    let entries = std::fs::read_dir(workspace.state()).ok()?;
    let runs = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_over = |id: &RunId| match journal.run(*id) {
        Ok(run) => run.is_none_or(|run| !run.is_open()),
        Err(_) => false,
    };
    let count = u32::try_from(runs.filter(is_over).count()).unwrap_or(u32::MAX);
    if count == 0 {
        return None;
    }
    let detail = format!("{} of runs that are over", counted(count, "checkout"));
    let remedy = "they only take up room: `spore runs prune` removes those that git keeps";
    Some(finding("stale", false, detail, remedy, false))
}

fn settings(file: &Path) -> DoctorFinding {
    let dir = file.parent().unwrap_or(file);
    let (ok, detail) = match machine::check_writable(dir) {
        Ok(()) => (true, file.display().to_string()),
        Err(error) => (false, format!("{}: {error}", spore_plain::path(dir))),
    };
    let remedy =
        "`spore config set --user` cannot write: set XDG_CONFIG_HOME to a writable directory";
    finding("settings", ok, detail, remedy, false)
}

pub(super) fn disk(places: &[&Path]) -> DoctorFinding {
    let free: Vec<(u64, &Path)> = places
        .iter()
        .filter_map(|place| Some((machine::free_bytes(place).ok()?, *place)))
        .collect();
    let Some((bytes, place)) = free.into_iter().min() else {
        let remedy = "a run may end for want of room: see with df";
        return finding("disk", false, "free space cannot be told".to_owned(), remedy, false);
    };
    let detail = format!("{} free at {}", size(bytes), spore_plain::path(place));
    let remedy = "runs stop when the disk is full and go on when it is not: free some space";
    finding("disk", bytes >= SCARCE_BYTES, detail, remedy, bytes < TOO_FEW_BYTES)
}

/// Says whether sessions were killed that had a token in their home.
fn left_sign_ins(left: usize) -> Option<DoctorFinding> {
    let detail = format!(
        "{} left a sign-in in its home",
        counted(u32::try_from(left).unwrap_or(u32::MAX), "killed session")
    );
    let remedy = "tokens that it renewed are not yours yet: any run or resume brings them back";
    (left > 0).then(|| finding("sign-in", false, detail, remedy, false))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..SCARCE_BYTES => format!("{} MB", bytes >> 20),
        _ => format!("{} GB", bytes >> 30),
    }
}

/// Says what this machine holds sessions to, promise by promise, and how to get the rest.
fn held(abi: Option<u32>, support: &RootSupport) -> Vec<DoctorFinding> {
    let landlock = match abi {
        Some(abi) => format!("the kernel has Landlock, version {abi}"),
        None => "the kernel has no Landlock, or it is switched off".to_owned(),
    };
    let root = SandboxRoot { own_network: true, ..SandboxRoot::default() };
    let wanted = Confinement { no_tcp: true, root: Some(root), ..Confinement::default() };
    let Some(enforced) = enforceable(&wanted, support) else {
        let remedy = "nothing that agents do can be held by the kernel: use Linux 6.2 or later with \
                      Landlock, and allow user namespaces";
        return vec![finding("sandbox", false, landlock, remedy, false)];
    };
    let mut findings = Vec::new();
    match &support.refused {
        None => {
            let detail = format!("every session has a root made anew; {landlock}");
            findings.push(finding("sandbox", true, detail, "", false));
        }
        Some(refusal) => {
            let detail = format!("{landlock}; no root can be made anew: {refusal}");
            findings.push(finding("sandbox", false, detail, remedy_for(refusal.errno), false));
        }
    }
    for gap in enforced.gaps(&wanted) {
        let remedy = "agents are not kept from it: see `sandbox` above, or use a newer kernel";
        findings.push(finding("not held", false, gap.to_owned(), remedy, false));
    }
    if let Some(refusal) = support.no_layers.as_ref().filter(|_| support.refused.is_none()) {
        let remedy = "checks cannot add to the caches of toolchains: use a file system for temporary \
                      files that an overlay can be made on (ext4, xfs, btrfs or tmpfs)";
        findings.push(finding("caches", false, refusal.to_string(), remedy, false));
    }
    findings
}

/// Says how to get namespaces, from how the kernel refused them.
fn remedy_for(errno: i32) -> &'static str {
    match errno {
        libc_errno::ENOSPC => {
            "allow user namespaces: sysctl user.max_user_namespaces=15000 (and its siblings)"
        }
        libc_errno::ENOSYS => "use Linux 5.12 or later, outside of a container that filters calls",
        _ => {
            "allow user namespaces: on Ubuntu an AppArmor profile for spore with `userns,` (or \
             sysctl kernel.apparmor_restrict_unprivileged_userns=0), on Debian sysctl \
             kernel.unprivileged_userns_clone=1, in a container --security-opt seccomp=unconfined"
        }
    }
}

/// What the kernel says where it refuses namespaces
/// (<https://man7.org/linux/man-pages/man7/user_namespaces.7.html>).
mod libc_errno {
    pub(super) const ENOSPC: i32 = 28;
    pub(super) const ENOSYS: i32 = 38;
}

fn embeddings(dir: &Path) -> DoctorFinding {
    let ok = model_files::is_installed(dir);
    let detail = match ok {
        true => format!("{} in {}", spore_embed::MODEL_NAME, spore_plain::path(dir)),
        false => format!("no model in {}", spore_plain::path(dir)),
    };
    finding("embeddings", ok, detail, "search goes by words alone: spore setup", false)
}

/// How much the index reads of which language.
fn languages() -> DoctorFinding {
    let of = |tier: Tier| {
        let known = Language::ALL.iter().filter(|language| language.tier() == tier);
        known.map(|language| language.as_str()).collect::<Vec<_>>().join(", ")
    };
    let detail = format!(
        "in full {}; definitions and calls {}; sections {}",
        of(Tier::Full),
        of(Tier::Basic),
        of(Tier::Document)
    );
    finding("languages", true, detail, "", false)
}

#[cfg(test)]
mod tests {
    use spore_effects::session::SandboxRefusal;

    use super::*;

    #[track_caller]
    fn check(finding: DoctorFinding, ok: bool, required: bool, remedy: &str) {
        let matches = finding.remedy.contains(remedy) && finding.remedy.is_empty() == ok;
        assert!((finding.ok, finding.required) == (ok, required) && matches, "{finding:?}");
    }

    #[test]
    fn an_old_git_is_told_by_what_it_cannot_do() {
        let said = |text: &str| Answer::Version(text.to_owned());
        check(git(said("git version 2.47.3")), true, true, "");
        check(git(said("git version 2.39.5")), false, false, "install git 2.41");
        check(git(said("git version 2.25.1")), false, true, "install git 2.31");
        check(git(said("git version unknown")), true, true, "");
        check(git(Answer::NotInstalled), false, true, "install git");
        check(git(Answer::Silent), true, true, "");
    }

    #[test]
    fn an_agent_that_is_there_helps_only_if_it_can_be_driven() {
        let one = |program| Optional { program, remedy: "get it" };
        check(agent(&one("nobody"), Answer::Version("1".into())), false, false, "cannot drive");
        check(agent(&one("nobody"), Answer::NotInstalled), false, false, "get it");
        check(agent(&one(backends::NAMES[0]), Answer::Version("1".into())), true, false, "");
    }

    #[test]
    fn what_the_machine_does_not_hold_is_told_promise_by_promise() {
        let mut all = held(Some(7), &RootSupport::default());
        check(all.remove(0), true, false, "");
        assert_eq!(all, []);
        let step = "make namespaces".to_owned();
        for (errno, remedy) in [(1, "AppArmor"), (28, "max_user_namespaces"), (38, "5.12")] {
            let refused = Some(SandboxRefusal { step: step.clone(), errno });
            let mut all = held(Some(7), &RootSupport { refused, ..RootSupport::default() });
            if !all[0].detail.contains("no Landlock") {
                check(all.remove(0), false, false, remedy);
                let gaps: Vec<&str> = all.iter().map(|one| one.detail.as_str()).collect();
                assert!(gaps.contains(&"sockets and terminals of other programs"), "{gaps:?}");
            }
        }
        let no_layers = Some(SandboxRefusal { step, errno: 22 });
        let mut all = held(Some(7), &RootSupport { no_layers, ..RootSupport::default() });
        check(all.remove(1), false, false, "overlay");
    }

    #[test]
    fn sizes_are_told_in_whole_units() {
        assert_eq!(size(70 << 20), "70 MB");
        assert_eq!(size(SCARCE_BYTES), "1 GB");
    }
}
