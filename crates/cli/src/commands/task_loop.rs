use std::path::PathBuf;
use std::time::Duration;

use spore_app::{LoopAsked, Result, Surroundings, TaskSource};
use spore_model::Usd;

use super::loop_text;
use super::orchestrate::{dollars, read_text};
use super::terms::TermArgs;
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Work through a list of tasks, onto one branch of verified commits
///
/// The list is a file with one task a line; or blocks between lines that are just `---`, whose
/// lines are joined; or a Markdown check list (`- [ ] task`). Blank lines and lines that begin with
/// `#` mean nothing. A block may begin with settings of its own: `id`, `after` (ids of tasks that
/// must be on the branch first), `touches` (files, so that two tasks that share one do not run at
/// once), `budget`, `backend`, `model`, `gates` (a command that must pass beside the project's own
/// checks; one a line, or `["sh a.sh", "sh b.sh"]`), `max_bounces` and `fix_red` (`true`: checks that are red before it begins are what it has
/// to make green), each as `name: value`.
///
/// Each task starts from the tip of `spore/loop/<id>`, and every verified one is a commit there.
/// Your files are not touched. How far the loop is stands in `<list>.loop-state.json` beside the
/// list. Called again, it goes on: what is verified is not done twice, and costs add up.
///
/// Exit codes: 0 every task verified, 1 none, 3 parked for budget or for a person (escalations),
/// 12 some verified, 20 interrupted. The call itself was wrong: 64 usage, 65 input, 69 something is
/// missing, 74 disk, 78 configuration.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore loop --source tasks.txt\n  spore loop --source plan.md --tick --budget 5\n  spore loop --source tasks.txt --dry-run\n  spore loop --source tasks.txt --parallel 4 --plan\n  grep -v later ideas.txt | spore loop --source -"
)]
pub(crate) struct LoopArgs {
    /// The list of tasks; `-` reads it from stdin
    #[arg(long, value_name = "FILE")]
    source: String,
    /// US dollars that all tasks may cost, over all restarts
    #[arg(long, value_name = "USD", value_parser = dollars)]
    budget: Option<Usd>,
    /// How many tasks are worked on, at most; those that are verified already do not count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_runs: Option<u32>,
    /// How many tasks are worked on at once, each in a checkout of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    parallel: u32,
    /// How long a place for a task stays empty after one
    #[arg(long, value_name = "TIME", value_parser = spore_config::parse_duration)]
    cooldown: Option<Duration>,
    /// Stop for a person after the first escalation
    #[arg(long)]
    pause_on_escalation: bool,
    /// Forget what was verified before, and begin anew from HEAD
    #[arg(long)]
    reset: bool,
    /// Sum up each task and draw lessons from it
    #[arg(long)]
    summarize: bool,
    /// Tick verified tasks off in your own check list, not only in the copy
    #[arg(long)]
    tick: bool,
    /// Say what would be done, with the size of each task and what such tasks cost, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// The same with the files that each task would touch, by its context
    #[arg(long)]
    plan: bool,
    /// Keep tasks apart whose contexts rank the same files first, where they do not say what they
    /// touch
    #[arg(long)]
    plan_touches: bool,
    #[command(flatten)]
    terms: TermArgs,
}

/// Reads where a list is; `file:` before its name means nothing.
pub(super) fn source(typed: &str) -> Result<TaskSource> {
    match typed {
        "-" => Ok(TaskSource::Text(read_text("-")?)),
        path => Ok(TaskSource::File(PathBuf::from(path.strip_prefix("file:").unwrap_or(path)))),
    }
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &LoopArgs) -> Result<u8> {
    let asked = args.asked()?;
    if args.dry_run || args.plan {
        let plan = spore_app::plan_loop(around, &asked, args.plan)?;
        ui.answer(&plan, || loop_text::plan(&plan));
        return Ok(0);
    }
    listen_for_signals(&around.interrupt)?;
    let report = spore_app::run_loop(around, &asked, ui)?;
    ui.answer(&report, || loop_text::ending(&report));
    Ok(report.exit_code)
}

impl LoopArgs {
    fn asked(&self) -> Result<LoopAsked> {
        let asked = LoopAsked {
            budget: self.budget,
            max_runs: self.max_runs,
            parallel: self.parallel,
            cooldown: self.cooldown,
            pause_on_escalation: self.pause_on_escalation,
            reset: self.reset,
            summarize: self.summarize.then_some(true),
            tick: self.tick,
            plan_touches: self.plan_touches,
            ..LoopAsked::new(source(&self.source)?, false)
        };
        Ok(self.terms.of_list(asked))
    }
}
