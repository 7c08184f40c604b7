//! The broker on a real socket.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use spore_model::{Ruling, Usd, VerdictSource};
use spore_tools::remote::Remote;

use super::*;
use crate::base::starts::StartBounds;
use crate::base::surroundings::SessionStarter;
use crate::session::allowance::SessionAllowance;
use crate::toolbox::tests::garden::Garden;
use crate::{Progress, Update};

struct Scene {
    garden: Garden,
    broker: Broker,
    config: Config,
}

impl Scene {
    fn new() -> Self {
        let garden = Garden::planted();
        let around = garden.around();
        let workspace = Workspace::find(&around).unwrap();
        let config = workspace.config(&around, &[]).unwrap();
        let broker = Broker::start(&around, &workspace, &config).unwrap();
        Self { garden, broker, config }
    }

    fn admit(&self, role: &str) -> SessionAccess {
        let at = self.garden.git(&["rev-parse", "HEAD"]).trim().parse().unwrap();
        self.broker.admit(Admission {
            session: RunId::from_parts(1, 1),
            run: self.garden.run(),
            role: role.to_owned(),
            tools: self.config.roles.of(role).tools.clone(),
            dir: self.garden.root(),
            at: Some(at),
            starts: None,
            commands: None,
        })
    }
}

fn remote(access: &SessionAccess) -> Remote {
    Remote::of_environment(&access.server().env).unwrap()
}

fn call(remote: &Remote, tool: &str, arguments: Value) -> Told {
    let ask = Ask::Call { tool: tool.to_owned(), arguments };
    remote.ask(&ask, &|| false).unwrap()
}

fn answer(told: Told) -> ToolAnswer {
    match told {
        Told::Answer(answer) => answer,
        other => panic!("{other:?}"),
    }
}

fn verdict(word: &str) -> Value {
    json!({ "verdict": word, "confidence": 0.9, "reason": "read it",
            "findings": [{ "file": "src/lib.rs", "line": 9, "message": "odd" }] })
}

#[test]
fn a_session_reads_through_its_access_and_its_verdict_is_handed_over_once() {
    let scene = Scene::new();
    let access = scene.admit("verifier");
    let server = access.server();
    assert_eq!(
        (server.name.as_str(), server.command.as_path()),
        ("spore", Path::new("/opt/spore"))
    );
    assert_eq!(server.args, ["mcp"]);
    let remote = remote(&access);
    let found = answer(call(&remote, "search", json!({ "query": "pour" })));
    assert!(found.text.contains("src/lib.rs:9"), "{}", found.text);
    assert!(!answer(call(&remote, "submit_verdict", verdict("supports"))).is_error);
    let again = answer(call(&remote, "submit_verdict", verdict("contradicts")));
    assert!(again.text.contains("count as a contradiction"), "{}", again.text);
    let proposals = access.close();
    let [last] = proposals.verdicts.as_slice() else { panic!("{proposals:?}") };
    assert_eq!((last.ruling, last.source), (Ruling::Contradicts, VerdictSource::Tool));
    assert_eq!(last.findings[0].line, Some(9));
    assert_eq!(proposals.verdicts_given, 2);
    let by = proposals.by.unwrap();
    assert_eq!((by.role.as_str(), by.run), ("verifier", scene.garden.run()));
}

#[test]
fn a_wrong_a_void_and_no_token_are_refused_alike_and_told_nothing() {
    let scene = Scene::new();
    let access = scene.admit("verifier");
    let socket = scene.broker.home.socket();
    let left = scene.admit("verifier");
    let void = remote(&left);
    left.close();
    let dropped = scene.admit("verifier");
    let of_dropped = remote(&dropped);
    drop(dropped);
    let asks = [
        Ask::Tools,
        Ask::Call { tool: "submit_verdict".to_owned(), arguments: verdict("supports") },
        Ask::Call { tool: "no such".to_owned(), arguments: json!(7) },
        Ask::Resources,
        Ask::Read { uri: "spore://memory".to_owned() },
    ];
    for stranger in [void, of_dropped, Remote::new(&socket, "wrong"), Remote::new(&socket, "")] {
        for ask in &asks {
            assert_eq!(stranger.ask(ask, &|| false).unwrap(), Told::Refused);
        }
    }
    assert_eq!(access.close().verdicts, []);
}

#[test]
fn a_coder_has_no_tools_that_write_and_only_a_verifier_judges() {
    let scene = Scene::new();
    for (role, expected) in [
        ("coder", ""),
        ("stranger", ""),
        ("verifier", "submit_verdict flag"),
        ("summarizer", "propose_summary propose_lesson create_node create_edge flag"),
        ("scanner", "propose_lesson flag"),
        ("crystallizer", "propose_lesson flag"),
        ("weaver", "propose_lesson flag"),
        ("distiller", "propose_lesson flag"),
        ("investigator", "create_node create_edge flag"),
        ("researcher", "create_node create_edge flag"),
        ("operator", "submit_verdict propose_summary propose_lesson create_node create_edge flag"),
    ] {
        let access = scene.admit(role);
        let Told::Tools(tools) = remote(&access).ask(&Ask::Tools, &|| false).unwrap() else {
            panic!("{role}")
        };
        let (proposing, reading): (Vec<Declared>, Vec<Declared>) =
            tools.into_iter().partition(Declared::proposes);
        let names: Vec<&str> = proposing.iter().map(|tool| tool.name.as_str()).collect();
        // A verifier has its commands run for it.
        let reads = if role == "verifier" { 16 } else { 15 };
        assert_eq!((names.join(" ").as_str(), reading.len()), (expected, reads), "{role}");
    }
}

