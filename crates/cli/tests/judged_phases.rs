//! The sentinel of a phase that asks roles: what it had mended lands, and nothing else passes.

use serde_json::{Value, json};
use spore_testkit::TestEnv;
use spore_testkit::kill::{CommandTraits, KillTarget, matrix_of};

use crate::campaign::{REPLAY, scene_with};
use crate::kill_matrix::asked_for;
use crate::scenes;

/// Notes, and then the answer, whose sentinel has judges.
const FLOW: &str = r#"
[executors.make]
role = "builder"
prompt = "Make {target}."

[orchestrators.plain]
stages = [{ name = "WORK", executor = "make", heal = 0, retry = 0 }]

[orchestrators.judged]
stages = [
  { name = "WORK", executor = "make", heal = 0, retry = 0 },
  { name = "CHECK", executor = "sentinel", judged = true, task = "Make {target}, and say when."@KEYS@ },
  { name = "AFTER", executor = "make", target = "a copy of it", heal = 0, retry = 0 },
]

[coordinators.both]
max_parallel = 1
phases = [
  { name = "notes", orchestrator = "plain", target = "the notes" },
  { name = "build", orchestrator = "judged", target = "the answer", depends_on = ["notes"] },
]

[campaigns.meal]
coordinator = "both"
heal = 1
"#;

/// What works and what is judged, up to the first audit.
const WORK: &str = r#"
[[session]]
role = "builder"
task = "Make the notes."
bounce = 1
cost_usd = 0.25
final = "STAGE_WORK_COMPLETE"
steps = [{ write = "notes.md", content = "notes\n" }]

[[session]]
role = "builder"
task = "a copy of"
bounce = 1
cost_usd = 0.25
final = "STAGE_AFTER_COMPLETE"
steps = [{ run = "cp done.txt copy.txt" }]

[[session]]
role = "builder"
bounce = 1
cost_usd = 0.25
final = "STAGE_WORK_COMPLETE"
steps = [{ write = "answer.txt", content = "42\n" }]

[[session]]
role = "spec-writer"
bounce = 1
cost_usd = 0.125
final = '''<test-spec>{"requirements": [{"id": "R1", "text": "done.txt says when"}]}</test-spec>'''
steps = [{ expect = "Make the answer, and say when." }, { expect = "answer.txt" }]
"#;

const MISSED: &str = r#"<audit>{"grade": "FAIL", "requirements": [{"id": "R1", "status": "unmet", "evidence": "there is no done.txt"}]}</audit>"#;
const MET: &str = r#"<audit>{"grade": "PASS", "requirements": [{"id": "R1", "status": "met", "evidence": "done.txt:1"}]}</audit>"#;

fn auditor(bounce: u32, says: &str) -> String {
    format!(
        "[[session]]\nrole = \"auditor\"\nbounce = {bounce}\ncost_usd = 0.125\nfinal = '''{says}'''\n"
    )
}

/// A consolidator, and the run that mends.
fn mending() -> String {
    let order = "[[session]]\nrole = \"consolidator\"\nbounce = 1\ncost_usd = 0.0625\n\
                 final = '''<fixes>{\"fixes\": [{\"id\": 1, \"suggested_fix\": \"say when in done.txt\"}]}</fixes>'''\n";
    let steps =
        r#"{ expect = "say when in done.txt" }, { write = "done.txt", content = "today\n" }"#;
    format!("{order}{}", scenes::one_bounce(steps))
}

fn scene_of(keys: &str, parts: &[&str]) -> TestEnv {
    scene_with(&FLOW.replace("@KEYS@", keys), &format!("{WORK}{}", parts.concat()))
}

/// A miss, a fix, and an audit that finds it.
fn scene() -> TestEnv {
    scene_of("", &[&auditor(1, MISSED), &mending(), &auditor(3, MET)])
}

fn args<'a>(words: &[&'a str]) -> Vec<&'a str> {
    words.iter().chain(REPLAY).copied().collect()
}

