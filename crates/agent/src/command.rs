//! The command backend: any program, by a template of its command line.
//!
//! The prompt goes over stdin or into a file of the user's own, never into an argument,
//! because arguments are for all to see. What the program can do beyond reading a prompt and
//! printing an answer follows from the template: it is declared, not guessed.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use spore_effects::session::Shim;

use crate::control::{self, AttemptOutcome, Dialogue, EndedBy, LineMeaning};
use crate::event_session::{EventSession, conclude};
use crate::request::files_of;
use crate::{
    Agent, AgentError, AgentEvent, AgentWatch, Capabilities, Request, SessionReport, Watchdog,
};

/// How much of a plain answer is kept for the report; the transcript has all of it.
const ANSWER_BYTES: usize = 256 * 1024;

/// What a program prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandOutput {
    /// The answer, for people.
    Text,
    /// One [`AgentEvent`] a line, the last a `result`; each `tool_use` is followed by its
    /// `tool_result`.
    Events,
}

/// How a program is started.
///
/// In an argument, `{prompt_file}`, `{model}`, `{dir}` and `{session}` (the conversation to go
/// on with) are filled in. An argument with one that has no value is left out, so write
/// `--model={model}`. With `{prompt_file}` nothing goes over stdin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub output: CommandOutput,
}

/// Why a template cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TemplateError {
    #[error(
        "{{prompt}} in an argument would show the prompt to everybody; use {{prompt_file}} or stdin"
    )]
    PromptInArgument,
    #[error(
        "{{{name}}} is not known; there are {{prompt_file}}, {{model}}, {{dir}} and {{session}}"
    )]
    Unknown { name: String },
}

pub struct CommandAgent {
    template: Template,
    args: Vec<Argument>,
    shim: Shim,
    watchdog: Watchdog,
}

impl CommandAgent {
    pub fn new(template: Template, shim: Shim, watchdog: Watchdog) -> Result<Self, TemplateError> {
        let args =
            template.args.iter().map(|text| Argument::parse(text)).collect::<Result<_, _>>()?;
        Ok(Self { template, args, shim, watchdog })
    }

    fn uses(&self, hole: Placeholder) -> bool {
        self.args.iter().any(|argument| argument.parts.contains(&ArgumentPart::Hole(hole)))
    }

    /// Runs one session, without a second try.
    fn attempt(
        &self,
        request: &Request,
        watch: &mut dyn AgentWatch,
    ) -> Result<(SessionReport, AttemptOutcome), AgentError> {
        let prompt = prompt(request);
        let prompt_file = request.transcript.with_file_name("prompt.txt");
        let mut dialogue = Dialogue::new(
            self.template.program.clone(),
            self.args.iter().filter_map(|argument| argument.fill(request, &prompt_file)).collect(),
            request,
            &self.watchdog,
        );
        if self.uses(Placeholder::PromptFile) {
            write_private(&prompt_file, &prompt)
                .map_err(|source| AgentError::Transcript { path: prompt_file, source })?;
            dialogue.input = String::new();
        } else {
            dialogue.input = prompt;
        }
        match self.template.output {
            CommandOutput::Text => self.attempt_text(&dialogue, watch),
            CommandOutput::Events => self.attempt_events(dialogue, watch),
        }
    }

    fn attempt_text(
        &self,
        dialogue: &Dialogue<'_>,
        watch: &mut dyn AgentWatch,
    ) -> Result<(SessionReport, AttemptOutcome), AgentError> {
        let mut answer = String::new();
        let mut is_cut = false;
        let mut on_line = |watch: &mut dyn AgentWatch, line: &str| {
            watch.event(&AgentEvent::Text { text: line.to_owned() });
            if !is_cut && answer.len() + line.len() < ANSWER_BYTES {
                answer.push_str(line);
                answer.push('\n');
            } else {
                is_cut = true;
            }
            LineMeaning::GoOn
        };
        let ending = control::run(&self.shim, dialogue, watch, &mut on_line)?;
        answer.truncate(answer.trim_end().len());
        if is_cut {
            // What was said first must not pass for the last word.
            answer.push_str("\n[… the rest of the answer is in the transcript]");
        }
        let spoke = !answer.is_empty();
        // A command that has nothing to say may still have done its work.
        let is_done = ending.by == EndedBy::Itself && ending.end.code == 0;
        let life = AttemptOutcome::of(false, spoke || is_done, &ending);
        let report = SessionReport {
            final_text: answer,
            turns: u32::from(spoke),
            swept: ending.end.swept,
            ..conclude(&ending, ending.by == EndedBy::Itself)
        };
        Ok((report, life))
    }

    fn attempt_events(
        &self,
        mut dialogue: Dialogue<'_>,
        watch: &mut dyn AgentWatch,
    ) -> Result<(SessionReport, AttemptOutcome), AgentError> {
        dialogue.idle = dialogue.request.limits.idle;
        let mut account = EventSession::new(dialogue.request);
        let ending = control::run(&self.shim, &dialogue, watch, &mut |watch, line| {
            account.hear(watch, line)
        })?;
        let life = account.life(&ending);
        Ok((account.report(&ending), life))
    }
}

