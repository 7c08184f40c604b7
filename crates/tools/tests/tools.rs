//! The tools on real files and real processes, through the public API.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time and environment")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};
use spore_effects::session::{Grace, ProcessIdentity, Shim, find_by_token};
use spore_model::SessionToken;
use spore_tools::{
    BoxError, CommandRunner, Commands, FileView, LineView, ModelTool, Registry, Root, ToolAnswer,
    ToolCaller, check_schema,
};

/// A caller that lets everything go, until it is told to cancel.
#[derive(Default)]
struct Patient {
    cancel_at: Option<Instant>,
    refuses: bool,
}

impl ToolCaller for Patient {
    fn starting(&mut self, _: &ProcessIdentity) -> Result<(), BoxError> {
        if self.refuses { Err("the journal is full".into()) } else { Ok(()) }
    }

    fn cancelled(&self) -> bool {
        self.cancel_at.is_some_and(|at| Instant::now() > at)
    }
}

/// A checkout in a directory that has something to be kept from.
struct Bench {
    dir: tempfile::TempDir,
    token: SessionToken,
    commands: Commands,
}

impl Bench {
    fn new(token: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("checkout/src")).unwrap();
        fs::create_dir_all(dir.path().join("checkout/.git/hooks")).unwrap();
        fs::write(dir.path().join("secret"), "the secret\n").unwrap();
        fs::write(dir.path().join("checkout/src/lib.rs"), "one\ntwo\nthree\n").unwrap();
        Self {
            dir,
            token: SessionToken::new(format!("{token:0<16}{}", std::process::id())).unwrap(),
            commands: Commands::Any,
        }
    }

    fn root(&self) -> std::path::PathBuf {
        self.dir.path().join("checkout")
    }

    fn registry(&self) -> Registry {
        let runner = CommandRunner {
            confinement: None,
            shim: Shim::new(env!("CARGO_BIN_EXE_tools-test-shim").into()),
            commands: self.commands.clone(),
            dir: self.root(),
            env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
            token: self.token.clone(),
            grace: Grace { interrupt_ms: 50, terminate_ms: 50 },
            timeout: Duration::from_secs(60),
            output_cap: 1000,
        };
        let root = Arc::new(Root::open(&self.root()).unwrap());
        let mut registry = Registry::of_checkout(&root, Some(runner));
        let schema = json!({ "type": "object", "required": ["verdict"] });
        registry.add(ModelTool::submit("submit", "Hands in the verdict.", schema)).unwrap();
        registry
    }

    fn call(&self, name: &str, arguments: &Value) -> ToolAnswer {
        self.registry().call(name, arguments, &mut Patient::default())
    }

    #[track_caller]
    fn check(&self, name: &str, arguments: &Value, expected: &str) {
        let answer = self.call(name, arguments);
        let mark = if answer.is_error { "error: " } else { "" };
        assert_eq!(format!("{mark}{}", answer.text), expected, "{name} {arguments}");
    }
}

fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
    fs::write(root.join(path), content).unwrap();
}

#[test]
fn every_word_of_every_tools_schema_is_checked() {
    let bench = Bench::new("schemas");
    let registry = bench.registry();
    assert_eq!(registry.tools().len(), 8);
    for tool in registry.tools() {
        assert_eq!(check_schema(&tool.schema), Ok(()), "{}", tool.name);
    }
}

#[test]
fn a_tool_with_a_word_that_is_not_checked_is_not_registered() {
    let mut registry = Bench::new("unusable").registry();
    let schema = json!({ "properties": { "url": { "type": "string", "format": "uri" } } });
    let error = registry.add(ModelTool::submit("read", "", schema)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the tool \"read\" cannot be used: the schema has the keyword \"format\" at \
         #/properties/url, which is not checked here"
    );
    assert_eq!(registry.tools().len(), 8);
    assert!(registry.get("read").is_some_and(|tool| !tool.description.is_empty()));
}