#[test]
fn a_coder_can_neither_see_nor_call_what_writes() {
    let scene = Scene::new();
    let access = scene.admit("coder");
    let remote = remote(&access);
    let Told::Tools(tools) = remote.ask(&Ask::Tools, &|| false).unwrap() else { panic!() };
    assert!(tools.iter().all(|tool| !tool.proposes()) && tools.len() == 15);
    for tool in ["submit_verdict", "create_node", "create_edge", "propose_lesson", "flag"] {
        let said = answer(call(&remote, tool, verdict("supports")));
        assert!(said.is_error && said.text.contains("there is no tool"), "{}", said.text);
    }
    let mut proposals = access.close();
    proposals.by = None;
    assert_eq!(proposals, Proposals::default());
}

#[test]
fn what_a_summarizer_proposes_is_kept_and_reaches_no_store() {
    let scene = Scene::new();
    let access = scene.admit("summarizer");
    let remote = remote(&access);
    let lesson = json!({ "title": "Heat", "pattern": "hot days", "fix": "pour twice",
                         "evidence": "bounce 2" });
    assert!(!answer(call(&remote, "propose_lesson", lesson)).is_error);
    let summary = json!({ "title": "Watered", "content": "It waters." });
    assert!(!answer(call(&remote, "propose_summary", summary)).is_error);
    let flag = json!({ "message": "overflow", "file": "src/lib.rs" });
    assert!(!answer(call(&remote, "flag", flag)).is_error);
    let node = json!({ "kind": "decision", "title": "D", "content": "d", "connects_to": ["pour"] });
    assert!(!answer(call(&remote, "create_node", node)).is_error);
    let edge = |to: &str, kind: &str| json!({ "from": "water_all", "to": to, "edge_type": kind, "reason": "r" });
    assert!(!answer(call(&remote, "create_edge", edge("pour", "related"))).is_error);
    for wrong in
        [edge("nowhere", "related"), edge("pour", "befriends"), edge("water_all", "related")]
    {
        assert!(answer(call(&remote, "create_edge", wrong)).is_error);
    }
    let proposals = access.close();
    assert_eq!(proposals.lessons[0].fix, "pour twice");
    assert_eq!(proposals.summaries[0].title, "Watered");
    assert_eq!(proposals.flags[0].severity, "warning");
    assert_eq!(proposals.nodes[0].connects_to, [proposals.edges[0].to.clone()]);
    assert_eq!(proposals.edges.len(), 1);
    let kept = serde_json::to_string(&proposals).unwrap();
    assert_eq!(serde_json::from_str::<Proposals>(&kept).unwrap(), proposals);
    let around = scene.garden.around();
    let edges = crate::graph::Graph::open(&around).unwrap();
    let all = edges.query_edges(&crate::graph::EdgesAsked { limit: 50, ..Default::default() });
    assert_eq!(all.unwrap(), []);
}

#[test]
fn a_model_that_has_lost_its_way_fills_nothing_up() {
    let scene = Scene::new();
    let access = scene.admit("operator");
    let remote = remote(&access);
    let refused = (0..60).filter(|n| {
        let flag = json!({ "message": format!("flag {n}") });
        answer(call(&remote, "flag", flag)).is_error
    });
    assert_eq!(refused.count(), 10);
    for misfit in [
        json!({}),
        json!({ "verdict": "maybe", "confidence": 0.5, "reason": "r" }),
        json!({ "verdict": "supports", "confidence": 7, "reason": "r" }),
        json!({ "verdict": "supports", "confidence": 0.5, "reason": "x".repeat(5_000) }),
        json!({ "verdict": "supports", "confidence": 0.5, "reason": "r", "tree": "forged" }),
        json!([]),
        Value::Null,
    ] {
        assert!(answer(call(&remote, "submit_verdict", misfit)).is_error);
    }
    assert_eq!(access.close().flags.len(), 50);
}

#[test]
fn only_this_user_gets_to_the_socket_and_it_goes_with_the_broker() {
    let scene = Scene::new();
    let socket = scene.broker.home.socket();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
    assert!(socket.as_os_str().len() < 108);
    let dir = socket.parent().unwrap().to_owned();
    drop(scene.broker);
    assert!(!dir.exists());
}

