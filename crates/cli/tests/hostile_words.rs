//! Words of a call and of the environment that no person would type: every one is understood or
//! refused by name, and none ends in a panic, in silence or in orders to the terminal.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use spore_testkit::TestEnv;

use crate::help::commands_with_help;
use crate::scenes;

/// Bytes that are no text; nothing; orders to a terminal, in both forms, with letters that turn
/// round and a line of its own; and as much as the system hands over in one word.
fn hostile_words() -> [OsString; 4] {
    let acting = "a\u{1b}[31m\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{200b}\u{7f}\nFORGED\r\tb";
    let long = format!("{acting}{}", "/x\u{202e}".repeat(25_000));
    [OsString::from_vec(b"a\xff\x1b[31mb".to_vec()), "".into(), acting.into(), long.into()]
}

/// As much of a word as a failed test has to show.
fn beginning(word: &OsStr) -> String {
    format!("{word:?}").chars().take(400).collect()
}

/// What a program of ours may exit with, and no panic, signal or bug of ours.
const CODES: &[i32] = &[0, 1, 2, 3, 10, 11, 12, 20, 21, 75, 64, 65, 69, 74, 78];

/// Runs spore and asserts what holds whatever it was given. Returns the exit code and what a
/// person read.
#[track_caller]
fn check(
    env: &TestEnv,
    args: &[OsString],
    prepare: &dyn Fn(&mut std::process::Command),
) -> (i32, String) {
    // No command of these waits for anything but itself.
    let mut command = env.command("timeout", &env.repo());
    prepare(&mut command);
    let output = command.args(["60".as_ref(), env.exe().as_os_str()]).args(args).output().unwrap();
    let called = || {
        let words: Vec<String> = args.iter().map(|word| beginning(word)).collect();
        words.join(" ")
    };
    let code = output.status.code().unwrap_or(-1);
    let told = [output.stdout, output.stderr].map(|bytes| {
        String::from_utf8(bytes).unwrap_or_else(|error| panic!("{}: {error}", called()))
    });
    assert!(CODES.contains(&code), "{}: exit {code}: {}", called(), beginning(told[1].as_ref()));
    for text in &told {
        let acts = |c: char| {
            c.is_control() && !matches!(c, '\n' | '\t')
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!text.contains(acts), "{}: {}", called(), beginning(text.as_ref()));
    }
    assert!(code == 0 || !told[1].trim().is_empty(), "{}: exit {code} in silence", called());
    assert!(told[1].len() < 64 * 1024, "{}: {} bytes", called(), told[1].len());
    (code, told[1].clone())
}

/// The options of a help page that take a value, and how many arguments its command has.
fn takes(page: &str) -> (Vec<String>, usize) {
    let options = page.lines().filter_map(|line| {
        let (_, option) = line.split_once("--").filter(|(before, _)| before.len() <= 8)?;
        let (name, _) =
            option.split_once([' ', '=']).filter(|(_, value)| value.starts_with('<'))?;
        Some(format!("--{name}"))
    });
    let of_every_command = ["--root", "--progress"];
    let options = options.filter(|name| !of_every_command.contains(&name.as_str())).collect();
    let arguments = page.lines().skip_while(|line| *line != "Arguments:").skip(1);
    let arguments = arguments.take_while(|line| !line.starts_with(char::is_alphabetic));
    (options, arguments.filter(|line| line.starts_with("  <") || line.starts_with("  [")).count())
}

