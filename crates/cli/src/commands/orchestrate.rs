use std::io::Read;

use spore_app::{Error, Orchestrate, RaceField, Result, Surroundings};
use spore_model::{Fault, Usd};

use super::terms::TermArgs;
use super::{exit_code, text};
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Work on a task until it is verified, or say why not
///
/// The agent works in a private clone of HEAD, or of what `--base` names. Your files, index, stash and branches are not
/// touched; verified work arrives as a commit on a branch `spore/<run>`, or as `--apply` says.
///
/// Exit codes: 0 verified, 1 failed, 3 parked for a person or for budget, 10 no clear verdict,
/// 11 escalated, 12 verified but not applied, 20 interrupted, 75 parked for quota. The call itself was wrong: 64 usage,
/// 65 input (a red project, no commit), 69 something is missing, 74 disk, 78 configuration.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore orchestrate \"make the parser accept tabs\"\n  spore orchestrate - < task.md\n  spore orchestrate --fix-red --max-bounces 5\n  spore orchestrate \"port the fix\" --base release-1.2\n  spore orchestrate \"upgrade the parser\" --dry-run\n  spore orchestrate \"where is the cache flushed?\" --agent operator"
)]
pub(crate) struct OrchestrateArgs {
    /// What is to be done; `-` reads it from stdin. With `--fix-red` it may be left out
    #[arg(required_unless_present = "fix_red")]
    task: Option<String>,
    /// US dollars the whole run may cost
    #[arg(long, value_name = "USD", value_parser = dollars)]
    budget: Option<Usd>,
    /// Make the checks that fail already the task: verified when all of them pass
    ///
    /// The coder is told which tests fail and what they print. The change passes only when they
    /// are green and nothing else has turned red.
    #[arg(long, conflicts_with_all = ["allow_red", "agent"])]
    fix_red: bool,
    /// Pass nothing of which a part could be taken back without a check noticing
    #[arg(long)]
    require_seen: bool,
    /// Let a tester write tests first, which the coder never sees and the change must pass
    #[arg(long)]
    hold_out: bool,
    /// Spend no session on summing up and on lessons
    #[arg(long)]
    no_summarize: bool,
    /// Put the verified change into your own files, staged; refused if anything is uncommitted
    #[arg(long, conflicts_with = "apply")]
    in_place: bool,
    /// Run one session of this role and nothing around it: no checks, no verdict
    #[arg(long, value_name = "ROLE")]
    agent: Option<String>,
    /// Let several coders work on it at once: `claude,codex`, or `3` of one agent
    ///
    /// Each works in a checkout of its own, and the same checks and verifier judge it. The first whose
    /// work holds wins and the others are ended; with `best` (`best,claude,codex`) all of them
    /// finish, and a verifier compares what holds. All of it is paid from one `--budget`.
    #[arg(long, value_name = "WHO", conflicts_with_all = ["agent", "in_place", "dry_run"])]
    race: Option<RaceField>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    terms: TermArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &OrchestrateArgs) -> Result<u8> {
    let asked = args.asked()?;
    if args.dry_run {
        let plan = spore_app::plan_run(around, &asked)?;
        ui.answer(&plan, || text::plan(&plan));
        return Ok(0);
    }
    listen_for_signals(&around.interrupt)?;
    let report = match &args.race {
        Some(field) => spore_app::race(around, &asked, field, ui)?,
        None => spore_app::orchestrate(around, &asked, ui)?,
    };
    ui.answer(&report, || text::ending(&report));
    Ok(exit_code(&report))
}

/// The task where mending the checks is all there is to say.
const FIX_RED: &str = "Make the checks pass that fail";

impl OrchestrateArgs {
    fn asked(&self) -> Result<Orchestrate> {
        let asked = Orchestrate {
            task: match &self.task {
                Some(task) => read_text(task)?,
                None => FIX_RED.to_owned(),
            },
            budget: self.budget,
            fix_red: self.fix_red,
            require_seen: self.require_seen,
            hold_out: self.hold_out,
            summarize: self.no_summarize.then_some(false),
            in_place: self.in_place,
            agent: self.agent.clone(),
            ..Orchestrate::default()
        };
        Ok(self.terms.of_task(asked))
    }
}

/// Bytes that are taken from stdin, at most: what never ends is not waited for.
pub(super) const MOST_STDIN: u64 = 16 << 20;

/// Returns `typed`, or what is on stdin where it is `-`.
pub(super) fn read_text(typed: &str) -> Result<String> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    let mut text = String::new();
    std::io::stdin().take(MOST_STDIN + 1).read_to_string(&mut text).map_err(|source| {
        Error::new(Fault::BadInput, "the text on stdin cannot be read").because(source)
    })?;
    if text.len() as u64 > MOST_STDIN {
        let message = format!("the text on stdin is longer than {} MB", MOST_STDIN >> 20);
        return Err(Error::new(Fault::BadInput, message).hint("is that what you meant to hand in?"));
    }
    Ok(text)
}

/// Reads an amount such as `5` or `+2.50`.
pub(super) fn dollars(text: &str) -> std::result::Result<Usd, String> {
    let number = text.trim_start_matches(['+', '$']);
    let amount = number.parse().ok().and_then(Usd::from_dollars);
    amount.ok_or_else(|| "not an amount of dollars such as 5 or 2.50".to_owned())
}
