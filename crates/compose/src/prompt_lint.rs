//! Holds prompts to one rule: a system prompt says who works and how, a prompt says what is to be
//! done, and neither says what belongs to the other.
//!
//! A role definition in a prompt fights with the one that the session already has. A path in a
//! system prompt is true in one project and wrong in the next. The order of stages in an
//! orchestrator's prompt is a second opinion on what its flow decides. Each is an error with its
//! line; what only looks alike (`read/write`, a name in capitals) is none.

use std::fmt;
use std::ops::Range;

use crate::files::flow_file::FlowFile;
use crate::files::flow_node::{FlowEntry, FlowNode};

/// What a text is, and for whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PromptKind {
    /// Who works, and how.
    System,
    /// What is to be done, by one who does it.
    Task,
    /// What is to be done, by one who has it done: an orchestrator, a coordinator, a campaign.
    Order,
}

/// What is wrong with a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PromptRule {
    RoleInPrompt,
    PathInSystemPrompt,
    StagesInPrompt,
}

impl PromptRule {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RoleInPrompt => "role-in-prompt",
            Self::PathInSystemPrompt => "path-in-system-prompt",
            Self::StagesInPrompt => "stages-in-prompt",
        }
    }
}

/// One line that breaks the rule.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PromptProblem {
    /// Of the file, the first being 1.
    pub line: usize,
    pub rule: PromptRule,
    /// The words that break it.
    pub words: String,
}

impl fmt::Display for PromptProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.rule {
            PromptRule::RoleInPrompt => "says who works; that belongs into the system prompt",
            PromptRule::PathInSystemPrompt => "is a path; that comes with the prompt",
            PromptRule::StagesInPrompt => "orders stages; that is for the flow to do",
        };
        write!(f, "{}: {} {why}", self.rule.as_str(), spore_plain::code(&self.words, 80))
    }
}

/// Returns what is wrong with a text, in the order of its lines.
pub fn lint_prompt(kind: PromptKind, text: &str) -> Vec<PromptProblem> {
    let mut problems = Vec::new();
    let mut is_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        let mut found = |rule, words: Option<&str>| {
            problems.extend(words.map(|words| PromptProblem {
                line: number,
                rule,
                words: words.to_owned(),
            }));
        };
        match kind {
            PromptKind::System => found(PromptRule::PathInSystemPrompt, path_in(line)),
            _ if is_code => {}
            PromptKind::Task => found(PromptRule::RoleInPrompt, role_in(line)),
            PromptKind::Order => {
                found(PromptRule::RoleInPrompt, role_in(line));
                found(PromptRule::StagesInPrompt, stages_in(line));
            }
        }
    }
    problems
}

/// Returns what is wrong with the prompts in a flow file, in either format. What cannot be read is for
/// the parser of flow files to refuse, with its line.
pub fn lint_flow_file(file: &FlowFile) -> Vec<PromptProblem> {
    let Ok(root) = file.node() else { return Vec::new() };
    let mut problems = Vec::new();
    look_into(&root, "", &file.text, &mut problems);
    problems.sort();
    problems
}

/// Returns the files that a flow file names as prompts.
pub fn prompt_files(file: &FlowFile) -> Vec<String> {
    fn look_for(node: &FlowNode, files: &mut Vec<String>) {
        for entry in node.entries().unwrap_or_default() {
            match entry.node.text().filter(|_| entry.key == "prompt_file") {
                Some(file) => files.push(file.to_owned()),
                None => look_for(&entry.node, files),
            }
        }
        node.list().unwrap_or_default().iter().for_each(|one| look_for(one, files));
    }
    let Ok(root) = file.node() else { return Vec::new() };
    let mut files = Vec::new();
    look_for(&root, &mut files);
    files
}

/// Returns what is wrong with the flow files that a document shows: its fenced blocks of TOML.
pub fn lint_document(text: &str) -> Vec<PromptProblem> {
    let mut problems = Vec::new();
    let mut block: Option<(usize, String)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match &mut block {
            None if line.trim() == "```toml" => block = Some((number, String::new())),
            Some((start, inner)) if line.trim() == "```" => {
                let start = *start;
                let shown = FlowFile { path: "shown.toml".into(), text: std::mem::take(inner) };
                let found = lint_flow_file(&shown).into_iter();
                problems.extend(found.map(|one| PromptProblem { line: start + one.line, ..one }));
                block = None;
            }
            Some((_, inner)) => {
                inner.push_str(line);
                inner.push('\n');
            }
            None => {}
        }
    }
    problems
}

