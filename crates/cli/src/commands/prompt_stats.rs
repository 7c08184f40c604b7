use spore_app::{Result, Surroundings};

use super::runs::table::{self, CsvArgs, RunTable};
use crate::ui::Ui;

/// Measure the prompts that roles really get here
///
/// For each role the project's own file in .spore/agents, else the agent's native one, else the
/// one that is built in. Tokens are estimated.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  spore prompt-stats\n  spore prompt-stats --csv")]
pub(crate) struct PromptStatsArgs {
    #[command(flatten)]
    csv: CsvArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &PromptStatsArgs) -> Result<u8> {
    let stats = spore_app::prompt_stats(around)?;
    let rows = |all: bool, none: &str| {
        let mut table = RunTable::new(&[
            ("role", false),
            ("agent", false),
            ("source", false),
            ("lines", true),
            ("words", true),
            ("bytes", true),
            ("tokens", true),
            ("path", false),
        ]);
        for prompt in stats.prompts.iter().filter(|prompt| all || prompt.source != "none") {
            table.row([
                prompt.role.clone(),
                if prompt.backend.is_empty() { none.to_owned() } else { prompt.backend.clone() },
                prompt.source.to_owned(),
                prompt.lines.to_string(),
                prompt.words.to_string(),
                prompt.bytes.to_string(),
                prompt.tokens.to_string(),
                prompt.path.clone().unwrap_or_default(),
            ]);
        }
        table
    };
    table::print(
        ui,
        &args.csv,
        &stats,
        || rows(true, ""),
        || {
            let mut text = rows(false, "-").text();
            let bare = stats.prompts.iter().filter(|prompt| prompt.source == "none");
            let bare: Vec<&str> = bare.map(|prompt| prompt.role.as_str()).collect();
            if !bare.is_empty() {
                text.push_str(&format!("Told by their task alone: {}.\n", bare.join(", ")));
            }
            for path in &stats.unused {
                text.push_str(&format!("No role here uses {}.\n", spore_plain::line(path)));
            }
            text
        },
    );
    Ok(0)
}