#[test]
fn a_file_is_read_with_its_lines_numbered() {
    let bench = Bench::new("read");
    bench.check(
        "read",
        &json!({ "path": "src/../src/./lib.rs" }),
        "src/lib.rs, lines 1 to 3\n1\tone\n2\ttwo\n3\tthree\n",
    );
    bench.check(
        "read",
        &json!({ "path": "src/lib.rs", "from": 2, "lines": 1 }),
        "src/lib.rs, lines 2 to 2\n2\ttwo\n[more follows: from=3]\n",
    );
    bench.check("read", &json!({ "path": "src/lib.rs", "from": 9 }), "src/lib.rs has only 3 lines");
}

/// Sees the files of `src`, and of their lines none after `key` and no `word`.
struct PartOfFiles;

struct PartOfLines(bool);

impl FileView for PartOfFiles {
    fn is_there(&self, path: &str) -> bool {
        path.starts_with("src") || path == "."
    }

    fn lines(&self) -> Box<dyn LineView + '_> {
        Box::new(PartOfLines(false))
    }
}

impl LineView for PartOfLines {
    fn is_hidden(&mut self, line: &str) -> bool {
        let is_hidden = self.0;
        self.0 |= line == "key";
        is_hidden
    }

    fn shown(&self, line: &str) -> String {
        line.replace("word", "…")
    }
}

#[test]
fn who_may_not_see_all_sees_the_same_of_a_part_as_of_the_whole() {
    let bench = Bench::new("views");
    let root = bench.root();
    write(&root, "src/a.pem", "a word\nkey\nMII1\nMII2\n");
    write(&root, "src/target/b.rs", "MII of b\n");
    (0..300).for_each(|number| write(&root, &format!("other/{number}.rs"), "MII\n"));
    symlink("other/1.rs", root.join("src/link.rs")).unwrap();
    let registry = Registry::of_view(&Arc::new(Root::open(&root).unwrap()), Arc::new(PartOfFiles));
    let call = |tool: &str, arguments: Value| {
        registry.call(tool, &arguments, &mut Patient::default()).text
    };
    assert_eq!(
        call("read", json!({ "path": "src/a.pem", "from": 3 })),
        "src/a.pem, lines 3 to 4\n3\t[secret]\n4\t[secret]\n"
    );
    assert!(call("read", json!({ "path": "src/a.pem" })).contains("1\ta …\n2\tkey\n3\t[secret]"));
    assert!(call("read", json!({ "path": "src/link.rs" })).contains("does not exist"));
    assert!(call("read", json!({ "path": "other/1.rs" })).contains("does not exist"));
    // Matches in what is not there take no room from those in what is.
    assert_eq!(call("grep", json!({ "pattern": "MII" })), "src/target/b.rs:1: MII of b\n");
    assert_eq!(
        call("grep", json!({ "pattern": "^MII", "path": "src/a.pem" })),
        "nothing matches\n"
    );
    assert_eq!(call("grep", json!({ "pattern": "wo.d" })), "nothing matches\n");
    // A guess at a hidden text that is right is answered like one that is wrong.
    let guess = |guess: &str| call("grep", json!({ "pattern": format!("{guess}|a …") }));
    assert_eq!(guess("wor"), "src/a.pem:1: a …\n");
    assert_eq!(guess("wox"), guess("wor"));
    write(&root, "src/many.rs", "many\n".repeat(300));
    assert!(
        call("grep", json!({ "pattern": "many" }))
            .ends_with("[there may be more; make the pattern narrower]\n")
    );
    assert_eq!(registry.tools().len(), 2);
}

