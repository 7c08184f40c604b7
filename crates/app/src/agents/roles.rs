//! Who a role is, and what the configuration's table of roles means to the agent that plays it.
//!
//! A shell is free only inside a sandbox that is enforced, or where a person said so. Otherwise
//! it is limited to the gates' own commands, to the letter: that is all a role needs to check
//! its work.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_agent::ToolPolicy;
use spore_agent::acp::Preset;
use spore_agent::api::is_own_loop;
use spore_config::Config;
use spore_model::{CheckoutAccess, Fault, ToolGroup, ToolGroups};

use crate::base::role_prompts;
use crate::{Error, Result};

/// Claude's name for all tools of our own server.
const GRAPH: &str = "mcp__spore";

/// Who the agent is and how it works.
pub(crate) struct Role {
    pub(crate) text: String,
    /// The agent has a file of its own for the role, which it reads by itself.
    pub(crate) native: Option<String>,
}

/// What sessions of a role are held to. Settled when a run starts and written down with it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RoleTerms {
    pub turns: u32,
    /// How long one session may take.
    pub wall_ms: u64,
    pub tools: ToolGroups,
    pub sandbox: CheckoutAccess,
}

impl RoleTerms {
    /// Settles the terms of `role`. What a person asked for wins over the role's own.
    pub(crate) fn settle(
        config: &Config,
        role: &str,
        max_turns: Option<u32>,
        timeout: Option<Duration>,
    ) -> Self {
        let turns = config.turns(role, max_turns);
        let wall = timeout.unwrap_or_else(|| config.orchestrate.session_time(turns));
        let own = config.roles.of(role);
        Self {
            turns,
            wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
            tools: own.tools.clone(),
            sandbox: own.sandbox,
        }
    }

    pub(crate) fn wall(&self) -> Duration {
        Duration::from_millis(self.wall_ms)
    }
}

/// Says what lets a session of `role` use more tools.
pub(crate) fn cure(role: &str) -> String {
    format!("`[roles.{role}] tools` says what it may use")
}

/// Looks `role` up: the project's own file, then the agent's native one in `dir`, then ours.
/// A role without a description gets no instructions. `{turns}` in a text of the project's
/// or of ours is the turns that the session has.
pub(crate) fn prompt(root: &Path, dir: &Path, backend: &str, role: &str, turns: u32) -> Role {
    let plain = role.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let file = format!("{role}.md");
    if plain
        && let Ok(text) = spore_effects::files::read_text(root.join(".spore/agents").join(&file))
    {
        return Role { text: filled(&text, turns), native: None };
    }
    if plain && backend == "claude" && dir.join(".claude/agents").join(&file).is_file() {
        return Role { text: String::new(), native: Some(role.to_owned()) };
    }
    let built_in = role_prompts::BUILT_IN.iter().find(|(name, _)| *name == role);
    let text = built_in.map_or("", |(_, text)| text);
    Role { text: filled(text, turns), native: None }
}

fn filled(text: &str, turns: u32) -> String {
    text.replace("{turns}", &turns.to_string())
}

/// Refuses a role that no file and no setting describes: its name was most likely mistyped.
pub(crate) fn require(root: &Path, config: &Config, role: &str) -> Result<()> {
    refuse_blank(root, role)?;
    // Being named in our own table is no description.
    let ours = Config::load(&[])?.config.roles;
    let mut theirs = config.roles.names().filter(|name| ours.names().all(|our| our != *name));
    match theirs.any(|name| name == role) {
        true => Ok(()),
        false => require_described(root, role),
    }
}

/// Refuses a role whose own file says nothing: its sessions would be paid for without instructions.
fn refuse_blank(root: &Path, role: &str) -> Result<()> {
    let files = [".spore/agents", ".claude/agents"].map(|dir| format!("{dir}/{role}.md"));
    let Some(file) = files.iter().find(|file| root.join(file).is_file()) else { return Ok(()) };
    let text = spore_effects::files::read_text(root.join(file));
    match text.is_ok_and(|text| text.trim().is_empty()) {
        true => Err(Error::new(Fault::Usage, format!("the role {role:?} is empty: {file}"))
            .hint("write there who works and how, or remove the file")),
        false => Ok(()),
    }
}