impl Agent for CommandAgent {
    fn name(&self) -> &'static str {
        "command"
    }

    fn capabilities(&self) -> Capabilities {
        let tells = self.template.output == CommandOutput::Events;
        Capabilities {
            resume: tells && self.uses(Placeholder::Session),
            cost: tells,
            usage: tells,
            mcp_status: tells,
            tool_in_flight: tells,
            ..Capabilities::default()
        }
    }

    fn starts_with(&self) -> Vec<PathBuf> {
        files_of(&self.template.program, &self.template.args)
    }

    fn recount(&self, transcript: &mut dyn BufRead) -> SessionReport {
        crate::event_session::recount(transcript)
    }

    fn run(
        &self,
        request: &Request,
        watch: &mut dyn AgentWatch,
    ) -> Result<SessionReport, AgentError> {
        let clock = self.shim.clock();
        let can_resume = self.capabilities().resume;
        let mut plain;
        let request = if request.resume.is_some() && !can_resume {
            plain = request.clone();
            plain.resume = None;
            &plain
        } else {
            request
        };
        let mut attempt =
            |request: &Request, watch: &mut dyn AgentWatch| self.attempt(request, watch);
        let mut patiently = |request: &Request, watch: &mut dyn AgentWatch| match request.resume {
            // What fails here fails for the conversation's sake more likely than by chance.
            Some(_) => attempt(request, watch),
            None => control::with_start_retry(clock, request, &self.watchdog, watch, &mut attempt),
        };
        let (report, _) = control::with_fresh_start(clock, request, watch, &mut patiently)?;
        Ok(report)
    }
}

/// Puts the role before the task; a resumed conversation already has the role.
fn prompt(request: &Request) -> String {
    match &request.resume {
        Some(conversation) => conversation.prompt.clone(),
        None if request.system_prompt.is_empty() => request.prompt.clone(),
        None => format!("{}\n\n{}", request.system_prompt, request.prompt),
    }
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    control::ensure_parent(path)?;
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)?.write_all(text.as_bytes())
}

/// A value that a template may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Placeholder {
    PromptFile,
    Model,
    Dir,
    Session,
}

impl Placeholder {
    fn named(name: &str) -> Result<Self, TemplateError> {
        match name {
            "prompt_file" => Ok(Self::PromptFile),
            "model" => Ok(Self::Model),
            "dir" => Ok(Self::Dir),
            "session" => Ok(Self::Session),
            "prompt" => Err(TemplateError::PromptInArgument),
            _ => Err(TemplateError::Unknown { name: name.to_owned() }),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum ArgumentPart {
    Text(String),
    Hole(Placeholder),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Argument {
    parts: Vec<ArgumentPart>,
}

impl Argument {
    /// Braces around anything but a lower-case word are the program's own, JSON mostly.
    fn parse(text: &str) -> Result<Self, TemplateError> {
        let is_word = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase())
        };
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            plain.push_str(before);
            match after.split_once('}').filter(|(name, _)| is_word(name)) {
                Some((name, after)) => {
                    parts.push(ArgumentPart::Text(std::mem::take(&mut plain)));
                    parts.push(ArgumentPart::Hole(Placeholder::named(name)?));
                    rest = after;
                }
                None => {
                    plain.push('{');
                    rest = after;
                }
            }
        }
        plain.push_str(rest);
        parts.push(ArgumentPart::Text(plain));
        Ok(Self { parts })
    }

    /// Returns the argument, or nothing where a value is missing.
    fn fill(&self, request: &Request, prompt_file: &Path) -> Option<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        self.parts
            .iter()
            .map(|part| match part {
                ArgumentPart::Text(text) => Some(text.clone()),
                ArgumentPart::Hole(Placeholder::PromptFile) => Some(text(prompt_file)),
                ArgumentPart::Hole(Placeholder::Model) => request.model.clone(),
                ArgumentPart::Hole(Placeholder::Dir) => Some(text(&request.dir_inside())),
                ArgumentPart::Hole(Placeholder::Session) => {
                    request.resume.as_ref().map(|conversation| conversation.session_id.clone())
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(argument: &str, expected: &str) {
        let error = Argument::parse(argument).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[track_caller]
    fn check(argument: &str, holes: &[Placeholder]) {
        let parsed = Argument::parse(argument).unwrap();
        let found: Vec<Placeholder> = parsed
            .parts
            .iter()
            .filter_map(|part| match part {
                ArgumentPart::Hole(hole) => Some(*hole),
                ArgumentPart::Text(_) => None,
            })
            .collect();
        assert_eq!(found, holes, "{argument}");
    }

    #[test]
    fn the_prompt_is_never_an_argument() {
        refused(
            "--task={prompt}",
            "{prompt} in an argument would show the prompt to everybody; use {prompt_file} or stdin",
        );
        refused(
            "{promptfile}",
            "{promptfile} is not known; there are {prompt_file}, {model}, {dir} and {session}",
        );
    }

    #[test]
    fn braces_of_the_program_stay_its_own() {
        check("--model={model}", &[Placeholder::Model]);
        check("{dir}/{session}", &[Placeholder::Dir, Placeholder::Session]);
        check(r#"{"a":{"b":1}}"#, &[]);
        check("{{dir}}", &[Placeholder::Dir]);
        check("${HOME} {} {", &[]);
    }
}
