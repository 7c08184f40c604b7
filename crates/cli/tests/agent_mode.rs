//! Agent mode: layers that are led by a session whose only tools are the layer below.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use serde_json::{Value, json};
use spore_scripted_model::{ModelServer, Turn, When};
use spore_testkit::TestEnv;
use spore_testkit::kill::{CommandTraits, KillTarget, matrix_of};

use crate::campaign::{REPLAY, scene_with};
use crate::kill_matrix::asked_for;
use crate::scenes;
use crate::verified_run::{self, MODEL};

/// Two stages, two phases and a campaign of them; who leads is for the call to say.
const FLOW: &str = r#"
[executors.make]
role = "builder"
prompt = "Make {target} by {action}."
artifact = "made/{target}-{action}.md"

[orchestrators.two]
stages = [
  { name = "FIRST", executor = "make", heal = 0, retry = 0 },
  { name = "SECOND", executor = "make", heal = 0, retry = 0 },
]

[coordinators.both]
phases = [
  { name = "one", orchestrator = "two", target = "bread", retry = 0 },
  { name = "other", orchestrator = "two", target = "soup", retry = 0, depends_on = ["one"] },
]

[campaigns.meal]
coordinator = "both"
heal = 0
"#;

/// What the builder does for each thing.
const BUILDERS: &str = r#"
[[session]]
role = "builder"
bounce = 1
task = "Make bread by FIRST"
cost_usd = 0.25
final = "STAGE_FIRST_COMPLETE"
steps = [{ write = "made/bread-FIRST.md", content = "dough\n" }]

[[session]]
role = "builder"
bounce = 1
task = "Make bread by SECOND"
cost_usd = 0.25
final = "STAGE_SECOND_COMPLETE"
steps = [{ run = "cp made/bread-FIRST.md made/bread-SECOND.md" }]

[[session]]
role = "builder"
bounce = 1
task = "Make soup by FIRST"
cost_usd = 0.25
final = "STAGE_FIRST_COMPLETE"
steps = [{ write = "made/soup-FIRST.md", content = "water\n" }]

[[session]]
role = "builder"
bounce = 1
task = "Make soup by SECOND"
cost_usd = 0.25
final = "STAGE_SECOND_COMPLETE"
steps = [{ run = "cp made/soup-FIRST.md made/soup-SECOND.md" }]
"#;

fn leader(steps: &str) -> String {
    format!(
        "{BUILDERS}\n[[session]]\nrole = \"leader\"\nbounce = 1\ncost_usd = 0.125\n\
         final = \"All of it is done.\"\nsteps = [{steps}]\n"
    )
}

fn call(tool: &str, name: &str) -> String {
    format!("{{ call = \"{tool}\", arguments = {{ name = \"{name}\" }} }},\n")
}

fn calls(tool: &str, names: &[&str]) -> String {
    names.iter().map(|name| call(tool, name)).collect()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} of {value:#}"))
}

/// Runs a layer that is led by these steps.
fn led(steps: &str, args: &[&str]) -> (TestEnv, i32, Value) {
    let env = scene_with(FLOW, &leader(steps));
    let output = env.spore(&[args, &["--mode", "agent", "--json"], REPLAY].concat());
    let told = if output.stdout.is_empty() { json!(output.stderr) } else { output.json() };
    (env, output.code, told)
}

