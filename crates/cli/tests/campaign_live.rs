//! A campaign in tool mode with the real Claude Code against a scripted model, from its research to its
//! evaluation, and the model's books.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use serde_json::json;
use spore_scripted_model::{ModelServer, Turn, When};

use crate::campaign::{PASS, scene_with};
use crate::scenes;
use crate::verified_run::{self, MODEL};

const FLOW: &str = r#"
[executors.look]
role = "researcher"
prompt = "Find out what {target} needs."
allowed_tools = ["Bash"]

[executors.enough]
role = "sufficiency-judge"
prompt = "Is this enough to plan {target}?"

[executors.split]
role = "decomposer"
prompt = "Split {target} into phases."
allowed_tools = ["Bash"]

[executors.rate]
role = "evaluator"
prompt = "Hold {target} to what was promised."

[executors.make]
role = "builder"
prompt = "Make {target}."
allowed_tools = ["Bash"]

[orchestrators.once]
stages = [{ name = "WORK", executor = "make", heal = 0, retry = 0 }]

[campaigns.feature]
domains = [{ name = "code", executor = "look" }]
judge = "enough"
decomposer = "split"
evaluator = "rate"
"#;

#[test]
fn live_claude_runs_a_campaign_from_research_to_evaluation() {
    let Ok(program) = std::env::var("SPORE_TEST_CLAUDE") else {
        eprintln!("skipped: SPORE_TEST_CLAUDE names no program; `cargo xtask test` does");
        return;
    };
    let shell = |command: &str, words: &str| {
        Turn::calls("Bash", json!({ "command": command, "description": "as told" }))
            .when(When::contains(words))
    };
    let after = |result: &str, says: &str| {
        let when = When { tool_result_contains: Some(result.to_owned()), ..When::default() };
        Turn::says(says).when(when)
    };
    let phases = "mkdir -p notes/feature && printf '[[phases]]\\nname = \"build\"\\norchestrator = \
                  \"once\"\\ntarget = \"the answer\"\\n' > notes/feature/phases.toml && printf SP; echo LIT";
    let note = "mkdir -p notes/feature && echo all > notes/feature/research-code.md && printf NO; echo TED";
    let judged =
        "<sufficiency>{\"sufficient\": true, \"gaps\": []}</sufficiency>\nSTAGE_JUDGE_COMPLETE";
    let turns = [
        after("NOTED", "STAGE_RESEARCH_COMPLETE"),
        after("SPLIT", "STAGE_DECOMPOSE_COMPLETE"),
        after("MADE", "STAGE_WORK_COMPLETE"),
        shell(note, "Find out what tabs needs."),
        Turn::says(judged).when(When::contains("Is this enough to plan tabs?")),
        shell(phases, "Split tabs into phases."),
        shell("echo 42 > answer.txt && printf MA; echo DE", "Make the answer."),
        Turn::says(&format!("{PASS}\nSTAGE_EVALUATE_COMPLETE"))
            .when(When::contains("Hold tabs to what was promised.")),
    ];
    let server = ModelServer::start(verified_run::scenario(turns)).unwrap();
    let env = scene_with(FLOW, "");
    let variables = verified_run::variables(&server.url());
    let variables = variables.iter().map(|(name, value)| (*name, value.as_str()));
    let variables: Vec<(&str, &str)> =
        variables.chain([("SPORE_CLAUDE_PROGRAM", program.as_str())]).collect();
    let args = ["campaign", "run", "feature", "tabs", "--backend", "claude", "--model", MODEL];
    let asked = env.spore_in(&env.repo(), &args, &variables);
    assert_eq!(asked.code, 3, "{}", asked.render());
    let id = scenes::newest_id(&env);
    let output = env.spore_in(&env.repo(), &["resolve", &id, "--approve", "--json"], &variables);
    assert_eq!(output.code, 0, "{}", output.render());
    let told = output.json();
    let branch = told["branch"].as_str().unwrap();
    assert_eq!(env.git(&["show", &format!("{branch}:answer.txt")]), "42");
    assert_eq!(told["evaluation"]["passed"], true, "{told:#}");
    assert_eq!(server.unanswered().len(), 0);
    assert_eq!(told["cost"]["usd"], json!(server.totals().cost_usd), "{told:#}");
}