#[test]
fn what_is_no_text_or_too_much_is_told_kindly() {
    let bench = Bench::new("kind");
    write(&bench.root(), "logo.png", b"\x89PNG\0\0");
    write(&bench.root(), "empty", "");
    write(&bench.root(), "long", "x".repeat(3_000_000));
    write(&bench.root(), "many", "line\n".repeat(50_000));
    bench.check("read", &json!({ "path": "logo.png" }), "logo.png is not text (6 bytes)");
    bench.check("read", &json!({ "path": "empty" }), "empty is empty");
    let long = bench.call("read", &json!({ "path": "long" })).text;
    assert!(long.ends_with("x … 2998000 more bytes\n") && long.len() < 3000, "{}", long.len());
    let many = bench.call("read", &json!({ "path": "many", "lines": 50_000 })).text;
    assert!(many.len() < 130_000 && many.contains("[more follows: from="), "{}", many.len());
}

#[test]
fn a_directory_is_listed_in_order_without_the_repository() {
    let bench = Bench::new("list");
    write(&bench.root(), "b.txt", "12345");
    symlink("b.txt", bench.root().join("a")).unwrap();
    bench.check("list", &json!({}), "., 3 entries\na (link)\nb.txt 5\nsrc/\n");
    bench.check(
        "list",
        &json!({ "depth": 2 }),
        "., 4 entries\na (link)\nb.txt 5\nsrc/\nsrc/lib.rs 14\n",
    );
    bench.check("list", &json!({ "path": "b.txt" }), "error: b.txt is not a directory");
    bench.check("list", &json!({ "path": "gone" }), "error: gone does not exist");
}

#[test]
fn a_search_names_path_and_line() {
    let bench = Bench::new("grep");
    write(&bench.root(), "src/other.rs", "  Two more\n");
    write(&bench.root(), "target/debug/x.rs", "two\n");
    write(&bench.root(), "data.bin", b"two\0");
    bench.check("grep", &json!({ "pattern": "^t" }), "src/lib.rs:2: two\nsrc/lib.rs:3: three\n");
    bench.check(
        "grep",
        &json!({ "pattern": "two", "ignore_case": true, "path": "src" }),
        "src/lib.rs:2: two\nsrc/other.rs:1: Two more\n",
    );
    bench.check(
        "grep",
        &json!({ "pattern": "two", "path": "target" }),
        "target/debug/x.rs:1: two\n",
    );
    bench.check("grep", &json!({ "pattern": "nowhere" }), "nothing matches\n");
    assert!(bench.call("grep", &json!({ "pattern": "(" })).is_error);
    write(&bench.root(), "many", "two\n".repeat(10_000));
    let many = bench.call("grep", &json!({ "pattern": "two", "path": "many" })).text;
    assert!(many.ends_with("[there may be more; make the pattern narrower]\n"), "{many}");
}

#[test]
fn an_edit_changes_one_place_and_keeps_the_files_mode() {
    let bench = Bench::new("edit");
    let path = bench.root().join("src/lib.rs");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let edit = json!({ "path": "src/lib.rs", "find": "two\n", "replace": "2\n" });
    bench.check("edit", &edit, "src/lib.rs:2 is changed");
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n2\nthree\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    let all = "src/lib.rs does not contain that text. This is all of it:\n\none\n2\nthree\n";
    bench.check("edit", &edit, &format!("error: {all}"));
}

#[test]
fn a_file_is_made_with_its_directories_and_removed() {
    let bench = Bench::new("write");
    let file = json!({ "path": "a/b/c.txt", "content": "x\n" });
    bench.check("write", &file, "a/b/c.txt is made, 2 bytes");
    bench.check("write", &file, "a/b/c.txt is replaced, 2 bytes");
    assert_eq!(fs::read_dir(bench.root().join("a/b")).unwrap().count(), 1);
    bench.check("delete", &json!({ "path": "a/b/c.txt" }), "a/b/c.txt is gone");
    bench.check("delete", &json!({ "path": "a/b/c.txt" }), "error: a/b/c.txt does not exist");
    bench.check("delete", &json!({ "path": "a/b" }), "error: a/b is a directory");
}