#[test]
pub(crate) fn each_layer_is_led_by_a_session_that_calls_the_one_below() {
    let (env, code, told) =
        led(&calls("run_exec", &["FIRST", "SECOND"]), &["stage", "two", "full", "bread"]);
    assert_eq!(code, 0, "{told:#}");
    let branch = text(&told, "branch");
    assert_eq!(env.git(&["show", &format!("{branch}:made/bread-SECOND.md")]), "dough");
    assert_eq!(told["cost"]["usd"], 0.625);
    // The person's tree has no such file: the size is that of what the stage left.
    let signal = crate::scenes::artefact(&env, ".signals/exec-FIRST.done");
    assert!(signal.contains("path: \"made/bread-FIRST.md\"\nsize: 6\n"), "{signal}");
    let (env, code, told) = led(&calls("run_stage", &["one", "other"]), &["phase", "both"]);
    assert_eq!(code, 0, "{told:#}");
    let branch = text(&told, "branch");
    assert_eq!(env.git(&["show", &format!("{branch}:made/soup-SECOND.md")]), "water");
    let state = crate::scenes::artefact(&env, ".session-state");
    assert!(state.starts_with("state: COMPLETE\n"), "{state}");
    let report = crate::scenes::artefact(&env, "phases/phase-02-other/report.json");
    assert!(report.contains("\"complete\""), "{report}");
    let checkpoints = env.repo().join(text(&told, "directory")).join("checkpoints");
    assert_eq!(std::fs::read_dir(checkpoints).unwrap().count(), 2);
    let (env, code, told) =
        led(&calls("run_phase", &["one", "other"]), &["campaign", "run", "meal"]);
    assert_eq!(code, 0, "{told:#}");
    let branch = text(&told, "branch");
    assert_eq!(env.git(&["show", &format!("{branch}:made/soup-SECOND.md")]), "water");
    assert_eq!(told["cost"]["usd"], 1.125);
    let shown = env.spore(&["campaign", "status", "--json"]).code(0).json();
    assert_eq!(shown["phases"][1]["status"], "complete", "{shown:#}");
}

/// What the call leaves out is for the file to say.
#[test]
pub(crate) fn a_flow_file_says_which_of_its_layers_a_session_leads() {
    let calls = calls("run_stage", &["one", "other"]) + &calls("run_exec", &["FIRST", "SECOND"]);
    let both = FLOW.replace("[orchestrators.two]", "[orchestrators.two]\nmode = \"agent\"");
    let phases = FLOW.replace("[coordinators.both]", "[coordinators.both]\nmode = \"agent\"");
    let run = |flow: &str, steps: &str, args: &[&str]| {
        let env = scene_with(flow, &leader(steps));
        env.spore(&[args, &["--json"], REPLAY].concat())
    };
    let steps: Vec<String> = calls.split_inclusive('\n').map(str::to_owned).collect();
    let led = run(&both, &steps[2..].concat(), &["stage", "two", "full", "bread"]).code(0).json();
    assert_eq!(led["cost"]["usd"], 0.625, "a session led: {led:#}");
    let led = run(&phases, &steps[..2].concat(), &["phase", "both"]).code(0).json();
    assert_eq!(led["cost"]["usd"], 1.125, "a session led: {led:#}");
}

/// A stage that is not idempotent is not run again after it took too long, where a session leads as in tool mode.
#[test]
fn a_session_that_leads_tries_a_stage_as_often_as_the_stage_says() {
    let flow = FLOW.replace(
        "executor = \"make\", heal = 0",
        "executor = \"make\", idempotent = false, heal = 0",
    );
    let again = "{ call = \"run_exec\", arguments = { name = \"FIRST\" }, answer = \"is not run again\" },\n";
    let parts = leader(&format!("{}{again}", call("run_exec", "FIRST")));
    let parts = parts.replace(
        "steps = [{ write = \"made/bread-FIRST.md\", content = \"dough\\n\" }]",
        "steps = [{ exit = 21 }]",
    );
    let env = scene_with(&flow, &parts);
    let args = ["stage", "two", "full", "bread", "--mode", "agent", "--json"];
    let told = env.spore(&[&args[..], REPLAY].concat()).code(21).json();
    assert_eq!(told["stages"][0]["attempts"], 1, "{told:#}");
}