/// What the manifest of the second phase says of a stage, after an attempt at the phase.
fn stage(env: &TestEnv, attempt: u32, name: &str) -> Value {
    let file = format!("phases/phase-02-build/attempt-{attempt}/manifest.json");
    let told: Value = serde_json::from_str(&scenes::artefact(env, &file)).unwrap();
    let mut stages = told["stages"].as_array().unwrap().iter();
    stages.find(|stage| stage["name"] == name).unwrap_or_else(|| panic!("{told:#}")).clone()
}

fn artefact(env: &TestEnv, name: &str) -> String {
    let stage = "phases/phase-02-build/attempt-1/stages/CHECK/attempt-1/sentinel";
    scenes::artefact(env, &format!("{stage}/{name}"))
}

#[test]
fn what_an_auditor_misses_in_a_phase_is_mended_and_lands_with_it() {
    let env = scene();
    let told = env.spore(&args(&["phase", "both", "--json"])).code(0).json();
    let branch = told["branch"].as_str().unwrap();
    for (file, content) in [("answer.txt", "42"), ("done.txt", "today"), ("copy.txt", "today")] {
        assert_eq!(env.git(&["show", &format!("{branch}:{file}")]), content);
    }
    assert_eq!(env.git(&["log", "--format=%s", branch]).matches("fix(sentinel): ").count(), 1);
    // Three builders, a writer, two audits, an order, and a run that mends.
    assert_eq!(told["cost"]["usd"], 0.75 + 0.125 + 0.25 + 0.0625 + 0.75, "{told:#}");
    assert_eq!(artefact(&env, "grade.txt"), "PASS\n");
    let summary: Value = serde_json::from_str(&artefact(&env, "summary.json")).unwrap();
    assert_eq!((&summary["judged"], &summary["blocking_counts"]), (&json!(true), &json!([1, 0])));
    for file in ["test-spec.md", "verification-results.json", "audit-report.md", "fix-list.json"] {
        assert!(!artefact(&env, &format!("cycle-1/{file}")).is_empty());
    }
    // It judges what its own phase changed, and not those before it.
    let asked = artefact(&env, "cycle-1/spec-writer-1/task.md");
    assert!(asked.contains("answer.txt") && !asked.contains("notes.md"), "{asked}");
    // What mends is below the sentinel in the tree of runs.
    let shown = scenes::newest(&env);
    let parts = shown["parts"].as_array().unwrap();
    let kinds = parts.iter().filter(|part| part["kind"] == "orchestrate").count();
    assert_eq!(kinds, 1, "{shown:#}");
}

#[test]
fn a_judge_of_a_phase_that_says_nothing_gives_no_pass_and_a_person_is_asked() {
    let again = "[[session]]\nrole = \"auditor\"\ntask = \"Look at the second line.\"\nbounce = 1\ncost_usd = 0.125\n";
    let heard = format!("{again}final = '''{MET}'''\n");
    for says in ["<audit>{}</audit>", ""] {
        let env = scene_of("", &[&heard, &auditor(1, says), &auditor(2, says)]);
        let told = env.spore(&args(&["phase", "both", "--json"])).code(11).json();
        assert_eq!(artefact(&env, "grade.txt"), "FAIL\n", "{says}");
        assert_eq!(scenes::newest(&env)["status"], "parked:human", "{told:#}");
        let id = scenes::newest_id(&env);
        assert!(env.spore(&["runs", "show", &id]).stdout.contains("there is no audit"));
        if says.is_empty() {
            // Its answer reaches those who are asked again.
            env.write_at(&env.dir().join("answer.md"), "Look at the second line.\n");
            let parts = std::fs::read_to_string(env.dir().join("parts.toml")).unwrap();
            let parts = parts.replace("cp done.txt", "cp answer.txt");
            env.write_at(&env.dir().join("parts.toml"), &parts);
            let told = env.spore(&["resolve", &id, "--file", "../answer.md", "--json"]).code(0);
            assert_eq!(stage(&env, 1, "CHECK")["attempts"], 2, "{}", told.render());
        }
    }
}