#[test]
fn no_path_leads_out() {
    let bench = Bench::new("confined");
    let (root, outside) = (bench.root(), bench.dir.path().to_owned());
    let secret = outside.join("secret");
    symlink("../secret", root.join("up")).unwrap();
    symlink(&secret, root.join("absolute")).unwrap();
    symlink("..", root.join("src/parent")).unwrap();
    symlink("../..", root.join("src/grandparent")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("/proc/self/root", root.join("magic")).unwrap();
    let secret = secret.to_str().unwrap().to_owned();
    let below = format!("magic{secret}");
    let paths = [
        "../secret",
        "src/../../secret",
        &secret,
        "up",
        "absolute",
        "src/grandparent/secret",
        "src/parent/../secret",
        &below,
        "/proc/self/environ",
        "..",
        "loop",
        "loop/secret",
        "src/lib.rs/../../../secret",
        "a\0b",
    ];
    for path in paths {
        let with = |more: Value| {
            let mut arguments = json!({ "path": path });
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            arguments
        };
        let calls = [
            ("read", with(json!({}))),
            ("list", with(json!({}))),
            ("grep", with(json!({ "pattern": "secret" }))),
            ("edit", with(json!({ "find": "secret", "replace": "pwned" }))),
            ("write", with(json!({ "content": "pwned" }))),
        ];
        for (name, arguments) in calls {
            let answer = bench.call(name, &arguments);
            assert!(answer.is_error, "{name} {path:?}: {}", answer.text);
            assert!(!answer.text.contains("the secret"), "{name} {path:?}");
        }
    }
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "the secret\n");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
}

#[test]
fn a_link_to_another_place_inside_is_followed_but_removed_by_itself() {
    let bench = Bench::new("inside");
    symlink("src", bench.root().join("code")).unwrap();
    symlink("../src/lib.rs", bench.root().join("src/again")).unwrap();
    bench.check(
        "read",
        &json!({ "path": "code/again", "lines": 1 }),
        "src/lib.rs, lines 1 to 1\n1\tone\n[more follows: from=2]\n",
    );
    bench.check("delete", &json!({ "path": "code" }), "code is gone");
    assert!(bench.root().join("src/lib.rs").exists());
}

#[test]
fn the_repository_itself_and_special_files_are_left_alone() {
    let bench = Bench::new("special");
    for path in [".git/hooks/pre-commit", ".GIT/config", "src/.git/config"] {
        let answer = bench.call("write", &json!({ "path": path, "content": "x" }));
        assert!(answer.is_error && answer.text.contains("the repository's own"), "{}", answer.text);
    }
    let made = spore_effects::Tool::new("mkfifo").arg(bench.root().join("pipe")).output().unwrap();
    assert!(made.is_success());
    bench.check("read", &json!({ "path": "pipe" }), "error: pipe is not a regular file");
    bench.check(
        "write",
        &json!({ "path": "pipe", "content": "" }),
        "error: pipe is not a regular file",
    );
}

#[test]
fn a_hard_link_to_a_file_outside_is_broken_and_not_written_through() {
    let bench = Bench::new("hard");
    fs::hard_link(bench.dir.path().join("secret"), bench.root().join("linked")).unwrap();
    bench.check(
        "write",
        &json!({ "path": "linked", "content": "mine" }),
        "linked is replaced, 4 bytes",
    );
    assert_eq!(fs::read_to_string(bench.dir.path().join("secret")).unwrap(), "the secret\n");
}

#[test]
fn a_command_answers_with_its_code_and_output() {
    let bench = Bench::new("run");
    bench.check("run", &json!({ "command": "cat src/lib.rs" }), "exit code 0\none\ntwo\nthree\n");
    bench.check("run", &json!({ "command": "echo oh >&2; exit 3" }), "error: exit code 3\noh\n");
    let flood = bench.call("run", &json!({ "command": "head -c 1000000 /dev/zero | tr '\\0' x" }));
    assert!(flood.text.contains("[… 999000 bytes left out …]"), "{}", flood.text);
}