/// Looks for prompts in a value and in all that is below it. `layer` is the table of the file that it
/// is in: `executors`, `campaigns`.
fn look_into(node: &FlowNode, layer: &str, text: &str, problems: &mut Vec<PromptProblem>) {
    let entries = node.entries().unwrap_or_default();
    // A file may be one flow, without a table around it.
    let leads = matches!(layer, "orchestrators" | "coordinators" | "campaigns")
        || entries.iter().any(|entry| ["phases", "stages", "modifiers"].contains(&&*entry.key));
    for FlowEntry { key, node: below, .. } in entries {
        let kind = match key.as_str() {
            "prompt" | "task" => Some(PromptKind::Task),
            // That of a phase is told to the session that leads its stages; that of a stage is a part
            // of its prompt.
            "target" if matches!(layer, "coordinators" | "phases") => Some(PromptKind::Order),
            "target" => Some(PromptKind::Task),
            // What such a layer is about is told to the session that leads it.
            "description" if leads => Some(PromptKind::Order),
            _ => None,
        };
        if let (Some(kind), Some(prompt), Some(span)) = (kind, below.text(), &below.span) {
            let first = first_line(text, span);
            // The lines of a text in one pair of quotes are all on one line of the file.
            let is_spread = text[span.clone()].contains('\n');
            let line = |one: usize| if is_spread { first + one - 1 } else { first };
            let found = lint_prompt(kind, prompt).into_iter();
            problems.extend(found.map(|one| PromptProblem { line: line(one.line), ..one }));
        }
        let layer = if layer.is_empty() { key.as_str() } else { layer };
        look_into(below, layer, text, problems);
    }
    for below in node.list().unwrap_or_default() {
        look_into(below, layer, text, problems);
    }
}

/// The line of the file that the first line of a value is on. A text in three quotes begins on the
/// next line where nothing is behind them.
fn first_line(text: &str, span: &Range<usize>) -> usize {
    let line = text[..span.start].matches('\n').count() + 1;
    let value = &text[span.clone()];
    let opened = ["\"\"\"\n", "'''\n", "\"\"\"\r\n", "'''\r\n"];
    if opened.iter().any(|open| value.starts_with(open)) { line + 1 } else { line }
}

/// Words that tell a session who it is.
fn role_in(line: &str) -> Option<&str> {
    const OPENINGS: [&str; 18] = [
        "you are a ",
        "you are an ",
        "you are the ",
        "you're a ",
        "you're an ",
        "act as ",
        "your role is",
        "your job is to be",
        "as an expert ",
        "## role",
        "role:",
        "take the role of",
        "take on the role of",
        "assume the role of",
        "play the role of",
        "in the role of",
        "pretend to be",
        "imagine you are",
    ];
    // A sentence, a heading or an item may begin with them; in the middle of a sentence they may
    // be about something else.
    let mut starts = vec![0];
    starts.extend(line.match_indices(". ").map(|(at, _)| at + 2));
    starts.into_iter().find_map(|start| {
        let rest = line[start..].trim_start_matches([' ', '*', '-', '>', '_']);
        let lower = rest.to_ascii_lowercase();
        let opening = OPENINGS.iter().find(|opening| lower.starts_with(*opening));
        let told = opening.map(|opening| opening.len()).or_else(|| as_somebody(&lower));
        told.map(|end| rest[..end].trim_end())
    })
}