/// As with a red check: the phase is refined, the campaign tries it once more, and what failed is healed.
#[test]
pub(crate) fn what_judges_do_not_let_pass_is_refined_and_healed_like_what_is_red() {
    let again = "[[session]]\nrole = \"auditor\"\ntask = \"build was run before\"\nbounce = 1\n\
                 cost_usd = 0.125\n";
    let later = format!("{again}final = '''{MET}'''\n{}", auditor(1, MISSED));
    let never = auditor(1, MISSED);
    let once = ", max_cycles = 1";
    for (parts, resolve, code, expected) in [
        (&later, 1, 0, json!(["complete", 1, 0, "PASS"])),
        (&never, 0, 12, json!(["failure", 3, 1, "FAIL"])),
    ] {
        let flow = FLOW.replace("@KEYS@", once).replace(
            "target = \"the answer\"",
            &format!("target = \"the answer\", resolve = {resolve}"),
        );
        let env =
            scene_with(&flow, &format!("{WORK}{parts}").replace("cp done.txt", "cp answer.txt"));
        let told = env.spore(&args(&["campaign", "run", "meal", "--json"])).code(code).json();
        let build = &told["phases"][1];
        let grade = &build["sentinel_grade"];
        let found = json!([build["status"], build["attempts"], told["heal_rounds"], grade]);
        assert_eq!(found, expected, "{told:#}");
    }
    let env = scene_of(once, &[&never]);
    let told = env.spore(&args(&["phase", "both", "--json"])).code(10).json();
    let check = stage(&env, 1, "CHECK");
    assert_eq!((&check["exit_code"], &check["commit"]), (&json!(10), &Value::Null), "{told:#}");
}

/// No role is paid for work that decides by itself how it is checked.
#[test]
fn work_that_changes_how_it_is_checked_is_judged_by_no_role() {
    let env = scene_of("", &[]);
    let parts = std::fs::read_to_string(env.dir().join("parts.toml")).unwrap();
    let parts =
        parts.replace("\"answer.txt\", content = \"42\\n\"", "\"check.sh\", content = \"true\\n\"");
    env.write_at(&env.dir().join("parts.toml"), &parts);
    env.write(
        ".spore/config.toml",
        "[gates]\nprotected = [\"check.sh\"]\n[gates.commands.check]\nrun = \"sh check.sh\"\n",
    );
    let told = env.spore(&args(&["phase", "both", "--json"])).code(10).json();
    assert_eq!(stage(&env, 1, "CHECK")["exit_code"], 10, "{told:#}");
    assert_eq!(artefact(&env, "grade.txt"), "FAIL\n");
    assert!(artefact(&env, "summary.json").contains("so no role was asked"));
    // The notes, and the answer twice.
    assert_eq!(told["cost"]["usd"], 0.75, "{told:#}");
}

#[test]
fn the_cap_of_a_judged_stage_parks_it_and_more_lets_it_go_on() {
    let cap = ", budget_usd = 0.2";
    let env = scene_of(cap, &[&auditor(1, MISSED), &mending(), &auditor(3, MET)]);
    let told = env.spore(&args(&["phase", "both", "--json"])).code(3).json();
    assert_eq!(scenes::newest(&env)["status"], "parked:budget", "{told:#}");
    // Two builders, the writer, and an audit that overshot; nothing was put into an order.
    assert_eq!(told["cost"]["usd"], 0.75, "{told:#}");
    let id = scenes::newest_id(&env);
    let _ = env.spore(&["resume", &id, "--budget", "+3"]).code(0);
    assert_eq!(scenes::newest(&env)["cost"]["usd"], 1.9375);
    assert_eq!(artefact(&env, "grade.txt"), "PASS\n");
}

