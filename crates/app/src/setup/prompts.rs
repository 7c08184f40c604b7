//! `spore prompt-stats`: the prompts that sessions really get, role by role: the project's own file
//! in `.spore/agents`, else the agent's native one, else the one that is built in.

use std::collections::BTreeSet;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::roles;
use crate::base::role_prompts;
use crate::session::agent_choice::{AgentChoice, Wishes};
use crate::{Result, Surroundings, Workspace};

/// A longer prompt leaves a model too little room for the work.
pub(crate) const MOST_LINES: usize = 1000;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct PromptStats {
    pub prompts: Vec<PromptStat>,
    /// Files that no role of this project uses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<String>,
    /// Lines that a prompt may have before `spore health` says something.
    pub most_lines: usize,
}

/// The prompt of one role.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct PromptStat {
    pub role: String,
    /// The agent that plays the role.
    pub backend: String,
    /// `project`, `native`, `built-in` or `none`.
    pub source: &'static str,
    /// Where it is; nothing for one that is built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub lines: usize,
    pub words: usize,
    pub bytes: usize,
    /// Estimated.
    pub tokens: usize,
}

/// Measures the prompts that roles have here.
pub fn prompt_stats(around: &Surroundings) -> Result<PromptStats> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let root = workspace.root();
    let built_in = role_prompts::BUILT_IN.iter().map(|(name, _)| (*name).to_owned());
    let named = config.roles.names().map(str::to_owned);
    let mut names: BTreeSet<String> = built_in.chain(named).collect();
    names.extend(files_in(root, OWN));
    let mut used = BTreeSet::new();
    let prompts: Vec<PromptStat> = names
        .iter()
        .map(|role| {
            let choice = AgentChoice::settle(&config, role, Wishes::default());
            let turns = config.turns(role, None);
            let found = roles::prompt(root, root, &choice.backend, role, turns);
            let own = format!("{OWN}/{role}.md");
            let native = format!("{NATIVE}/{role}.md");
            let (source, path, text) = match &found.native {
                Some(_) => {
                    let text = spore_effects::files::read_text(root.join(&native));
                    ("native", Some(native), text.unwrap_or_default())
                }
                None if root.join(&own).is_file() => ("project", Some(own), found.text),
                None if found.text.is_empty() => ("none", None, found.text),
                None => ("built-in", None, found.text),
            };
            used.extend(path.clone());
            PromptStat {
                role: role.clone(),
                backend: choice.backend,
                source,
                path,
                lines: text.lines().count(),
                words: text.split_whitespace().count(),
                bytes: text.len(),
                tokens: text.len().div_ceil(4),
            }
        })
        .collect();
    let all = [OWN, NATIVE].into_iter().flat_map(|folder| {
        files_in(root, folder).into_iter().map(move |role| format!("{folder}/{role}.md"))
    });
    let unused = all.filter(|path| !used.contains(path)).collect();
    Ok(PromptStats { prompts, unused, most_lines: MOST_LINES })
}

const OWN: &str = ".spore/agents";
const NATIVE: &str = ".claude/agents";

/// Returns the roles that a directory has files for.
fn files_in(root: &Path, folder: &str) -> Vec<String> {
    let files = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let mut roles: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".md").map(str::to_owned)).collect();
    roles.sort_unstable();
    roles
}