/// The same for a role that a setting is about.
pub(crate) fn require_described(root: &Path, role: &str) -> Result<()> {
    let mut known: Vec<String> =
        role_prompts::BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
    for folder in [".spore/agents", ".claude/agents"] {
        let files = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        known.extend(names.filter_map(|name| name.strip_suffix(".md").map(str::to_owned)));
    }
    known.sort_unstable();
    known.dedup();
    if known.iter().any(|name| name == role) {
        return Ok(());
    }
    let nearest = known.iter().min_by_key(|name| spore_config::distance(role, name));
    let meant = nearest.filter(|name| spore_config::distance(role, name) <= 2);
    let meant = meant.map(|name| format!("did you mean {name}? ")).unwrap_or_default();
    let known = known.join(", ");
    Err(Error::new(Fault::Usage, format!("there is no role {role:?}"))
        .hint(format!("{meant}known are {known}; write another one into .spore/agents/{role}.md")))
}

/// Returns the tools of a role on `backend`, by the groups that the configuration grants it.
/// Of commands it has `checks` alone, unless it has a shell and that is `free`.
pub(crate) fn tools(
    backend: &str,
    groups: &ToolGroups,
    checks: &[String],
    free: bool,
) -> ToolPolicy {
    let Some(words) = AgentWords::of(backend) else { return ToolPolicy::default() };
    let free = free && groups.contains(&ToolGroup::Shell);
    let (mut allow, mut deny) = (Vec::new(), Vec::new());
    for group in [ToolGroup::Read, ToolGroup::Search, ToolGroup::Write] {
        match groups.contains(&group) {
            true => allow.extend((words.allowed)(group)),
            false => deny.extend((words.denied)(group)),
        }
    }
    allow.extend(words.always.iter().map(|&tool| tool.to_owned()));
    deny.extend(words.never.iter().map(|&tool| tool.to_owned()));
    let mut served = groups.iter().copied().filter(|group| group.is_served()).peekable();
    match words.served {
        Some(all) => allow.extend(served.peek().map(|_| all.to_owned())),
        None => allow.extend(served.flat_map(spore_tools::names_of)),
    }
    let shell = words.shell;
    let runs = [ToolGroup::Shell, ToolGroup::Checks].iter().any(|group| groups.contains(group));
    match (runs, free) {
        (true, true) => allow.push(shell.to_owned()),
        (true, false) => {
            allow.extend(checks.iter().map(|command| format!("{shell}({command})")));
        }
        (false, _) => deny.push(shell.to_owned()),
    }
    ToolPolicy { allow, deny, skip_permissions: free }
}

/// Returns the tools of a session in the person's own directory, where no gates are known: those
/// that were `asked` for, else those of the role where a sandbox holds it (`free`). Where none does,
/// the agent itself says what it lets run there; the api agent has no rules of its own, so it
/// goes by the role.
pub(crate) fn tools_outside(
    backend: &str,
    groups: &ToolGroups,
    asked: &[String],
    free: bool,
) -> ToolPolicy {
    let takes_words = AgentWords::of(backend).is_some();
    match asked.is_empty() && takes_words && (free || is_own_loop(backend)) {
        true => tools(backend, groups, &[], free),
        false => allowed(backend, asked),
    }
}

