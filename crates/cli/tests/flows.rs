//! Layers of runs: exec, stage and phase, as a person and a script see them.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::time::Duration;

use serde_json::{Value, json};
use spore_testkit::kill::{CommandTraits, KillTarget, matrix_of};
use spore_testkit::{TestEnv, wait_until_none};

use crate::scenes::{self, WAIT_ONCE, told};

/// Three stages, two phases that do not wait for each other, and one that waits for both.
const RELEASE: &str = r#"
[executors.look]
role = "researcher"
artifact = "out/{target}-notes.md"

[executors.plan]
role = "planner"
prompt = "/spec {action} {target}"
actions = ["PLAN"]

[executors.make]
role = "builder"
timeout = "4s"

[orchestrators.ospec]
stages = [
  { name = "RESEARCH", executor = "look" },
  { name = "PLAN", executor = "plan", heal = 1 },
  { name = "IMPLEMENT", executor = "make", retry = 1 },
]
modifiers = { lean = ["PLAN"] }

[coordinators.release]
max_parallel = 2

[[coordinators.release.phases]]
name = "code"
orchestrator = "ospec"
target = "code"

[[coordinators.release.phases]]
name = "docs"
orchestrator = "ospec"
modifier = "lean"
target = "docs"

[[coordinators.release.phases]]
name = "ship"
orchestrator = "ospec"
modifier = "lean"
target = "ship"
depends_on = ["code", "docs"]
"#;

/// The plan fails at first, and the building takes too long at first.
const PARTS: &str = r#"
[[session]]
role = "researcher"
bounce = 1
cost_usd = 0.25
final = "STAGE_RESEARCH_COMPLETE"
steps = [
  { expect = "RESEARCH code" },
  { expect = "out/code-notes.md" },
  { write = "out/code-notes.md", content = "notes\n" },
]

[[session]]
role = "planner"
bounce = 1
final = "STAGE_FAILED: the notes are missing"
cost_usd = 0.125
steps = [{ expect = "/spec PLAN" }]

[[session]]
role = "planner"
bounce = 2
final = "STAGE_PLAN_COMPLETE"
cost_usd = 0.125
steps = [{ expect = "Attempt 1 did not succeed: the notes are missing" }]

[[session]]
role = "builder"
bounce = 1
steps = [{ say = "I think." }, { hang = true }]

[[session]]
role = "builder"
bounce = 2
final = "STAGE_IMPLEMENT_COMPLETE"
cost_usd = 0.5
steps = [{ say = "I build." }]
"#;

const REPLAY: &[&str] = &["--backend", "replay", "--scenario", "../parts.toml"];

fn scene(flow: &str, parts: &str) -> TestEnv {
    let env = scenes::small();
    env.write(".spore/flows/release.toml", flow);
    for role in ["researcher", "planner", "builder"] {
        env.write(&format!(".spore/agents/{role}.md"), "You do one thing.\n");
    }
    env.write_at(&env.dir().join("parts.toml"), parts);
    env
}

fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    args.iter().chain(more).copied().collect()
}

/// A file of the newest run, as JSON.
#[track_caller]
fn artefact(env: &TestEnv, name: &str) -> Value {
    serde_json::from_str(&scenes::artefact(env, name)).unwrap()
}

/// The names of the newest run's signals.
fn signals(env: &TestEnv) -> Vec<String> {
    let dir = env.repo().join(".spore/runs").join(scenes::newest_id(env)).join(".signals");
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A manifest's stages or phases in a line each.
fn lines(manifest: &Value, list: &str, name: &str) -> Vec<String> {
    let parts = manifest[list].as_array().unwrap().iter();
    parts
        .map(|part| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let times = part["attempts"]
                .as_u64()
                .unwrap_or(part["orchestrators"].as_array().map_or(0, |all| all.len() as u64));
            format!(
                "{} {} {} ×{times}",
                text(&part[name]),
                text(&part["status"]),
                part["exit_code"]
            )
        })
        .collect()
}

