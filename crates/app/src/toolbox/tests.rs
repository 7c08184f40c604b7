//! The tools on a small project with real files, git and stores.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]

pub(crate) mod garden;

use serde_json::{Value, json};
use spore_model::CommitId;
use spore_tools::ToolAnswer;

use super::*;
use garden::Garden;

fn call(toolbox: &Toolbox, tool: &str, arguments: Value) -> ToolAnswer {
    let declared = declared().into_iter().find(|known| known.name == tool).unwrap();
    assert_eq!(misfit(&declared.schema, &arguments), None, "{tool}");
    toolbox.call(tool, &arguments)
}

#[track_caller]
fn text(toolbox: &Toolbox, tool: &str, arguments: Value) -> String {
    let answer = call(toolbox, tool, arguments);
    assert!(!answer.is_error, "{tool}: {}", answer.text);
    answer.text
}

#[track_caller]
fn refusal(toolbox: &Toolbox, tool: &str, arguments: Value) -> String {
    let answer = call(toolbox, tool, arguments);
    assert!(answer.is_error, "{tool}: {}", answer.text);
    answer.text
}

#[test]
fn code_is_found_shown_and_walked_with_file_and_line() {
    let garden = Garden::planted();
    let toolbox = garden.toolbox();
    let found = text(&toolbox, "search", json!({ "query": "water_all" }));
    assert!(found.contains("function water_all  src/lib.rs:2  ["), "{found}");
    let explored = text(&toolbox, "explore", json!({ "query": "pour" }));
    assert!(explored.contains("9\tfn pour(litres: u32) -> u32 {"), "{explored}");
    assert!(explored.contains("called by: water_all src/lib.rs:2"), "{explored}");
    let callers = text(&toolbox, "callers", json!({ "node": "pour", "depth": 2 }));
    assert!(callers.contains("water_all src/lib.rs:2"), "{callers}");
    assert!(callers.contains("tests/watering.rs"), "{callers}");
    let callees = text(&toolbox, "callees", json!({ "node": "water_all" }));
    assert!(callees.contains("pour src/lib.rs:9"), "{callees}");
    let shown = text(&toolbox, "code_show", json!({ "node": "src/lib.rs:3" }));
    assert!(shown.contains("src/lib.rs:2-6") && shown.contains("Waters every bed."), "{shown}");
    let edges = text(
        &toolbox,
        "nav_edges",
        json!({ "node": "water_all", "edge_types": ["calls"], "direction": "out" }),
    );
    assert!(edges.contains("-calls-> pour"), "{edges}");
    let ways = text(&toolbox, "path_between", json!({ "from": "water_all", "to": "pour" }));
    assert!(ways.contains("1 hops: water_all -calls-> pour"), "{ways}");
}

#[test]
fn an_impact_names_what_is_reached_and_the_tests_to_run() {
    let garden = Garden::planted();
    let toolbox = garden.toolbox();
    let named = text(&toolbox, "impact", json!({ "targets": ["pour"] }));
    assert!(named.contains("Tests to run, 1 in 1 file:\n  tests/watering.rs: "), "{named}");
    assert!(named.contains("water_all src/lib.rs:2"), "{named}");
    let unchanged = text(&toolbox, "impact", json!({}));
    assert!(unchanged.contains("Nothing that the index knows has changed."), "{unchanged}");
    garden.write("src/lib.rs", garden::LIB.replace("litres * 2", "litres * 3"));
    let changed = text(&garden.toolbox(), "impact", json!({}));
    assert!(changed.contains("What the 1 file that changed reach"), "{changed}");
    assert!(changed.contains("tests/watering.rs"), "{changed}");
    assert!(refusal(&toolbox, "impact", json!({ "targets": ["nowhere"] })).contains("no node"));
}

