//! What an investigation will ask, and what that is likely to cost, before anything is paid.
//!
//! Sessions are counted from what is known; what one session takes comes from past runs of the same
//! agent and model, and where there are none from the length of its prompt. The most that it can
//! cost is its budget, whatever this says.

use std::fmt;

use serde::{Deserialize, Serialize};
use spore_model::Usd;

use crate::shown::number_text;

/// What sessions of one kind took in the past, or are thought to take.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SessionNeed {
    pub turns: f64,
    pub input_tokens: f64,
    pub output_tokens: f64,
}

/// Tokens of a model's own turn, and what a turn of tool answers adds to the next prompt.
const SAID: f64 = 350.0;
const HEARD: f64 = 1_500.0;
/// Tokens of the system prompt and the tools' schemas.
const FRAME: f64 = 1_800.0;
/// Turns that a loop is thought to use where nothing is known of any, however many it may.
const USUAL_TURNS: f64 = 4.0;

impl SessionNeed {
    /// What a session is thought to take by its prompt alone. Each turn reads all that came before.
    pub fn of_prompt(prompt_tokens: u64, most_turns: u32) -> Self {
        let turns = USUAL_TURNS.min(f64::from(most_turns)).max(1.0);
        let first = prompt_tokens as f64 + FRAME;
        let growth = (SAID + HEARD) * turns * (turns - 1.0) / 2.0;
        Self { turns, input_tokens: first * turns + growth, output_tokens: SAID * turns }
    }

    /// The mean of what sessions took.
    pub fn mean_of(sessions: &[(u32, u64, u64)]) -> Option<Self> {
        let count = sessions.len() as f64;
        let mean =
            |of: &dyn Fn(&(u32, u64, u64)) -> f64| sessions.iter().map(of).sum::<f64>() / count;
        (!sessions.is_empty()).then(|| Self {
            turns: mean(&|one| f64::from(one.0)),
            input_tokens: mean(&|one| one.1 as f64),
            output_tokens: mean(&|one| one.2 as f64),
        })
    }
}

/// One kind of sessions that will be had.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PassEstimate {
    pub pass: &'static str,
    pub model: Option<String>,
    /// Those that are sure, and those that may follow if summaries change.
    pub sessions: u64,
    pub perhaps: u64,
    pub turns_at_most: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_usd: Usd,
    /// From how many past sessions of this agent and model; none where the prompts' length was taken.
    pub known_from: u64,
}

/// What an investigation will ask.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct InvestigationEstimate {
    pub backend: String,
    pub passes: Vec<PassEstimate>,
    pub sessions: u64,
    pub perhaps: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// What is likely.
    pub cost_usd: Usd,
    /// What is not gone beyond.
    pub budget_usd: Usd,
}

impl InvestigationEstimate {
    pub fn new(backend: &str, passes: Vec<PassEstimate>, budget_usd: Usd) -> Self {
        let passes: Vec<PassEstimate> =
            passes.into_iter().filter(|pass| pass.sessions + pass.perhaps > 0).collect();
        let sum = |of: &dyn Fn(&PassEstimate) -> u64| passes.iter().map(of).sum();
        Self {
            backend: backend.to_owned(),
            sessions: sum(&|pass| pass.sessions),
            perhaps: sum(&|pass| pass.perhaps),
            input_tokens: sum(&|pass| pass.input_tokens),
            output_tokens: sum(&|pass| pass.output_tokens),
            cost_usd: passes.iter().map(|pass| pass.cost_usd).sum(),
            budget_usd,
            passes,
        }
    }

    /// Whether anything will be asked at all.
    pub fn is_nothing(&self) -> bool {
        self.sessions + self.perhaps == 0
    }
}

/// What is about to be asked, in one line for the person who pays.
impl fmt::Display for InvestigationEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sessions = if self.sessions == 1 { "session" } else { "sessions" };
        write!(f, "{} is asked in {} {sessions}", self.backend, number_text(self.sessions))?;
        if self.perhaps > 0 {
            write!(f, " and up to {} more", number_text(self.perhaps))?;
        }
        write!(
            f,
            ": about {} tokens, {} likely, {} at most (--budget). --estimate says more, --no-model \
             asks nothing.",
            number_text(self.input_tokens + self.output_tokens),
            self.cost_usd,
            self.budget_usd
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_known_from_others_or_thought_of_by_its_prompt() {
        let known = SessionNeed::mean_of(&[(2, 1_000, 100), (4, 3_000, 300)]).unwrap();
        assert_eq!((known.turns, known.input_tokens, known.output_tokens), (3.0, 2_000.0, 200.0));
        assert_eq!(SessionNeed::mean_of(&[]), None);
        let one = SessionNeed::of_prompt(1_000, 1);
        assert_eq!((one.turns, one.input_tokens), (1.0, 2_800.0));
        assert!(SessionNeed::of_prompt(1_000, 25).input_tokens > 4.0 * one.input_tokens);
    }

    #[test]
    fn an_estimate_is_the_sum_of_its_passes_and_says_when_there_is_nothing() {
        let pass = |sessions: u64| PassEstimate {
            pass: "directory",
            model: None,
            sessions,
            perhaps: 0,
            turns_at_most: 10 * sessions,
            input_tokens: 100 * sessions,
            output_tokens: 10 * sessions,
            cost_usd: Usd::from_dollars(0.5).unwrap_or_default(),
            known_from: 0,
        };
        let budget = Usd::from_dollars(5.0).unwrap_or_default();
        let told = InvestigationEstimate::new("api", vec![pass(3), pass(0), pass(1)], budget);
        assert_eq!((told.sessions, told.input_tokens, told.passes.len()), (4, 400, 2));
        assert_eq!(told.cost_usd, Usd::from_dollars(1.0).unwrap_or_default());
        assert!(InvestigationEstimate::new("api", vec![pass(0)], budget).is_nothing());
        assert_eq!(
            told.to_string(),
            "api is asked in 4 sessions: about 440 tokens, $1.00 likely, $5.00 at most (--budget). \
             --estimate says more, --no-model asks nothing."
        );
    }
}