/// Every argument and option of every command gets a hostile word, in turns one of four;
/// `SPORE_HOSTILE=full` gives each of them all four, which takes two minutes.
#[test]
fn no_word_of_a_call_makes_a_command_panic() {
    let full = scenes::is_full();
    let env = scenes::small();
    let _ = env.spore(&["init"]).code(0);
    let mut tried = 0;
    for (words, page) in commands_with_help(&env) {
        // Without a value it would fetch a model from the network.
        if words == ["setup"] {
            continue;
        }
        // It works by its schedule until it is ended.
        if words == ["memory", "serve"] {
            continue;
        }
        let (options, arguments) = takes(&page);
        let base = |count: usize| -> Vec<OsString> {
            let words = words.iter().map(OsString::from);
            words.chain(std::iter::repeat_n("x".into(), count)).collect()
        };
        let mut calls = Vec::new();
        for word in hostile_words() {
            for place in 0..arguments {
                let mut args = base(arguments);
                let at = args.len() - arguments + place;
                args[at].clone_from(&word);
                calls.push((place, args));
            }
            for (place, option) in options.iter().enumerate() {
                let mut args = base(arguments);
                args.extend([option.into(), word.clone()]);
                calls.push((arguments + place, args));
            }
        }
        let kinds = hostile_words().len();
        let places = arguments + options.len();
        for (number, (place, args)) in calls.into_iter().enumerate() {
            // Each place its own word, another one for the next.
            if full || number / places.max(1) == place % kinds {
                check(&env, &args, &|_| {});
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn a_word_that_is_no_text_is_refused_by_name() {
    let env = scenes::small();
    let word = OsString::from_vec(b"a\xff\x1b[31mb".to_vec());
    for args in [vec!["search".into(), word.clone()], vec![word.clone()]] {
        let (code, told) = check(&env, &args, &|_| {});
        assert_eq!(code, 64, "{told}");
        assert!(told.contains("a\\xff\\u{1b}[31mb"), "{told}");
    }
    let (code, told) = check(&env, &["search".into(), word, "--json".into()], &|_| {});
    assert_eq!(code, 64);
    let object: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert!(object["error"]["message"].as_str().unwrap().contains("\\xff"), "{told}");
}

#[test]
fn options_of_every_command_take_hostile_words() {
    let env = scenes::small();
    for word in hostile_words() {
        for option in ["--root", "--progress"] {
            for json in [false, true] {
                let mut args = vec!["runs".into(), "list".into(), option.into(), word.clone()];
                args.extend(json.then(|| "--json".into()));
                assert_eq!(check(&env, &args, &|_| {}).0, 64, "{option} {}", beginning(&word));
            }
        }
    }
}

#[test]
fn a_variable_that_is_no_text_works_or_is_refused_by_name() {
    let env = scenes::small();
    let bytes = |text: &[u8]| OsString::from_vec(text.to_vec());
    let elsewhere = |name: &[u8]| {
        let path = env.dir().join(bytes(name));
        std::fs::create_dir_all(&path).unwrap();
        path.into_os_string()
    };
    let path = {
        let mut path = bytes(b"/a\xff:");
        path.push("/usr/local/bin:/usr/bin:/bin");
        path
    };
    let runs = |variable: &str, value: &OsStr| {
        let args = ["runs".into(), "list".into()];
        check(&env, &args, &|command| {
            command.env(variable, value);
        })
    };
    assert_eq!(env.spore(&["init"]).code, 0);
    for (variable, value) in [
        ("HOME", elsewhere(b"home\xff\x1b[31m")),
        ("XDG_STATE_HOME", elsewhere(b"state\xff")),
        ("XDG_CONFIG_HOME", elsewhere(b"config\xff")),
        ("PATH", path),
        ("LANG", bytes(b"\xff")),
        ("OF_ANOTHER_PROGRAM", bytes(b"\xff\x1b[31m")),
    ] {
        assert_eq!(runs(variable, &value), (0, String::new()), "{variable}");
    }
    // Settings in a directory whose name is no text count as any others do.
    let config = env.dir().join(bytes(b"config\xff")).join("spore/config.toml");
    env.write_at(&config, "[gates]\ntimeout = \"soon\"\n");
    let (code, told) = runs("XDG_CONFIG_HOME", &elsewhere(b"config\xff"));
    assert_eq!(code, 78, "{told}");
    assert!(told.contains("config\\xff/spore/config.toml"), "{told}");
    // A project is found where the variable says, and no other in its place.
    let (code, told) = runs("SPORE_ROOT", &bytes(b"/nowhere\xff"));
    assert_eq!(code, 64, "{told}");
    assert!(told.contains("/nowhere\\xff"), "{told}");
    for variable in ["SPORE_ORCHESTRATE_MAX_BOUNCES", "SPORE_TEST_CLOCK", "SPORE_SPAWN_DEPTH"] {
        let (code, told) = runs(variable, &bytes(b"3\xff"));
        assert_eq!(code, 64, "{told}");
        assert!(told.contains(&format!("{variable} is not UTF-8 text: 3\\xff")), "{told}");
    }
}

#[test]
fn a_project_whose_path_is_no_text_can_be_looked_at() {
    let env = scenes::with_scenario(&scenes::one_bounce(scenes::WRITE_42))
        .with_variable("SPORE_ORCHESTRATE_BACKEND", "replay");
    let place = env.dir().join(OsString::from_vec(b"p\xff\x1b[31m".to_vec()));
    std::fs::rename(env.repo(), &place).unwrap();
    std::fs::create_dir(env.repo()).unwrap();
    let call = |words: &str| {
        let args: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        check(&env, &args, &|command| {
            command.current_dir(&place);
        })
    };
    for words in [
        "init",
        "index",
        "search answer --no-embed",
        "context answer --no-embed",
        "scan",
        "investigate",
        "doctor",
        "config show",
        "config set gates.timeout 5m",
        "memory inbox add hello",
        "memory status",
        "events tail",
        "graph status",
        "runs list",
        "runs prune",
    ] {
        let (code, told) = call(words);
        assert_eq!(code, 0, "{words}: {told}");
    }
    // A session is told of its place in text, so no run begins there.
    for words in [
        "orchestrate write --backend replay --scenario ../scenario.toml",
        "spawn --prompt write --backend replay --scenario ../scenario.toml",
        "sentinel --checks-only",
    ] {
        let (code, told) = call(words);
        assert_eq!(code, 65, "{words}: {told}");
        assert!(told.contains("p\\xff\\u{1b}[31m is not UTF-8 text"), "{words}: {told}");
    }
}

#[test]
fn files_whose_names_are_no_text_stop_no_command() {
    let env = scenes::small().with_variable("SPORE_ORCHESTRATE_BACKEND", "replay");
    for name in [&b"n\xff\x1b[31m.rs"[..], b"d\xff/m\xfe.py", b"\xe2\x80\xae.md"] {
        let path = env.repo().join(OsString::from_vec(name.to_vec()));
        env.write_at(&path, "fn total() {}\n");
    }
    env.commit_all("names");
    for words in [
        "init",
        "index",
        "search total --no-embed",
        "context total --no-embed",
        "scan",
        "investigate",
        "doctor",
        "events collect",
    ] {
        let args: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        let (code, told) = check(&env, &args, &|_| {});
        assert_eq!(code, 0, "{words}: {told}");
    }
}

#[test]
fn the_name_that_the_program_was_called_by_does_not_act_on_the_terminal() {
    let env = scenes::small();
    let link = env.dir().join("s\u{1b}[31m\u{202e}");
    std::os::unix::fs::symlink(env.exe(), &link).unwrap();
    for words in [&["--help"][..], &["runs", "list", "--help"], &["no-such"], &["--version"]] {
        let output = env.command(&link, Path::new("/")).args(words).output().unwrap();
        for bytes in [output.stdout, output.stderr] {
            assert!(!bytes.contains(&0x1b), "{words:?}: {}", String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_no_success_and_one_that_is_not_wanted_is() {
    let env = scenes::small();
    let _ = env.spore(&["init"]).code(0);
    let _ = env.spore(&["investigate"]).code(0);
    for words in ["--help", "runs list", "runs list --json", "events tail", "events tail --json"] {
        for (place, expected) in [("> /dev/full", 74), ("| true", 0), (">&-", 0)] {
            // The exit code is the last line on stderr.
            let script = format!("{{ \"$0\" {words}; echo $? >&2; }} {place}");
            let mut command = env.command("sh", &env.repo());
            command.args(["-c".as_ref(), script.as_ref(), env.exe().as_os_str()]);
            let output = command.output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            let code = told.lines().last().unwrap_or_default();
            assert_eq!(code, expected.to_string(), "{words} {place}: {told}");
            assert_eq!(told.lines().count() > 1, expected != 0, "{words} {place}: {told}");
        }
    }
}
