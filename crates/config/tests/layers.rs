//! Layers on top of each other, through the public door.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::time::Duration;

use spore_config::{
    Config, Loaded, Origins, Position, RoleConfig, SettingsLayer, SettingsOrigin, Value, env_layers,
};
use spore_model::{ToolGroup, ToolGroups, Usd};

fn user(text: &str) -> SettingsLayer {
    SettingsLayer { origin: SettingsOrigin::User("user.toml".into()), text: text.to_owned() }
}

fn project(text: &str) -> SettingsLayer {
    SettingsLayer { origin: SettingsOrigin::Project("project.toml".into()), text: text.to_owned() }
}

fn load(layers: &[SettingsLayer]) -> Loaded {
    Config::load(layers).unwrap()
}

#[test]
fn the_defaults_alone_are_a_configuration() {
    let Config { orchestrate, gates, session, roles, .. } = load(&[]).config;
    assert_eq!((orchestrate.max_bounces, orchestrate.backend.as_str()), (3, ""));
    assert_eq!(Some(orchestrate.budget_usd), Usd::from_dollars(20.0));
    assert_eq!(gates.timeout, Duration::from_secs(900));
    assert!(gates.commands.is_empty());
    assert_eq!(session.terminate_grace, Duration::from_secs(3));
    assert_eq!(roles.of("summarizer").tier, "medium");
}

#[test]
fn a_role_has_what_its_table_says_and_the_rest_from_the_default() {
    let text = "[roles.coder]\ntools = ['read']\n[roles.reviewer]\nturns = 9\n\
                [roles.default]\ntier = 'low'\n[orchestrate]\nmax_turns = 33\n";
    let config = load(&[project(text)]).config;
    let reads = ToolGroups::from([ToolGroup::Read]);
    let coder = config.roles.of("coder");
    assert_eq!((coder.tier.as_str(), coder.turns, &coder.tools), ("high", Some(50), &reads));
    let reviewer = config.roles.of("reviewer");
    assert_eq!((reviewer.tier.as_str(), reviewer.turns), ("low", Some(9)));
    let looks = ToolGroups::from([ToolGroup::Read, ToolGroup::Search, ToolGroup::Graph]);
    assert_eq!(reviewer.tools, looks);
    let stranger = config.roles.of("stranger");
    assert_eq!((stranger.tier.as_str(), stranger.turns, &stranger.tools), ("low", None, &looks));
    assert!(config.roles.names().all(|name| name != "default" && name != "stranger"));
    for (role, asked, turns) in [
        ("coder", None, 50),
        ("stranger", None, 33),
        ("reviewer", None, 9),
        ("coder", Some(99), 99),
    ] {
        assert_eq!(config.turns(role, asked), turns, "{role}");
    }
}

#[test]
fn the_table_of_roles_that_ships_is_the_one_that_was_decided() {
    let roles = load(&[]).config.roles;
    let row = |role: &str| {
        let RoleConfig { tier, turns, tools, sandbox, .. } = roles.of(role);
        let tools: Vec<&str> = tools.iter().map(|group| group.as_str()).collect();
        format!("{tier} {turns:?} {sandbox:?}: {}", tools.join(" "))
    };
    for (role, expected) in [
        ("coder", "high Some(50) Write: read write shell graph"),
        ("verifier", "high Some(50) ReadOnly: read search commands graph verdict flags"),
        ("summarizer", "medium Some(15) ReadOnly: read search graph summary lessons nodes flags"),
        (
            "operator",
            "high Some(80) Write: read search write shell graph verdict summary lessons nodes flags",
        ),
        ("stranger", "high None Write: read search graph"),
    ] {
        assert_eq!(row(role), expected, "{role}");
    }
    // Only a verifier judges, apart from an operator, and only these three write.
    let has = |group: ToolGroup| {
        roles.names().filter(|name| roles.of(name).tools.contains(&group)).collect::<Vec<_>>()
    };
    assert_eq!(has(ToolGroup::Verdict), ["operator", "verifier"]);
    assert_eq!(has(ToolGroup::Write), ["coder", "operator", "tester"]);
    assert_eq!(has(ToolGroup::Shell), ["coder", "operator", "tester"]);
}

