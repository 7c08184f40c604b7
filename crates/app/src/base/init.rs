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
    let mut made = init(around)?;
    let dir = Workspace::find(around)?.spore_dir().join("agents");
    for (role, text) in BUILT_IN {
        let path = dir.join(format!("{role}.md"));
        if !path.exists() {
            around.write_file(&path, text.as_bytes())?;
            made.written.push(format!(".spore/agents/{role}.md"));
        }
    }
    Ok(made)
}
