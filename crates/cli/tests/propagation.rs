//! The table of ends through real processes, for the two loops: what a bounce makes of how its coder
//! and verifier end, and a sentinel of how its checks, its judges and those who mend end. The layers of
//! flows are in `flows`.
//!
//! An end that no child of a loop can have (a session is never a partial success) has no line here; the
//! whole table is held in `spore_model::propagation`.

use serde_json::json;
use spore_model::RunKind;
use spore_scripted_model::{ModelServer, Turn, VendorRefusal, When};
use spore_store::{Journal, RunQuery, SqliteJournal};
use spore_testkit::TestEnv;

use crate::verified_run::{MODEL, SUPPORTS, scenario, variables};
use crate::{scenes, sentinel};

/// How a command ended: its exit code, what its run is called then, and how many sessions of a role
/// it took.
fn ended(env: &TestEnv, code: i32, role: &str) -> String {
    let database = env.repo().join(".spore/spore.db");
    if !database.exists() {
        return format!("{code}, nothing began");
    }
    let journal = SqliteJournal::open(&database).unwrap();
    let all = journal.runs(&RunQuery::default()).unwrap();
    let sessions = all.iter().filter(|run| run.kind == RunKind::Session);
    let count = sessions.filter(|run| run.role.as_deref() == Some(role)).count();
    let listed = env.spore(&["runs", "list", "--json"]).code(0).json();
    format!("{code} {} ×{count}", listed[0]["status"].as_str().unwrap())
}

/// Runs a command of Spore, and interrupts it once `until` is there.
fn run(env: &TestEnv, args: &[&str], until: Option<&dyn Fn() -> bool>) -> i32 {
    let child = env.start_in(&env.repo(), args, &[]);
    if let Some(until) = until {
        scenes::wait_for("the session", until);
        scenes::system(env, "kill", &["-INT", &child.id().to_string()]);
    }
    env.finish(child).code
}

fn refused(status: u16) -> Turn {
    let refusal = VendorRefusal::new(status).message("no");
    let refusal = if status == 429 { refusal.reset("2026-01-02T20:04:00Z") } else { refusal };
    Turn::refuses(refusal).sticky()
}

/// Plays a verified run whose coder's first answer is `coder` and whose verifier says `verdict`.
fn bounce(coder: Turn, verdict: &str, more: &[(&str, &str)], interrupt: bool) -> String {
    let written = When { tool_result_contains: Some("WRITTEN".to_owned()), ..When::default() };
    let server = ModelServer::start(scenario([
        Turn::says("done").when(written).sticky(),
        Turn::says(verdict).when(When::contains("verifier in bounce")).sticky(),
        coder,
    ]))
    .unwrap();
    let own = variables(&server.url());
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    let env = own
        .chain([("SPORE_ORCHESTRATE_MAX_BOUNCES", "2"), ("SPORE_ORCHESTRATE_SUMMARIZE", "false")])
        .chain(more.iter().copied())
        .fold(scenes::small(), |env, (name, value)| env.with_variable(name, value));
    let args = ["orchestrate", "write the answer", "--backend", "api", "--model", MODEL];
    let asked = || !server.requests().is_empty();
    let code = run(&env, &args, interrupt.then_some(&asked));
    ended(&env, code, "coder")
}

#[test]
fn a_bounce_takes_every_end_of_its_sessions_by_the_table() {
    const CONTRADICTS: &str =
        r#"<verdict>{"verdict":"contradicts","confidence":0.9,"reason":"it is wrong"}</verdict>"#;
    let writes = |command: &str| {
        let command = format!("{command}; printf WRIT; echo TEN");
        Turn::calls("run", json!({ "command": command })).sticky()
    };
    let good = || writes("date +%s%N > answer.txt");
    let red = || writes("date +%s%N > kept.txt");
    let limit = [("SPORE_ORCHESTRATE_TIMEOUT", "2s")];
    let deep = [("SPORE_SPAWN_DEPTH", "9")];
    let poor = [("SPORE_ORCHESTRATE_BUDGET_USD", "0.000001")];
    let rows = [
        ("0", bounce(good(), SUPPORTS, &[], false), "0 verified ×1"),
        ("1, with a change", bounce(red(), SUPPORTS, &[], false), "11 escalated ×2"),
        ("1, without one", bounce(refused(400), SUPPORTS, &[], false), "1 failed ×1"),
        ("2", bounce(good(), SUPPORTS, &deep, false), "2, nothing began"),
        ("3", bounce(good(), SUPPORTS, &poor, false), "3 parked:budget ×1"),
        ("10", bounce(good(), "I cannot say.", &[], false), "10 failed ×2"),
        ("11", bounce(good(), CONTRADICTS, &[], false), "11 escalated ×2"),
        ("20", bounce(Turn::hangs().sticky(), SUPPORTS, &[], true), "20 interrupted ×1"),
        ("21", bounce(Turn::hangs().sticky(), SUPPORTS, &limit, false), "1 failed ×1"),
        ("75", bounce(refused(429), SUPPORTS, &[], false), "75 parked:quota ×1"),
    ];
    for (end, told, expected) in rows {
        assert_eq!(told, expected, "where it ends with {end}");
    }
}

