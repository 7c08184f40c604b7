//! The base scan alone, as `spore scan --json` does it: what the program around it costs can
//! be told from the difference.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]
#![expect(clippy::print_stdout, reason = "a benchmark tells people")]

use std::path::PathBuf;

use spore_investigate::{
    ReportInput, ScanLimits, ScanProgress, ScanReport, ScanScope, ScanWatch, Tree,
};
use spore_model::Timestamp;

struct Patient;

impl ScanWatch for Patient {
    fn pass(&self, _: ScanProgress) {}

    fn is_over(&self) -> bool {
        false
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    let limits = ScanLimits {
        depth: 3,
        width: 40,
        whole_bytes: 64_000_000,
        large_bytes: 10_000_000,
        large_lines: 1000,
        recent: 10,
        top_directories: 5,
        listed: 20,
    };
    let scope = ScanScope::default();
    let tree = Tree::read(&target, &scope, &limits, &Patient)?;
    let now = Timestamp::from_millis(0);
    let told =
        ReportInput { target: &target, scope: &scope, limits: &limits, now, every_file: false };
    println!("{}", serde_json::to_string_pretty(&ScanReport::of(&tree, &told))?);
    Ok(())
}
