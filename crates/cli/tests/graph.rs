//! `spore graph`: every command as people and programs read it, and what runs leave there.

use serde_json::Value;
use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes;

/// A project that knows a few things: two summaries, a status and a contradiction, joined by
/// edges of several types, two of which replaced another.
struct Known {
    env: TestEnv,
    notes: String,
    tabs: String,
    week: String,
    clash: String,
    /// The edge in which a person said something and then corrected it.
    doubted: String,
}

fn graph(env: &TestEnv, args: &[&str]) -> ProgramOutput {
    let args: Vec<&str> = ["graph"].iter().chain(args).copied().collect();
    env.spore(&args)
}

#[track_caller]
fn made(env: &TestEnv, args: &[&str]) -> String {
    let args: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
    graph(env, &args).code(0).json()["id"].as_str().unwrap().to_owned()
}

fn meta(env: &TestEnv, kind: &str, title: &str, content: &str, more: &[&str]) -> String {
    let args = ["create-meta", "-t", kind, "--title", title, "--content", content];
    made(env, &[&args, more].concat())
}

fn edge(env: &TestEnv, from: &str, kind: &str, to: &str, more: &[&str]) -> String {
    made(env, &[&["create-edge", "--from", from, "--to", to, "-t", kind], more].concat())
}

/// A project that knows nothing.
fn empty() -> TestEnv {
    let env = scenes::env();
    let _ = env.spore(&["init"]).code(0);
    env
}

fn known() -> Known {
    let env = empty();
    let tabs = meta(&env, "summary", "Tabs", "A tab is one column.", &[]);
    let notes = meta(
        &env,
        "summary",
        "Parser notes",
        "It reads lines.\nTabs count.",
        &["--connects-to", &tabs],
    );
    let week = meta(&env, "status", "Week 3", "Half done.", &["--agent", "spore:summarizer"]);
    let clash = meta(
        &env,
        "contradiction",
        "Two answers",
        "Is a tab one column or eight?",
        &["--connects-to", &tabs, &notes, "--edge-type", "flags"],
    );
    let doubted = edge(&env, &week, "supports", &notes, &["--confidence", "0.4"]);
    let reason = ["--confidence", "0.8", "--reason", "the test shows it", "--supersedes", &doubted];
    let _ = edge(&env, &week, "contradicts", &notes, &reason);
    let _ = edge(&env, &week, "related", &clash, &["--metadata", "{\"ticket\": 12}"]);
    Known { env, notes, tabs, week, clash, doubted }
}

/// What a command says to people and to programs.
fn both(env: &TestEnv, args: &[&str]) -> String {
    let json: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
    let (text, json) = (graph(env, args).code(0), graph(env, &json).code(0));
    let _: Value = json.json();
    assert_eq!((text.stderr.as_str(), json.stderr.as_str()), ("", ""), "{args:?}");
    format!("{}\n{}", text.stdout, json.stdout)
}

#[test]
fn edges_are_listed_newest_first() {
    let Known { env, .. } = known();
    insta::assert_snapshot!("graph_query_edges", both(&env, &["query-edges"]));
    insta::assert_snapshot!("graph_query_edges_compact", both(&env, &["query-edges", "--compact"]));
}

