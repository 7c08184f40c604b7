//! Killed anywhere, a run comes to the same end.

use spore_testkit::kill::{Crime, matrix};

use crate::scenes;

#[test]
fn a_run_killed_at_any_effect_ends_like_one_that_was_not() {
    let crime = Crime {
        scene: &|| scenes::with_scenario(scenes::THREE_BOUNCES),
        command: scenes::ORCHESTRATE,
        random: 20,
    };
    let tally = matrix(&crime);
    println!("kill matrix: {}", tally.line());
    assert!(tally.points > 60, "{}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
}