#[test]
fn a_flow_with_a_retried_stage_and_a_timeout_comes_to_its_end() {
    let env = scene(RELEASE, PARTS);
    let output = env.spore(&with(&["phase", "release", "--json"], REPLAY)).code(0);
    let manifest = output.json();
    assert_eq!(
        lines(&manifest, "phases", "phase"),
        ["code complete 0 ×1", "docs complete 0 ×1", "ship complete 0 ×1"]
    );
    assert_eq!(
        manifest["summary"],
        json!({ "total": 3, "passed": 3, "failed": 0, "exit_code": 0 })
    );
    // The one that hung said nothing of its cost, and is not taken for free.
    assert_eq!(manifest["cost"], json!({ "usd": 2.5, "estimated": true }));
    let stages = artefact(&env, "phases/phase-01-code/manifest.json");
    assert_eq!(
        lines(&stages, "stages", "name"),
        ["RESEARCH success 0 ×1", "PLAN success 0 ×2", "IMPLEMENT success 0 ×2"]
    );
    assert_eq!(stages["stages"][0]["artifact"], "out/code-notes.md");
    let report = artefact(&env, "phases/phase-01-code/report.json");
    assert_eq!(report["status"], "complete");
    assert_eq!(report["artifacts"], json!(["out/code-notes.md"]));
    assert_eq!(
        report["orchestrators"][0]["manifest"],
        "phases/phase-01-code/attempt-1/manifest.json"
    );
    assert_eq!(
        signals(&env),
        [
            "coord-release.done",
            "exec-code.IMPLEMENT.done",
            "exec-code.PLAN.done",
            "exec-code.RESEARCH.done",
            "exec-docs.PLAN.done",
            "exec-ship.PLAN.done",
            "orch-code.done",
            "orch-docs.done",
            "orch-ship.done",
        ]
    );
    let signal = scenes::artefact(&env, ".signals/exec-code.RESEARCH.done");
    insta::assert_snapshot!(scenes::plain(&signal), @r#"
    path: "out/code-notes.md"
    size: 6
    status: success
    exit_code: 0
    created_at: 2026-01-02T03:06:00.000Z
    completed_at: 2026-01-02T03:06:00.000Z
    trace_id: RUNID-001
    layer: exec
    name: code.RESEARCH
    elapsed_seconds: 0.000
    run: RUNID-002
    version: 1
    "#);
    let shown = env.spore(&["runs", "show", &scenes::newest_id(&env)]).code(0);
    let parts: Vec<&str> = shown.stdout.split("Parts").last().unwrap().lines().collect();
    let has = |end: &str| parts.iter().any(|part| part.ends_with(end));
    assert!(has("  exec code.PLAN  failed: the notes are missing"), "{parts:#?}");
    assert!(has("  exec code.IMPLEMENT  failed: its time was over"), "{parts:#?}");
    let live = scenes::artefact(&env, ".live-report");
    let words: Vec<String> = live
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["stage"] == "code.IMPLEMENT")
        .map(|line| line["status"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(words, ["STARTING", "TIMEOUT", "STARTING", "COMPLETE"]);
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(8)), []);
}