/// What is on record decides, and not what is left to spend by then.
#[test]
fn a_judged_stage_that_has_all_its_answers_ends_although_its_cap_is_spent() {
    let env = scene_of(", budget_usd = 0.2", &[&auditor(1, MET)]);
    let parts = std::fs::read_to_string(env.dir().join("parts.toml")).unwrap();
    env.write_at(&env.dir().join("parts.toml"), &parts.replace("cp done.txt", "cp answer.txt"));
    let kill = [("SPORE_KILL_AT", "after:row:finish build/1 build.CHECK/1 audit/1/1#1")];
    let killed = env.spore_in(&env.repo(), &args(&["phase", "both"]), &kill);
    assert_eq!(killed.code, 137, "{}", killed.render());
    let _ = env.spore(&["resume"]).code(0);
    assert_eq!(artefact(&env, "grade.txt"), "PASS\n");
    assert_eq!(scenes::newest(&env)["cost"]["usd"], 1.0);
}

/// Before anything is paid for.
#[test]
pub(crate) fn an_agent_or_role_of_a_judge_that_cannot_be_had_is_refused_at_once() {
    for (keys, code, words) in [
        (", auditor = \"strict\"", 78, "there is no role \"strict\""),
        (", backend = \"codex\"", 69, "codex"),
        (", scenario = \"none.toml\", backend = \"replay\"", 65, "none.toml"),
    ] {
        let env = scene_of(keys, &[]);
        let refused = env.spore(&args(&["phase", "both"]));
        assert_eq!(refused.code, code, "{}", refused.render());
        assert!(refused.stderr.contains(words), "{}", refused.render());
        let listed = env.spore(&["runs", "list", "--json"]).json();
        assert!(listed.as_array().is_none_or(Vec::is_empty), "{listed}");
    }
    // Roles that the project describes judge like the built-in ones.
    let names = ["writer", "auditor", "consolidator"];
    let keys: String = names.iter().map(|name| format!(", {name} = \"my-{name}\"")).collect();
    let parts = [auditor(1, MISSED), mending(), auditor(3, MET)].concat();
    let parts = format!("{WORK}{parts}").replace("\"spec-writer\"", "\"writer\"");
    let parts = names.iter().fold(parts, |parts, name| {
        parts.replace(&format!("role = \"{name}\""), &format!("role = \"my-{name}\""))
    });
    let env = scene_with(&FLOW.replace("@KEYS@", &keys), &parts);
    for name in names {
        env.write(&format!(".spore/agents/my-{name}.md"), "You doubt.\n");
    }
    let _ = env.spore(&args(&["phase", "both"])).code(0);
    for (name, words) in names.iter().zip(["test specification", "Audit cycle 1", "into the order"])
    {
        let asked = artefact(&env, &format!("cycle-1/my-{name}-1/task.md"));
        assert!(asked.contains(words), "{asked}");
    }
}

/// The effects that a phase has because its sentinel asks and mends.
fn is_of_judges(effect: &str) -> bool {
    // Files that a sentinel writes are killed at in the matrix of the command.
    let words = [" write/1", " audit/1/1", " consolidate/1", " fix/1", " pin"];
    words.iter().any(|word| effect.contains(word))
}

#[test]
fn a_phase_with_judges_killed_at_any_effect_ends_like_one_that_was_not() {
    let whole = asked_for("all");
    let command = args(&["phase", "both"]);
    let random = if whole { 20 } else { 0 };
    let target = KillTarget { scene: &scene, command: &command, random };
    let traits = CommandTraits {
        one_of_each: !whole,
        only: if whole { None } else { Some(is_of_judges) },
        ..CommandTraits::default()
    };
    let tally = matrix_of(&target, traits);
    println!("kill matrix of a phase with judges: {}", tally.line());
    assert_eq!(tally.ended, "finished");
    assert!(tally.points >= 5, "{}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
}
