//! What people look at: `runs explain`, `dashboard`, `health`, `prompt-stats`, `lessons`, `distill`,
//! and a run on one timeline.

use serde_json::Value;
use spore_testkit::TestEnv;

use crate::runs::history;
use crate::scenes::{self, ORCHESTRATE, THREE_BOUNCES, WRITE_42, told};
use crate::schemas::hold_to;

/// A project with one verified run of three attempts.
fn three_attempts() -> TestEnv {
    let env = scenes::with_scenario(THREE_BOUNCES);
    let _ = env.spore(ORCHESTRATE).code(0);
    env
}

/// Replaces what a machine decides.
fn steady(text: &str) -> String {
    let line = |line: &str| match line.split_once("checkouts take ") {
        Some((before, _)) => format!("{before}checkouts take SIZE"),
        None if line.contains(" free at ") => "  ok       disk        FREE".to_owned(),
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_run_is_explained_from_its_records_alone() {
    let env = three_attempts();
    insta::assert_snapshot!("explain", told(&env.spore(&["runs", "explain"]).code(0)));
    let json = env.spore(&["runs", "explain", "--json"]).code(0).json();
    let by: Vec<&str> = json["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["decided_by"].as_str().unwrap())
        .collect();
    assert_eq!(by, ["checks", "verifier", "verifier"]);
    assert_eq!(json["attempts"][1]["objections"][0], "answer.txt:1: must be 42");
    let (env, ids) = history();
    for (id, name) in ids[1..].iter().zip(["explain_escalated", "explain_failed", "explain_parked"])
    {
        insta::assert_snapshot!(name, told(&env.spore(&["runs", "explain", &id[18..]]).code(0)));
    }
    let missing = env.spore(&["runs", "explain", "ZZZZ"]).code(65).stderr;
    assert!(missing.contains("there is no run"), "{missing}");
}

#[test]
fn a_file_of_a_task_file_is_explained_by_rank_signals_and_attempt() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    env.write(
        "answering.py",
        "def write_answer():\n    \"\"\"Write the answer.\"\"\"\n    return 41\n",
    );
    env.write("other.py", "def other():\n    return 1\n");
    env.commit_all("code");
    let _ = env.spore(&["index", "-q"]).code(0);
    let _ = env.spore(ORCHESTRATE).code(0);
    let asked = |file: &str| {
        env.spore(&["runs", "explain", "--file", file, "--json"]).code(0).json()["file"].clone()
    };
    let file = asked("./answering.py");
    assert_eq!(file["told"][0]["place"], 1, "{file:#}");
    assert_eq!(file["told"][0]["bounce"], 1, "{file:#}");
    assert!(!file["told"][0]["signals"].as_array().unwrap().is_empty(), "{file:#}");
    assert!(file["say"].as_str().unwrap().contains("of attempt 1 named it at place 1"), "{file:#}");
    let changed = asked("answer.txt");
    assert_eq!(changed["changed_in"], serde_json::json!([1]), "{changed:#}");
    let text = env.spore(&["runs", "explain", "--file", "nothing.py"]).code(0).stdout;
    assert!(text.contains("no task file of the run named nothing.py"), "{text}");
}

#[test]
fn a_failed_session_has_its_kind_and_every_session_its_time() {
    let (env, ids) = history();
    let shown = env.spore(&["runs", "show", &ids[2], "--json"]).code(0).json();
    let bill = &shown["ledger"][0];
    assert_eq!(bill["failure"], "failed-startup", "{bill:#}");
    assert!(bill["duration_ms"].is_u64(), "{bill:#}");
    let coder =
        shown["timeline"].as_array().unwrap().iter().find(|entry| entry["step"] == "coder/1");
    assert_eq!(coder.unwrap()["session"]["failure"], "failed-startup", "{shown:#}");
    // The graph's edge of a run says the same of it and of its sessions.
    let edges = env.spore(&["graph", "query-edges", "--limit", "100", "--json"]).code(0).json();
    let tracks = |run: &str| -> Value {
        let edges = edges.as_array().unwrap();
        let found =
            edges.iter().find(|edge| edge["kind"] == "tracks" && edge["metadata"]["run_id"] == run);
        found.unwrap_or_else(|| panic!("{edges:#?}"))["metadata"].clone()
    };
    let failed = tracks(&ids[2]);
    assert_eq!(failed["sessions"][0]["status"], "failed-startup", "{failed:#}");
    let verified = tracks(&ids[0]);
    for key in ["run_id", "status", "exit_code", "agent", "cost_usd", "num_turns", "duration_ms"] {
        assert!(!verified[key].is_null(), "{key}: {verified:#}");
    }
    assert_eq!((&verified["status"], &verified["exit_code"]), (&"completed".into(), &0.into()));
    assert!(verified.get("experiment").is_some() && verified.get("model").is_some());
}

#[test]
fn a_run_is_shown_on_one_timeline_and_its_diff_by_attempt() {
    let env = three_attempts();
    let json = env.spore(&["runs", "show", "--json"]).code(0).json();
    let steps: Vec<&str> = json["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["step"].as_str().unwrap())
        .collect();
    for step in ["baseline", "coder/1", "gates/1", "verifier/2", "commit", "summarize", "finish"] {
        assert!(steps.contains(&step), "{steps:?}");
    }
    let coder =
        json["timeline"].as_array().unwrap().iter().find(|entry| entry["step"] == "coder/2");
    let coder = coder.unwrap();
    assert_eq!(coder["session"]["cost"]["usd"], 0.25, "{coder:#}");
    assert!(!coder["session"]["tools"].as_array().unwrap().is_empty(), "{coder:#}");
    let diff = |args: &[&str]| env.spore(&[&["runs", "diff", "-q"], args].concat()).code(0).stdout;
    assert!(diff(&[]).contains("-41\n+42"), "{}", diff(&[]));
    let third = diff(&["--bounce", "3"]);
    assert!(third.contains("-43\n+42") && !third.contains("kept.txt"), "{third}");
    let second = diff(&["--bounce", "2"]);
    assert!(second.contains("kept.txt") && second.contains("-41\n+43"), "{second}");
    assert!(diff(&["--up-to", "2"]).contains("-41\n+43"));
    assert!(diff(&["--bounce", "1"]).contains("-keep me"));
    let _ = env.spore(&["runs", "diff", "--bounce", "9"]).code(65);
    let _ = env.spore(&["runs", "diff", "--bounce", "1", "--up-to", "1"]).code(64);
    insta::assert_snapshot!("distill", told(&env.spore(&["distill"]).code(0)));
    let compact = env.spore(&["distill", "--compact"]).code(0).stdout;
    assert!(compact.starts_with("verified | ") && compact.contains("| 3 attempts |"), "{compact}");
    insta::assert_snapshot!("lessons", told(&env.spore(&["lessons"]).code(0)));
    insta::assert_snapshot!("lessons_full", told(&env.spore(&["lessons", "--full"]).code(0)));
    insta::assert_snapshot!("lessons_compact", told(&env.spore(&["lessons", "--compact"]).code(0)));
    let lessons = env.spore(&["lessons", "--json"]).code(0).json();
    hold_to("lessons", &lessons, &["lessons"]);
    assert_eq!(lessons[0]["carried"]["runs"], 0, "{lessons:#}");
    assert_eq!(env.spore(&["lessons", "--csv"]).code(0).stdout.lines().count(), 2);
}

#[test]
fn a_summary_by_a_model_is_a_proposal_and_enters_no_graph() {
    let env = three_attempts();
    let counted = || {
        let nodes = env.spore(&["graph", "status", "--json"]).code(0).json();
        nodes["nodes"].clone()
    };
    let before = counted();
    env.write_at(
        &env.dir().join("summary.toml"),
        "[[session]]\nrole = \"summarizer\"\nbounce = 1\ncost_usd = 0.5\nfinal = \"It took three attempts.\"\n",
    );
    let asked = ["distill", "--ai", "--backend", "replay", "--scenario", "../summary.toml"];
    // Naming no run means the newest, which would be the session that is asked: one is named.
    let run = scenes::newest_id(&env);
    let json = env.spore(&[&asked[..], &[&run, "--json"]].concat()).code(0).json();
    assert_eq!(json["proposal"]["result"], "It took three attempts.", "{json:#}");
    assert_eq!(json["run"], run.as_str());
    assert_eq!(counted(), before);
    let _ = env.spore(&["distill", "--backend", "replay"]).code(64);
}

#[test]
fn a_dashboard_has_what_waits_what_was_spent_and_whether_it_helps() {
    let (env, ids) = history();
    let output = env.spore(&["dashboard"]).code(0);
    insta::assert_snapshot!("dashboard", steady(&told(&output)));
    let json = env.spore(&["dashboard", "--json"]).code(0).json();
    assert_eq!(json["spend"]["today"]["usd"], 2.75, "{:#}", json["spend"]);
    let waiting = json["waiting"].as_array().unwrap();
    let parked = waiting.iter().find(|one| one["run"] == ids[3].as_str()).unwrap();
    assert!(parked["next"]["command"].as_str().unwrap().contains("--budget +5"), "{parked:#}");
    assert_eq!(waiting.len(), 2, "{waiting:#?}");
    let csv = env.spore(&["dashboard", "--csv"]).code(0).stdout;
    assert_eq!(csv.lines().count(), 5, "{csv}");
    let stats = env.spore(&["runs", "stats", "--json"]).code(0).json();
    assert!(stats["helps"]["lessons"]["known"].is_u64(), "{stats:#}");
}

#[test]
fn an_empty_project_no_project_and_a_wrong_flag_are_told() {
    let env = scenes::small();
    let _ = env.spore(&["init"]).code(0);
    insta::assert_snapshot!("dashboard_empty", steady(&told(&env.spore(&["dashboard"]).code(0))));
    insta::assert_snapshot!("lessons_empty", told(&env.spore(&["lessons"]).code(0)));
    let none = env.spore(&["runs", "explain"]).code(65).stderr;
    assert!(none.contains("there are no runs yet"), "{none}");
    let _ = env.spore(&["distill"]).code(65);
    let _ = env.spore(&["dashboard", "--wach"]).code(64);
    let _ = env.spore(&["health", "--deep"]).code(64);
    for command in
        [&["dashboard"][..], &["health"], &["lessons"], &["distill"], &["runs", "explain"]]
    {
        let output = env.spore_in(env.dir(), command, &[]);
        assert!(output.code != 0, "{command:?}: {}", output.stdout);
        assert!(output.stderr.contains("error: ") && output.stdout.is_empty(), "{command:?}");
    }
}

#[test]
fn health_exits_with_one_and_names_the_fix() {
    let env = scenes::small();
    env.write(
        ".spore/config.toml",
        "[gates.commands.check]\nrun = \"sh check.sh\"\n[orchestrate]\nbackend = \"replay\"\n",
    );
    env.write("code.py", "def a():\n    return 1\n");
    let _ = env.spore(&["index", "-q"]).code(0);
    insta::assert_snapshot!("health", steady(&told(&env.spore(&["health"]).code(0))));
    env.write("code.py", "def a():\n    return 1234\n");
    env.write(".spore/agents/coder.md", &"a line\n".repeat(1200));
    let json = env.spore(&["health", "--json"]).code(1).json();
    assert_eq!(json["healthy"], false);
    let wrong: Vec<&str> = json["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["ok"] == false)
        .map(|check| check["check"].as_str().unwrap())
        .collect();
    assert_eq!(wrong, ["stale code", "prompt size"], "{json:#}");
    let stale = &json["checks"][1];
    assert_eq!(
        (&stale["detail"], &stale["fix"]),
        (&"1 file changed since the code was indexed".into(), &"spore index".into())
    );
    let prompts = env.spore(&["prompt-stats"]).code(0);
    insta::assert_snapshot!("prompt_stats", told(&prompts));
    let json = env.spore(&["prompt-stats", "--json"]).code(0).json();
    let coder =
        json["prompts"].as_array().unwrap().iter().find(|one| one["role"] == "coder").unwrap();
    assert_eq!((&coder["source"], &coder["lines"]), (&"project".into(), &1200.into()), "{coder:#}");
}

#[test]
fn transcripts_and_logs_of_the_oldest_runs_make_room_and_nothing_else_goes() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let _ = env.spore(ORCHESTRATE).code(0);
    let first = scenes::newest_id(&env);
    let files = |id: &str| {
        let mut found = Vec::new();
        let mut places = vec![env.repo().join(".spore/runs").join(id)];
        while let Some(place) = places.pop() {
            for entry in std::fs::read_dir(place).unwrap().map(Result::unwrap) {
                match entry.path().is_dir() {
                    true => places.push(entry.path()),
                    false => found.push(entry.file_name().into_string().unwrap()),
                }
            }
        }
        found.sort();
        found
    };
    let is_bulk = |name: &String| name == "transcript.jsonl" || name.ends_with(".log");
    let before = files(&first);
    assert!(before.iter().any(is_bulk), "{before:?}");
    env.write(
        ".spore/config.toml",
        "[records]\ncap_bytes = 1\n[gates.commands.check]\nrun = \"sh check.sh\"\n",
    );
    let would: Value = env.spore(&["runs", "prune", "--dry-run", "--json"]).code(0).json();
    assert_eq!(would["records"]["runs"], 1, "{would:#}");
    assert_eq!(files(&first), before);
    let explained = |id: &str| env.spore(&["runs", "explain", id]).code(0).stdout;
    let told_before = explained(&first);
    // The first run of an hour that ends makes room by itself and says so; its own are not touched
    // by it.
    let later = [("SPORE_TEST_CLOCK", "2026-01-02T08:00:00Z")];
    let ended = env.spore_in(&env.repo(), ORCHESTRATE, &later).code(0);
    assert!(ended.stderr.contains("of the oldest runs were removed"), "{}", ended.stderr);
    let kept: Vec<String> = before.iter().filter(|name| !is_bulk(name)).cloned().collect();
    assert_eq!(files(&first), kept);
    assert_eq!(explained(&first), told_before);
    let second = scenes::newest_id(&env);
    assert!(files(&second).iter().any(is_bulk), "{:?}", files(&second));
    let pruned = env.spore(&["runs", "prune"]).code(0);
    assert!(pruned.stdout.contains("logs of the oldest 1 run"), "{}", pruned.stdout);
    assert!(!files(&second).iter().any(is_bulk), "{:?}", files(&second));
    for command in [["runs", "show"], ["runs", "diff"], ["runs", "export"], ["runs", "timeline"]] {
        let _ = env.spore(&[&command[..], &[&first]].concat()).code(0);
    }
}
