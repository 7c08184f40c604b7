//! `spore investigate` from its survey to its report: what one pass hands to the next, what is left
//! where one fails alone, and what is not paid for twice.

use serde_json::{Value, json};
use spore_scripted_model::{ModelServer, Turn, When};
use spore_testkit::TestEnv;

use crate::investigate_passes::{
    about, describes, file_of, investigate, model, project, run, shop, short_passes,
};
use crate::scenes;
use crate::verified_run::{scenario, variables};

fn heard(text: &str) -> When {
    When { tool_result_contains: Some(text.to_owned()), ..When::default() }
}

fn loop_over(dir: &str) -> When {
    When::contains(&format!("Describe the directory {dir} of the target"))
}

/// The first request of a pass, by words of its task.
fn asked_first(server: &ModelServer, words: &str) -> Value {
    let mut bodies = server.requests().into_iter().map(|asked| asked.body);
    bodies
        .find(|body| body["messages"].to_string().contains(words))
        .unwrap_or_else(|| panic!("{words}"))
}

fn tools_of(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
}

fn named(all: &[&str]) -> Vec<String> {
    all.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn each_pass_shapes_the_next_and_leaves_its_files() {
    let dirs = named(&[".", "src", "docs", "lib", "vendor", "vendor/own"]);
    let env = project(&dirs);
    let tiers = "[tiers.api]\nlow = \"quick\"\nmedium = \"usual\"\nhigh = \"best\"\n";
    env.write(".spore/config.toml", tiers);
    let survey = json!({ "description": "a shop", "approach": "read it", "confidence": 0.9,
        "skip_tools": ["parse_structure", "read", "submit_report"], "domain_notes": "NOTE-OF-SURVEY" });
    let plan = json!({ "notes": "NOTE-OF-PLAN",
        "priority_dirs": [{ "path": "src", "reason": "core", "suggested_turns": 90 }],
        "shallow_dirs": [{ "path": "docs", "reason": "prose" }],
        "skip_dirs": [{ "path": "vendor", "reason": "foreign" }] });
    let entry =
        |path: &str, data: Value| json!({ "cache_type": "file", "path": path, "data": data });
    let said =
        |summary: &str| entry("src/part.rs", json!({ "summary": summary, "confidence": 0.9 }));
    let flag = json!({ "path": "src/part.rs", "finding": "no test", "severity": "critical" });
    let report = json!({ "summary": "Does src.", "completeness": 0.8, "confidence": 0.9 });
    let [_, _, synthesis] = short_passes();
    let server = ModelServer::start(scenario([
        Turn::calls("submit_survey", survey).when(When::contains("Say what this directory is")),
        Turn::calls("submit_plan", plan).when(When::contains("Decide where a closer look")),
        synthesis,
        // What was written last counts, also where it was written before that.
        Turn::calls("write_cache", said("First."))
            .call("write_cache", said("Second."))
            .call("write_cache", said("First."))
            .call("flag", flag)
            .call("submit_report", report)
            .when(heard("raw content")),
        Turn::calls(
            "write_cache",
            entry("src/part.rs", json!({ "summary": "a", "content": "fn" })),
        )
        .call("write_cache", entry("docs/part.rs", json!({ "summary": "Not mine." })))
        .when(loop_over("src")),
        describes(".", "All."),
        describes("docs", "Words."),
        describes("lib", "Parts."),
    ]))
    .unwrap();
    let set = variables(&server.url());
    let set: Vec<(&str, &str)> = set.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let args = ["investigate", "--backend", "api", "--yes", "--json"];
    let answer = env.spore_in(&env.repo(), &args, &set).code(0).json();
    let counts = &answer["passes"]["directories"];
    assert_eq!((&counts["looked_at"], &counts["skipped"]), (&json!(4), &json!(2)), "{answer:#}");
    assert_eq!(about(&env, "src/part.rs")["content"], "First.");

    // Survey and notes reach the loops; tools that mislead do not, neither served ones nor the agent's.
    let look = asked_first(&server, "Describe the directory src of");
    let told = look.to_string();
    assert!(told.contains("NOTE-OF-SURVEY") && told.contains("NOTE-OF-PLAN"), "{told}");
    assert!(told.contains("You have 25 turns"), "{told}");
    let tools = tools_of(&look);
    for (tool, is_there) in [
        ("read", false),
        ("parse_structure", false),
        ("list", true),
        ("grep", true),
        ("submit_report", true),
    ] {
        assert_eq!(tools.contains(&tool.to_owned()), is_there, "{tool} in {tools:?}");
    }
    assert!(
        asked_first(&server, "Describe the directory docs of")
            .to_string()
            .contains("You have 5 turns")
    );
    assert!(
        asked_first(&server, "Describe the directory lib of")
            .to_string()
            .contains("You have 10 turns")
    );
    let refused = asked_first(&server, "raw content").to_string();
    assert!(refused.contains("is not this directory's to describe"), "{refused}");

    // Each pass has a model of its tier.
    let model_of = |words: &str| asked_first(&server, words)["model"].clone();
    let [survey, plan, look, whole] = [
        "Say what this directory is",
        "Decide where a closer look",
        "Describe the directory",
        "from what is known of its directories",
    ]
    .map(model_of);
    assert_eq!(survey, plan);
    assert!(survey != look && look != whole, "{survey} {look} {whole}");

    let file = |name: &str| scenes::artefact(&env, name);
    let plan: Value = serde_json::from_str(&file("plan.json")).unwrap();
    assert_eq!(plan["skip_dirs"][0]["path"], "vendor");
    let worth: Value = serde_json::from_str(&file("plan_evaluation.json")).unwrap();
    let of_src = worth["per_directory"].as_array().unwrap().iter().find(|one| one["dir"] == "src");
    let of_src = of_src.unwrap_or_else(|| panic!("{worth:#}"));
    assert_eq!(
        (&of_src["planned_tier"], &of_src["turns_allocated"], &of_src["completeness"]),
        (&json!("priority"), &json!(25), &json!(0.8)),
        "{worth:#}"
    );
    assert_eq!((&of_src["turns_used"], &worth["total_turns_allocated"]), (&json!(2), &json!(50)));
    let flag: Value = serde_json::from_str(file("flags.jsonl").trim()).unwrap();
    assert_eq!((&flag["severity"], &flag["path"]), (&json!("critical"), &json!("src/part.rs")));
}

/// A model of which one pass says words and hands nothing in.
fn without(pass: usize, dirs: &[String], whole: &str) -> ModelServer {
    let words = [
        "Say what this directory is",
        "Decide where a closer look",
        "from what is known of its directories",
    ];
    let mut short = short_passes();
    short[pass] = Turn::says("I cannot.").when(When::contains(words[pass])).sticky();
    let silent = Turn::says("No.").when(When::contains("Hand in your result")).sticky();
    let loops = dirs.iter().map(|dir| describes(dir, if dir == "." { whole } else { "Changed." }));
    ModelServer::start(scenario([silent].into_iter().chain(short).chain(loops))).unwrap()
}

#[test]
fn survey_plan_and_synthesis_may_each_fail_alone() {
    let dirs = named(&[".", "docs"]);
    for (pass, brief) in [(0, "A shop in Rust."), (1, "A shop in Rust."), (2, "All.")] {
        let env = project(&dirs);
        let server = without(pass, &dirs, "All.");
        let answer = run(&env, &server, &[]).code(0).json();
        assert_eq!(answer["passes"]["brief"], brief, "{answer:#}");
        assert_eq!(answer["passes"]["directories"]["looked_at"], 2);
        assert_eq!(answer["passes"]["survey"].is_null(), pass == 0, "{answer:#}");
        let plan: Value = serde_json::from_str(&scenes::artefact(&env, "plan.json")).unwrap();
        assert_eq!(plan["notes"] == "", pass == 1, "{plan:#}");
        let look = asked_first(&server, "Describe the directory docs of").to_string();
        assert_eq!(look.contains("data of=\\\"survey"), pass != 0, "{look}");
    }
}

#[test]
fn a_report_that_is_older_than_what_is_known_is_not_told_as_if_it_were_not() {
    let dirs = named(&[".", "docs"]);
    let env = project(&dirs);
    let server = model(&dirs, &[]);
    let _ = investigate(&env, &server, &[]);
    env.write("docs/part.rs", "pub fn other() {}\n");
    // Its synthesis handed in nothing: the summaries speak for the whole.
    let answer = run(&env, &without(2, &dirs, "All is new."), &[]).code(0).json();
    assert_eq!(answer["passes"]["brief"], "All is new.", "{answer:#}");
    let (answer, asked) = investigate(&env, &server, &[]);
    assert_eq!(
        (&answer["passes"]["brief"], asked),
        (&json!("A shop in Rust."), named(&["synthesis"]))
    );
    // Passes ended before the synthesis: what was said of the whole is told as old.
    env.write("docs/part.rs", "pub fn third() {}\n");
    env.write("top.rs", "pub fn third() {}\n");
    let answer = run(&env, &server, &["--budget", "0.001"]).code(12).json();
    assert_eq!(answer["passes"]["brief"], "A shop in Rust.");
    let detailed = answer["passes"]["detailed"].as_str().unwrap();
    assert!(detailed.starts_with("This was said by an earlier investigation"), "{answer:#}");
    // A budget that is too small for a survey leaves all to be looked at, and says so.
    let answer = run(&env, &server, &["--fresh", "--budget", "0.001"]).code(12).json();
    assert_eq!(answer["passes"]["directories"]["left"], 2, "{answer:#}");
}

#[test]
fn a_part_is_known_where_the_whole_is_and_a_file_more_asks_for_its_directory_alone() {
    let dirs = shop();
    let env = project(&dirs);
    let server = model(&dirs, &[]);
    let _ = investigate(&env, &server, &[]);
    let _ = env.spore(&["investigate", "src", "--no-model"]).code(0);
    for place in ["src", "src/price/tax", "src/price/tax/part.rs"] {
        assert_ne!(about(&env, place)["metadata"]["stale"], true, "{place}");
    }
    // Nobody has said yet what the part is as a whole; what is in it is known, both ways.
    assert_eq!(investigate(&env, &server, &["src"]).1, ["synthesis"]);
    assert_eq!(investigate(&env, &server, &["src"]).1, Vec::<String>::new());
    assert_eq!(investigate(&env, &server, &[]).1, Vec::<String>::new());
    // Neither a file more or less nor how much of the tree is shown is a reason for a survey.
    assert_eq!(investigate(&env, &server, &["-d", "1"]).1, Vec::<String>::new());
    env.write("docs/more.rs", "pub fn more() {}\n");
    assert_eq!(investigate(&env, &server, &["-d", "1"]).1, ["docs"]);
    std::fs::rename(env.repo().join("docs/more.rs"), env.repo().join("docs/other.rs")).unwrap();
    assert_eq!(investigate(&env, &server, &[]).1, ["docs"]);
    env.write("docs/deep/part.rs", "pub fn deep() {}\n");
    let all = [dirs, named(&["docs/deep"])].concat();
    let asked = investigate(&env, &model(&all, &[]), &[]).1;
    assert_eq!(asked[..3], ["survey", "plan", "docs/deep"]);
}

fn flags(answer: &Value) -> Vec<&str> {
    let flags = answer["flags"].as_array().unwrap();
    flags.iter().map(|flag| flag["finding"].as_str().unwrap()).collect()
}

/// A model that flags one described file, one that it did not describe, and the whole.
fn flagging() -> ModelServer {
    let flag = |path: &str, severity: &str, finding: &str| json!({ "path": path, "finding": finding, "severity": severity });
    let report = json!({ "summary": "Does src.", "completeness": 1.0, "confidence": 0.9 });
    let entry = json!({ "cache_type": "file", "path": "src/part.rs",
        "data": { "summary": "`work`", "confidence": 0.9 } });
    let whole = json!({ "brief": "A shop in Rust.", "detailed": "It sells." });
    let [survey, plan, _] = short_passes();
    ModelServer::start(scenario([
        survey,
        plan,
        Turn::calls("flag", flag(".", "concern", "no licence"))
            .call("submit_report", whole)
            .when(When::contains("from what is known of its directories")),
        Turn::calls("write_cache", entry)
            .call("flag", flag("src/part.rs", "critical", "loses money"))
            .call("flag", flag("src/b.rs", "info", "is short"))
            .call("submit_report", report)
            .when(loop_over("src")),
        describes(".", "All."),
    ]))
    .unwrap()
}

#[test]
fn a_flag_stands_until_what_raised_it_is_looked_at_again() {
    let dirs = named(&[".", "src"]);
    let env: TestEnv = project(&dirs);
    env.write("src/b.rs", "pub fn b() {}\n");
    env.commit_all("a file more");
    let answer = run(&env, &flagging(), &[]).code(0).json();
    assert_eq!(flags(&answer), ["loses money", "no licence", "is short"]);
    // A task file has what was flagged in a file without a description.
    let told = env.spore(&["context", "mend src/b.rs"]).code(0).stdout;
    assert!(told.contains("`src/b.rs`: Not described.\n  - flagged: info: is short"), "{told}");
    // The look after an edit is told what is known of the other file, and reads the edited one.
    env.write("src/b.rs", "pub fn b() -> u32 {\n    2\n}\n");
    let report = json!({ "summary": "Does src.", "completeness": 1.0, "confidence": 0.9 });
    let calm = |whole: &str| {
        let reports = Turn::calls("submit_report", report.clone()).when(loop_over("src")).sticky();
        let turns = short_passes().into_iter().chain([reports, describes(".", whole)]);
        ModelServer::start(scenario(turns)).unwrap()
    };
    let answer = run(&env, &calm("All."), &[]).code(0).json();
    assert_eq!(flags(&answer), ["loses money", "no licence"]);
    let told = env.spore(&["context", "mend src/b.rs"]).code(0).stdout;
    assert!(!told.contains("is short"), "{told}");
    // A look at the target's own files is no synthesis.
    env.write(&file_of("."), "pub fn work() -> u32 {\n    2\n}\n");
    let (answer, asked) = investigate(&env, &calm("All."), &[]);
    assert_eq!((flags(&answer), asked), (vec!["loses money", "no licence"], named(&["."])));
    env.write(&file_of("."), "pub fn work() -> u32 {\n    3\n}\n");
    let (answer, asked) = investigate(&env, &calm("All that sells."), &[]);
    assert_eq!((flags(&answer), asked), (vec!["loses money"], named(&[".", "synthesis"])));
}