/// Says what is wrong with the name of a tool that a session on `backend` is to have; nothing where
/// the agent takes no names, or knows this one.
pub(crate) fn unknown_tool(backend: &str, name: &str) -> Option<String> {
    const CLAUDE: [&str; 16] = [
        "Agent",
        "Bash",
        "BashOutput",
        "Edit",
        "Glob",
        "Grep",
        "KillShell",
        "MultiEdit",
        "NotebookEdit",
        "Read",
        "Skill",
        "Task",
        "TodoWrite",
        "WebFetch",
        "WebSearch",
        "Write",
    ];
    let known: Vec<String> = match backend {
        "claude" => owned(&CLAUDE),
        own if is_own_loop(own) => {
            let groups = ToolGroup::ALL.into_iter().filter(|group| *group != ToolGroup::Shell);
            groups.flat_map(spore_tools::names_of).chain(["run".to_owned()]).collect()
        }
        asks if asks_by_kind(asks) => owned(&[
            "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other",
        ]),
        _ => return None,
    };
    let word = name.split('(').next().unwrap_or(name);
    // A server names its tools itself.
    if word.starts_with("mcp__") || known.iter().any(|known| known == word) {
        return None;
    }
    let nearest = known.iter().min_by_key(|known| spore_config::distance(word, known));
    let meant = nearest.filter(|known| spore_config::distance(word, known) <= 2);
    let meant = meant.map(|known| format!("; did you mean {known}?")).unwrap_or_default();
    Some(format!("{backend} has no tool {word:?}{meant}"))
}

/// What an agent calls the groups of tools.
struct AgentWords {
    /// The tools of a group that works on files, where it is granted.
    allowed: fn(ToolGroup) -> Vec<String>,
    /// Those that are denied where it is not.
    denied: fn(ToolGroup) -> Vec<String>,
    /// Granted to every role.
    always: &'static [&'static str],
    /// Granted to no role.
    never: &'static [&'static str],
    /// All tools of our own server together; nothing where each has its name.
    served: Option<&'static str>,
    /// The tool that runs commands. A single command is written in brackets behind it.
    shell: &'static str,
}

impl AgentWords {
    /// Returns the words of a backend; nothing for one that takes no list of tools.
    fn of(backend: &str) -> Option<Self> {
        match backend {
            "claude" => Some(Self {
                allowed: |group| match group {
                    ToolGroup::Read => owned(&["Read"]),
                    ToolGroup::Search => owned(&["Grep", "Glob"]),
                    _ => owned(&["Write", "Edit"]),
                },
                denied: |group| match group {
                    ToolGroup::Read => owned(&["Read"]),
                    ToolGroup::Search => owned(&["Grep", "Glob"]),
                    _ => owned(&["Write", "Edit", "NotebookEdit"]),
                },
                always: &[],
                // An agent that the agent starts by itself has a role that no table knows.
                never: &["Task"],
                served: Some(GRAPH),
                shell: "Bash",
            }),
            own if is_own_loop(own) => Some(Self {
                allowed: spore_tools::names_of,
                denied: spore_tools::names_of,
                always: &[],
                never: &[],
                served: None,
                shell: "run",
            }),
            // Agents that ask before they act are answered by the kind of the deed. The tools of
            // servers are of no kind that has a name.
            name if asks_by_kind(name) => Some(Self {
                allowed: kind_of,
                denied: kind_of,
                always: &["think"],
                never: &[],
                served: Some("other"),
                shell: "execute",
            }),
            _ => None,
        }
    }
}