#[test]
fn what_the_parts_came_to_decides_and_never_the_words_of_the_session() {
    // It says that all is done, and left the second out.
    let (_env, code, told) =
        led(&calls("run_exec", &["FIRST"]), &["stage", "two", "full", "bread"]);
    assert_eq!(code, 1, "{told:#}");
    assert!(text(&told, "reason").contains("SECOND was not run"), "{told:#}");
    let (_env, code, told) = led("{ say = \"done\" }", &["phase", "both"]);
    assert_eq!(code, 1, "{told:#}");
    let (_env, code, told) = led(&calls("run_phase", &["one"]), &["campaign", "run", "meal"]);
    assert_eq!(code, 12, "{told:#}");
    // The last word is nothing: what holds, holds.
    let steps = calls("run_exec", &["FIRST", "SECOND"]);
    let env = scene_with(FLOW, &leader(&steps).replace("All of it is done.", "Nothing worked."));
    let args = ["stage", "two", "full", "bread", "--mode", "agent"];
    let _ = env.spore(&[&args[..], REPLAY].concat()).code(0);
}

/// Of a stage that says so itself, and of one that never says that it is enough.
#[test]
fn a_stage_that_a_session_leads_leaves_the_same_request_as_in_tool_mode() {
    let repeated = FLOW.replace(
        "\"SECOND\", executor = \"make\"",
        "\"SECOND\", executor = \"make\", until = \"LGTM\", max_rounds = 1",
    );
    let steps = calls("run_exec", &["FIRST", "SECOND"]);
    let doubts = leader(&steps)
        .replace("STAGE_SECOND_COMPLETE", "STAGE_NEEDS_REFINEMENT: which of the two?");
    for (flow, parts, reason) in [
        (FLOW, &doubts, "which of the two?"),
        (&repeated, &leader(&steps), "it does not say LGTM after 1 rounds"),
    ] {
        let requests = ["tool", "agent"].map(|mode| {
            let env = scene_with(flow, parts);
            let args = ["stage", "two", "full", "bread", "--mode", mode];
            let _ = env.spore(&[&args[..], REPLAY].concat()).code(10);
            scenes::artefact(&env, "refinements/exec-SECOND.md")
        });
        let ended = format!("SECOND ended with exit code 10: {reason}");
        assert!(requests[0].contains(&ended), "{}", requests[0]);
        assert_eq!(requests[0], requests[1]);
    }
}

/// The tools of the other layers, of the graph, of roles, and names that are none of its parts.
#[test]
fn a_session_that_leads_reaches_nothing_but_its_own_parts() {
    let refused = |tool: &str, arguments: &str, answer: &str| {
        format!("{{ call = \"{tool}\", arguments = {arguments}, answer = \"{answer}\" }},\n")
    };
    let none = "there is no tool";
    let mut steps = String::new();
    for tool in [
        "run_exec",
        "run_stage",
        "search",
        "read",
        "run",
        "submit_verdict",
        "create_node",
        "propose_lesson",
        "Bash",
    ] {
        steps.push_str(&refused(tool, "{ name = \"one\" }", none));
    }
    for name in ["", "FIRST", "../one", "one/FIRST", "01KDYAPKE0W0074GCXP8WN3QWS", "both", "meal"] {
        steps.push_str(&refused(
            "run_phase",
            &format!("{{ name = \"{name}\" }}"),
            "there is no such phase",
        ));
    }
    steps.push_str(&refused("run_phase", "{ name = \"other\" }", "other waits for: one"));
    steps.push_str(&refused("run_phase", "{ run = \"one\" }", "was not called"));
    steps.push_str(&refused("run_phase", "{ name = \"one\", command = \"sh\" }", "was not called"));
    steps.push_str(&refused("run_phase", "{ name = 1 }", "was not called"));
    steps.push_str("{ call = \"status\", answer = \"one: pending\" },\n");
    let (_env, code, told) = led(&steps, &["campaign", "run", "meal"]);
    // The session came to its end without a part that was run: Spore refused each of its calls.
    assert_eq!(code, 1, "{told:#}");
    assert_eq!(told["cost"]["usd"], 0.125, "{told:#}");
}

