//! Flows that ask: what a part cannot decide is answered by a person or by a resolver, and goes on
//! from there.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::print_stdout, reason = "what was tried is worth knowing")]

use serde_json::{Value, json};
use spore_scripted_model::{ModelServer, Turn, When};
use spore_testkit::kill::{CommandTraits, KillTarget, matrix_of};
use spore_testkit::{ProgramOutput, TestEnv};

use crate::kill_matrix::asked_for;
use crate::scenes;
use crate::verified_run::{self, MODEL};

/// Notes, then work that needs them and asks before it does it, then the project's checks; beside
/// it a phase that makes something and fails.
const FLOW: &str = r#"
[executors.look]
role = "researcher"
prompt = "Write notes about {target}."
artifact = "notes/{target}.md"

[executors.make]
role = "builder"
prompt = "Do what the notes about {target} say."

[executors.spoil]
role = "writer"
prompt = "Write more about {target}."

[orchestrators.careful]
stages = [
  { name = "NOTES", executor = "look" },
  { name = "WORK", executor = "make", heal = 0, retry = 0 },
  { name = "CHECK", executor = "sentinel" },
]

[orchestrators.more]
stages = [
  { name = "MORE", executor = "look", artifact = "more.md" },
  { name = "SPOIL", executor = "spoil", heal = 0, retry = 0 },
]

[coordinators.both]
max_parallel = 1
phases = [
  { name = "work", orchestrator = "careful", target = "life" },
  { name = "extra", orchestrator = "more", target = "death", retry = 0, required = false },
]
"#;

fn parts(word: &str) -> String {
    format!(
        r#"
[[session]]
role = "researcher"
bounce = 1
task = "about life"
cost_usd = 0.25
final = "STAGE_NOTES_COMPLETE"
steps = [{{ write = "notes/life.md", content = "it is 42\n" }}]

[[session]]
role = "researcher"
bounce = 1
task = "about death"
cost_usd = 0.0625
final = "STAGE_MORE_COMPLETE"
steps = [{{ write = "more.md", content = "more\n" }}]

[[session]]
role = "builder"
bounce = 1
task = "It is to be 42."
cost_usd = 0.5
final = "STAGE_WORK_COMPLETE"
steps = [{{ expect = "What a person answered" }}, {{ run = "cp notes/life.md answer.txt" }}]

[[session]]
role = "builder"
bounce = 1
cost_usd = 0.125
final = "I looked.\n{word}: which number?"

[[session]]
role = "writer"
bounce = 1
cost_usd = 0.0625
final = "STAGE_FAILED: no idea"
steps = [{{ write = "spoilt.txt", content = "spoilt\n" }}]
"#
    )
}

const REPLAY: &[&str] = &["--backend", "replay", "--scenario", "../parts.toml"];
const PHASE: &[&str] = &["phase", "both", "--backend", "replay", "--scenario", "../parts.toml"];

fn scene_with(flow: &str, parts: &str) -> TestEnv {
    let env = scenes::small();
    env.write(".spore/flows/careful.toml", flow);
    for role in ["researcher", "builder", "writer", "judge"] {
        env.write(&format!(".spore/agents/{role}.md"), "You do one thing.\n");
    }
    env.write_at(&env.dir().join("parts.toml"), parts);
    env.write_at(&env.dir().join("answer.md"), "It is to be 42.\n");
    env
}

fn scene() -> TestEnv {
    scene_with(FLOW, &parts("STAGE_NEEDS_ESCALATION"))
}

fn run(env: &TestEnv, args: &[&str]) -> ProgramOutput {
    env.spore(&[args, REPLAY].concat())
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} of {value:#}"))
}