#[test]
fn what_a_killed_broker_left_is_removed_by_the_next_and_what_lives_is_not() {
    let scene = Scene::new();
    let base = scene.broker.home.socket().parent().unwrap().parent().unwrap().to_owned();
    let left = base.join("spore-broker-0123456789ab");
    std::fs::create_dir(&left).unwrap();
    std::fs::set_permissions(&left, PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::write(left.join("s"), "").unwrap();
    std::fs::write(left.join("lock"), "").unwrap();
    let around = scene.garden.around();
    let workspace = Workspace::find(&around).unwrap();
    let config = workspace.config(&around, &[]).unwrap();
    let _second = Broker::start(&around, &workspace, &config).unwrap();
    assert!(!left.exists());
    assert!(scene.broker.home.socket().exists());
}

#[test]
fn access_is_closed_only_when_its_call_in_flight_is_over() {
    let scene = Scene::new();
    let access = scene.admit("verifier");
    let held = scene.broker.sessions.enter(&access.token).unwrap();
    let token = access.token.clone();
    std::thread::scope(|scope| {
        let leaving = scope.spawn(move || access.close());
        while scene.broker.sessions.lock().contains_key(&token) {
            std::thread::yield_now();
        }
        assert!(scene.broker.sessions.enter(&token).is_none());
        held.0.call("submit_verdict", &verdict("supports"));
        assert!(!leaving.is_finished());
        drop(held);
        assert_eq!(leaving.join().unwrap().verdicts_given, 1);
    });
}

/// Says what it was asked for and within which bounds.
struct Repeater;

impl SessionStarter for Repeater {
    fn start(
        &self,
        around: &Surroundings,
        start: &Start,
        bounds: &StartBounds,
        progress: &mut dyn Progress,
    ) -> crate::Result<Value> {
        progress.update(&Update::NotHeld { note: "meanwhile".to_owned() });
        if start.command == "wait" {
            while !around.interrupt.is_raised() {
                std::thread::yield_now();
            }
        }
        let deep = around.variable("SPORE_SPAWN_DEPTH");
        Ok(json!({ "usd": bounds.usd, "deep": deep, "cost": { "usd": 1.0 } }))
    }
}

fn ask_to_start(remote: &Remote, command: &str, budget: Option<f64>) -> (Told, Vec<String>) {
    let request = json!({ "budget": budget });
    let ask = Ask::Start(Start { command: command.to_owned(), request, cwd: "/".into() });
    let mut lines = Vec::new();
    let told = remote.follow(&ask, &|| false, &mut |line| lines.push(line.to_owned()));
    (told.unwrap(), lines)
}

#[test]
fn a_token_that_starts_sessions_does_nothing_else_and_no_other_token_starts_any() {
    let garden = Garden::planted();
    let around = Surroundings { starter: Some(Arc::new(Repeater)), ..garden.around() };
    let workspace = Workspace::find(&around).unwrap();
    let config = workspace.config(&around, &[]).unwrap();
    let broker = Broker::start(&around, &workspace, &config).unwrap();
    let starts = StartsAdmitted {
        ancestry: vec![("SPORE_SPAWN_DEPTH".to_owned(), "3".to_owned())],
        dir: garden.root(),
        seen: None,
        allowance: SessionAllowance::new(Some(Usd::from_nanos(8_000_000_000))),
        limit: 4,
        payer: garden.run(),
    };
    let access = broker.admit(Admission {
        session: RunId::from_parts(1, 1),
        run: garden.run(),
        role: "coder".to_owned(),
        tools: config.roles.of("coder").tools.clone(),
        dir: garden.root(),
        at: None,
        commands: None,
        starts: Some(starts),
    });
    let mut env = Vec::new();
    access.tell(&mut env);
    let starter = Remote::for_starts(&env).unwrap();
    let tools = remote(&access);
    assert_eq!(starter.ask(&Ask::Tools, &|| false).unwrap(), Told::Refused);
    assert_eq!(ask_to_start(&tools, "spawn", None).0, Told::Refused);
    // Half of what is left, what is asked for, and no more than there is. Each cost a dollar.
    for (asked, given) in [(None, 4.0), (Some(2.0), 2.0), (Some(100.0), 6.0)] {
        let (told, lines) = ask_to_start(&starter, "spawn", asked);
        let Told::Ended(Ok(answer)) = told else { panic!("{told:?}") };
        assert_eq!((&answer["usd"], &answer["deep"]), (&json!(given), &json!("3")));
        assert_eq!(lines, ["meanwhile"]);
    }
    // What waits ends when the session does, and its access is closed after that.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| ask_to_start(&starter, "wait", Some(1.0)));
        while *access.session.calls() == 0 {
            std::thread::yield_now();
        }
        access.close();
        assert!(matches!(waiting.join().unwrap().0, Told::Ended(Ok(_))));
    });
    assert_eq!(ask_to_start(&starter, "spawn", None).0, Told::Refused);
}

/// Whatever asked for the second verdict may have been the change.
#[test]
fn two_different_verdicts_are_a_contradiction_in_either_order() {
    let scene = Scene::new();
    for words in [["supports", "contradicts"], ["contradicts", "supports"], ["unknown", "supports"]]
    {
        let access = scene.admit("verifier");
        let remote = remote(&access);
        for word in words {
            assert!(!answer(call(&remote, "submit_verdict", verdict(word))).is_error);
        }
        let [last] = access.close().verdicts.try_into().unwrap();
        assert_eq!(last.ruling, Ruling::Contradicts, "{words:?}");
    }
}
