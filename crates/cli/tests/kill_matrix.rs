//! Killed anywhere, a run comes to the same end.

use spore_testkit::kill::{Crime, Manner, matrix_of};

use crate::scenes;

#[test]
fn a_run_killed_at_any_effect_ends_like_one_that_was_not() {
    // All of a run's effects take a quarter of an hour: `SPORE_KILLS=all` asks for them, and the
    // normal run kills it once at every kind of effect.
    let all = std::env::var("SPORE_KILLS").is_ok_and(|kills| kills == "all");
    let crime = Crime {
        scene: &|| scenes::with_scenario(scenes::THREE_BOUNCES),
        command: scenes::ORCHESTRATE,
        random: if all { 20 } else { 6 },
    };
    let tally = matrix_of(&crime, Manner { one_of_each: !all, ..Manner::default() });
    println!("kill matrix: {}", tally.line());
    assert!(tally.points > 40, "{}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
}
