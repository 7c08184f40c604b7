//! What a campaign tells people: what they are to look at before it begins, and what became of it.

use spore_model::Run;

use crate::campaigns::machine::CampaignEnding;
use crate::campaigns::plan::CampaignPlan;
use crate::documents::{one_line, quotation};
use crate::plan::{PhasePlan, StagePlan, StageWork};

/// What a person is asked to look at, with the texts that the plan is made of.
pub fn review_document(
    plan: &CampaignPlan,
    (revision, phases): (u32, &[&PhasePlan]),
    roadmap: Option<&str>,
    run: &str,
) -> String {
    let mut text = format!(
        "# Review of the campaign {}, version {}\n\nWhat was asked for:\n\n{}\n## Phases\n\n",
        one_line(&plan.campaign),
        revision.max(1),
        quotation(&plan.task)
    );
    for phase in phases {
        let waits = match phase.depends_on.is_empty() {
            true => String::new(),
            false => format!(" (waits for {})", phase.depends_on.join(", ")),
        };
        let stages: Vec<&str> =
            phase.orchestrator.stages.iter().map(|stage| &*stage.name).collect();
        text.push_str(&format!(
            "- {}{waits}: {}\n  - {}: {}\n",
            phase.name,
            one_line(&phase.orchestrator.target),
            one_line(&phase.orchestrator.orchestrator),
            stages.join(", ")
        ));
        for stage in &phase.orchestrator.stages {
            text.push_str(&own_words(stage, &phase.orchestrator.target));
        }
    }
    if !phases.is_empty() {
        text.push_str("\nEach ends with the project's checks.\n");
    }
    if let Some(roadmap) = roadmap {
        text.push_str("\n## Roadmap\n\n");
        text.push_str(&quotation(roadmap));
    }
    text.push_str(&format!(
        "\n## What to do\n\n- `spore resolve {run} --approve`: begin.\n\
         - `spore resolve {run} --reject \"WHY\"` or `--file FEEDBACK.md`: plan it anew, by what you say.\n\
         - `spore campaign change {run} --drop PHASE`, `--add FILE`, `--order A,B,C`: change the phases.\n"
    ));
    text
}

/// What a stage is told that is not its phase's target, whole: a person approves no text unseen. A
/// prompt is its executor's, which a person wrote.
fn own_words(stage: &StagePlan, target: &str) -> String {
    let words = match &stage.work {
        StageWork::Orchestrate(task) => &task.task,
        StageWork::Exec(exec) => &exec.target,
        StageWork::Sentinel { judged: Some(judged) } => &judged.judges.task,
        StageWork::Sentinel { judged: None } | StageWork::Planned(_) => return String::new(),
    };
    if words.trim() == target.trim() || words.trim().is_empty() {
        return String::new();
    }
    let quoted = quotation(words);
    let lines = quoted.trim_end().lines().map(|line| format!("    {line}").trim_end().to_owned());
    let lines: Vec<String> = lines.collect();
    format!("  - {}:\n\n{}\n\n", stage.name, lines.join("\n"))
}

/// What became of a campaign, for people: made at every end, good or bad.
pub fn campaign_report(run: &Run, ending: &CampaignEnding, timeline: &[String]) -> String {
    let manifest = &ending.manifest;
    let mut text = format!(
        "# Execution report\n\n- Campaign: {}\n- Run: {}\n- Trace: {}\n- Exit code: {}\n- {}\n\
         - Rounds of research: {}\n- Version of the plan: {}\n- Rounds of healing: {}\n\n\
         ## Phases\n\n| phase | status | attempts | exit code | grade | commit |\n|---|---|---|---|---|---|\n",
        one_line(&manifest.campaign),
        run.id,
        run.trace,
        ending.outcome.exit_code(),
        one_line(&ending.reason),
        manifest.research_rounds,
        manifest.revision,
        manifest.heal_rounds,
    );
    for phase in &manifest.phases {
        let code = phase.exit_code.map_or_else(String::new, |code| code.to_string());
        let grade = phase.sentinel_grade.map_or_else(String::new, |grade| grade.to_string());
        let commit = phase.commit.as_ref().map_or_else(String::new, ToString::to_string);
        let (status, attempts) = (phase.status.as_str(), phase.attempts);
        text.push_str(&format!(
            "| {} | {status} | {attempts} | {code} | {grade} | {commit} |\n",
            phase.phase
        ));
    }
    if let Some(evaluation) = &manifest.evaluation {
        text.push_str(&format!("\n## Evaluation\n\n{}\n", one_line(&evaluation.reason)));
        for one in &evaluation.criteria {
            let word = if one.met { "met" } else { "NOT met" };
            text.push_str(&format!(
                "- {word}: {} ({})\n",
                one_line(&one.criterion),
                one_line(&one.evidence)
            ));
        }
    }
    text.push_str("\n## Timeline\n\n");
    text.push_str(&quotation(&timeline.join("\n")));
    text
}