#[test]
fn a_call_that_names_no_measure_is_answered_by_the_settings() {
    let garden = Garden::planted();
    let toolbox = garden.toolbox();
    let ask = |tool: &str, arguments: Value| text(&toolbox, tool, arguments);
    let found = || ask("search", json!({ "query": "water_all pour" }));
    let explored = || ask("explore", json!({ "query": "water_all pour" }));
    let shown = || ask("code_show", json!({ "node": "water_all" }));
    let reached = || ask("impact", json!({ "targets": ["pour"] }));
    let edges = || ask("nav_edges", json!({ "node": "water_all" }));
    let ways = || ask("path_between", json!({ "from": "tests/watering.rs", "to": "pour" }));
    assert!(found().contains("\n2. ") && explored().contains("\n2. "));
    assert!(shown().contains("5\t    pour(litres)") && shown().contains("\ncalls: pour"));
    assert!(reached().contains("tests/watering.rs") && edges().lines().count() > 2);
    assert!(ways().contains("hops: "));
    garden.write(
        ".spore/config.toml",
        "[tools]\nhits = 1\nplaces = 1\nlines_of_place = 2\nlines_of_code = 3\n\
         neighbours = 0\nimpact_steps = 1\nedges = 1\nmax_hops = 1\n",
    );
    assert!(!found().contains("\n2. ") && !explored().contains("\n2. "), "{}", explored());
    assert!(explored().contains("more lines"), "{}", explored());
    assert!(!shown().contains("pour(litres)") && !shown().contains("calls: "), "{}", shown());
    assert!(!reached().contains("tests/watering.rs"), "{}", reached());
    assert_eq!(edges().lines().count(), 2, "{}", edges());
    assert!(ways().contains("No way of so few steps"), "{}", ways());
    // What a call says itself counts.
    assert!(ask("search", json!({ "query": "water_all pour", "limit": 5 })).contains("\n2. "));
    garden.write(".spore/config.toml", "[tools]\nlist_tokens = 256\nsource_tokens = 256\n");
    garden.write("long.txt", (1..=900).map(|n| format!("line {n}\n")).collect::<String>());
    assert!(ask("read_content", json!({ "target": "long.txt" })).len() <= 1024);
    assert!(found().len() <= 1024);
}

#[test]
fn the_settings_say_how_many_edges_are_shown() {
    let garden = Garden::planted();
    let around = garden.around();
    let shown = || Graph::open(&around).unwrap().show("water_all").unwrap();
    let all = shown();
    assert!(all.edges.len() > 1 && !all.more_edges);
    for to in ["water_all", "src/lib.rs"] {
        let said = json!({ "from": "pour", "to": to, "edge_type": "related", "reason": "it is" });
        let answer = garden.toolbox().write("create_edge", &said);
        assert!(!answer.is_error, "{}", answer.text);
    }
    let graph = Graph::open(&around).unwrap();
    let edge = graph.show("pour").unwrap().edges.swap_remove(0).edge.id.to_string();
    let around_it = || Graph::open(&around).unwrap().explain_edge(&edge, 1).unwrap();
    assert_eq!((around_it().adjacent_edges.len(), around_it().more_adjacent_edges), (1, false));
    garden.write(".spore/config.toml", "[graph]\nedges_of_node = 1\nedges_around = 0\n");
    assert_eq!((shown().edges.len(), shown().more_edges), (1, true));
    assert_eq!((around_it().adjacent_edges.len(), around_it().more_adjacent_edges), (0, true));
}

#[test]
fn a_file_is_read_with_numbers_and_in_pages() {
    let garden = Garden::planted();
    garden.write("long.txt", (1..=900).map(|n| format!("line {n}\n")).collect::<String>());
    let toolbox = garden.toolbox();
    let part = text(
        &toolbox,
        "read_content",
        json!({ "target": "src/lib.rs", "first_line": 2, "last_line": 2 }),
    );
    assert!(part.ends_with("2\tpub fn water_all(beds: &[u32]) -> u32 {"), "{part}");
    let mut asked = json!({ "target": "long.txt", "max_tokens": 1000 });
    let mut lines = 0;
    loop {
        let page = text(&toolbox, "read_content", asked.clone());
        assert!(page.len() <= 4000);
        lines += page.lines().filter(|line| line.contains("\tline ")).count();
        let Some((_, cursor)) = page.rsplit_once("cursor \"") else { break };
        asked["cursor"] = json!(cursor.trim_end_matches('"'));
    }
    assert_eq!(lines, 900);
}