#[test]
fn a_check_is_red_whatever_it_exits_with() {
    let env = sentinel::project();
    let check = |gates: &str| {
        env.write(".spore/config.toml", gates);
        let args = ["sentinel", "--checks-only", "--fresh", "--max-cycles", "1"];
        let code = run(&env, &args, None);
        ended(&env, code, "auditor")
    };
    for code in [0, 1, 2, 3, 10, 11, 12, 20, 21, 75] {
        let told = check(&format!("[gates.commands.test]\nrun = \"exit {code}\"\n"));
        let expected = if code == 0 { "0 finished ×0" } else { "10 failed ×0" };
        assert_eq!(told, expected, "where a check exits with {code}");
    }
    let told = check("[gates]\ntimeout = \"1s\"\n[gates.commands.test]\nrun = \"sleep 60\"\n");
    assert_eq!(told, "10 failed ×0", "where its time is over");
}

/// Plays a sentinel whose judges are answered so.
fn judged(turn: Turn, more: &[(&str, &str)], interrupt: bool) -> String {
    let server = ModelServer::start(scenario([turn])).unwrap();
    let own = variables(&server.url());
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    let env = own
        .chain(more.iter().copied())
        .fold(sentinel::project(), |env, (name, value)| env.with_variable(name, value));
    let args = ["sentinel", "--task", "all is well", "--backend", "api", "--model", MODEL];
    let asked = || !server.requests().is_empty();
    let code = run(&env, &args, interrupt.then_some(&asked));
    ended(&env, code, "spec-writer")
}

#[test]
fn a_sentinel_takes_every_end_of_its_judges_by_the_table() {
    let deep = [("SPORE_SPAWN_DEPTH", "9")];
    let limit = [("SPORE_ORCHESTRATE_TIMEOUT", "2s")];
    let poor = [("SPORE_ORCHESTRATE_BUDGET_USD", "0.000001")];
    let rows = [
        ("0, unread", judged(Turn::says("fine").sticky(), &[], false), "11 escalated ×2"),
        ("1", judged(refused(400), &[], false), "11 escalated ×2"),
        ("2", judged(refused(400), &deep, false), "2, nothing began"),
        ("3", judged(Turn::says("fine").sticky(), &poor, false), "3 parked:budget ×1"),
        ("20", judged(Turn::hangs().sticky(), &[], true), "20 interrupted ×1"),
        ("21", judged(Turn::hangs().sticky(), &limit, false), "11 escalated ×2"),
        ("75", judged(refused(429), &[], false), "75 parked:quota ×1"),
    ];
    for (end, told, expected) in rows {
        assert_eq!(told, expected, "where a judge ends with {end}");
    }
}

/// A red cycle, what is to be mended, a coder that plays `coder`, and a second cycle's audit.
fn mended(coder: &str, more: &[(&str, &str)]) -> String {
    let session = |role: &str, bounce: u32, text: &str| {
        format!("[[session]]\nrole = \"{role}\"\nbounce = {bounce}\nfinal = '''{text}'''\n")
    };
    let spec = r#"<test-spec>{"requirements": [{"id": "R1", "text": "it is empty"}]}</test-spec>"#;
    let unmet = r#"<audit>{"grade": "FAIL", "requirements": [{"id": "R1", "status": "unmet", "evidence": "wrong.txt:1"}]}</audit>"#;
    let parts = [
        session("spec-writer", 1, spec),
        session("auditor", 1, unmet),
        session("auditor", 3, unmet),
        session("consolidator", 1, "<fixes>{\"fixes\": []}</fixes>"),
        format!("[[session]]\nrole = \"coder\"\nbounce = 1\nfinal = \"done\"\nsteps = [{coder}]\n"),
        session("verifier", 1, "I cannot say."),
    ];
    let env = more
        .iter()
        .fold(sentinel::judged(&parts.concat()), |env, (name, value)| {
            env.with_variable(name, value)
        })
        .with_variable("SPORE_ORCHESTRATE_MAX_BOUNCES", "1")
        .with_variable("SPORE_ORCHESTRATE_SUMMARIZE", "false");
    let code = run(&env, &[sentinel::JUDGE, &["--max-cycles", "2"]].concat(), None);
    ended(&env, code, "coder")
}

#[test]
fn a_sentinel_takes_every_end_of_who_mends_by_the_table() {
    let rows = [
        // Another cycle looks at what is there, and it is the last.
        ("1", mended("{ exit = 1 }", &[]), "10 failed ×1"),
        ("10", mended(r#"{ write = "wrong.txt", content = "" }"#, &[]), "10 failed ×1"),
        ("11", mended(r#"{ write = "wrong.txt", content = "y\n" }"#, &[]), "11 escalated ×1"),
        ("21", mended("{ hang = true }", &[("SPORE_ORCHESTRATE_TIMEOUT", "3s")]), "10 failed ×1"),
    ];
    for (end, told, expected) in rows {
        assert_eq!(told, expected, "where the mending ends with {end}");
    }
}