#[test]
fn agents_that_keep_tools_of_their_own_lead_nothing() {
    let env = scene_with(FLOW, "");
    for backend in ["codex", "opencode", "gemini", "qwen", "command"] {
        let args = ["phase", "both", "--mode", "agent", "--backend", backend];
        let output = env.spore(&args);
        assert!([69, 78].contains(&output.code), "{}", output.render());
    }
    let output =
        env.spore(&["exec", "make", "FIRST", "x", "--mode", "agent", "--backend", "replay"]);
    assert_eq!(output.code, 64, "{}", output.render());
    // Each layer that a session leads is one level of sessions.
    let args =
        [&["campaign", "run", "meal", "--mode", "agent", "--max-depth", "1"], REPLAY].concat();
    let _ = env.spore(&args).code(2);
}

#[test]
fn the_table_of_agents_that_may_lead_is_what_holds() {
    let text = include_str!("../../../assets/conformance.toml");
    let table = text.split("[leads]").nth(1).unwrap();
    let mut seen = 0;
    for line in table.lines().filter(|line| line.contains(" = ")) {
        let (backend, cell) = line.split_once(" = ").unwrap();
        let may = cell.contains("\"leads\"");
        assert_eq!(spore_app::cannot_lead(backend.trim()).is_none(), may, "{backend}");
        seen += 1;
    }
    assert!(seen >= 7, "{table}");
}

