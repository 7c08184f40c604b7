//! A campaign that is killed at random instants, has its budget raised and a phase dropped: the same
//! end as one that was not, and a cost that is what the model counted.
//!
//! The scripted model keeps its own books. Everything is booked to the token but the call that was in
//! flight when a kill came: its session is marked as an estimate, and the model has counted the calls
//! that are booked of it and at most that one beside them.

#![expect(clippy::disallowed_methods, reason = "a test looks at the clock of the machine")]

use std::time::{Duration, Instant};

use serde_json::json;
use spore_scripted_model::{ModelServer, Turn, When};
use spore_testkit::{TestEnv, wait_until_none};

use crate::campaign::{end_of, next_command, scene_with, status_of, take_little_for_what_is_lost};
use crate::kill_matrix::asked_for;
use crate::reconciliation::{agrees, usage};
use crate::verified_run::{MODEL, scenario, variables};

/// Something is found out, three phases stand on each other, one is too many, and one evaluates.
const FLOW: &str = r#"
[executors.look]
role = "researcher"
prompt = "Find out what {target} needs."
allowed_tools = ["run"]

[executors.rate]
role = "evaluator"
prompt = "Hold {target} to what was promised."

[executors.make]
role = "builder"
prompt = "Make {target}."
allowed_tools = ["run"]

[orchestrators.once]
stages = [{ name = "WORK", executor = "make" }]

[orchestrators.judged]
stages = [
  { name = "WORK", executor = "make" },
  { name = "CHECK", executor = "sentinel", judged = true, task = "Make {target}." },
]

[coordinators.all]
max_parallel = 1
phases = [
  { name = "notes", orchestrator = "once", target = "the notes" },
  { name = "build", orchestrator = "judged", target = "the answer", depends_on = ["notes"] },
  { name = "ship", orchestrator = "once", target = "the parcel", depends_on = ["build"] },
  { name = "extra", orchestrator = "once", target = "the rest", depends_on = ["ship"] },
]

[campaigns.feature]
domains = [{ name = "code", executor = "look" }]
coordinator = "all"
evaluator = "rate"
"#;

fn turns() -> Vec<Turn> {
    // No command is spelt like what it says.
    let shell = |command: &str, words: &str| {
        Turn::calls("run", json!({ "command": command })).when(When::contains(words))
    };
    let make =
        |command: &str, words: &str| shell(&format!("{command} && printf DO; echo NE"), words);
    let after = |result: &str, says: &str| {
        let when = When { tool_result_contains: Some(result.to_owned()), ..When::default() };
        Turn::says(says).when(when)
    };
    let says = |words: &str, says: &str| Turn::says(says).when(When::contains(words));
    let note = "mkdir -p notes/feature && echo all > notes/feature/research-code.md && printf NO; echo TED";
    let pass = r#"<evaluation>{"verdict": "pass", "criteria": [{"criterion": "it is 42", "met": true, "evidence": "answer.txt:1"}]}</evaluation>"#;
    let spec = r#"<test-spec>{"requirements": [{"id": "R1", "text": "it is 42"}]}</test-spec>"#;
    let audit = r#"<audit>{"grade": "PASS", "requirements": [{"id": "R1", "status": "met", "evidence": "answer.txt:1"}]}</audit>"#;
    vec![
        after("NOTED", "STAGE_RESEARCH_COMPLETE"),
        after("DONE", "STAGE_WORK_COMPLETE"),
        shell(note, "Find out what tabs needs."),
        says("Write the test specification", spec),
        says("Audit cycle", audit),
        says("Hold tabs to what was promised.", &format!("{pass}\nSTAGE_EVALUATE_COMPLETE")),
        make("echo notes > notes.md", "Make the notes."),
        make("echo 42 > answer.txt", "Make the answer."),
        make("cp answer.txt parcel.txt", "Make the parcel."),
        make("echo rest > rest.txt", "Make the rest."),
    ]
}

/// A project and a model that takes its time, so that a session can be met in the middle of a call.
fn scene() -> (TestEnv, ModelServer) {
    let numbered = turns()
        .into_iter()
        .zip(1..)
        .map(|(turn, number)| turn.usage(usage(number)).sticky().delay(Duration::from_millis(60)));
    let server = ModelServer::start(scenario(numbered)).unwrap();
    let env = variables(&server.url())
        .into_iter()
        .fold(scene_with(FLOW, ""), |env, (name, value)| env.with_variable(name, &value));
    take_little_for_what_is_lost(&env, 0.005);
    (env, server)
}

const RUN: &[&str] = &[
    "campaign",
    "run",
    "feature",
    "tabs",
    "--backend",
    "api",
    "--model",
    MODEL,
    "--budget",
    "0.03",
];

/// Instants to kill at, the same in every run of the test.
struct Chances(u64);

impl Chances {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 40).unwrap_or(0)) / f64::from(1u32 << 24)
    }
}

#[track_caller]
fn holds(name: &str, env: &TestEnv, server: &ModelServer) -> bool {
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(10)), [], "{name}");
    assert_eq!(server.unanswered().len(), 0, "{name}: {:?}", server.unanswered());
    agrees(env, name, &server.totals(), Some(usage(turns().len() as u64)))
}

#[test]
fn a_campaign_killed_at_random_costs_what_the_model_counted() {
    let (env, server) = scene();
    let began = Instant::now();
    let _ = env.spore(RUN).code(3);
    let waits = status_of(&env).unwrap();
    assert_eq!(waits, "parked:budget");
    let _ = env.spore(&next_command(&env, &waits)).code(0);
    let took = began.elapsed();
    let expected = end_of(&env);
    assert!(expected.1.contains(&"extra dropped ×0".to_owned()), "{expected:?}");
    assert!(!holds("a campaign that was not killed", &env, &server), "it is booked exactly");

    // `SPORE_KILLS=all` kills it as often as the promise says.
    let most = if asked_for("all") { 20 } else { 3 };
    let (mut kills, mut rounds, mut estimated) = (0u32, 0u32, 0u32);
    let mut chances = Chances(11);
    while kills < most {
        rounds += 1;
        assert!(rounds <= 12, "{kills} kills in {rounds} rounds");
        let (env, server) = scene();
        let mut command = RUN.to_vec();
        for turn in 0.. {
            assert!(turn < 60, "it comes to no end");
            let mut child = env.start_in(&env.repo(), &command, &[]);
            if kills < most {
                std::thread::sleep(took.mul_f64(0.05 + chances.next() * 0.4));
                if child.try_wait().unwrap().is_none() {
                    let _ = child.kill();
                }
            }
            let was_killed = env.finish(child).code == 137;
            let Some(status) = status_of(&env) else { continue };
            kills += u32::from(was_killed && !status.starts_with("parked") && status != "finished");
            if status == "finished" {
                break;
            }
            command = next_command(&env, &status);
        }
        let found = end_of(&env);
        assert_eq!((&found.0, &found.1, &found.2), (&expected.0, &expected.1, &expected.2));
        assert_eq!(found.4, expected.4, "each change is on record once");
        estimated += u32::from(holds(&format!("round {rounds}"), &env, &server));
    }
    println!(
        "killed {kills} times at work in {rounds} rounds, of which {estimated} had to be estimated"
    );
}
