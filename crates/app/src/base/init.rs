//! `spore init`: makes a directory a Spore project.

use spore_git::GitError;

use super::files::create_dir;
use super::role_prompts::BUILT_IN;
use crate::{Result, Surroundings, Workspace};

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Initialised {
    pub root: String,
    /// Files that were written now; empty where all was there.
    pub written: Vec<String>,
    pub git: bool,
}

/// What is local to a machine. Everything else under `.spore/` is for people to commit.
const IGNORE: &str = "\
spore.db*
index.db*
index/
vectors*
events/
runs/
sessions/
exports/
memory/fragments/
memory/state/
memory/inbox/
*.tmp
";

const CONFIG: &str = "\
# Settings of this project. `spore config show` prints what is in force and from where;
# every key and its default is in defaults.toml of Spore's source.
#
# [gates.commands.test]
# run = \"cargo test\"
";

/// The flows that a project can begin with, by the name of their file. The first has what the
/// others use.
const FLOWS: [(&str, &str); 8] = [
    ("executors", include_str!("../../../../assets/flows/executors.toml")),
    ("big-feature", include_str!("../../../../assets/flows/big-feature.toml")),
    ("iteration", include_str!("../../../../assets/flows/iteration.toml")),
    ("debug-fix", include_str!("../../../../assets/flows/debug-fix.toml")),
    ("chores", include_str!("../../../../assets/flows/chores.toml")),
    ("planning-only", include_str!("../../../../assets/flows/planning-only.toml")),
    ("research-only", include_str!("../../../../assets/flows/research-only.toml")),
    ("feature", include_str!("../../../../assets/flows/feature.toml")),
];

/// Creates what is missing and touches nothing that is there.
pub fn init(around: &Surroundings) -> Result<Initialised> {
    let workspace = Workspace::find(around)?;
    let spore = workspace.spore_dir();
    workspace.refuse_file()?;
    // Nothing could ever be worked on there.
    let repository = workspace.project_repository();
    if let Err(bare @ GitError::Bare { .. }) = repository {
        return Err(bare.into());
    }
    create_dir(&spore)?;
    let mut written = Vec::new();
    for (name, content) in [(".gitignore", IGNORE), ("config.toml", CONFIG)] {
        let path = spore.join(name);
        if !path.exists() {
            around.write_file(&path, content.as_bytes())?;
            written.push(format!(".spore/{name}"));
        }
    }
    let config = workspace.config(around, &[])?;
    let fresh = !workspace.database().exists();
    workspace.journal(&config)?;
    if fresh {
        written.push(".spore/spore.db".to_owned());
    }
    Ok(Initialised {
        root: workspace.root().display().to_string(),
        written,
        git: repository.is_ok(),
    })
}

/// Writes the built-in prompts of all roles out for editing, under `.spore/agents/`. One that
/// is there already stays as it is.
pub fn init_agents(around: &Surroundings) -> Result<Initialised> {
    init_with(around, "agents", "md", &BUILT_IN)
}

/// The same for flows to begin with, under `.spore/flows/`.
pub fn init_flows(around: &Surroundings) -> Result<Initialised> {
    init_with(around, "flows", "toml", &FLOWS)
}

fn init_with(
    around: &Surroundings,
    folder: &str,
    ending: &str,
    files: &[(&str, &str)],
) -> Result<Initialised> {
    let mut made = init(around)?;
    let dir = Workspace::find(around)?.spore_dir().join(folder);
    for (name, text) in files {
        let path = dir.join(format!("{name}.{ending}"));
        if !path.exists() {
            around.write_file(&path, text.as_bytes())?;
            made.written.push(format!(".spore/{folder}/{name}.{ending}"));
        }
    }
    Ok(made)
}