#[test]
fn a_layer_that_a_session_leads_killed_at_any_effect_ends_like_one_that_was_not() {
    let whole = asked_for("all");
    let scene = || scene_with(FLOW, &leader(&calls("run_phase", &["one", "other"])));
    let command = ["campaign", "run", "meal", "--mode", "agent"];
    let command = [&command[..], REPLAY].concat();
    let target =
        KillTarget { scene: &scene, command: &command, random: if whole { 20 } else { 1 } };
    fn is_of_a_leader(effect: &str) -> bool {
        effect.contains("lead/") || effect.contains("phase/")
    }
    let traits = CommandTraits {
        one_of_each: !whole,
        only: if whole { None } else { Some(is_of_a_leader) },
        // A session that is begun again is begun after what it had run already, and hears so.
        parallel: true,
        foreign: true,
        ..CommandTraits::default()
    };
    let tally = matrix_of(&target, traits);
    println!("kill matrix of agent mode: {}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
    // A kill cuts off the session that leads and the one that works for it, and no more.
    assert!(tally.repeated_sessions <= 2 * tally.killed, "{}", tally.line());
}

/// What a session that leads tries beside its own two tools: a shell, files, agents, the web, other
/// layers, other roles' tools, the id of another run that is there.
fn tries(other: &str) -> Vec<(&'static str, Value)> {
    let run = |name: &str| json!({ "name": name });
    vec![
        ("Bash", json!({ "command": "touch /tmp/x", "description": "x" })),
        ("BashOutput", json!({ "bash_id": "1" })),
        ("KillShell", json!({ "shell_id": "1" })),
        ("Read", json!({ "file_path": "/etc/passwd" })),
        ("Write", json!({ "file_path": "answer.txt", "content": "43" })),
        ("Edit", json!({ "file_path": "answer.txt", "old_string": "41", "new_string": "43" })),
        ("NotebookEdit", json!({ "notebook_path": "a.ipynb", "new_source": "x" })),
        ("Glob", json!({ "pattern": "**/*" })),
        ("Grep", json!({ "pattern": "x" })),
        ("Task", json!({ "description": "x", "prompt": "x", "subagent_type": "general-purpose" })),
        ("WebFetch", json!({ "url": "http://127.0.0.1:1/", "prompt": "x" })),
        ("WebSearch", json!({ "query": "xyz" })),
        ("mcp__spore__run_exec", run("FIRST")),
        ("mcp__spore__run_stage", run("one")),
        ("mcp__spore__search", json!({ "query": "x" })),
        ("mcp__spore__submit_verdict", json!({ "verdict": "supports" })),
        ("mcp__spore__run_phase", run(other)),
        ("mcp__spore__run_phase", run("one/FIRST")),
        ("mcp__spore__run_phase", run("other")),
        ("mcp__spore__run_phase", json!({ "name": "one", "root": "/" })),
    ]
}

#[test]
fn live_claude_leads_a_campaign_and_twenty_other_things_are_refused() {
    let Ok(program) = std::env::var("SPORE_TEST_CLAUDE") else {
        eprintln!("skipped: SPORE_TEST_CLAUDE names no program; `cargo xtask test` does");
        return;
    };
    let leads = || When {
        system_contains: Some("You lead a piece of work that others do.".to_owned()),
        ..When::default()
    };
    let after =
        |word: &str| When { tool_result_contains: Some(word.to_owned()), ..When::default() };
    let flow = FLOW.replace("role = \"builder\"", "role = \"builder\"\nallowed_tools = [\"Bash\"]");
    let env = scene_with(FLOW, BUILDERS);
    let _ = env.spore(&[&["exec", "make", "FIRST", "bread"], REPLAY].concat()).code(0);
    let other = scenes::newest_id(&env);
    env.write(".spore/flows/feature.toml", &flow);
    let mut turns: Vec<Turn> = tries(&other)
        .into_iter()
        .map(|(tool, input)| Turn::calls(tool, input).when(leads()))
        .collect();
    for name in ["one", "other"] {
        turns.push(Turn::calls("mcp__spore__run_phase", json!({ "name": name })).when(leads()));
    }
    turns.push(Turn::says("All of it is done.").when(leads()));
    for (thing, action) in
        [("bread", "FIRST"), ("bread", "SECOND"), ("soup", "FIRST"), ("soup", "SECOND")]
    {
        let shell = format!(
            "mkdir -p made && echo {thing} > made/{thing}-{action}.md && printf {thing}; echo {action}"
        );
        turns.push(
            Turn::says(&format!("STAGE_{action}_COMPLETE"))
                .when(after(&format!("{thing}{action}"))),
        );
        let asked = When::contains(&format!("Make {thing} by {action}."));
        turns.push(
            Turn::calls("Bash", json!({ "command": shell, "description": "as told" })).when(asked),
        );
    }
    let server = ModelServer::start(verified_run::scenario(turns)).unwrap();
    let variables = verified_run::variables(&server.url());
    let variables = variables.iter().map(|(name, value)| (*name, value.as_str()));
    let variables: Vec<(&str, &str)> =
        variables.chain([("SPORE_CLAUDE_PROGRAM", program.as_str())]).collect();
    let args = [
        "campaign",
        "run",
        "meal",
        "--mode",
        "agent",
        "--backend",
        "claude",
        "--model",
        MODEL,
        "--json",
    ];
    let output = env.spore_in(&env.repo(), &args, &variables);
    assert_eq!(output.code, 0, "{}", output.render());
    let told = output.json();
    let branch = text(&told, "branch");
    assert_eq!(env.git(&["show", &format!("{branch}:made/soup-SECOND.md")]), "soup");
    assert_eq!(env.git(&["show", &format!("{branch}:answer.txt")]), "41");
    assert_eq!(server.unanswered().len(), 0);
    // The last request of the session that led has every answer in it.
    let requests = server.requests();
    let last = requests
        .iter()
        .filter(|one| one.body["system"].to_string().contains("You lead a piece of work"))
        .max_by_key(|one| one.number)
        .unwrap();
    let messages = last.body["messages"].as_array().unwrap();
    let blocks = messages.iter().flat_map(|one| one["content"].as_array().into_iter().flatten());
    let results: Vec<&Value> = blocks.filter(|block| block["type"] == "tool_result").collect();
    assert_eq!(results.len(), 22, "{}", results.len());
    for (result, (tool, input)) in results.iter().zip(tries(&other)) {
        assert_eq!(result["is_error"], true, "{tool} {input}: {result}");
    }
    for result in &results[20..] {
        assert!(result.to_string().contains("exit_code"), "{result}");
    }
    assert_eq!(told["cost"]["usd"], json!(server.totals().cost_usd), "{told:#}");
}
