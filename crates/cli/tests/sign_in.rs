//! What sessions are signed in with, against a server that rotates refresh tokens and voids a
//! sign-in when one is used twice. The agent is a program in the repository; the user's own copy
//! of it works beside the sessions, in the user's home.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's programs and time")]
#![expect(clippy::print_stdout, reason = "a skipped test says so")]

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use spore_testkit::TestEnv;
use spore_testkit::oauth::{OauthCounts, OauthServer};

use crate::{isolation, scenes};

const HOURS: Duration = Duration::from_secs(10 * 3600);
const SECONDS: Duration = Duration::from_secs(3);

/// A user who is signed in at a server, and a repository.
struct SignedIn {
    env: TestEnv,
    server: OauthServer,
}

/// What the agent does in its sessions, and whether Spore knows how to make it renew.
struct Play<'a> {
    coder: &'a str,
    verifier: &'a str,
    renew: Option<&'a str>,
}

impl SignedIn {
    /// Signs in with a token that is good for `first`; later ones are for `later`. Returns nothing
    /// where sessions have no home of their own.
    fn new(first: Duration, later: Duration, play: &Play<'_>) -> Option<Self> {
        let server = OauthServer::start(later);
        let agent = |who: &str, words: &str| {
            format!("python3 agent.py {who} ~/.replay/auth.json {} {words}", server.address())
        };
        let session = |role: &str, words: &str, last: &str, more: &str| {
            let who = format!("{role}-$(date +%s%N)");
            let run = agent(&who, words);
            format!(
                "[[session]]\nrole = \"{role}\"\nbounce = 1\nfinal = '''{last}'''\n\
                 steps = [{{ run = '''{run}''' }}, {more}]\n"
            )
        };
        let scenario = [
            session("coder", play.coder, "done", r#"{ write = "answer.txt", content = "42\n" }"#),
            session(
                "verifier",
                play.verifier,
                r#"<verdict>{"nonce":"$NONCE","verdict":"supports"}</verdict>"#,
                "",
            ),
        ];
        let now = Command::new("date").args(["-u", "+%FT%TZ"]).output().unwrap().stdout;
        let env = scenes::with_scenario(&scenario.concat())
            .with_variable("SPORE_SANDBOX_WRITE", "")
            .with_variable("SPORE_TEST_CLOCK", String::from_utf8(now).unwrap().trim());
        if isolation::is_skipped(&env) {
            return None;
        }
        if Command::new("python3").arg("--version").output().is_err() {
            println!("skipped: there is no python3");
            return None;
        }
        env.write("agent.py", include_str!("sign_in_agent.py"));
        env.commit_all("an agent");
        let renew = play.renew.map_or_else(String::new, |words| {
            let program = env.repo().join("agent.py");
            let words: Vec<String> = words.split(' ').map(|word| format!("{word:?}")).collect();
            format!(
                "renew = [\"python3\", {program:?}, \"spore\", \"~/.replay/auth.json\", {:?}, {}]\n",
                server.address(),
                words.join(", ")
            )
        });
        // The server is reached without Spore: it is stopped in the middle of a session.
        let config = format!(
            "[gates.commands.check]\nrun = \"sh check.sh\"\n\
             [sandbox]\nnetwork = [\"*\"]\n\
             [sandbox.agents.replay]\nsign_in = [\"~/.replay/auth.json\"]\n\
             access_token = \"access_token\"\nrefresh_token = \"refresh_token\"\n\
             expires = \"expiry_date\"\n{renew}"
        );
        env.write(".spore/config.toml", &config);
        let tokens = server.sign_in(first);
        let file = serde_json::json!({
            "access_token": tokens.access,
            "refresh_token": tokens.refresh,
            "expiry_date": tokens.expires,
            "of": "the user",
        });
        env.write_at(&env.dir().join("home/.replay/auth.json"), &file.to_string());
        Some(Self { env, server })
    }

    fn start(&self) -> Child {
        self.env.start_in(&self.env.repo(), scenes::ORCHESTRATE, &[])
    }

    /// Waits until the agent of each run is at a place.
    #[track_caller]
    fn meet(&self, place: &str, runs: &mut [Child]) {
        let count = u32::try_from(runs.len()).unwrap();
        if self.server.have_come(place, count) {
            return;
        }
        for run in runs {
            let _ = run.kill();
            let mut said = String::new();
            let _ = run.stderr.take().unwrap().read_to_string(&mut said);
            println!("{said}");
        }
        panic!("not all agents have come to {place}: {:?}", self.server.log());
    }

    #[track_caller]
    fn finish(&self, runs: Vec<Child>) {
        for run in runs {
            let output = self.env.finish(run).code(0);
            // What the agent says when it is signed out.
            assert!(!output.stderr.contains("failed"), "{}", output.stderr);
        }
    }

    /// The user's own agent, in the user's home.
    #[track_caller]
    fn user(&self, word: &str) {
        let mut agent = self.env.command("python3", &self.env.repo());
        agent.args(["agent.py", "user", "~/.replay/auth.json", &self.server.address(), word]);
        let output = agent.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn file(&self) -> serde_json::Value {
        let text = std::fs::read(self.env.dir().join("home/.replay/auth.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// Asserts that the user is still signed in and that nothing lies about.
    #[track_caller]
    fn assert_signed_in(&self) {
        assert_eq!(self.file()["of"], "the user");
        self.user("renew");
        self.user("work");
        let OauthCounts { revoked, refused, .. } = self.server.counts();
        assert_eq!((revoked, refused), (0, 0), "{:?}", self.server.log());
        assert_eq!(self.copies(), Vec::<PathBuf>::new());
    }

    /// Copies in homes of sessions, and their records.
    fn copies(&self) -> Vec<PathBuf> {
        let found = Command::new("find")
            .arg(self.env.dir().join("state"))
            .args(["-path", "*/.replay/auth.json", "-o", "-name", "copy-*"])
            .output()
            .unwrap();
        String::from_utf8(found.stdout).unwrap().lines().map(PathBuf::from).collect()
    }

    fn resume(&self) {
        scenes::resumed(&self.env);
    }
}

fn signal(child: &Child, name: &str) {
    let done = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(done.success());
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn four_sessions_use_tokens_that_outlive_them_while_the_user_renews_as_they_like() {
    let play = Play { coder: "work meet:coders work", verifier: "work", renew: Some("renew") };
    let Some(scene) = SignedIn::new(HOURS, HOURS, &play) else { return };
    let mut runs = Vec::new();
    for _ in 0..4 {
        runs.push(scene.start());
        scene.meet("coders", &mut runs);
    }
    for _ in 0..3 {
        scene.user("renew");
    }
    // The access tokens are in four homes, and no refresh token is.
    let homes: Vec<String> = scene
        .copies()
        .iter()
        .filter(|path| path.ends_with(".replay/auth.json"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(homes.len(), 4);
    assert!(homes.iter().all(|text| !text.contains("made-up-refresh")), "{homes:?}");
    scene.server.let_go("coders");
    scene.finish(runs);
    let expected = OauthCounts { refreshes: 3, revoked: 0, worked: 12, refused: 0 };
    assert_eq!(scene.server.counts(), expected, "{:?}", scene.server.log());
    scene.assert_signed_in();
}

#[test]
fn a_token_that_is_due_is_renewed_once_for_four_sessions() {
    let play = Play { coder: "work meet:coders", verifier: "work", renew: Some("renew") };
    let Some(scene) = SignedIn::new(SECONDS, HOURS, &play) else { return };
    scene.server.let_go("coders");
    let runs = (0..4).map(|_| scene.start()).collect();
    scene.finish(runs);
    let expected = OauthCounts { refreshes: 1, revoked: 0, worked: 8, refused: 0 };
    assert_eq!(scene.server.counts(), expected, "{:?}", scene.server.log());
    assert!(scene.server.log().contains(&"refresh spore".to_owned()));
    scene.assert_signed_in();
}

#[test]
fn sessions_that_outlive_their_tokens_renew_one_after_another() {
    let play = Play { coder: "work wait work", verifier: "work wait work", renew: None };
    let Some(scene) = SignedIn::new(SECONDS / 3, SECONDS / 3, &play) else { return };
    let runs = (0..4).map(|_| scene.start()).collect();
    scene.finish(runs);
    // No session calls between two calls of another.
    let mut sessions: Vec<String> = scene
        .server
        .log()
        .iter()
        .filter_map(|line| line.split_once(' ').map(|(_, who)| who.to_owned()))
        .collect();
    sessions.dedup();
    let mut each = sessions.clone();
    each.sort();
    each.dedup();
    assert_eq!(sessions.len(), each.len(), "{:?}", scene.server.log());
    assert_eq!(each.len(), 8, "{each:?}");
    assert!(scene.server.counts().refreshes >= 8);
    scene.assert_signed_in();
}

#[test]
fn what_a_session_renewed_just_before_spore_was_killed_is_brought_back() {
    let play = Play { coder: "work meet:before renew meet:after", verifier: "work", renew: None };
    let Some(scene) = SignedIn::new(HOURS / 10, HOURS / 10, &play) else { return };
    let mut run = scene.start();
    scene.meet("before", std::slice::from_mut(&mut run));
    // Spore sees nothing any more, and what is renewed now is in the session's home alone.
    signal(&run, "-STOP");
    let before = scene.file();
    scene.server.let_go("before");
    assert!(scene.server.have_come("after", 1));
    kill(run);
    scene.server.let_go("after");
    assert_eq!(scene.file(), before);
    assert_eq!(scene.server.counts().refreshes, 1);
    scene.resume();
    scene.assert_signed_in();
}

#[test]
fn a_renewal_goes_on_when_spore_is_killed_and_is_not_made_twice() {
    let play = Play { coder: "work", verifier: "work", renew: Some("meet:renewing renew") };
    let Some(scene) = SignedIn::new(SECONDS, HOURS, &play) else { return };
    let mut run = scene.start();
    scene.meet("renewing", std::slice::from_mut(&mut run));
    kill(run);
    // The renewal that goes on keeps others from renewing.
    let resumed = scene.env.start_in(&scene.env.repo(), &["resume"], &[]);
    scene.server.let_go("renewing");
    scene.finish(vec![resumed]);
    assert_eq!(scene.server.counts().refreshes, 1, "{:?}", scene.server.log());
    scene.assert_signed_in();
}

#[test]
fn a_killed_session_leaves_its_token_in_no_home() {
    let play = Play { coder: "work meet:here", verifier: "work", renew: None };
    let Some(scene) = SignedIn::new(HOURS, HOURS, &play) else { return };
    let mut run = scene.start();
    scene.meet("here", std::slice::from_mut(&mut run));
    kill(run);
    assert!(!scene.copies().is_empty());
    let doctor = scene.env.spore(&["doctor"]);
    assert!(doctor.stdout.contains("left a sign-in"), "{}", doctor.stdout);
    scene.server.let_go("here");
    // Any run will do: a home is found by its record.
    let _ = scenes::orchestrate(&scene.env, &[]).code(0);
    scene.assert_signed_in();
}

#[test]
fn an_agent_that_has_a_key_renews_nothing() {
    let play = Play { coder: "meet:here", verifier: "meet:here", renew: Some("renew") };
    let Some(mut scene) = SignedIn::new(SECONDS / 3, HOURS, &play) else { return };
    let config = scene.env.repo().join(".spore/config.toml");
    let text = std::fs::read_to_string(&config).unwrap() + "instead = [\"REPLAY_KEY\"]\n";
    scene.env.write_at(&config, &text);
    scene.env = scene.env.with_variable("REPLAY_KEY", "made-up-replay-key");
    let mut run = scene.start();
    scene.meet("here", std::slice::from_mut(&mut run));
    let copies = scene.copies();
    let copy = copies.iter().find(|path| path.ends_with(".replay/auth.json")).unwrap();
    assert!(!std::fs::read_to_string(copy).unwrap().contains("made-up-refresh"));
    scene.server.let_go("here");
    scene.finish(vec![run]);
    assert_eq!(scene.server.counts(), OauthCounts::default());
    scene.assert_signed_in();
}

#[test]
fn a_user_stays_signed_in_whenever_spore_is_killed() {
    let rounds = if scenes::is_full() { 50 } else { 5 };
    for round in 0..rounds {
        let play = Play {
            coder: "work wait work wait work",
            verifier: "work wait work",
            renew: (round % 2 == 0).then_some("renew"),
        };
        let Some(scene) = SignedIn::new(SECONDS / 10, SECONDS / 3, &play) else { return };
        let run = scene.start();
        // Anywhere from the first call to the last.
        std::thread::sleep(Duration::from_millis(400 + round * 7919 % 3600));
        kill(run);
        scene.resume();
        scene.assert_signed_in();
    }
}

/// The real Codex, with the command that ships, against the scripted server.
#[test]
fn the_real_codex_renews_in_the_users_home_and_works_with_what_a_session_is_given() {
    let Ok(codex) = std::env::var("SPORE_TEST_CODEX") else {
        println!("skipped: SPORE_TEST_CODEX names no codex");
        return;
    };
    let codex = PathBuf::from(codex);
    let server = OauthServer::start(HOURS);
    let tokens = server.sign_in(SECONDS);
    let look = "grep -q '\"refresh_token\":\"\"' ~/.codex/auth.json";
    let status = format!("{} login status", codex.display());
    let run = |command: &str| format!("{{ run = '''{command}''' }}");
    let steps = [run(look), run(&status), r#"{ write = "answer.txt", content = "42\n" }"#.into()];
    let path = std::env::var("PATH").unwrap();
    let bin = codex.parent().unwrap().display().to_string();
    let now = Command::new("date").args(["-u", "+%FT%TZ"]).output().unwrap().stdout;
    let env = scenes::with_scenario(&scenes::one_bounce(&steps.join(", ")))
        .with_variable("SPORE_SANDBOX_WRITE", "")
        .with_variable("SPORE_TEST_CLOCK", String::from_utf8(now).unwrap().trim())
        .with_variable("PATH", &format!("{bin}:{path}"))
        .with_variable("CODEX_REFRESH_TOKEN_URL_OVERRIDE", &format!("{}/token", server.address()));
    if isolation::is_skipped(&env) {
        return;
    }
    // What ships for Codex, for the agent that plays the scenario.
    let shown = env.spore(&["config", "show", "--json"]).code(0).json();
    let of_codex = |field: &str| {
        let key = format!("sandbox.agents.codex.{field}");
        let entries = shown.as_array().unwrap().iter();
        entries.clone().find(|entry| entry["key"] == key).unwrap()["value"].clone()
    };
    let mut config = "[gates.commands.check]\nrun = \"sh check.sh\"\n".to_owned();
    config += "[sandbox.agents.replay]\n";
    for field in ["sign_in", "access_token", "refresh_token", "expires", "renewed_with", "renew"] {
        config += &format!("{field} = {}\n", of_codex(field));
    }
    env.write(".spore/config.toml", &config);
    let file = serde_json::json!({
        "OPENAI_API_KEY": null,
        "auth_mode": "chatgpt",
        "tokens": {
            "id_token": tokens.access,
            "access_token": tokens.access,
            "refresh_token": tokens.refresh,
            "account_id": "account",
        },
        "last_refresh": "2026-01-01T00:00:00Z",
    });
    let auth = env.dir().join("home/.codex/auth.json");
    env.write_at(&auth, &file.to_string());
    let output = scenes::orchestrate(&env, &[]).code(0);
    assert_eq!(isolation::went_well(&env, "bounce-1/coder"), [true, true], "{}", output.stderr);
    let counts = server.counts();
    assert_eq!((counts.refreshes, counts.revoked), (1, 0));
    let file: serde_json::Value = serde_json::from_slice(&std::fs::read(auth).unwrap()).unwrap();
    let refresh = file["tokens"]["refresh_token"].as_str().unwrap();
    assert!(server.refresh(refresh).is_some());
}