#[test]
fn a_flow_killed_at_any_effect_ends_like_one_that_was_not() {
    let parts = PARTS
        .replace("steps = [{ say = \"I think.\" }, { hang = true }]", "steps = [{ exit = 21 }]");
    let flow = RELEASE.split("[[coordinators.release.phases]]\nname = \"ship\"").next().unwrap();
    let whole = std::env::var_os("FLOW_MATRIX").is_some();
    let target = KillTarget {
        scene: &|| scene(flow, &parts),
        command: &["phase", "release", "--backend", "replay", "--scenario", "../parts.toml"],
        random: if whole { 40 } else { 2 },
    };
    let tally = matrix_of(
        &target,
        CommandTraits { parallel: true, one_of_each: !whole, ..CommandTraits::default() },
    );
    println!("kill matrix of a flow: {}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
    assert!(tally.points > 12, "{}", tally.line());
}

/// An agent that counts its calls and exits with the number it is given as its target.
fn exiting(keys: &str, phase: &str) -> TestEnv {
    let env = scenes::small();
    env.write_at(
        &env.dir().join("agent.sh"),
        "code=$(grep -xE '[0-9]+' | head -n 1)\necho x >> \"$HOME/calls\"\necho STAGE_A_COMPLETE\nexit $code\n",
    );
    let flow = format!(
        "[executors.e]\nprompt = \"{{target}}\"\nbackend = \"command\"\n\
         [orchestrators.o]\nstages = [{{ name = \"A\", executor = \"e\", {keys} }}]\n"
    );
    let phases: String = EXITS
        .iter()
        .map(|code| {
            format!(
                "[coordinators.c{code}]\n[[coordinators.c{code}.phases]]\nname = \"p\"\n\
                 orchestrator = \"o\"\ntarget = \"{code}\"\n{phase}\n"
            )
        })
        .collect();
    env.write(".spore/flows/exits.toml", &format!("{flow}{phases}"));
    let config = std::fs::read_to_string(env.repo().join(".spore/config.toml")).unwrap();
    let agent = env.dir().join("agent.sh").display().to_string();
    let command = format!("[command]\nprogram = \"sh\"\nargs = [\"{agent}\"]\noutput = \"text\"\n");
    let role = "[roles.operator]\ntier = \"high\"\n";
    env.write(".spore/config.toml", &format!("{config}{command}{role}"));
    env
}

const EXITS: [u8; 10] = [0, 1, 2, 3, 10, 11, 12, 20, 21, 75];

/// Runs a layer with every exit code, and compares what it exits with, how often it called
/// the agent, and what its run is called then.
#[track_caller]
fn check_exits(env: &TestEnv, command: &dyn Fn(&str) -> Vec<String>, expected: &str) {
    let mut told = Vec::new();
    for code in EXITS {
        let calls = env.dir().join("home/calls");
        let _ = std::fs::remove_file(&calls);
        let args = command(&code.to_string());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = env.spore(&args);
        let calls = std::fs::read_to_string(&calls).map_or(0, |text| text.lines().count());
        let listed = env.spore(&["runs", "list", "--json"]).code(0).json();
        let status = listed[0]["status"].as_str().unwrap().to_owned();
        told.push(format!("{code} → {} ×{calls} {status}", output.code));
    }
    let expected: Vec<String> =
        expected.trim().lines().map(|line| line.trim().to_owned()).collect();
    assert_eq!(told, expected);
}

#[test]
fn an_executor_passes_every_exit_code_on() {
    let env = exiting("heal = 0, retry = 0", "");
    let command = |code: &str| ["exec", "e", "A", code].map(str::to_owned).to_vec();
    check_exits(
        &env,
        &command,
        "0 → 0 ×1 finished
         1 → 1 ×1 failed
         2 → 2 ×1 failed
         3 → 3 ×1 parked:human
         10 → 10 ×1 failed
         11 → 11 ×1 parked:human
         12 → 12 ×1 partial
         20 → 20 ×1 interrupted
         21 → 21 ×1 failed
         75 → 75 ×1 parked:quota",
    );
}

#[test]
fn a_stage_heals_retries_and_raises_by_the_table() {
    let env = exiting("heal = 2, retry = 1", "");
    let command = |code: &str| ["stage", "o", "full", code].map(str::to_owned).to_vec();
    check_exits(
        &env,
        &command,
        "0 → 0 ×1 finished
         1 → 1 ×4 failed
         2 → 2 ×1 failed
         3 → 3 ×1 parked:human
         10 → 10 ×3 failed
         11 → 11 ×1 parked:human
         12 → 12 ×2 partial
         20 → 20 ×1 interrupted
         21 → 21 ×2 failed
         75 → 75 ×1 parked:quota",
    );
}

#[test]
fn a_phase_retries_resolves_and_raises_by_the_table() {
    let env = exiting("heal = 0, retry = 0", "retry = 1\nresolve = 1");
    let command = |code: &str| vec!["phase".to_owned(), format!("c{code}")];
    check_exits(
        &env,
        &command,
        "0 → 0 ×1 finished
         1 → 1 ×2 failed
         2 → 2 ×1 failed
         3 → 3 ×1 parked:human
         10 → 10 ×2 failed
         11 → 11 ×1 parked:human
         12 → 12 ×2 partial
         20 → 20 ×1 interrupted
         21 → 21 ×2 failed
         75 → 75 ×1 parked:quota",
    );
}

#[test]
fn a_stage_that_is_not_required_leaves_a_partial_success() {
    let flow = r#"
        [executors.look]
        role = "researcher"
        [executors.plan]
        role = "planner"
        [orchestrators.o]
        stages = [
          { name = "LOOK", executor = "look", required = false, heal = 0, retry = 0 },
          { name = "PLAN", executor = "plan" },
        ]
    "#;
    let parts = r#"
        [[session]]
        role = "researcher"
        bounce = 1
        steps = [{ exit = 1 }]
        [[session]]
        role = "planner"
        bounce = 1
        final = "STAGE_PLAN_COMPLETE"
    "#;
    let env = scene(flow, parts);
    let output = env.spore(&with(&["stage", "o", "full", "t"], REPLAY)).code(12);
    insta::assert_snapshot!(told(&output), @"
    exit code: 12
    --- stdout
      LOOK              failure: it exited with code 1 and no final message
      PLAN              success
      LOOK              failed by run RUN-0001
      PLAN              finished by run RUN-0002
    The stage o ended with exit code 12, after ~$2.00: not every stage passed: LOOK
      spore runs show RUN-0003
      .spore/runs/RUNID-003
    --- stderr
    Initialised .spore/, where runs are kept.
    [LOOK] STARTING
    [LOOK] FAILED:exit=1 - it exited with code 1 and no final message
    [PLAN] STARTING
    [PLAN] COMPLETE
    ");
    assert_eq!(signals(&env), ["exec-LOOK.fail", "exec-PLAN.done", "orch-o.fail"]);
}

#[test]
fn ctrl_c_parks_a_flow_and_resume_ends_it() {
    let parts = PARTS
        .replace(
            "steps = [{ say = \"I think.\" }, { hang = true }]",
            "final = \"STAGE_IMPLEMENT_COMPLETE\"",
        )
        .replace(
            "steps = [{ expect = \"/spec PLAN\" }]",
            &format!("steps = [{{ expect = \"/spec PLAN\" }}, {WAIT_ONCE}]"),
        );
    let env = scene(RELEASE, &parts);
    let args = with(&["phase", "release"], REPLAY);
    let child = env.start_in(&env.repo(), &args, &[]);
    scenes::wait_for("the agent", || env.dir().join("home/waits").exists());
    scenes::system(&env, "kill", &["-INT", &child.id().to_string()]);
    let output = env.finish(child).code(20);
    assert!(output.stdout.contains("spore resume"), "{}", output.render());
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(8)), []);
    assert_eq!(scenes::newest(&env)["status"], "interrupted");
    let resumed = env.spore(&["resume"]).code(0);
    assert!(resumed.stdout.contains("finished"), "{}", resumed.render());
    let shown = scenes::newest(&env);
    assert_eq!(shown["status"], "finished");
    assert_eq!(shown["run"]["kind"], "phase");
    let manifest = artefact(&env, "manifest.json");
    assert_eq!(manifest["summary"]["passed"], 3);
}