#[test]
fn no_path_leads_out_of_the_project_or_into_what_is_not_its_own() {
    let garden = Garden::planted();
    std::fs::write(garden.root().parent().unwrap().join("secret.txt"), "s3cret").unwrap();
    garden.write(".env", "KEY=s3cret");
    garden.write(".gitignore", ".env\n");
    std::os::unix::fs::symlink("../secret.txt", garden.root().join("out.txt")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", garden.root().join("abs.txt")).unwrap();
    std::os::unix::fs::symlink(".env", garden.root().join("inner.txt")).unwrap();
    let toolbox = garden.toolbox();
    for path in [
        "../secret.txt",
        "/etc/passwd",
        "src/../../secret.txt",
        "out.txt",
        "abs.txt",
        ".env",
        "./.env",
        "inner.txt",
        ".git/config",
        ".GIT/config",
        ".spore/spore.db",
        "src/../.git/HEAD",
        "a\u{0}b/c",
    ] {
        let said = refusal(&toolbox, "read_content", json!({ "target": path }));
        assert!(!said.contains("s3cret") && !said.contains("root:"), "{path}: {said}");
    }
}

#[test]
fn an_edit_is_seen_and_what_is_held_open_is_not_what_was() {
    let garden = Garden::planted();
    let toolbox = garden.toolbox();
    let find = |word: &str| text(&toolbox, "search", json!({ "query": word }));
    assert!(find("compost_heap").contains("Nothing"));
    garden.write("src/compost.rs", "pub fn compost_heap() {}\n");
    garden.index();
    // Looked at once a second: a fresh toolbox looks at once, this one within that second.
    assert!(
        text(&garden.toolbox(), "search", json!({ "query": "compost_heap" }))
            .contains("src/compost.rs:1")
    );
    let begun = std::time::Instant::now();
    while find("compost_heap").contains("Nothing") {
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "the old index is held");
    }
}

#[test]
fn a_session_sees_the_code_of_its_commit_and_reads_its_own_checkout() {
    let garden = Garden::planted();
    let base: CommitId = garden.git(&["rev-parse", "HEAD"]).trim().parse().unwrap();
    let checkout = garden.checkout();
    std::fs::write(checkout.join("src/lib.rs"), garden::LIB.replace("litres * 2", "litres * 3"))
        .unwrap();
    std::fs::write(checkout.join("notes.md"), "the coder's own").unwrap();
    garden.write("src/later.rs", "pub fn later_than_base() {}\n");
    let view = ProjectView::Session { run: garden.run(), dir: checkout, at: Some(base) };
    let toolbox = Toolbox::new(std::sync::Arc::new(garden.around().apart(&garden.root())), view);
    assert!(text(&toolbox, "search", json!({ "query": "later_than_base" })).contains("Nothing"));
    let shown = text(&toolbox, "code_show", json!({ "node": "pour" }));
    assert!(shown.contains("litres * 2") && shown.contains("before your changes"), "{shown}");
    let read = text(&toolbox, "read_content", json!({ "target": "src/lib.rs" }));
    assert!(read.contains("litres * 3"), "{read}");
    assert!(
        text(&toolbox, "read_content", json!({ "target": "notes.md" })).contains("coder's own")
    );
    let impact = text(&toolbox, "impact", json!({}));
    assert!(
        impact.contains("1 file that changed") && impact.contains("tests/watering.rs"),
        "{impact}"
    );
    assert!(
        refusal(&toolbox, "read_content", json!({ "target": "../later.rs" })).contains("outside")
    );
}

#[test]
fn a_task_gets_a_context_within_its_budget() {
    let garden = Garden::planted();
    let toolbox = garden.toolbox();
    let asked = json!({ "task": "Pour three litres for every bed", "max_tokens": 600 });
    let context = text(&toolbox, "context", asked);
    assert!(context.contains("src/lib.rs"), "{context}");
    assert!(context.len() <= 2_400, "{}", context.len());
}

