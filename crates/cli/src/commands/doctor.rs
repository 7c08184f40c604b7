use spore_app::{Result, Surroundings};
use spore_model::Fault;
use spore_plain::{line, name};

use crate::ui::Ui;

/// See what is installed, what is missing and what that costs you
///
/// Exits with 69 when no run could start here.
#[derive(clap::Args)]
pub(crate) struct DoctorArgs {}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, _: &DoctorArgs) -> Result<u8> {
    let checkup = spore_app::doctor(around)?;
    ui.answer(&checkup, || {
        let mut text = format!("{}\n", name(&checkup.root));
        let label = |name: &str| match name {
            "gates" => "checks".to_owned(),
            // The column is as wide as the longest of the others.
            "local models" => "local".to_owned(),
            name => name.to_owned(),
        };
        for finding in &checkup.findings {
            let mark = match (finding.ok, finding.required) {
                (true, _) => "ok",
                (false, true) => "NOT OK",
                (false, false) => "-",
            };
            text.push_str(&format!(
                "  {mark:7}  {:10}  {}\n",
                label(&finding.name),
                line(&finding.detail)
            ));
            if !finding.remedy.is_empty() {
                let remedy = finding.remedy.replace('\n', &format!("\n{:23}", ""));
                text.push_str(&format!("  {:7}  {:10}  {remedy}\n", "", ""));
            }
        }
        text.push_str(match checkup.can_run() {
            true => "\nA run can start here.\n",
            false => "\nNo run can start here before what is NOT OK is put right.\n",
        });
        text
    });
    Ok(if checkup.can_run() { 0 } else { Fault::Missing.exit_code() })
}