#[test]
fn parallel_phases_share_one_budget_and_park_at_the_cap() {
    let env = scene(RELEASE, &PARTS.replace("{ hang = true }", "{ exit = 21 }"));
    let args = with(&["phase", "release", "--budget", "0.5"], REPLAY);
    let output = env.spore(&args).code(3);
    assert!(output.stdout.contains("--budget +5"), "{}", output.render());
    let shown = scenes::newest(&env);
    assert_eq!(shown["status"], "parked:budget");
    // A session may overshoot what is left by its last response; the flow starts no other.
    assert!(shown["cost"]["usd"].as_f64().unwrap() <= 1.0, "{}", shown["cost"]);
    let _ = env.spore(&["resume", "--budget", "+5"]).code(0);
    assert_eq!(scenes::newest(&env)["cost"]["usd"], 2.5);
}

#[test]
fn what_needs_refinement_is_told_and_run_again_with_a_resolution() {
    let flow = r#"
        [executors.plan]
        role = "planner"
        [orchestrators.o]
        stages = [{ name = "PLAN", executor = "plan", heal = 0, retry = 0 }]
        [coordinators.c]
        phases = [{ name = "p", orchestrator = "o", target = "t" }]
    "#;
    let parts = r#"
        [[session]]
        role = "planner"
        bounce = 1
        final = "STAGE_NEEDS_REFINEMENT: which format?"
    "#;
    let env = scene(flow, parts);
    let output = env.spore(&with(&["phase", "c"], REPLAY)).code(10);
    assert!(output.stdout.contains("which format?"), "{}", output.render());
    assert_eq!(signals(&env), ["coord-c.refine", "exec-p.PLAN.refine", "orch-p.refine"]);
    let asked = scenes::artefact(&env, "refinements/exec-p.PLAN.md");
    insta::assert_snapshot!("a_refinement", asked);
    let second =
        scenes::artefact(&env, "phases/phase-01-p/attempt-2/stages/PLAN/attempt-1/session/task.md");
    insta::assert_snapshot!("a_task_with_a_resolution", second);
    assert!(scenes::artefact(&env, "resolutions/orch-p.md").contains("which format?"));
}

