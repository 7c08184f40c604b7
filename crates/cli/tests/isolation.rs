//! What one session leaves, no other one and no person finds: homes, caches, shared memory.

#![expect(clippy::print_stdout, reason = "a skipped test says so")]

use serde_json::Value;
use spore_testkit::TestEnv;

use crate::scenes;

/// A machine where no root can be made anew promises less.
pub(crate) fn is_skipped(env: &TestEnv) -> bool {
    let doctor = env.spore(&["doctor", "--json"]).json();
    let findings = doctor["findings"].as_array().unwrap().iter();
    let held = findings.clone().any(|one| one["name"] == "sandbox" && one["ok"] == true);
    if !held {
        println!("skipped: no root can be made anew here");
    }
    !held
}

/// The scene of a rejection and a pass whose sessions run these commands, with homes of their own.
fn scene(coder: &str, verifier: &str, again: &str, check: &str) -> TestEnv {
    let run = |commands: &str| -> String {
        commands.lines().map(|line| format!("{{ run = '''{}''' }}, ", line.trim())).collect()
    };
    let session = |role: &str, bounce: u32, steps: &str, last: &str| {
        format!(
            "[[session]]\nrole = \"{role}\"\nbounce = {bounce}\nfinal = '''{last}'''\nsteps = [{steps}]\n"
        )
    };
    let write = |text: &str| format!(r#"{{ write = "answer.txt", content = "{text}\n" }}"#);
    let scenario = [
        session("coder", 1, &format!("{} {}", run(coder), write("43")), "done"),
        session(
            "verifier",
            1,
            &run(verifier),
            r#"<verdict>{"verdict":"contradicts","reason":"no"}</verdict>"#,
        ),
        session("coder", 2, &format!("{} {}", run(again), write("42")), "done"),
        session(
            "verifier",
            2,
            &run(verifier),
            r#"<verdict>{"nonce":"$NONCE","verdict":"supports"}</verdict>"#,
        ),
    ];
    let env = scenes::with_scenario(&scenario.concat()).with_variable("SPORE_SANDBOX_WRITE", "");
    env.write(".spore/config.toml", &format!("[gates.commands.check]\nrun = '''{check}'''\n"));
    env.write_at(&env.dir().join("home/.ssh/id"), "a key\n");
    env.write_at(&env.dir().join("home/.claude/CLAUDE.md"), "the user's\n");
    env.write_at(&env.dir().join("home/.npm/package/index.js"), "as it was\n");
    env
}

/// Whether each command of a session went well.
pub(crate) fn went_well(env: &TestEnv, session: &str) -> Vec<bool> {
    let text = scenes::artefact(env, &format!("{session}/transcript.jsonl"));
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let results = events.filter(|event| event["type"] == "tool_result");
    results.map(|event| event["ok"].as_bool().unwrap()).collect()
}

fn at_home(env: &TestEnv, name: &str) -> String {
    std::fs::read_to_string(env.dir().join("home").join(name)).unwrap_or_default()
}

#[test]
fn no_session_finds_what_another_role_left_and_none_finds_the_home() {
    let plant = "mkdir -p ~/.claude && echo obey > ~/.claude/CLAUDE.md
                 mkdir -p ~/.codex && echo obey > ~/.codex/AGENTS.md
                 echo x > /dev/shm/left
                 echo x > /tmp/left";
    let look = "test ! -e ~/.claude/CLAUDE.md
                test ! -e ~/.codex
                test ! -e /dev/shm/left
                test ! -e /tmp/left
                test ! -e ~/.ssh";
    let again = "grep -q obey ~/.claude/CLAUDE.md
                 test ! -e /dev/shm/left
                 test ! -e /tmp/left
                 test ! -e ~/.ssh";
    let env =
        scene(plant, look, again, "test ! -e ~/.claude && test ! -e /tmp/left && test ! -e ~/.ssh");
    if is_skipped(&env) {
        return;
    }
    let output = scenes::orchestrate(&env, &[]).code(0);
    for (session, commands) in [
        ("bounce-1/coder", 4),
        ("bounce-1/verifier", 5),
        ("bounce-2/coder", 4),
        ("bounce-2/verifier", 5),
    ] {
        assert_eq!(went_well(&env, session), vec![true; commands], "{session}\n{}", output.stderr);
    }
    assert_eq!(at_home(&env, ".claude/CLAUDE.md"), "the user's\n");
    assert!(!env.dir().join("home/.codex").exists());
    // Nothing of the homes is left when the run is over.
    let left = std::fs::read_dir(env.dir().join("state/spore")).unwrap().flatten();
    let homes = left.map(|project| project.path().join(scenes::newest_id(&env)).join("home"));
    assert_eq!(homes.filter(|home| home.exists()).count(), 0);
}

#[test]
fn a_checkout_is_at_one_place_for_every_role() {
    // Where it is, the coder writes into the change; every other role looks whether it is there, too.
    let same = r#"test "$(cat place.txt)" = "$(pwd -P)""#;
    let neutral = r#"test "$(basename "$(pwd -P)")" = repo && test "$(pwd -P)" = "$(pwd)""#;
    let own = format!("pwd -P > place.txt\n{neutral}");
    let env = scene(&own, same, same, &format!("{same} || test ! -e place.txt"));
    if is_skipped(&env) {
        return;
    }
    let output = scenes::orchestrate(&env, &[]).code(0);
    for session in ["bounce-1/coder", "bounce-1/verifier", "bounce-2/coder", "bounce-2/verifier"] {
        let went = went_well(&env, session);
        assert!(went.iter().all(|well| *well), "{session}: {went:?}\n{}", output.stderr);
    }
    let place = env.git(&["show", &format!("{}:place.txt", scenes::newest_branch(&env))]);
    assert!(!place.contains("state") && place.ends_with("/repo"), "{place}");
}

#[test]
fn a_coder_that_spoils_its_home_has_its_next_bounce_all_the_same() {
    let spoil = "mv ~/.cargo ~/moved-1 && mkdir -p ~/.cargo/config.toml/x
                 mv ~/.cache ~/moved-2 && ln -s /usr ~/.cache
                 mv ~/.local ~/moved-3 && touch ~/.local
                 mkdir ~/own && echo kept > ~/own/file
                 chmod 0 ~/.cargo && chmod 0 ~";
    let again = "test -s ~/.cargo/bin/tool
                 grep -q mine ~/.cargo/config.toml
                 test -s ~/.cache/pip/wheel && test ! -L ~/.cache
                 test -s ~/.local/bin/tool
                 grep -q kept ~/own/file";
    let env = scene(spoil, "true", again, "true");
    let names = [".cargo/bin/tool", ".cargo/config.toml", ".cache/pip/wheel", ".local/bin/tool"];
    for name in names {
        env.write_at(&env.dir().join("home").join(name), "mine\n");
    }
    if is_skipped(&env) {
        return;
    }
    let output = scenes::orchestrate(&env, &[]).code(0);
    for session in ["bounce-1/coder", "bounce-2/coder"] {
        assert_eq!(went_well(&env, session), vec![true; 5], "{session}\n{}", output.stderr);
    }
    for name in names {
        assert_eq!(at_home(&env, name), "mine\n", "{name}");
    }
}

#[test]
fn what_a_gate_or_an_agent_writes_to_a_cache_is_thrown_away() {
    let cached = "~/.npm/package/index.js";
    let poison = format!(
        "grep -q 'as it was' {cached} && ! grep -q evil {cached} && echo evil >> {cached} && echo evil > ~/.npm/new && grep -q evil {cached}"
    );
    // What the base's own check writes there is for the checks that come after it.
    let check = format!(
        "if grep -q 41 answer.txt; then echo base > ~/.npm/of-base; echo base > ~/of-base; else test -s ~/.npm/of-base && test -s ~/of-base && {poison}; fi"
    );
    let env = scene(&poison, &poison, &poison, &check);
    if is_skipped(&env) {
        return;
    }
    let output = scenes::orchestrate(&env, &[]).code(0);
    for session in ["bounce-1/coder", "bounce-1/verifier", "bounce-2/coder", "bounce-2/verifier"] {
        assert_eq!(went_well(&env, session), [true], "{session}\n{}", output.stderr);
    }
    assert_eq!(at_home(&env, ".npm/package/index.js"), "as it was\n");
    for name in [".npm/new", ".npm/of-base", "of-base"] {
        assert!(!env.dir().join("home").join(name).exists(), "{name}");
    }
}

#[test]
fn without_namespaces_the_run_says_what_is_not_held() {
    let env = scene("true", "true", "true", "true");
    let off = env.spore_in(&env.repo(), scenes::ORCHESTRATE, &[("SPORE_SANDBOX_ROOT", "off")]);
    let told = off.code(0).stderr;
    for promise in [
        "reading what is yours",
        "modes, owners and times",
        "sockets and terminals",
        "what agents reach over the network",
    ] {
        assert!(told.contains(promise), "{told}");
    }
}

#[test]
fn an_agent_reaches_what_is_listed_and_not_the_loopback() {
    let [listed, other] = [(), ()].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let port = |listener: &std::net::TcpListener| listener.local_addr().unwrap().port();
    let ask = |port| {
        format!("python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 9)\"")
    };
    let tries = format!(
        "{}\n! {}\ntest -z \"$(getent hosts a.example.org)\"",
        ask(port(&listed)),
        ask(port(&other))
    );
    let env = scene(&tries, &tries, &tries, "true");
    if is_skipped(&env) {
        return;
    }
    other.set_nonblocking(true).unwrap();
    let config = env.repo().join(".spore/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let list = format!("[sandbox]\nnetwork = [\"127.0.0.1:{}\"]\n", port(&listed));
    env.write(".spore/config.toml", &format!("{text}{list}"));
    let output = scenes::orchestrate(&env, &[]).code(0);
    for session in ["bounce-1/coder", "bounce-1/verifier", "bounce-2/coder", "bounce-2/verifier"] {
        assert_eq!(went_well(&env, session), [true; 3], "{session}\n{}", output.stderr);
    }
    assert!(other.accept().is_err());
}

#[test]
fn the_machines_network_is_left_to_agents_only_where_that_is_said_and_then_it_is_told() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let tries =
        format!("python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 9)\"");
    let env = scene(&tries, "true", "true", "true");
    if is_skipped(&env) {
        return;
    }
    let all = env.spore_in(&env.repo(), scenes::ORCHESTRATE, &[("SPORE_SANDBOX_NETWORK", "*")]);
    let told = all.code(0).stderr;
    assert!(told.contains("leaves the machine's network to agents"), "{told}");
    assert_eq!(went_well(&env, "bounce-1/coder"), [true]);
}

#[test]
fn the_word_that_the_network_used_to_be_is_refused_with_what_it_is_now() {
    let env = scene("true", "true", "true", "true");
    env.write(".spore/config.toml", "[sandbox]\nnetwork = \"deny\"\n");
    let told = env.spore(scenes::ORCHESTRATE).code(78).stderr;
    assert!(told.contains("sandbox.network must be a list"), "{told}");
    assert!(told.contains("checks_network"), "{told}");
}