#[test]
fn what_is_remembered_is_told() {
    let garden = Garden::planted();
    let toolbox = garden.toolbox();
    assert!(text(&toolbox, "lessons", json!({})).contains("There are none yet."));
    assert!(text(&toolbox, "memory", json!({})).contains("Nothing yet."));
    assert!(text(&toolbox, "run_show", json!({})).contains("There is no run yet."));
    assert!(refusal(&toolbox, "run_show", json!({ "run": "zzzz" })).contains("no run"));
    garden.write(".spore/memory/CLAUDE.md", "# Garden\n\n- Water in the morning\n");
    assert!(text(&toolbox, "memory", json!({})).contains("Water in the morning"));
    let written = toolbox.write(
        "create_node",
        &json!({
            "kind": "decision", "title": "Morning only", "content": "Because of the sun.",
            "connects_to": ["water_all"],
        }),
    );
    assert!(!written.is_error, "{}", written.text);
    let edges = text(&toolbox, "query_edges", json!({ "agent": "mcp" }));
    assert!(edges.contains("Morning only") && edges.contains("-related-> water_all"), "{edges}");
    let read = text(&toolbox, "read_content", json!({ "target": "Morning only" }));
    assert!(read.contains("Because of the sun.") && read.contains("by mcp"), "{read}");
    let found = text(&toolbox, "search", json!({ "query": "morning sun" }));
    assert!(found.contains("noted: decision Morning only  ["), "{found}");
    let flagged =
        toolbox.write("flag", &json!({ "message": "Overflow", "file": "src/lib.rs", "line": 9 }));
    assert!(!flagged.is_error, "{}", flagged.text);
    let uris: Vec<String> = toolbox.resources().into_iter().map(|found| found.uri).collect();
    assert_eq!(uris, ["spore://memory"]);
    assert!(toolbox.read("spore://memory").unwrap().text.contains("Water in the morning"));
    assert!(
        toolbox.read("spore://node/Morning only").unwrap().text.contains("Because of the sun.")
    );
    for nothing in ["spore://", "spore://run/../x", "file:///etc/passwd", "spore://node/none such"]
    {
        assert_eq!(toolbox.read(nothing), None, "{nothing}");
    }
}

#[test]
fn whatever_is_asked_there_is_an_answer() {
    let garden = Garden::planted();
    let toolbox = garden.toolbox();
    let odd = [
        "",
        " ",
        "\"",
        "a-b:c.d",
        "'; DROP TABLE nodes; --",
        "\u{0}",
        "../..",
        "::",
        "*",
        "%",
        "ö".repeat(3000).as_str(),
    ]
    .map(str::to_owned);
    for word in odd {
        for (tool, field) in [
            ("search", "query"),
            ("explore", "query"),
            ("read_content", "target"),
            ("code_show", "node"),
            ("callers", "node"),
            ("nav_edges", "node"),
            ("lessons", "task"),
            ("run_show", "run"),
        ] {
            let answer = toolbox.call(tool, &json!({ field: word }));
            assert!(!answer.text.is_empty(), "{tool} {word:?}");
            assert!(answer.text.len() <= 24_000, "{tool} {word:?}: {}", answer.text.len());
        }
    }
    for (tool, arguments) in [
        ("search", json!({ "query": "x", "kinds": ["nonsense"] })),
        ("search", json!({ "query": "x", "path": "../.." })),
        ("search", json!({ "query": "x", "path": "[" })),
        ("nav_edges", json!({ "node": "pour", "edge_types": ["nonsense"] })),
        ("query_edges", json!({ "since": "never" })),
        ("path_between", json!({ "from": "pour", "to": "nowhere" })),
        ("search", json!({ "query": "x", "cursor": "7-junk" })),
        ("no_such_tool", json!({})),
    ] {
        assert!(toolbox.call(tool, &arguments).is_error, "{tool} {arguments}");
    }
}