fn kind_of(group: ToolGroup) -> Vec<String> {
    match group {
        ToolGroup::Read => owned(&["read"]),
        ToolGroup::Search => owned(&["search"]),
        _ => owned(&["edit"]),
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Returns the tools that a person or a flow names. The tools on the graph go with them where
/// the agent must be told so; where none are named, the choice is the agent's.
fn allowed(backend: &str, names: &[String]) -> ToolPolicy {
    let mut allow = names.to_vec();
    if backend == "claude" && !allow.is_empty() && !allow.iter().any(|name| name == GRAPH) {
        allow.push(GRAPH.to_owned());
    }
    ToolPolicy { allow, ..ToolPolicy::default() }
}

fn asks_by_kind(backend: &str) -> bool {
    backend == "codex" || backend.starts_with("acp:") || Preset::named(backend).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_the_projects_then_the_agents_then_ours() {
        let dir = tempfile::tempdir().unwrap();
        let looked_up = |backend: &str| {
            let role = prompt(dir.path(), dir.path(), backend, "coder", 50);
            (role.text, role.native)
        };
        let ours = role_prompts::CODER.replace("{turns}", "50");
        assert_eq!(looked_up("claude"), (ours.clone(), None));
        std::fs::create_dir_all(dir.path().join(".claude/agents")).unwrap();
        std::fs::write(dir.path().join(".claude/agents/coder.md"), "native").unwrap();
        assert_eq!(looked_up("claude"), (String::new(), Some("coder".to_owned())));
        assert_eq!(looked_up("api"), (ours, None));
        std::fs::create_dir_all(dir.path().join(".spore/agents")).unwrap();
        std::fs::write(dir.path().join(".spore/agents/coder.md"), "ours, {turns}").unwrap();
        assert_eq!(looked_up("claude"), ("ours, 50".to_owned(), None));
        let escape = prompt(dir.path(), dir.path(), "claude", "../../etc/passwd", 50);
        assert_eq!((escape.text, escape.native), (String::new(), None));
    }

    #[test]
    fn every_prompt_of_ours_says_how_many_turns_there_are() {
        let nowhere = Path::new("/nowhere");
        for (role, _) in role_prompts::BUILT_IN {
            let text = prompt(nowhere, nowhere, "api", role, 7).text;
            assert!(!text.contains("{turns}") && text.contains("You have 7 turns"), "{role}");
        }
    }

    /// What `role` may use of the table that ships, on `backend`, in a project whose one check is
    /// `make`: allowed, then denied.
    #[track_caller]
    fn check(role: &str, backend: &str, free: bool, allow: &str, deny: &str) {
        let config = Config::load(&[]).unwrap().config;
        let policy = tools(backend, &config.roles.of(role).tools, &["make".to_owned()], free);
        let lists = (policy.allow.join(" "), policy.deny.join(" "));
        let expected = (allow.to_owned(), deny.to_owned());
        assert_eq!(lists, expected, "{role} on {backend}, free: {free}");
        let may_be_free = matches!(role, "coder" | "operator" | "tester");
        let takes_lists = !matches!(backend, "replay" | "command");
        assert_eq!(policy.skip_permissions, free && may_be_free && takes_lists, "{role}");
    }

    const ASKING: [&str; 5] = ["codex", "opencode", "gemini", "claude-acp", "acp:mine"];
    const ON_GRAPH: &str = "search explore context read_content code_show callers callees impact \
                            nav_edges query_edges path_between lessons run_show memory dossier";

    #[test]
    fn a_coder_does_not_search_and_has_a_free_shell_only_if_it_is_held() {
        let plain = "Read Write Edit mcp__spore";
        check("coder", "claude", false, &format!("{plain} Bash(make)"), "Grep Glob Task");
        check("coder", "claude", true, &format!("{plain} Bash"), "Grep Glob Task");
        let plain = format!("read list edit write delete {ON_GRAPH}");
        check("coder", "api", false, &format!("{plain} run(make)"), "grep");
        check("coder", "api", true, &format!("{plain} run"), "grep");
        check("coder", "ollama", true, &format!("{plain} run"), "grep");
        for backend in ASKING {
            check("coder", backend, false, "read edit think other execute(make)", "search");
            check("coder", backend, true, "read edit think other execute", "search");
        }
    }

    #[test]
    fn a_verifier_writes_nothing_and_has_its_commands_run_for_it() {
        for free in [false, true] {
            let denied = "Write Edit NotebookEdit Task Bash";
            check("verifier", "claude", free, "Read Grep Glob mcp__spore", denied);
            let allowed = format!("read list grep run_command {ON_GRAPH} submit_verdict flag");
            check("verifier", "api", free, &allowed, "edit write delete run");
            for backend in ASKING {
                check("verifier", backend, free, "read search think other", "edit execute");
            }
        }
    }

    #[test]
    fn a_summarizer_and_the_workers_of_memory_run_nothing() {
        let proposes = |role: &str| match role {
            "summarizer" => " propose_summary propose_lesson create_node create_edge flag",
            "weaver" => " propose_lesson flag",
            "investigator" => " create_node create_edge flag",
            _ => "",
        };
        for role in ["summarizer", "weaver", "investigator", "stranger"] {
            let denied = "Write Edit NotebookEdit Task Bash";
            check(role, "claude", true, "Read Grep Glob mcp__spore", denied);
            let allowed = format!("read list grep {ON_GRAPH}{}", proposes(role));
            check(role, "api", true, &allowed, "edit write delete run");
            for backend in ASKING {
                check(role, backend, true, "read search think other", "edit execute");
            }
        }
    }

    #[test]
    fn a_tester_writes_and_searches_and_hands_nothing_in() {
        check("tester", "claude", true, "Read Grep Glob Write Edit mcp__spore Bash", "Task");
        let all = format!("read list grep edit write delete {ON_GRAPH}");
        check("tester", "api", true, &format!("{all} run"), "");
        check("tester", "api", false, &format!("{all} run(make)"), "");
    }

    #[test]
    fn an_operator_has_everything() {
        check("operator", "claude", true, "Read Grep Glob Write Edit mcp__spore Bash", "Task");
        let all = format!(
            "read list grep edit write delete {ON_GRAPH} submit_verdict propose_summary \
             propose_lesson create_node create_edge flag run"
        );
        check("operator", "api", true, &all, "");
        for backend in ASKING {
            check("operator", backend, true, "read search edit think other execute", "");
        }
    }

    #[test]
    fn a_backend_that_takes_no_list_of_tools_gets_none() {
        for role in ["coder", "verifier", "summarizer", "operator"] {
            check(role, "replay", true, "", "");
            check(role, "command", true, "", "");
        }
    }

    #[test]
    fn in_your_own_directory_the_role_says_what_it_may_do_where_it_is_held() {
        let all = [ToolGroup::Read, ToolGroup::Write, ToolGroup::Shell].into_iter().collect();
        let held = tools_outside("claude", &all, &[], true);
        assert!(held.skip_permissions && held.allow.contains(&"Bash".to_owned()));
        let reads = [ToolGroup::Read].into_iter().collect();
        let reader = tools_outside("claude", &reads, &[], true);
        assert!(!reader.skip_permissions && reader.deny.contains(&"Write".to_owned()));
        // Nothing holds it: the agent's own rules do.
        assert_eq!(tools_outside("claude", &all, &[], false), ToolPolicy::default());
        let asked = tools_outside("claude", &all, &["Read".to_owned()], true);
        assert!(!asked.skip_permissions && !asked.allow.contains(&"Bash".to_owned()));
        assert_eq!(tools_outside("replay", &all, &[], true), ToolPolicy::default());
    }

    #[test]
    fn a_role_without_tools_is_denied_all_of_them() {
        let none = ToolGroups::new();
        let claude = tools("claude", &none, &["make".to_owned()], true);
        assert_eq!(claude.deny.join(" "), "Read Grep Glob Write Edit NotebookEdit Task Bash");
        let api = tools("api", &none, &["make".to_owned()], true);
        assert_eq!(api.deny.join(" "), "read list grep edit write delete run");
        assert!(api.allow.is_empty() && !api.skip_permissions);
    }

    #[test]
    fn a_role_has_its_own_turns_unless_a_person_says_otherwise() {
        let config = Config::load(&[]).unwrap().config;
        for (role, turns) in
            [("coder", 50), ("verifier", 50), ("summarizer", 15), ("operator", 80), ("other", 50)]
        {
            let own = RoleTerms::settle(&config, role, None, None);
            assert_eq!((own.turns, own.wall_ms), (turns, u64::from(turns) * 120_000), "{role}");
            let told = RoleTerms::settle(&config, role, Some(7), Some(Duration::from_secs(9)));
            assert_eq!((told.turns, told.wall_ms), (7, 9_000), "{role}");
        }
    }
}