#[test]
pub(crate) fn a_stage_may_be_a_whole_verified_run() {
    let flow = r#"
        [orchestrators.o]
        stages = [
          { name = "WORK", executor = "orchestrate", task = "write the answer to {target}" },
          { name = "CHECK", executor = "sentinel" },
        ]
        [coordinators.c]
        phases = [{ name = "p", orchestrator = "o", target = "life" }]
    "#;
    let env = scene(flow, &scenes::one_bounce(scenes::WRITE_42));
    let output = env.spore(&with(&["phase", "c", "--json"], REPLAY)).code(0);
    assert_eq!(output.json()["phases"][0]["sentinel_grade"], "PASS");
    assert_eq!(output.json()["cost"]["usd"], 0.75);
    let shown = scenes::newest(&env);
    let kinds: Vec<&str> = shown["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["stage", "orchestrate", "sentinel", "gates"]);
    let task = &shown["parts"][1];
    assert_eq!(task["status"], "verified");
    assert!(task["name"].as_str().unwrap().contains("write the answer to life"));
    let branch = output.json()["branch"].as_str().unwrap().to_owned();
    assert!(branch.starts_with("spore/flow/"), "{branch}");
    assert_eq!(env.git(&["show", &format!("{branch}:answer.txt")]), "42");
    assert_eq!(env.git(&["rev-parse", &branch]), task["commit"].as_str().unwrap());
}

#[test]
fn at_the_depth_limit_nothing_is_started_and_sessions_know_the_limit() {
    let flow = "[executors.e]\nrole = \"planner\"\n\
                [orchestrators.o]\nstages = [{ name = \"A\", executor = \"e\" }]\n";
    let parts = "[[session]]\nrole = \"planner\"\nbounce = 1\nfinal = \"STAGE_A_COMPLETE\"\n\
                 steps = [{ run = \"env > ~/env.txt\" }]\n";
    let env = scene(flow, parts);
    let args = with(&["stage", "o", "full", "t"], REPLAY);
    let deep = env.spore_in(&env.repo(), &args, &[("SPORE_SPAWN_DEPTH", "3")]).code(2);
    assert_eq!(deep.stdout, "");
    assert!(!env.dir().join("home/env.txt").exists());
    let last = env.spore_in(&env.repo(), &args, &[("SPORE_SPAWN_DEPTH", "2")]).code(0);
    assert!(last.stderr.contains("last level"), "{}", last.stderr);
    let seen = std::fs::read_to_string(env.dir().join("home/env.txt")).unwrap();
    for line in ["SPORE_SPAWN_DEPTH=3\n", "SPORE_SPAWN_MAX_DEPTH=3\n", "SPORE_TRACE_ID="] {
        assert!(seen.contains(line), "{seen}");
    }
}

#[test]
fn an_artifact_that_is_not_there_is_a_failure_whatever_the_agent_says() {
    let flow = "[executors.e]\nrole = \"planner\"\nartifact = \"out/{target}.md\"\n";
    let parts = "[[session]]\nrole = \"planner\"\nbounce = 1\nfinal = \"STAGE_PLAN_COMPLETE\"\n";
    let env = scene(flow, parts);
    let output = env.spore(&with(&["exec", "e", "PLAN", "notes"], REPLAY)).code(1);
    assert!(output.stderr.contains("it left no out/notes.md"), "{}", output.render());
}

#[test]
fn what_is_wrong_with_a_flow_is_said_and_nothing_is_started() {
    let env = scene("[executors.e]\nmodle = \"x\"\n", PARTS);
    let output = env.spore(&with(&["exec", "e", "A", "t"], REPLAY)).code(78);
    assert_eq!(output.stdout, "");
    assert!(
        output.stderr.contains(".spore/flows/release.toml:2:1: there is no setting"),
        "{}",
        output.stderr
    );
    let env = scene(RELEASE, PARTS);
    let unknown = env.spore(&with(&["phase", "releese", "--json"], REPLAY)).code(64);
    assert_eq!(unknown.stdout, "");
    let error: Value = serde_json::from_str(&unknown.stderr).unwrap();
    assert_eq!(error["error"]["hint"], "there are: release");
    let other = env.spore(&with(&["phase", "ospec"], REPLAY)).code(64);
    assert!(other.stderr.contains("ospec is an orchestrator"), "{}", other.render());
    assert!(other.stderr.contains("spore stage ospec full TARGET"), "{}", other.render());
    let _ = env.spore(&with(&["exec", "plan", "PLANT", "t"], REPLAY)).code(64);
    let _ = env.spore(&["stage", "ospec", "lean", "t", "--backend", "nobody"]).code(64);
    let _ = env.spore(&with(&["exec", "plan", "PLAN", "t", "--timeout", "0s"], REPLAY)).code(64);
    let _ = env.spore(&with(&["exec", "plan", "PLAN", "t", "--model", ""], REPLAY)).code(64);
    let check = |flow: &str, call: &[&str], code: i32, told: &str| {
        env.write(".spore/flows/more.toml", flow);
        let refused = env.spore(&with(call, REPLAY)).code(code);
        assert!(refused.stderr.contains(told), "{}", refused.render());
    };
    for path in [".env", ".spore/x", ".git/x", "a/.env.local"] {
        let flow = format!("[executors.e]\nartifact = \"{path}\"\n");
        check(&flow, &["exec", "e", "A", "t"], 78, "more.toml:2");
    }
    let flow = "[executors.e]\nartifact = \"{target}\"\n";
    check(flow, &["exec", "e", "A", ".env"], 64, "never enters a commit");
    env.write(".spore/agents/hollow.md", " \n");
    let flow = "[executors.e]\nrole = \"hollow\"\n";
    check(flow, &["exec", "e", "A", "t"], 78, ".spore/agents/hollow.md");
    // What is held to the project's checks is nothing to pay for where it has none.
    env.write(".spore/config.toml", "");
    let checked = "[executors.e]\n[orchestrators.s]\nstages = [{ name = \"A\", executor = \"e\" }, \
                   { name = \"C\", executor = \"sentinel\" }]\n\
                   [orchestrators.t]\nstages = [{ name = \"W\", executor = \"orchestrate\" }]\n\
                   [coordinators.c]\nphases = [{ name = \"p\", orchestrator = \"s\", target = \"t\" }]\n\
                   [campaigns.m]\ncoordinator = \"c\"\n";
    let calls: [&[&str]; 4] = [
        &["stage", "s", "full", "t"],
        &["stage", "t", "full", "t"],
        &["phase", "c"],
        &["campaign", "run", "m", "t"],
    ];
    for call in calls {
        check(checked, call, 78, "no build or test command was found");
    }
    let listed = env.spore(&["runs", "list", "--json"]);
    assert!(listed.code == 69 || listed.json() == json!([]), "{}", listed.render());
}