/// How much of a sentence tells the session to work as one of a trade: `as a senior reviewer`. The same
/// beginning may be about a thing: `as a result`.
fn as_somebody(sentence: &str) -> Option<usize> {
    const PEOPLE: [&str; 31] = [
        "agent",
        "analyst",
        "architect",
        "assistant",
        "auditor",
        "coder",
        "consultant",
        "coordinator",
        "critic",
        "designer",
        "developer",
        "editor",
        "engineer",
        "expert",
        "judge",
        "lead",
        "leader",
        "maintainer",
        "manager",
        "operator",
        "orchestrator",
        "planner",
        "programmer",
        "researcher",
        "reviewer",
        "scientist",
        "specialist",
        "tester",
        "tutor",
        "verifier",
        "writer",
    ];
    /// Words between the article and the noun, at most.
    const BETWEEN: usize = 3;
    let article = ["as a ", "as an "].iter().find(|start| sentence.starts_with(*start))?;
    let mut at = article.len();
    for word in sentence[at..].split(' ').take(BETWEEN + 1) {
        let noun = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        if PEOPLE.contains(&noun) {
            return Some(at + noun.len());
        }
        // What is behind a comma is another part of the sentence, and so is what a thing is of.
        if noun.len() < word.len() || ["of", "for", "to", "that", "in"].contains(&noun) {
            return None;
        }
        at += word.len() + 1;
    }
    None
}

/// Words that put stages into an order, or say what follows from an exit code.
fn stages_in(line: &str) -> Option<&str> {
    let words = ["next stage", "previous stage", "exit code", "retry the stage", "stage sequence"];
    let lower = line.to_ascii_lowercase();
    let word = words.iter().find_map(|word| {
        let at = lower.find(word)?;
        Some(&line[at..at + word.len()])
    });
    let word = word.or_else(|| {
        let arrow = ["->", "→", "=>"].iter().find_map(|arrow| Some((line.find(arrow)?, *arrow)))?;
        let before = line[..arrow.0].split_whitespace().next_back()?;
        let after = line[arrow.0 + arrow.1.len()..].split_whitespace().next()?;
        (is_stage(before) && is_stage(after)).then(|| line.trim())
    });
    word.or_else(|| puts_in_order(line).then(|| line.trim()))
}

/// Whether a line says of two stages or more when each is run: `first RESEARCH, then PLAN`.
fn puts_in_order(line: &str) -> bool {
    const WHEN: [&str; 8] = ["first", "then", "next", "finally", "last", "after", "before", "run"];
    let words: Vec<&str> = line.split_whitespace().collect();
    let placed = words.windows(2).filter(|pair| {
        let when = pair[0].trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
        WHEN.contains(&when.as_str()) && is_stage(pair[1])
    });
    placed.count() > 1
}