#[test]
fn an_edge_is_explained_with_its_versions_and_its_surroundings() {
    let Known { env, doubted, .. } = known();
    insta::assert_snapshot!("graph_explain_edge", both(&env, &["explain-edge", &doubted]));
    let far = graph(&env, &["explain-edge", &doubted, "--depth", "2", "--json"]).code(0).json();
    let depths: Vec<u64> = far["adjacent_edges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|edge| edge["depth"].as_u64().unwrap())
        .collect();
    assert!(depths.is_sorted() && depths.contains(&2), "{depths:?}");
}

#[test]
fn ways_between_nodes_come_shortest_first() {
    let Known { env, week, tabs, .. } = known();
    insta::assert_snapshot!("graph_path_between", both(&env, &["path-between", &week, &tabs]));
    let args = ["path-between", &week, &tabs, "--edge-types", "related,flags", "--json"];
    let only = graph(&env, &args).code(0).json();
    let kinds: Vec<&str> = only["paths"][0]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["edge"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["related", "flags"]);
    let none = graph(&env, &["path-between", &week, &tabs, "--max-hops", "1"]).code(0);
    assert_eq!(none.stdout, "No way from Week 3 to Tabs.\n");
}

#[test]
fn the_most_telling_edges_of_a_node_come_first() {
    let Known { env, notes, .. } = known();
    insta::assert_snapshot!("graph_edges_for_context", both(&env, &["edges-for-context", &notes]));
    let args = ["edges-for-context", &notes, "--top", "1", "--not-superseded", "--json"];
    assert_eq!(graph(&env, &args).code(0).json().as_array().unwrap().len(), 1);
}

#[test]
fn what_lies_near_a_node_is_ranked_by_distance() {
    let Known { env, week, .. } = known();
    insta::assert_snapshot!("graph_context_for_task", both(&env, &["context-for-task", &week]));
    let narrow = ["context-for-task", &week, "--budget", "1", "--max-hops", "1", "--json"];
    assert_eq!(graph(&env, &narrow).code(0).json()["count"], 1);
    let nothing = graph(&env, &["context-for-task", &week, "--max-cost", "0"]).code(0);
    insta::assert_snapshot!(nothing.stdout, @"
    No knowledge lies near Week 3. What Spore did is not context; its edges:
      spore graph show D95SHC1G
    ");
}

#[test]
fn a_node_is_shown_with_its_edges() {
    let Known { env, notes, .. } = known();
    insta::assert_snapshot!("graph_show", both(&env, &["show", &notes]));
    insta::assert_snapshot!(both(&env, &["read-content", &notes]), @r#"
    It reads lines.
    Tabs count.

    {
      "id": "01KDYAH3N0HZPV6HKFH9XR3AC9",
      "title": "Parser notes",
      "class": "meta",
      "kind": "summary",
      "content": "It reads lines.\nTabs count.",
      "metadata": null
    }
    "#);
}

#[test]
fn a_new_version_takes_the_place_of_the_old_one() {
    let Known { env, notes, week, .. } = known();
    let args = ["update-meta", &notes, "--content", "Tabs do not count.", "--add-connects", &week];
    insta::assert_snapshot!(graph(&env, &args).code(0).stdout, @"
    Node BT3TZTK2: Parser notes
    It supersedes H9XR3AC9 and took over 1 edge.
      →  summarizes  BT3TZTK3  Week 3
    ");
    let again = graph(&env, &args).code(65);
    assert!(again.stderr.contains("has been superseded by"), "{}", again.stderr);
    // The title now means the version that is in force.
    let read = graph(&env, &["read-content", "Parser notes"]).code(0);
    assert_eq!(read.stdout, "Tabs do not count.\n");
    let old = graph(&env, &["show", &notes, "--json"]).code(0).json();
    assert_eq!(old["content"], "It reads lines.\nTabs count.");
    let json = ["update-meta", "Parser notes", "--title", "Parser, again", "--json"];
    let updated = graph(&env, &json).code(0).json();
    insta::assert_snapshot!(format!("{updated:#}"), @r#"
    {
      "copied_edges": [
        "01KDYB3DK0HPFX1W0AXKPH13KR",
        "01KDYB3DK00BM3SGADN8TTGVM7"
      ],
      "new_edges": [],
      "new_id": "01KDYB3DK0HBZN8973VTQKD83H",
      "old_id": "01KDYAW370C1JC0BCABT3TZTK2",
      "title": "Parser, again"
    }
    "#);
}

#[test]
fn what_is_written_is_told() {
    let env = empty();
    let first = graph(&env, &["create-meta", "-t", "status", "--title", "A", "--content", ""]);
    let args =
        ["create-meta", "-t", "summary", "--title", "B", "--content", "-", "--connects-to", "A"];
    let args: Vec<&str> = ["graph"].iter().chain(&args).copied().collect();
    let second = scenes::with_stdin(&env, &args, "from stdin\n".as_bytes());
    let json_meta = [
        "create-meta",
        "-t",
        "status",
        "--title",
        "C",
        "--content",
        "",
        "--connects-to",
        "A",
        "--json",
    ];
    let json_meta = graph(&env, &json_meta);
    let third = graph(&env, &["create-edge", "--from", "A", "--to", "B", "-t", "questions"]);
    let json = graph(&env, &["create-edge", "--from", "A", "--to", "B", "-t", "tests", "--json"]);
    let told: Vec<String> = [first, second, json_meta, third, json]
        .into_iter()
        .map(|output| output.code(0).stdout)
        .collect();
    insta::assert_snapshot!("graph_create", told.join("\n"));
    assert_eq!(graph(&env, &["read-content", "B"]).code(0).stdout, "from stdin\n");
}

#[test]
fn a_summary_is_stale_once_its_subject_has_moved() {
    let Known { env, notes, tabs, .. } = known();
    insta::assert_snapshot!("graph_check_freshness", both(&env, &["check-freshness", &notes]));
    // Joined later to something newer than itself.
    let new = meta(&env, "status", "Later", "", &[]);
    let _ = edge(&env, &tabs, "summarizes", &new, &[]);
    let stale = graph(&env, &["check-freshness", &tabs]).code(0);
    insta::assert_snapshot!(stale.stdout, @"
    205ZR7J2  Tabs  updated 2026-01-02 03:02 UTC

    It summarizes
      STALE  T9X6P4X1  updated 2026-01-02 03:11 UTC  Later

    Summarized by
      fresh  H9XR3AC9  updated 2026-01-02 03:03 UTC  Parser notes
    ");
}

#[test]
fn the_state_of_the_graph_is_told_briefly_or_in_full() {
    let Known { env, .. } = known();
    insta::assert_snapshot!("graph_status", both(&env, &["status"]));
    let full = graph(&env, &["status", "--format", "full", "--all"]).code(0);
    insta::assert_snapshot!("graph_status_full", full.stdout);
    insta::assert_snapshot!("graph_status_of_nothing", graph(&empty(), &["status"]).code(0).stdout);
}

#[test]
fn the_shape_of_the_graph_is_analysed() {
    let Known { env, tabs, .. } = known();
    let _ = meta(&env, "status", "Alone", "", &[]);
    insta::assert_snapshot!("graph_analyze", both(&env, &["analyze", "--hub-threshold", "3"]));
    let region = graph(&env, &["analyze", "--region", &tabs, "--json"]).code(0).json();
    assert_eq!(region["topology"]["total_nodes"], 1);
}

/// A project with one run that could not begin: its task is all it left.
fn refused_run() -> TestEnv {
    let env = scenes::with_scenario(scenes::THREE_BOUNCES);
    env.write(".spore/config.toml", "[gates.commands.check]\nrun = \"false\"\n");
    let _ = scenes::orchestrate(&env, &[]).code(65);
    env
}

#[test]
fn garbage_is_only_told_until_it_is_asked_to_go_and_a_copy_stays() {
    let env = refused_run();
    let young = graph(&env, &["gc", "--json"]).code(0).json();
    assert_eq!(young["count"], 0, "a week has not passed");
    let told = graph(&env, &["gc", "--days", "0"]).code(0);
    insta::assert_snapshot!(scenes::told(&told), @"
    exit code: 0
    --- stdout
    Would remove 1 node; nothing is removed yet.
      RUN-0001  2026-01-02 03:06 UTC  task  write the answer
    To remove, and keep a copy:
      spore graph gc --days 0 --apply
    --- stderr
    ");
    let dry = graph(&env, &["gc", "--days", "0", "--json"]).code(0).json();
    insta::assert_snapshot!(scenes::plain(&format!("{dry:#}")), @r#"
    {
      "applied": false,
      "count": 1,
      "nodes": [
        {
          "created": "2026-01-02T03:06:00.000Z",
          "id": "RUNID-001",
          "kind": "task",
          "title": "write the answer"
        }
      ]
    }
    "#);
    assert_eq!((&dry["applied"], &dry["count"]), (&Value::Bool(false), &Value::from(1)));
    let node = dry["nodes"][0]["id"].as_str().unwrap();
    let applied = graph(&env, &["gc", "--days", "0", "--apply", "--json"]).code(0).json();
    let export = applied["export"].as_str().unwrap();
    assert!(export.starts_with(".spore/exports/gc-20260102T"), "{export}");
    let copy = std::fs::read_to_string(env.repo().join(export)).unwrap();
    let lines: Vec<Value> = copy.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The node, and its edge to itself.
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["node"]["content"], "write the answer");
    assert!(graph(&env, &["show", node]).code(65).stderr.contains("there is no node"));
    assert_eq!(
        graph(&env, &["gc", "--days", "0", "--apply"]).code(0).stdout,
        "Nothing to remove.\n"
    );
}

#[test]
fn nothing_is_removed_that_could_not_be_copied() {
    let env = refused_run();
    env.write(".spore/exports", "in the way");
    let failed = graph(&env, &["gc", "--days", "0", "--apply"]);
    assert_eq!(failed.code, 74, "{}", failed.render());
    assert_eq!(graph(&env, &["gc", "--days", "0", "--json"]).code(0).json()["count"], 1);
}

#[test]
fn filters_come_before_the_limit() {
    let Known { env, tabs, clash, .. } = known();
    for _ in 0..4 {
        let _ = edge(&env, &clash, "related", &tabs, &["--confidence", "0.1"]);
    }
    let check = |filter: &[&str], expected: usize| {
        let args = [&["query-edges", "--limit", "2", "--json"], filter].concat();
        let found = graph(&env, &args).code(0).json();
        assert_eq!(found.as_array().unwrap().len(), expected, "{filter:?}: {found}");
    };
    // The clock moves a minute with every command.
    check(&["--since", "1m"], 1);
    check(&[], 2);
    check(&["-t", "flags"], 2);
    check(&["-t", "summarizes", "-t", "supports"], 2);
    check(&["-t", "supports", "--not-superseded"], 0);
    check(&["--confidence-min", "0.8", "-t", "contradicts"], 1);
    check(&["--agent", "human", "-t", "summarizes"], 1);
    check(&["--target-agent", "spore:summarizer"], 0);
    check(&["--since", "2026-01-03"], 0);
    check(&["--since", "1w", "-t", "summarizes"], 1);
}

#[test]
fn a_wrong_call_names_what_would_be_right() {
    let Known { env, notes, tabs, doubted, .. } = known();
    let check = |args: &[&str], code: i32, part: &str| {
        let output = graph(&env, args);
        assert_eq!(output.code, code, "{args:?}: {}", output.render());
        assert!(output.stderr.contains(part), "{args:?}: {}", output.stderr);
        assert_eq!(output.stdout, "");
    };
    check(&["query-edges", "-t", "suports"], 64, "did you mean supports?");
    check(&["query-edges", "--confidence-min", "1.5"], 64, "a number from 0 to 1");
    check(&["query-edges", "--since", "yesterday"], 64, "30m, 2h, 7d, 1w");
    check(&["query-edges", "--limit", "0"], 64, "--limit");
    check(&["path-between", &notes, &tabs, "--edge-types", "x"], 64, "There are: contradicts");
    check(&["context-for-task", &notes, "--max-cost", "nan"], 64, "is not a cost");
    check(&["list-region", &notes, "--class", "knowlege"], 64, "did you mean knowledge?");
    check(&["explain-edge", &doubted, "--depth", "3"], 64, "--depth");
    check(&["create-meta", "-t", "note", "--title", "x", "--content", "y"], 64, "note");
    check(&["create-meta", "-t", "status", "--title", "", "--content", "y"], 64, "one line");
    check(&["update-meta", &notes], 64, "nothing is to be changed");
    let to = ["create-edge", "--from", &notes, "--to", &tabs, "-t", "related"];
    check(&[&to[..], &["--confidence", "-1"]].concat(), 64, "-1 is not a confidence");
    check(&[&to[..], &["--confidence=2"]].concat(), 64, "2 is not a confidence");
    check(&[&to[..], &["--metadata", "ticket"]].concat(), 65, "not a JSON object");
    check(&[&to[..], &["--supersedes", "ZZZZZZZZ"]].concat(), 65, "there is no edge");
    check(&["create-edge", "--from", &notes, "--to", &notes, "-t", "tests"], 65, "same node");
    check(&["show", "ZZZZZZZZ"], 65, "there is no node \"ZZZZZZZZ\"");
    check(&["show", "column"], 65, "its words occur in:");
    check(&["show", "01KD"], 65, "could be any of 4 nodes");
    check(&["explain-edge", "abc"], 65, "there is no edge");
    let object = graph(&env, &["show", "01KD", "--json"]).code(65);
    let object: Value = serde_json::from_str(&object.stderr).unwrap();
    assert!(object["error"]["hint"].as_str().unwrap().contains("Week 3"), "{object}");
}

#[test]
fn a_directory_that_is_no_project_has_no_graph() {
    let env = scenes::env();
    for command in ["status", "query-edges", "analyze", "gc"] {
        let output = graph(&env, &[command]).code(69);
        assert!(output.stderr.contains("try: run `spore init`"), "{}", output.stderr);
    }
    assert!(!env.repo().join(".spore").exists());
}

#[test]
fn stored_text_cannot_drive_the_terminal() {
    let env = empty();
    let content = "red \u{1b}[31m, bell \u{7}, back \u{202e}wards\n\tand a tab";
    let node = meta(&env, "status", "Harmless", content, &[]);
    let _ = meta(&env, "status", "Other", "", &[]);
    let _ = edge(&env, &node, "related", "Other", &["--reason", "\u{1b}]0;title\u{7}"]);
    for args in [["read-content", &node], ["show", &node], ["edges-for-context", &node]] {
        let text = graph(&env, &args).code(0).stdout;
        let harmful = |c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}';
        assert!(!text.contains(harmful), "{text:?}");
    }
    let read = graph(&env, &["read-content", &node, "--json"]).code(0).json();
    assert_eq!(read["content"], content);
}

/// The graph of the newest run without ids and times: one line an edge.
fn lines(env: &TestEnv) -> String {
    let edges = graph(env, &["query-edges", "--limit", "100", "--json"]).code(0).json();
    let mut lines: Vec<String> = edges
        .as_array()
        .unwrap()
        .iter()
        .map(|edge| {
            let word = |name: &str| edge[name].as_str().unwrap_or("?").to_owned();
            let old = if edge["superseded_by"].is_null() { "" } else { ", superseded" };
            format!(
                "{} --{} {}{old}--> {}",
                word("source_title"),
                word("kind"),
                edge["confidence"],
                word("target_title")
            )
        })
        .collect();
    lines.sort();
    let nodes = graph(env, &["status", "--json"]).code(0).json();
    let counts = nodes["nodes"].as_array().unwrap().iter();
    lines.extend(counts.map(|count| format!("{} × {}", count["live"], count["kind"])));
    lines.join("\n")
}

#[test]
fn a_run_leaves_its_task_its_implementations_and_its_verdicts() {
    let env = scenes::with_scenario(scenes::THREE_BOUNCES);
    let _ = scenes::orchestrate(&env, &[]).code(0);
    insta::assert_snapshot!(lines(&env), @r#"
    Implemented: write the answer (bounce 1) --derives_from 0.9--> write the answer
    Implemented: write the answer (bounce 2) --derives_from 0.9--> write the answer
    Implemented: write the answer (bounce 3) --derives_from 0.9--> write the answer
    Summary: The answer is written --summarizes 1.0--> write the answer
    The check does not read the answer --derives_from 0.8--> Summary: The answer is written
    Verification failed: write the answer (bounce 2) --contradicts 0.9, superseded--> Implemented: write the answer (bounce 2)
    Verified: write the answer (bounce 3) --supports 0.95--> Implemented: write the answer (bounce 3)
    write the answer --tracks 1.0--> write the answer
    3 × "implementation"
    1 × "lesson"
    1 × "summary"
    1 × "task"
    2 × "verdict"
    "#);
    let region = graph(&env, &["list-region", "write the answer", "--json"]).code(0).json();
    insta::assert_snapshot!("graph_list_region_json", scenes::plain(&format!("{region:#}")));
    let told = graph(&env, &["list-region", "write the answer", "--class", "operational"]).code(0);
    insta::assert_snapshot!(scenes::told(&told), @"
    exit code: 0
    --- stdout
    [I] RUN-0001  implementation  Implemented: write the answer (bounce 1)
    [I] RUN-0002  implementation  Implemented: write the answer (bounce 2)
    [I] RUN-0003  implementation  Implemented: write the answer (bounce 3)
    [I] RUN-0004  summary  Summary: The answer is written
    [I] RUN-0005  lesson  The check does not read the answer
    [I] RUN-0006  verdict  Verification failed: write th…wer (bounce 2)
    [I] RUN-0007  verdict  Verified: write the answer (bounce 3)
    --- stderr
    ");
    let of = |title: &str| graph(&env, &["show", title, "--json"]).code(0).json();
    let implementation = of("Implemented: write the answer (bounce 2)");
    insta::assert_snapshot!(implementation["content"].as_str().unwrap(), @"
    ## Files changed

    - answer.txt (+1 −1)
    - notes/new.txt (+1 −0)

    ## Summary

    done
    ");
    assert_eq!(implementation["metadata"]["files"], 2);
    assert_eq!(implementation["metadata"]["turns"], 1);
    let verdict = of("Verification failed: write the answer (bounce 2)");
    assert_eq!(verdict["content"], "43 is not the answer\n- answer.txt:1: must be 42");
    // What disagreed was settled by what held.
    let status = graph(&env, &["status", "--json"]).code(0).json();
    assert_eq!(status["unresolved_contradictions"], 0);
}

#[test]
fn an_escalated_run_leaves_a_flag_and_a_failed_session_a_partial_implementation() {
    let env = scenes::with_scenario(&format!(
        "[[session]]\nrole = \"coder\"\nbounce = 1\ncost_usd = 0.5\nfinal = \"gave up\"\n\
         steps = [{}, {{ exit = 3 }}]\n\
         [[session]]\nrole = \"verifier\"\nbounce = 1\ncost_usd = 0.25\n\
         final = '''<verdict>{{\"verdict\":\"contradicts\",\"confidence\":0.9,\"reason\":\"no\"}}</verdict>'''\n",
        scenes::WRITE_42
    ));
    let _ = scenes::orchestrate(&env, &["--max-bounces", "1"]).code(11);
    insta::assert_snapshot!(lines(&env), @r#"
    Escalation: write the answer (after 1 bounce) --flags 1.0--> Partial: write the answer (bounce 1)
    Escalation: write the answer (after 1 bounce) --tracks 1.0--> write the answer
    Partial: write the answer (bounce 1) --derives_from 0.5--> write the answer
    Verification failed: write the answer (bounce 1) --contradicts 0.9--> Partial: write the answer (bounce 1)
    write the answer --tracks 1.0--> write the answer
    1 × "implementation"
    1 × "task"
    1 × "verdict"
    1 × "escalation"
    "#);
}

#[test]
fn a_change_that_a_check_turned_down_is_joined_to_the_code_it_touched() {
    let env = scenes::with_scenario(
        "[[session]]\nrole = \"coder\"\nbounce = 1\ncost_usd = 0.5\nfinal = \"done\"\nsteps = [\n\
         { write = \"kept.txt\", content = \"gone\" },\n\
         { write = \"area.py\", content = \"def area(r):\\n    return r * r\\n\" },\n\
         { sleep_ms = 30 },\n{ exit = 3 }]\n",
    );
    env.write("area.py", "def area(r):\n    return r\n");
    env.commit_all("code");
    let _ = env.spore(&["index"]).code(0);
    let _ = scenes::orchestrate(&env, &["--max-bounces", "1"]).code(11);
    let edges = graph(&env, &["query-edges", "--limit", "100", "--json"]).code(0).json();
    let touched = edges.as_array().unwrap().iter().filter(|edge| edge["kind"] == "related");
    let touched: Vec<(&str, &Value, &str)> = touched
        .map(|edge| {
            let word = |name: &str| edge[name].as_str().unwrap();
            (word("source_title"), &edge["confidence"], word("target_title"))
        })
        .collect();
    let from = "Partial: write the answer (bounce 1)";
    let to_area = touched.iter().any(|(source, confidence, target)| {
        *source == from && **confidence == 0.85 && target.contains("area")
    });
    assert!(to_area, "{touched:?}");
    let node = graph(&env, &["show", from, "--json"]).code(0).json();
    assert_eq!(node["metadata"]["exit_code"], 3, "{node:#}");
    assert!(node["metadata"]["duration_ms"].as_u64().unwrap() >= 30, "{node:#}");
}

#[test]
fn a_run_killed_where_it_learns_something_knows_it_once() {
    let whole = {
        let env = scenes::with_scenario(scenes::THREE_BOUNCES);
        let _ = scenes::orchestrate(&env, &[]).code(0);
        lines(&env)
    };
    for point in [
        "after:row:know task#1",
        "before:row:know implementation#2",
        "after:row:know implementation#3",
        "after:row:know verdict#1",
        "after:row:know verdict#2",
        "after:row:supersede edge supports#1",
    ] {
        let env = scenes::with_scenario(scenes::THREE_BOUNCES);
        let killed = env.spore_in(&env.repo(), scenes::ORCHESTRATE, &[("SPORE_KILL_AT", point)]);
        assert_eq!(killed.code, 137, "{point}: {}", killed.render());
        let _ = env.spore(&["resume"]).code(0);
        assert_eq!(lines(&env), whole, "{point}");
    }
}

#[test]
fn a_path_is_read_from_where_the_command_is_called() {
    let env = scenes::small();
    env.write("src/deep/a.py", "def one():\n    return 1\n");
    env.commit_all("code");
    let _ = env.spore(&["index"]).code(0);
    let deep = env.repo().join("src/deep");
    let shown = env.spore_in(&deep, &["graph", "show", "a.py", "--json"], &[]).code(0).json();
    let from_root = env.spore(&["graph", "show", "src/deep/a.py", "--json"]).code(0).json();
    assert_eq!(shown, from_root);
    let status = env.spore(&["graph", "status"]).code(0).stdout;
    assert!(status.contains("code        ") && !status.contains("not indexed"), "{status}");
    let analysis = env.spore(&["graph", "analyze", "--json"]).code(0).stdout;
    assert!(!analysis.contains("1970-"), "{analysis}");
}