#[test]
fn nothing_that_a_command_started_outlives_it() {
    let bench = Bench::new("outlive");
    let left = |answer: ToolAnswer, expected: &str| {
        assert!(answer.text.starts_with(expected), "{}", answer.text);
        assert_eq!(find_by_token(&bench.token), Vec::<i32>::new());
    };
    left(
        bench.call("run", &json!({ "command": "setsid sleep 60 & echo on" })),
        "exit code 0\non\n",
    );
    left(
        bench.call("run", &json!({ "command": "exec sleep 60", "timeout_s": 1 })),
        "ended after 1 seconds\n",
    );
    let mut caller = Patient { cancel_at: Some(Instant::now()), refuses: false };
    let command = json!({ "command": "exec sleep 60" });
    left(bench.registry().call("run", &command, &mut caller), "cancelled\n");
    let mut caller = Patient { refuses: true, ..Patient::default() };
    let refused = bench.registry().call("run", &json!({ "command": "touch made" }), &mut caller);
    left(refused, "the command was not let go: the journal is full\n");
    assert!(!bench.root().join("made").exists());
}

#[test]
fn only_the_named_commands_run_where_there_is_a_list() {
    let only = |commands: &[&str]| Commands::Only(commands.iter().map(|&c| c.to_owned()).collect());
    let bench = Bench { commands: only(&["true", "echo a b"]), ..Bench::new("only") };
    bench.check("run", &json!({ "command": " echo a b " }), "exit code 0\na b\n");
    let refused = "error: that may not be run here, only `true`, `echo a b`";
    for command in ["echo a  b", "true; echo x", "echo a b && true", "tru", "sh -c true"] {
        bench.check("run", &json!({ "command": command }), refused);
    }
    let none = Bench { commands: only(&[]), ..Bench::new("none") };
    assert!(none.registry().get("run").is_none());
}

#[test]
fn an_unknown_tool_and_wrong_arguments_are_answered() {
    let bench = Bench::new("unknown");
    bench.check(
        "Bash",
        &json!({}),
        "error: there is no tool \"Bash\" here, only read, list, grep, edit, write, delete, run, submit",
    );
    bench.check("read", &json!({}), "error: read was not called: path is missing");
    bench.check("submit", &json!({ "verdict": "supports" }), "taken");
    bench.check("submit", &json!({}), "error: submit was not called: verdict is missing");
}

#[test]
fn the_model_sees_these_tools() {
    let bench = Bench { commands: Commands::Only(vec!["cargo test".into()]), ..Bench::new("seen") };
    let seen: Vec<String> = bench
        .registry()
        .tools()
        .iter()
        .map(|tool| format!("{}: {}\n{:#}", tool.name, tool.description, tool.schema))
        .collect();
    insta::assert_snapshot!(seen.join("\n\n"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop_oneof!["src/lib.rs", "\\.\\./secret", "src", "[a-z./]{0,12}", "(\\.\\./){1,5}secret"]
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        let names = prop_oneof![
            Just("path".to_owned()),
            Just("from".to_owned()),
            Just("lines".to_owned()),
            Just("depth".to_owned()),
            Just("pattern".to_owned()),
            Just("find".to_owned()),
            Just("replace".to_owned()),
            Just("content".to_owned()),
            Just("command".to_owned()),
            any::<String>(),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(names, inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_arguments_make_a_tool_panic_or_leave(arguments in any_json()) {
        let bench = Bench { commands: Commands::Only(vec!["true".into()]), ..Bench::new("random") };
        let registry = bench.registry();
        for tool in registry.tools() {
            let answer = registry.call(&tool.name, &arguments, &mut Patient::default());
            prop_assert!(answer.text.len() < 200_000);
            prop_assert!(!answer.text.contains("the secret"));
        }
        prop_assert_eq!(fs::read_to_string(bench.dir.path().join("secret")).unwrap(), "the secret\n");
        prop_assert_eq!(fs::read_dir(bench.dir.path()).unwrap().count(), 2);
    }
}