/// Whether a word is written as the names of stages are.
fn is_stage(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// A word that is the path of a file or a directory.
fn path_in(line: &str) -> Option<&str> {
    let words = line.split(|c: char| c.is_whitespace() || "`\"'()[],;|".contains(c));
    words.map(|word| word.trim_end_matches(['.', ':', '!', '?'])).find(|word| is_path(word))
}

fn is_path(word: &str) -> bool {
    // A placeholder is filled with what the prompt says, and an address is no file.
    if word.contains("://") || word.contains(['{', '*', '<', '>']) {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or(word);
    let has_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        let known = [
            "rs", "py", "ts", "tsx", "js", "jsx", "go", "java", "kt", "c", "h", "cpp", "cs", "rb",
            "md", "txt", "toml", "json", "yaml", "yml", "sh", "sql", "html", "css", "lock", "env",
        ];
        !stem.is_empty() && known.contains(&ending)
    });
    let is_rooted = ["/", "./", "../", "~/"].iter().any(|root| {
        let hidden = |rest: &str| rest.strip_prefix('.').unwrap_or(rest).to_owned();
        word.strip_prefix(root).is_some_and(|rest| hidden(rest).starts_with(char::is_alphanumeric))
    });
    let is_folder = word.split_once('/').is_some_and(|(first, rest)| {
        let known = [
            "src", "lib", "tests", "test", "docs", "crates", "packages", ".spore", ".git", ".ssh",
            ".claude", ".github", ".config",
        ];
        known.contains(&first) && !rest.is_empty()
    });
    has_ending || (is_rooted && word.len() > 2) || is_folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: PromptKind, text: &str, expected: &[&str]) {
        let told: Vec<String> = lint_prompt(kind, text)
            .iter()
            .map(|one| format!("{} {} {}", one.line, one.rule.as_str(), one.words))
            .collect();
        assert_eq!(told, expected, "{text}");
    }

    #[test]
    fn a_prompt_says_what_and_never_who() {
        let kind = PromptKind::Task;
        check(kind, "Write what {target} needs.", &[]);
        check(kind, "You are a planner.\nPlan it.", &["1 role-in-prompt You are a"]);
        check(kind, "Plan it.\n\n- Act as a critic.", &["3 role-in-prompt Act as"]);
        check(kind, "Plan. You are the judge of it.", &["1 role-in-prompt You are the"]);
        check(kind, "## Role\nnone", &["1 role-in-prompt ## Role"]);
        check(kind, "Say whether you are able to. See src/a.rs, then PLAN -> BUILD.", &[]);
        check(kind, "```\nYou are a test string\n```", &[]);
        check(kind, "As a senior reviewer, read it.", &["1 role-in-prompt As a senior reviewer"]);
        check(kind, "Read. As an architect you plan.", &["1 role-in-prompt As an architect"]);
        check(kind, "Take the role of a critic.", &["1 role-in-prompt Take the role of"]);
        check(kind, "**ROLE:** reviewer", &["1 role-in-prompt ROLE:"]);
        check(kind, "As a result, the reviewer waits.\nAs a rule of the writer.", &[]);
        check(kind, "As a reader of the code said, it is slow; name each role: one a line.", &[]);
    }

    #[test]
    fn a_system_prompt_names_no_path() {
        let kind = PromptKind::System;
        check(
            kind,
            "You read/write and/or list files. You have {turns} turns. See e.g. this.",
            &[],
        );
        check(kind, "Read `src/main.rs` first.", &["1 path-in-system-prompt src/main.rs"]);
        check(kind, "ok\nLook at /etc/passwd.", &["2 path-in-system-prompt /etc/passwd"]);
        check(kind, "Never read ~/.ssh.", &["1 path-in-system-prompt ~/.ssh"]);
        check(kind, "Keep notes in NOTES.md", &["1 path-in-system-prompt NOTES.md"]);
        check(kind, "Write .spore/x and crates/y", &["1 path-in-system-prompt .spore/x"]);
        check(kind, "```\nsrc/a.py\n```", &["2 path-in-system-prompt src/a.py"]);
        check(
            kind,
            "Visit https://example.com/a.html, fill {dir}/a.md, match *.rs, end with </summary>",
            &[],
        );
    }

    #[test]
    fn an_order_leaves_the_stages_to_the_flow() {
        let kind = PromptKind::Order;
        check(kind, "full specs/tabs.md", &[]);
        check(kind, "Do it: PLAN -> IMPLEMENT", &["1 stages-in-prompt Do it: PLAN -> IMPLEMENT"]);
        check(
            kind,
            "On exit code 2 stop.\nThen the Next stage.",
            &["1 stages-in-prompt exit code", "2 stages-in-prompt Next stage"],
        );
        check(kind, "turn a -> b into a → c", &[]);
        check(kind, "You are a sequencer", &["1 role-in-prompt You are a"]);
        let line = "First RESEARCH, then PLAN.";
        check(kind, line, &["1 stages-in-prompt First RESEARCH, then PLAN."]);
        let line = "Run BUILD before CHECK";
        check(kind, line, &["1 stages-in-prompt Run BUILD before CHECK"]);
        check(kind, "First read the JSON, then HTML. Do CSV last.", &[]);
    }

    #[test]
    fn flow_files_are_looked_through_with_their_lines() {
        let flow = "[executors.plan]\nrole = \"planner\"\nprompt = \"\"\"\nPlan it.\nYou are a planner.\n\"\"\"\n\
            [orchestrators.o]\nstages = [\n  { name = \"A\", task = \"Act as a critic\" },\n]\n\
            [[orchestrators.p.stages]]\nname = \"B\"\ntask = 'You are the best'\n";
        let told = |all: &[PromptProblem]| {
            all.iter().map(|one| (one.line, one.words.clone())).collect::<Vec<_>>()
        };
        let expected = [(5, "You are a"), (9, "Act as"), (13, "You are the")]
            .map(|(line, words)| (line, words.to_owned()));
        assert_eq!(told(&lint_flow_file(&toml(flow))), expected);
        let shown =
            format!("# Title\n\n```toml\n{flow}```\n\n```sh\nprompt = \"You are a\"\n```\n");
        assert_eq!(told(&lint_document(&shown)), expected.map(|(line, words)| (line + 3, words)));
        assert_eq!(lint_flow_file(&toml("[executors")), []);
    }

    fn toml(text: &str) -> FlowFile {
        FlowFile { path: "flow.toml".into(), text: text.to_owned() }
    }

    #[test]
    fn flow_files_in_json_are_looked_through_with_their_lines() {
        let text = "{\n  \"executors\": {\n    \"plan\": { \"role\": \"planner\",\n      \
                    \"prompt\": \"Plan it.\\nYou are a planner.\" }\n  },\n  \"campaigns\": { \"a\": {\n    \
                    \"domains\": [{ \"name\": \"x\", \"prompt_file\": \"x.md\" }] } }\n}\n";
        let json = |text: &str| FlowFile { path: "flow.json".into(), text: text.to_owned() };
        let found = lint_flow_file(&json(text));
        let told: Vec<(usize, &str)> =
            found.iter().map(|one| (one.line, one.words.as_str())).collect();
        assert_eq!(told, [(4, "You are a")]);
        assert_eq!(prompt_files(&json(text)), ["x.md"]);
        assert_eq!(lint_flow_file(&json("{")), []);
    }

    /// A session that leads a layer is told what it is about.
    #[test]
    fn what_a_led_layer_is_about_is_an_order() {
        let said = |flow: &FlowFile| {
            let told = lint_flow_file(flow);
            told.iter().map(|one| format!("{} {}", one.line, one.rule.as_str())).collect::<Vec<_>>()
        };
        let flow = toml(
            "[coordinators.c]\ndescription = \"You are a sequencer\"\nphases = []\n\
             [campaigns.a]\ndescription = \"PLAN -> BUILD\"\n\
             [orchestrators.o]\ndescription = \"PLAN -> BUILD\"\n\
             [[coordinators.d.phases]]\nname = \"p\"\ntarget = \"First PLAN, then BUILD\"\n\
             [[orchestrators.o.stages]]\nname = \"A\"\ntarget = \"Act as a critic\"\n",
        );
        let expected = [
            "2 role-in-prompt",
            "5 stages-in-prompt",
            "7 stages-in-prompt",
            "10 stages-in-prompt",
            "13 role-in-prompt",
        ];
        assert_eq!(said(&flow), expected);
        let text = "{ \"name\": \"c\",\n\"description\": \"on exit code 1\", \"phases\": [] }";
        let alone = FlowFile { path: "c.json".into(), text: text.to_owned() };
        assert_eq!(said(&alone), ["2 stages-in-prompt"]);
    }

    /// Every role and every flow that we ship or show.
    #[test]
    fn our_own_prompts_pass() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let mut seen = 0;
        let mut wrong = Vec::new();
        for entry in std::fs::read_dir(format!("{root}/assets/roles")).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            seen += 1;
            let found = lint_prompt(PromptKind::System, &text).into_iter();
            wrong.extend(found.map(|one| format!("{}:{}: {one}", path.display(), one.line)));
        }
        for entry in std::fs::read_dir(format!("{root}/assets/flows")).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            seen += 1;
            let file = FlowFile { path: path.clone(), text };
            let found = lint_flow_file(&file).into_iter();
            wrong.extend(found.map(|one| format!("{}:{}: {one}", path.display(), one.line)));
        }
        for shown in ["README.md", "ARCHITECTURE.md"] {
            let text = std::fs::read_to_string(format!("{root}/{shown}")).unwrap();
            let found = lint_document(&text).into_iter();
            wrong.extend(found.map(|one| format!("{shown}:{}: {one}", one.line)));
        }
        assert!(seen >= 23, "{seen} roles and flows were found");
        assert_eq!(wrong, Vec::<String>::new());
    }

    #[test]
    fn prompts_that_a_flow_names_by_their_file_are_found() {
        let flow = "[campaigns.a]\ndomains = [{ name = \"x\", prompt_file = \"x.md\" }]\n\
                    [[campaigns.b.domains]]\nname = \"y\"\nprompt_file = \"y.md\"\n";
        assert_eq!(prompt_files(&toml(flow)), ["x.md", "y.md"]);
    }
}