/// The names of a run's files below one of its directories.
fn names(env: &TestEnv, dir: &str) -> Vec<String> {
    let dir = env.repo().join(".spore/runs").join(scenes::newest_id(env)).join(dir);
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn three_stages_a_question_and_a_phase_that_is_taken_back() {
    for (word, code) in [("STAGE_NEEDS_HUMAN", 3), ("STAGE_NEEDS_ESCALATION", 11)] {
        let env = scene_with(FLOW, &parts(word));
        let asked = run(&env, &["phase", "both"]).code(code);
        assert!(asked.stdout.contains("which number?"), "{}", asked.render());
        assert!(asked.stdout.contains("spore resolve"), "{}", asked.render());
        let id = scenes::newest_id(&env);
        assert_eq!(scenes::newest(&env)["status"], "parked:human");
        let request = scenes::artefact(&env, "refinements/exec-work.WORK.md");
        assert!(
            request.contains("which number?") && request.contains("spore resolve"),
            "{request}"
        );
        assert!(names(&env, ".signals").contains(&"exec-work.WORK.refine".to_owned()));
        // To go on without an answer asks no model again and costs nothing.
        let before = scenes::newest(&env)["cost"]["usd"].clone();
        let _ = env.spore(&["resume", &id]).code(code);
        assert_eq!(scenes::newest(&env)["cost"]["usd"], before);
        // The other phase did not wait for the answer, and is over.
        assert!(scenes::artefact(&env, ".session-state").starts_with("state: PHASE_2\n"));
        let told = env.spore(&["resolve", &id, "--file", "../answer.md", "--json"]).code(12).json();
        let branch = text(&told, "branch");
        assert_eq!(env.git(&["show", &format!("{branch}:answer.txt")]), "it is 42");
        let files = env.git(&["ls-tree", "-r", "--name-only", branch]);
        assert!(!files.contains("more.md") && !files.contains("spoilt.txt"), "{files}");
        let attempt = &told["phases"][1]["orchestrators"][0];
        let kept = format!("refs/spore/{}/rolled-back", text(attempt, "run"));
        assert_eq!(env.git(&["show", &format!("{kept}:more.md")]), "more");
        assert_eq!(text(&told["phases"][0], "sentinel_grade"), "PASS");
        assert_eq!(told["cost"]["usd"], 1.0);
        let signals = names(&env, ".signals");
        assert!(signals.contains(&"exec-work.WORK.done".to_owned()), "{signals:?}");
        assert!(!signals.contains(&"exec-work.WORK.refine".to_owned()), "{signals:?}");
        // The session's directory tells the same.
        let state = scenes::artefact(&env, ".session-state");
        assert!(
            state.starts_with("state: COMPLETE\ncurrent_phase: 2\ntotal_phases: 2\n"),
            "{state}"
        );
        let checkpoints = names(&env, "checkpoints");
        assert_eq!(checkpoints.len(), 2, "{checkpoints:?}");
        assert!(state.contains(&format!("last_checkpoint: checkpoints/{}", checkpoints[1])));
        let last: Value = serde_json::from_str(&scenes::artefact(
            &env,
            &format!("checkpoints/{}", checkpoints[1]),
        ))
        .unwrap();
        assert_eq!(last["completed_phases"][0]["sentinel_grade"], "PASS");
        assert_eq!(last["pending_phases"], json!([]));
        assert_eq!(last["trace_id"], told["trace_id"]);
        let report = scenes::artefact(&env, "execution-report.md");
        assert!(report.contains("| extra | failure | 1 |"), "{report}");
    }
}

#[test]
fn several_questions_are_answered_one_by_one_and_reach_who_asked() {
    let flow = FLOW.replace("max_parallel = 1", "max_parallel = 2");
    let scenario = r#"
[[session]]
role = "researcher"
bounce = 1
task = "It is to be 42."
final = "STAGE_MORE_COMPLETE"
steps = [{ write = "more.md", content = "more\n" }]
[[session]]
role = "researcher"
bounce = 1
task = "Only for the notes."
final = "STAGE_NOTES_COMPLETE"
steps = [{ write = "notes/life.md", content = "it is 42\n" }]
[[session]]
role = "researcher"
bounce = 1
final = "STAGE_NEEDS_HUMAN: may I?"
[[session]]
role = "builder"
bounce = 1
final = "STAGE_WORK_COMPLETE"
steps = [{ run = "cp notes/life.md answer.txt" }]
[[session]]
role = "writer"
bounce = 1
final = "STAGE_SPOIL_COMPLETE"
"#;
    let env = scene_with(&flow, scenario);
    let asked = run(&env, &["phase", "both", "--json"]).code(3).json();
    let questions = asked["questions"].as_array().unwrap();
    let mut asking: Vec<&str> = questions.iter().map(|one| text(one, "name")).collect();
    asking.sort_unstable();
    assert_eq!(asking, ["extra.MORE", "work.NOTES"], "{asked:#}");
    let id = scenes::newest_id(&env);
    // What is to be typed answers each, and no layer above them was cut off.
    let typed = text(&asked["next"], "command").lines().collect::<Vec<_>>();
    assert_eq!(typed.len(), 2, "{asked:#}");
    for (command, one) in typed.iter().zip(questions) {
        let run = text(one, "run");
        assert_eq!(*command, format!("spore resolve {} --file ANSWER.md", &run[run.len() - 8..]));
    }
    let shown = env.spore(&["runs", "show", &id]).code(0).stdout;
    assert!(shown.contains("parked:human") && !shown.contains("interrupted"), "{shown}");
    let task = "both: work, extra";
    let listed = env.spore(&["runs", "list"]).code(0).stdout;
    assert!(shown.contains(task) && listed.contains(task), "{shown}{listed}");
    for blank in ["", " \n"] {
        let refused = env.spore(&["resolve", &id, "--reject", blank]);
        assert!(refused.code == 64, "{}", refused.render());
    }
    let unclear = env.spore(&["resolve", &id, "--approve"]).code(64);
    assert!(unclear.stderr.contains("2 parts of run"), "{}", unclear.render());
    let of = |name: &str| {
        let mut all = questions.iter().filter(|one| one["name"] == name);
        text(all.next().unwrap(), "run").to_owned()
    };
    let (extra, work) = (of("extra.MORE"), of("work.NOTES"));
    let told = env.spore(&["resolve", &extra, "--file", "../answer.md", "--json"]).code(3).json();
    assert_eq!(told["questions"].as_array().unwrap().len(), 1, "{told:#}");
    env.write_at(&env.dir().join("answer.md"), "Only for the notes.\n");
    let told = env.spore(&["resolve", &work, "--file", "../answer.md", "--json"]).code(0).json();
    let files = env.git(&["ls-tree", "-r", "--name-only", text(&told, "branch")]);
    assert!(files.contains("more.md") && files.contains("answer.txt"), "{files}");
}

/// A verified run that gives up is over, and its stage is run anew with what a person said.
#[test]
pub(crate) fn an_escalated_run_inside_a_stage_is_tried_again_with_the_answer() {
    let flow = r#"
[orchestrators.o]
stages = [{ name = "WORK", executor = "orchestrate", task = "write {target}", max_bounces = 1 }]
"#;
    let good = scenes::one_bounce(scenes::WRITE_42);
    let bad = scenes::one_bounce("{ say = \"no idea\" }");
    let good = good.replacen("role = \"coder\"", "role = \"coder\"\ntask = \"It is to be 42.\"", 1);
    let env = scene_with(flow, &format!("{good}\n{bad}"));
    let asked = run(&env, &["stage", "o", "full", "it"]).code(11);
    assert!(asked.stdout.contains("spore resolve"), "{}", asked.render());
    let id = scenes::newest_id(&env);
    let told = env.spore(&["resolve", &id, "--file", "../answer.md", "--json"]).code(0).json();
    assert_eq!(told["stages"][0]["attempts"], 2, "{told:#}");
}

/// The same stage, led by a session, and beside it a stage whose title begins with the same words.
#[test]
fn an_escalated_run_is_tried_again_with_the_answer_where_a_session_leads_too() {
    let flow = r#"
[orchestrators.o]
stages = [{ name = "WORK", executor = "orchestrate", task = "write {target}", max_bounces = 1 }]
"#;
    let good = scenes::one_bounce(scenes::WRITE_42);
    let bad = scenes::one_bounce("{ say = \"no idea\" }");
    let good = good.replacen("role = \"coder\"", "role = \"coder\"\ntask = \"It is to be 42.\"", 1);
    let leads = "[[session]]\nrole = \"leader\"\nbounce = 1\nfinal = \"done\"\n\
                 steps = [{ call = \"run_exec\", arguments = { name = \"WORK\" } }]\n";
    let env = scene_with(flow, &format!("{leads}{good}\n{bad}"));
    let _ = run(&env, &["stage", "o", "full", "it", "--mode", "agent"]).code(11);
    let id = scenes::newest_id(&env);
    let told = env.spore(&["resolve", &id, "--file", "../answer.md", "--json"]).code(0).json();
    assert_eq!(told["stages"][0]["attempts"], 2, "{told:#}");
}

/// What a phase is run again with is told to a stage that is a verified run as well.
#[test]
fn a_resolution_reaches_a_stage_that_is_a_verified_run() {
    let flow = r#"
[executors.look]
role = "builder"
[orchestrators.o]
stages = [
  { name = "LOOK", executor = "look", heal = 0, retry = 0 },
  { name = "WORK", executor = "orchestrate", task = "write {target}", max_bounces = 1, heal = 0 },
]
[coordinators.c]
phases = [{ name = "p", orchestrator = "o", target = "it", retry = 0 }]
"#;
    let looks = "[[session]]\nrole = \"builder\"\nbounce = 1\ntask = \"## How to get past it\"\n\
                 final = \"STAGE_LOOK_COMPLETE\"\n[[session]]\nrole = \"builder\"\nbounce = 1\n\
                 final = \"STAGE_NEEDS_REFINEMENT: write 42\"\n";
    let good = scenes::one_bounce(scenes::WRITE_42);
    let told = "role = \"coder\"\ntask = \"ended with exit code 10: LOOK: write 42\"";
    let good = good.replacen("role = \"coder\"", told, 1);
    let env = scene_with(flow, &format!("{looks}{good}"));
    let told = run(&env, &["phase", "c", "--json"]).code(0).json();
    assert_eq!(told["phases"][0]["orchestrators"].as_array().unwrap().len(), 2, "{told:#}");
}

#[test]
fn one_exec_is_answered_or_told_no_and_what_asks_nothing_says_how_to_go_on() {
    let scenario = "[[session]]\nrole = \"builder\"\nbounce = 1\ntask = \"Rejected: not today\"\n\
                    cost_usd = 0.25\nfinal = \"STAGE_WORK_COMPLETE\"\n\
                    [[session]]\nrole = \"builder\"\nbounce = 1\ncost_usd = 0.25\n\
                    final = \"STAGE_NEEDS_HUMAN: may I?\"\n";
    let env = scene_with(FLOW, scenario);
    let _ = run(&env, &["exec", "make", "WORK", "it"]).code(3);
    let id = scenes::newest_id(&env);
    let _ = env.spore(&["resolve", &id, "--reject", "not today"]).code(0);
    // One that waits for its budget asks nothing.
    let env = scene_with(FLOW, &parts("STAGE_NEEDS_HUMAN"));
    let _ = run(&env, &["stage", "careful", "full", "life", "--budget", "0.1"]).code(3);
    let id = scenes::newest_id(&env);
    let refused = env.spore(&["resolve", &id, "--approve"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("spore resume"), "{}", refused.render());
}

#[test]
pub(crate) fn a_resolver_is_told_a_bounded_summary_and_its_words_reach_the_next_attempt() {
    let flow = r#"
[executors.plan]
role = "builder"
[executors.judge]
role = "judge"
prompt = "Decide about {target}."
[orchestrators.o]
stages = [{ name = "PLAN", executor = "plan", heal = 0, retry = 0 }]
[coordinators.c]
resolver = "judge"
phases = [{ name = "p", orchestrator = "o", target = "t" }]
"#;
    let long = "x".repeat(60_000);
    let scenario = format!(
        r#"
[[session]]
role = "builder"
bounce = 1
task = "Take the first format."
final = "STAGE_PLAN_COMPLETE"
[[session]]
role = "builder"
bounce = 1
final = "{long}\nSTAGE_NEEDS_REFINEMENT: which format?"
[[session]]
role = "judge"
bounce = 2
cost_usd = 0.25
final = "Take the first format.\nSTAGE_RESOLVE_COMPLETE"
steps = [{{ expect = "which format?" }}, {{ expect = "Decide about t." }}]
"#
    );
    let env = scene_with(flow, &scenario);
    let told = run(&env, &["phase", "c", "--json"]).code(0).json();
    assert_eq!(told["phases"][0]["orchestrators"].as_array().unwrap().len(), 2, "{told:#}");
    assert_eq!(scenes::artefact(&env, "resolutions/orch-p.md"), "Take the first format.\n");
    let asked = "phases/phase-01-p/attempt-2/resolver/session/task.md";
    let asked = scenes::artefact(&env, asked);
    assert!(asked.len() < 20_000 && asked.contains("which format?"), "{}", asked.len());
    // One that has no good answer leaves the phase with what it asked for itself.
    let dumb = scenario.replace("STAGE_RESOLVE_COMPLETE", "I cannot say.");
    let dumb = dumb.replace("task = \"Take the first format.\"", "task = \"Settle that first.\"");
    let env = scene_with(flow, &dumb);
    let _ = run(&env, &["phase", "c"]).code(0);
    assert!(scenes::artefact(&env, "resolutions/orch-p.md").contains("Settle that first."));
}

#[test]
fn a_resolver_that_is_not_there_is_refused_with_its_line() {
    let flow = "[executors.e]\nactions = [\"A\"]\n[orchestrators.o]\n\
                stages = [{ name = \"A\", executor = \"e\" }]\n[coordinators.c]\nresolver = \"WHO\"\n\
                phases = [{ name = \"p\", orchestrator = \"o\", target = \"t\" }]\n";
    for (who, problem) in [("x", "executor"), ("e", "has no action RESOLVE")] {
        let env = scene_with(&flow.replace("WHO", who), "");
        let output = run(&env, &["phase", "c"]).code(78);
        assert!(output.stderr.contains("careful.toml:6"), "{}", output.render());
        assert!(output.stderr.contains(problem), "{}", output.render());
    }
}

#[test]
fn events_for_programs_have_time_trace_depth_and_elapsed() {
    let env = scene();
    let output = run(&env, &["phase", "both", "--progress", "json", "--json"]).code(11);
    let trace = output.json()["trace_id"].clone();
    let layers: Vec<Value> = output
        .stderr
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line["progress"]["layer"].is_string())
        .map(|line| line["progress"].clone())
        .collect();
    assert!(layers.len() >= 6, "{}", output.stderr);
    for layer in &layers {
        assert_eq!(layer["trace_id"], trace, "{layer}");
        assert!(layer["ts"].is_string() && layer["depth"].is_u64(), "{layer}");
        let is_start = layer["status"] == "STARTING" || layer["status"] == "RETRY:2";
        let (layer_word, stage) = (text(layer, "layer"), text(layer, "stage"));
        if stage.ends_with("CHECK") {
            assert_eq!(layer_word, "sentinel", "{layer}");
        }
        let expected = match layer_word {
            "orch" => 1,
            _ => 2,
        };
        assert_eq!(layer["depth"], expected, "{layer}");
        assert_eq!(layer["elapsed_ms"].is_u64(), !is_start, "{layer}");
    }
}

/// A person answers whatever is asked, until nothing is.
fn answer(env: &TestEnv) {
    for _ in 0..4 {
        let shown = scenes::newest(env);
        if shown["status"] != "parked:human" {
            return;
        }
        let id = shown["run"]["id"].as_str().unwrap().to_owned();
        let _ = env.spore(&["resolve", &id, "--file", "../answer.md"]);
    }
}

fn is_whole() -> bool {
    asked_for("all")
}

#[track_caller]
fn check_kills(what: &str, target: &KillTarget<'_>) {
    let whole = is_whole();
    let traits = CommandTraits {
        one_of_each: !whole,
        only: if whole { None } else { Some(is_of_a_question) },
        then: Some(answer),
        ..CommandTraits::default()
    };
    let tally = matrix_of(target, traits);
    println!("kill matrix of {what}: {}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
}

/// The effects that a flow has because something is asked and answered: the others are killed at in
/// the matrix of a flow that asks nothing.
fn is_of_a_question(effect: &str) -> bool {
    let words = ["ask/", "resolutions/", "checkpoints/"];
    words.iter().any(|word| effect.contains(word))
}

/// `SPORE_KILLS=all` asks for every effect; the usual run takes one of each kind that is new here.
#[test]
fn a_flow_that_asks_killed_at_any_effect_ends_like_one_that_was_not() {
    let random = if is_whole() { 20 } else { 0 };
    check_kills("a flow that asks", &KillTarget { scene: &scene, command: PHASE, random });
}

#[test]
fn an_answer_killed_at_any_effect_is_given_once_and_reaches_who_asked() {
    let asked = || {
        let env = scene();
        let _ = env.spore(PHASE).code(11);
        env
    };
    let env = asked();
    let id = scenes::newest_id(&env);
    let command = ["resolve", id.as_str(), "--file", "../answer.md"];
    let random = if is_whole() { 20 } else { 0 };
    check_kills("an answer", &KillTarget { scene: &asked, command: &command, random });
}

/// The same flow with a real agent: notes, a question, the work, the checks, and a phase that is
/// taken back.
#[test]
fn live_claude_asks_is_answered_and_its_phase_is_taken_back() {
    let Ok(program) = std::env::var("SPORE_TEST_CLAUDE") else {
        eprintln!("skipped: SPORE_TEST_CLAUDE names no program; `cargo xtask test` does");
        return;
    };
    let shell = |command: &str| {
        Turn::calls("Bash", json!({ "command": command, "description": "as told" }))
    };
    let after =
        |result: &str| When { tool_result_contains: Some(result.to_owned()), ..When::default() };
    let turns = [
        Turn::says("STAGE_WORK_COMPLETE").when(after("WORKED")),
        Turn::says("STAGE_NOTES_COMPLETE").when(after("NOTED")),
        Turn::says("STAGE_MORE_COMPLETE").when(after("ADDED")),
        Turn::says("STAGE_FAILED: no idea").when(after("SPOILT")),
        shell("cp notes/life.md answer.txt && printf WOR; echo KED")
            .when(When::contains("It is to be 42.")),
        shell("mkdir -p notes && echo it is 42 > notes/life.md && printf NO; echo TED")
            .when(When::contains("Write notes about life.")),
        Turn::says("STAGE_NEEDS_ESCALATION: which number?")
            .when(When::contains("Do what the notes about life say.")),
        shell("echo more > more.md && printf AD; echo DED")
            .when(When::contains("Write notes about death.")),
        shell("echo spoilt > spoilt.txt && printf SPO; echo ILT")
            .when(When::contains("Write more about death.")),
    ];
    let server = ModelServer::start(verified_run::scenario(turns)).unwrap();
    let flow = ["researcher", "builder", "writer"].iter().fold(FLOW.to_owned(), |flow, role| {
        let role = format!("role = \"{role}\"");
        flow.replace(&role, &format!("{role}\nallowed_tools = [\"Bash\"]"))
    });
    let env = scene_with(&flow, "");
    let variables = verified_run::variables(&server.url());
    let variables = variables.iter().map(|(name, value)| (*name, value.as_str()));
    let variables: Vec<(&str, &str)> =
        variables.chain([("SPORE_CLAUDE_PROGRAM", program.as_str())]).collect();
    let args = ["phase", "both", "--backend", "claude", "--model", MODEL, "--json"];
    let asked = env.spore_in(&env.repo(), &args, &variables);
    assert_eq!(asked.code, 11, "{}", asked.render());
    let id = scenes::newest_id(&env);
    let answer = ["resolve", id.as_str(), "--file", "../answer.md", "--json"];
    let output = env.spore_in(&env.repo(), &answer, &variables);
    assert_eq!(output.code, 12, "{}", output.render());
    let told = output.json();
    let branch = text(&told, "branch");
    assert_eq!(env.git(&["show", &format!("{branch}:answer.txt")]), "it is 42");
    let attempt = &told["phases"][1]["orchestrators"][0];
    let kept = format!("refs/spore/{}/rolled-back", text(attempt, "run"));
    assert_eq!(env.git(&["show", &format!("{kept}:more.md")]), "more");
    assert_eq!(server.unanswered().len(), 0);
    assert_eq!(told["cost"]["usd"], json!(server.totals().cost_usd), "{told:#}");
}

/// Two stages of one agent, at the limit of nesting and one level before it.
#[test]
pub(crate) fn where_depth_runs_out_a_flow_gives_up_asks_for_more_or_does_all_in_one_session() {
    let flow = "[executors.e]\nrole = \"builder\"\nprompt = \"{action} it\"\n[orchestrators.o]\n\
                stages = [{ name = \"A\", executor = \"e\" }, { name = \"B\", executor = \"e\" }]\n";
    let scenario = "[[session]]\nrole = \"builder\"\nbounce = 1\nfinal = \"STAGE_A_B_COMPLETE\"\n\
                    steps = [{ expect = \"## Part 2: B\" }]\n";
    let args = [&["stage", "o", "full", "t", "--json"], REPLAY].concat();
    let at = |depth: &str, rule: &str| {
        let env = scene_with(flow, scenario);
        let more = [("SPORE_SPAWN_DEPTH", depth), ("SPORE_FLOWS_AT_DEPTH", rule)];
        let output = env.spore_in(&env.repo(), &args, &more);
        (env, output)
    };
    for (rule, code) in [("abort", 2), ("escalate", 11), ("compress", 2)] {
        let (env, output) = at("3", rule);
        assert_eq!(output.code, code, "{}", output.render());
        assert!(!env.repo().join(".spore/spore.db").exists(), "{}", output.render());
    }
    let (_env, output) = at("2", "compress");
    assert_eq!(output.code, 0, "{}", output.render());
    let told = output.json();
    assert_eq!(told["stages"].as_array().unwrap().len(), 1, "{told:#}");
    assert_eq!(told["stages"][0]["name"], "A-B");
}