#[test]
fn a_later_layer_wins_and_every_value_knows_its_own() {
    let variables = [("SPORE_DIFF_CAP_BYTES".to_owned(), "4".to_owned())];
    let mut layers = vec![
        user("[show]\nlimit = 1\n[diff]\ncap_bytes = 1\n[commit]\nallow = ['a']\n"),
        project("[diff]\ncap_bytes = 2\n\n[commit]\nallow = ['b', 'c']\n"),
    ];
    layers.extend(env_layers(&variables));
    let flag = SettingsOrigin::Flag("--max-turns".into());
    layers.push(SettingsLayer::single(flag.clone(), "orchestrate.max_turns", "9"));
    let loaded = load(&layers);

    let config = &loaded.config;
    assert_eq!((config.show.limit, config.diff.cap_bytes), (1, 4));
    assert_eq!(config.commit.allow, ["b", "c"]);
    assert_eq!(config.orchestrate.max_turns, 9);
    for (key, origin) in [
        ("show.limit", SettingsOrigin::User("user.toml".into())),
        ("commit.allow", SettingsOrigin::Project("project.toml".into())),
        ("diff.cap_bytes", SettingsOrigin::Env("SPORE_DIFF_CAP_BYTES".into())),
        ("orchestrate.max_turns", flag),
        ("orchestrate.max_bounces", SettingsOrigin::Defaults),
    ] {
        assert_eq!(loaded.origin(key), Some(&origin), "{key}");
    }
    assert_eq!(loaded.origin("no.such"), None);
}

#[test]
fn a_listing_is_toml_that_loads_to_the_same() {
    let loaded = load(&[project("[gates.commands.test]\nrun = 'say \"hi\"'\n")]);
    let again = load(&[project(&loaded.show(Origins::Hidden))]);
    assert_eq!(again.config, loaded.config);
    let with_origins = load(&[project(&loaded.show(Origins::Shown))]);
    assert_eq!(with_origins.config, loaded.config);
    let shown = loaded.show(Origins::Shown);
    assert!(
        shown.contains("gates.commands.test.run = 'say \"hi\"'  # project.toml:2:7\n"),
        "{shown}"
    );
    assert!(shown.contains("\norchestrate.summarize = true  # defaults.toml:"), "{shown}");
}

#[test]
fn an_entry_has_its_value_and_its_line() {
    let loaded = load(&[project("\n[verdict]\n  min_confidence = 1\n")]);
    let (_, entry) = loaded.entries().find(|(key, _)| *key == "verdict.min_confidence").unwrap();
    assert_eq!(entry.value, Value::Float(1.0));
    assert_eq!(entry.place.position, Some(Position { line: 3, column: 20 }));
}

#[test]
fn the_fields_of_one_gate_may_come_from_several_layers() {
    let loaded = load(&[
        user("[gates.commands.test]\nrun = 'make'\nparser = 'cargo'\n"),
        project("[gates.commands.test]\nrun = 'make test'\ntimeout = '5s'\n"),
    ]);
    let gate = &loaded.config.gates.commands["test"];
    assert_eq!(
        (gate.run.as_str(), gate.kind.as_str(), gate.parser.as_str()),
        ("make test", "test", "cargo")
    );
    assert_eq!(gate.timeout, Some(Duration::from_secs(5)));
}

#[test]
fn somebody_reads_what_tests_print_unless_told_otherwise() {
    for (kind, parser) in [("", "auto"), ("kind = 'test'", "auto"), ("kind = 'lint'", "plain")] {
        let loaded = load(&[project(&format!("[gates.commands.a]\nrun = 'make'\n{kind}\n"))]);
        assert_eq!(loaded.config.gates.commands["a"].parser, parser, "{kind}");
    }
}

#[test]
fn a_mistake_is_blamed_on_the_layer_that_made_it() {
    let good = user("[show]\nlimit = 1\n");
    let error = Config::load(&[good, project("[show]\nlimit = -1\n")]).unwrap_err();
    assert_eq!(error.to_string(), "project.toml:2:9: show.limit is out of range: -1");
    let flag = SettingsLayer::single(
        SettingsOrigin::Flag("--budget".into()),
        "orchestrate.budget_usd",
        "much",
    );
    let error = Config::load(&[flag]).unwrap_err();
    assert_eq!(error.to_string(), "--budget: orchestrate.budget_usd must be a number, not text");
}

#[test]
fn a_setting_is_found_by_its_key_and_a_table_by_its_name() {
    let loaded = load(&[project("[gates.commands.test]\nrun = 'make'\n")]);
    let check = |key: &str, expected: &str| {
        let asked = SettingsOrigin::Flag(format!("show {key}"));
        let told = match loaded.find(key, asked) {
            Ok(found) => found.iter().map(|(key, _)| *key).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        };
        assert_eq!(told, expected);
    };
    check("show.limit", "show.limit");
    check("show", "show.limit");
    check("gates.commands", "gates.commands.test.run");
    check("gates.commands.lint", "");
    check("tiers", "tiers.claude.high tiers.claude.low tiers.claude.medium");
    check("acp", "");
    check("sho", "show sho: there is no setting sho; did you mean show?");
    check(
        "show.limit.x",
        "show show.limit.x: there is no setting show.limit.x; did you mean show.limit?",
    );
}

#[test]
fn the_defaults_without_comments_say_what_the_text_for_people_says() {
    let origin = SettingsOrigin::Project("defaults.toml".into());
    let layer = SettingsLayer { origin, text: spore_config::DEFAULTS.to_owned() };
    let read = Config::load(&[layer]).unwrap().config;
    assert_eq!(read, Config::load(&[]).unwrap().config);
}
