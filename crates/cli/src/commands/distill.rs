use std::path::PathBuf;

use serde::Serialize;
use spore_app::{Result, RunDistillation, Spawn, Surroundings};
use spore_plain as plain;

use super::runs::table::took;
use super::text::field;
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Tell a run in a few lines, from its records; --ai lets a summarizer propose a summary
///
/// Without --ai no model is asked. With it one session of the summarizer's role reads the trail and
/// writes a summary and lessons as a proposal: it is printed and kept with that session, and nothing
/// of it enters the graph.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore distill\n  spore distill 7QX2 --compact\n  spore distill 7QX2 --ai --backend claude"
)]
pub(crate) struct DistillArgs {
    /// Any unique part of the run's id as it is shown; the newest run if left out
    run: Option<String>,
    /// One line
    #[arg(long, conflicts_with = "ai")]
    compact: bool,
    /// Ask a model for a summary
    #[arg(long)]
    ai: bool,
    /// The agent that is asked
    #[arg(long, value_name = "NAME", requires = "ai")]
    backend: Option<String>,
    /// The model that is asked, by the agent's own name for it
    #[arg(long, value_name = "NAME", requires = "ai")]
    model: Option<String>,
    /// The scenario that the replay agent plays
    #[arg(long, value_name = "FILE", requires = "ai")]
    scenario: Option<PathBuf>,
}

/// The trail, and what a summarizer proposed.
#[derive(Serialize)]
struct Distilled {
    #[serde(flatten)]
    trail: RunDistillation,
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal: Option<spore_app::Spawned>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &DistillArgs) -> Result<u8> {
    let trail = spore_app::distill_run(around, args.run.as_deref())?;
    let proposal = match args.ai {
        true => Some(propose(ui, around, args, &trail)?),
        false => None,
    };
    let code = proposal.as_ref().map_or(0, |spawned| spawned.outcome.exit_code());
    if let Some(reason) = proposal.as_ref().and_then(|spawned| spawned.reason.as_deref()) {
        ui.note(&format!("the summarizer did not end well: {reason}"));
    }
    let told = Distilled { trail, proposal };
    ui.answer(&told, || match args.compact {
        true => compact(&told.trail),
        false => whole(&told),
    });
    Ok(code)
}

fn propose(
    ui: &mut Ui,
    around: &Surroundings,
    args: &DistillArgs,
    trail: &RunDistillation,
) -> Result<spore_app::Spawned> {
    listen_for_signals(&around.interrupt)?;
    let asked = Spawn {
        prompt: spore_app::distill_prompt(trail),
        role: "summarizer".to_owned(),
        backend: args.backend.clone(),
        scenario: args.scenario.clone(),
        model: args.model.clone(),
        system_prompt: Some("You sum up what is on record and change nothing.".to_owned()),
        allowed_tools: Vec::new(),
        cwd: None,
        max_turns: None,
        max_depth: None,
        budget: None,
        timeout: None,
        resume: None,
    };
    spore_app::spawn(around, &asked, ui)
}

fn compact(trail: &RunDistillation) -> String {
    let took = trail.duration_ms.map_or_else(|| "not over".to_owned(), took);
    let attempts = super::text::many(trail.attempts.len(), "attempt");
    let name = plain::ends_within(&trail.name, 80);
    format!("{} | {took} | {attempts} | {} | {name}", trail.status, trail.cost)
}

fn whole(told: &Distilled) -> String {
    let trail = &told.trail;
    let mut text = format!("Run {}  {}\n", trail.run, trail.status);
    field(&mut text, "task", &plain::line(&trail.name));
    field(&mut text, "why", &trail.why);
    if let Some(millis) = trail.duration_ms {
        field(&mut text, "took", &took(millis));
    }
    field(&mut text, "cost", &trail.cost.to_string());
    for attempt in &trail.attempts {
        let name = format!("attempt {}", attempt.bounce);
        field(&mut text, &name, &[attempt.status.as_str(), &*plain::line(&attempt.why)].join(", "));
        for objection in &attempt.objections {
            field(&mut text, "", objection);
        }
    }
    for (at, file) in trail.files.iter().enumerate() {
        field(&mut text, if at == 0 { "changed" } else { "" }, file);
    }
    for (at, lesson) in trail.lessons.iter().enumerate() {
        field(&mut text, if at == 0 { "lessons" } else { "" }, lesson);
    }
    if let Some(summary) = &trail.summary {
        field(&mut text, "summary", summary);
    }
    if let Some(proposal) = &told.proposal {
        let cost = format!("{}, {}", proposal.run.short(), proposal.cost);
        text.push_str(&format!(
            "\nProposed by the summarizer ({cost}); nothing of it is kept in the graph\n"
        ));
        text.push_str(proposal.result.trim());
        text.push('\n');
    }
    text
}
