//! Every key here is made up, and put together at run time: no scanner for secrets, ours
//! included, should stop at this file.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use super::*;

fn file(path: &str, lines: &[&str]) -> ChangedLines {
    let added = (1..).zip(lines).map(|(number, line)| (number, line.as_bytes().to_vec())).collect();
    ChangedLines { path: path.to_owned(), added, ..ChangedLines::default() }
}

fn find(files: &[ChangedLines]) -> Vec<SecretFinding> {
    find_secrets(files, &KnownSecrets::default(), |_| false)
}

fn found(path: &str, line: &str) -> Vec<String> {
    let found = find(&[file(path, &[line])]);
    found.iter().map(|finding| finding.rule.clone()).collect()
}

/// Forty characters of nothing in particular.
const RANDOM: &str = "q7Zk2LmX9vB4tR8wY1nC5pD3sF6gH0jKaUeIoTxW";

fn keys() -> Vec<(&'static str, String)> {
    let upper = "Q7ZK2LMX4VB6TR5W";
    let hex = "9f3a7c15e2b8d4067a1c9e5f2b3d8a40";
    vec![
        ("an AWS access key", format!("AK{}{upper}", "IA")),
        ("a GitHub token", format!("gh{}{}", "p_", &RANDOM[..36])),
        ("a GitHub token", format!("github_{}{}_{RANDOM}{}", "pat_", &RANDOM[..22], &RANDOM[..19])),
        ("a GitLab token", format!("gl{}{}", "pat-", &RANDOM[..20])),
        ("an Anthropic key", format!("sk-{}-api03-{RANDOM}{RANDOM}-AA", "ant")),
        ("an OpenAI key", format!("sk-{}-{RANDOM}{RANDOM}", "proj")),
        ("an OpenAI key", format!("sk{}{RANDOM}{}", "-", &RANDOM[..8])),
        ("an OpenRouter key", format!("sk-{}-v1-{hex}{hex}", "or")),
        ("a Google API key", format!("AI{}{}", "za", &RANDOM[..35])),
        ("a Google client secret", format!("GOC{}{}", "SPX-", &RANDOM[..28])),
        ("a Slack token", format!("xo{}-230938472983-2938472938472-{}", "xb", &RANDOM[..24])),
        (
            "a Slack webhook",
            format!("https://hooks.slack.{}/T02AB3CD4/B05EF6GH7/{}", "com/services", &RANDOM[..24]),
        ),
        ("a Stripe key", format!("sk_{}_{}", "live", &RANDOM[..24])),
        ("an npm token", format!("np{}{}", "m_", &RANDOM[..36])),
        ("a Hugging Face token", format!("h{}{}", "f_", &RANDOM[..34])),
        ("a SendGrid key", format!("S{}{}.{RANDOM}abc", "G.", &RANDOM[..22])),
        (
            "a JSON web token",
            format!("ey{}.eyJzdWIiOiI0MjQyIiwiaWF0Ijo0Mn0.{RANDOM}", "JhbGciOiJIUzI1NiJ9"),
        ),
        ("an Azure storage key", format!("Account{}{RANDOM}{RANDOM}q7Zk2L==", "Key=")),
    ]
}

#[test]
fn a_key_with_a_form_of_its_own_is_found_wherever_it_stands() {
    for (rule, key) in keys() {
        assert!(shapes::may_have_form(&key), "{key}");
        for line in [format!("x = \"{key}\""), key.clone(), format!("curl -H 'X: {key}' https://a")]
        {
            assert_eq!(found("src/a.rs", &line), [rule], "{line}");
        }
        let part = found("a", &format!("x{key}"));
        assert_eq!(part.is_empty(), !key.starts_with("https:"), "part of another word: {key}");
    }
}

#[test]
fn a_finding_never_says_the_secret() {
    for (_, key) in keys() {
        let found = find(&[file("a", &[&key])]);
        let said = format!("{found:?} {}", found[0]);
        assert!(!said.contains(&key[6..]), "{said}");
        let struck = strike_out(&format!("+ before {key} after\n+ next\n"));
        assert!(!struck.contains(&key[6..]) && struck.ends_with("] after\n+ next\n"), "{struck}");
    }
}

#[test]
fn a_value_is_a_secret_by_its_name_and_its_looks() {
    let value = &RANDOM[..32];
    let yes = [
        format!("const API_KEY: &str = \"{value}\";"),
        format!("password = '{value}'"),
        format!("  \"clientSecret\": \"{value}\","),
        format!("os.environ[\"AUTH_TOKEN\"] = \"{value}\""),
        format!("let dbPassword = String::from(\"{value}\");"),
        format!("secret_key := `{value}`"),
    ];
    for line in &yes {
        assert_eq!(found("src/a.rs", line), ["a secret, by its name"], "{line}");
    }
    assert_eq!(found("deploy/app.yml", &format!("api_key: {value}")).len(), 1);
    let no = [
        format!("let hash = \"{value}\";"),
        format!("public_key = \"{value}\""),
        format!("password_hash = \"{value}\""),
        format!("token_url = \"{value}\""),
        format!("access_key_id = \"{value}\""),
        format!("nextPageToken: \"{value}\""),
        format!("api_key = {value}"),
        format!("author = \"{value}\""),
        "api_key = \"your-api-key-goes-right-here-1234\"".to_owned(),
        "password = \"correct-horse-battery-staple-99\"".to_owned(),
        "token = \"ExponentialBackoffStrategyV2Builder123\"".to_owned(),
        "secret = \"${SECRET_FROM_THE_ENVIRONMENT_1}\"".to_owned(),
        "token: \"0123456789abcdef0123456789abcdef01234567\"".to_owned(),
        "session_token = \"550e8400-e29b-41d4-a716-446655440000\"".to_owned(),
        "secret = \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx1\"".to_owned(),
    ];
    for line in &no {
        assert_eq!(found("src/a.rs", line), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn a_private_key_needs_more_than_its_first_line() {
    let begin = format!("-----BEGIN {}PRIVATE KEY-----", "RSA ");
    let end = format!("-----END {}PRIVATE KEY-----", "RSA ");
    let body = format!("{RANDOM}{}", &RANDOM[..24]);
    let key = file("key.pem", &[&begin, &body, &body, &end]);
    let found = find(&[key]);
    assert_eq!(
        found.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["key.pem:1: looks like a private key"]
    );
    let code = file("a.rs", &[&format!("if line == {begin:?} {{"), "    return true;"]);
    assert_eq!(find(&[code]), []);
    let one_line = file("a.json", &[&format!("\"key\": \"{begin}\\n{body}\\n\"")]);
    assert_eq!(find(&[one_line]).len(), 1);
    let struck = strike_out(&format!("+{begin}\n+{body}\n+{body}\n+{end}\n next\n"));
    assert_eq!(struck, format!("+{begin}\n+[secret]\n+[secret]\n+{end}\n next\n"));
}

#[test]
fn a_private_key_in_one_line_is_struck() {
    let begin = format!("-----BEGIN {}-----", "PRIVATE KEY");
    let end = format!("-----END {}-----", "PRIVATE KEY");
    let body = format!("{RANDOM}{}", &RANDOM[..24]);
    for line in [
        format!("\"private_key\": \"{begin}\\n{body}\\n{body}\\n{end}\\n\","),
        format!("KEY='{begin}\\n{body}\\n{body}"),
        format!("{begin}\\n{}\\n{end} {begin}\\n{body}\\n{end}", "short"),
        format!("{{\"text\":\"1\\t{begin}\\n2\\t{body}\\n3\\t{end}\"}}"),
    ] {
        let struck = strike_out(&line);
        assert!(!struck.contains(&body[..20]), "{struck}");
        assert!(struck.contains("[a private key]"), "{struck}");
    }
    // Programs that read keys name their first and last lines.
    let code = format!("if line == {begin:?} {{");
    assert_eq!(strike_out(&code), code);
}

#[test]
fn what_follows_a_key_and_what_it_is_encrypted_with_is_told_apart_from_the_key() {
    let begin = format!("-----BEGIN {}PRIVATE KEY-----", "RSA ");
    let body = format!("{RANDOM}{}", &RANDOM[..24]);
    let text =
        format!("{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{body}\n\nafter\n");
    let struck = strike_out(&text);
    assert!(!struck.contains(&body[..20]) && struck.ends_with("[secret]\nafter\n"), "{struck}");
    // As a file is shown, with a number before each line.
    let shown = format!("1\tlet key = \"{begin}\";\n2\t\n3\tfn after() {{}}\n");
    assert!(strike_out(&shown).ends_with("3\tfn after() {}\n"));
}

#[test]
fn what_was_there_before_and_what_a_person_allowed_is_no_news() {
    let (_, key) = keys().swap_remove(1);
    let mut moved = file("new/place.rs", &[&key]);
    assert_eq!(find(std::slice::from_ref(&moved)).len(), 1);
    let none = KnownSecrets::default();
    let allowed = |below: &str| {
        find_secrets(std::slice::from_ref(&moved), &none, |path| path.starts_with(below))
    };
    assert_eq!(allowed("new/"), []);
    assert_eq!(allowed("old/").len(), 1);
    moved.removed = vec![format!("let a = {key:?};").into_bytes()];
    assert_eq!(find(&[moved]), []);
}

#[test]
fn a_line_cannot_let_itself_through() {
    let (_, key) = keys().swap_remove(0);
    for mark in ["spore:allow", "nosec", "gitleaks:allow", "pragma: allowlist secret"] {
        assert_eq!(found("a.py", &format!("k = '{key}'  # {mark}")).len(), 1, "{mark}");
    }
}

#[test]
fn many_findings_are_cut_and_any_bytes_are_read() {
    let (_, key) = keys().swap_remove(0);
    let lines: Vec<&str> = std::iter::repeat_n(key.as_str(), 200).collect();
    assert_eq!(find(&[file("a", &lines)]).len(), MOST_FINDINGS);
    let bytes = [b"\xff\0 ".to_vec(), key.clone().into_bytes(), b"\xfe".to_vec()].concat();
    let binary =
        ChangedLines { path: "bin".into(), added: vec![(1, bytes)], ..ChangedLines::default() };
    assert_eq!(find(&[binary]).len(), 1);
}

/// Chance makes words too, now and then; few enough of them.
#[test]
fn chance_is_known_for_chance() {
    let alphabets = [
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "abcdefghijklmnopqrstuvwxyz0123456789",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "0123456789abcdef",
    ];
    let mut seed = 42_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    for alphabet in alphabets {
        let letters = alphabet.as_bytes();
        let known = (0..1000).filter(|_| {
            let value: Vec<u8> = (0..32).map(|_| letters[random(letters.len())]).collect();
            shapes::looks_random(&value)
        });
        let known = known.count();
        assert!(known >= 970, "{known} of 1000 over {alphabet}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]
    #[test]
    fn any_text_is_struck_out_without_a_panic_and_mostly_stays(text in "\\PC{0,200}(\n[ -~]{0,80}){0,4}") {
        let struck = strike_out(&text);
        if !struck.contains('[') {
            proptest::prop_assert_eq!(struck, text);
        }
    }
}

/// What stands in a tree, as if all of it were added. For measuring wrong alarms:
/// `SPORE_SECRETS_TREE=DIR cargo nextest run -p spore-secrets wrong_alarms --run-ignored all`.
#[test]
#[ignore = "measures, on a directory that is named in the environment"]
fn wrong_alarms() {
    let Some(root) = std::env::var_os("SPORE_SECRETS_TREE").map(std::path::PathBuf::from) else {
        return;
    };
    let (mut files, mut lines, mut told) = (0, 0, Vec::new());
    for entry in ignore::WalkBuilder::new(&root).hidden(false).build().flatten() {
        let Ok(content) = std::fs::read(entry.path()) else { continue };
        let path = entry.path().strip_prefix(&root).unwrap().display().to_string();
        if path.starts_with(".git/") {
            continue;
        }
        let added: Vec<(u32, Vec<u8>)> =
            (1..).zip(content.split(|byte| *byte == b'\n').map(<[u8]>::to_vec)).collect();
        (files, lines) = (files + 1, lines + added.len());
        told.extend(find(&[ChangedLines { path, added, ..ChangedLines::default() }]));
    }
    println!("{files} files, {lines} lines, {} findings", told.len());
    for finding in told {
        println!("{finding}");
    }
}

#[test]
fn a_known_value_is_found_in_lines_and_in_names_unless_it_is_public() {
    let values = [
        KnownValue::new("DEPLOY", "umbrella-17-quartz"),
        KnownValue::new("OPEN", "lamp-34-granite"),
    ];
    let known = KnownSecrets::unless(values, |value| value.starts_with("lamp"));
    let mut change =
        file("src/umbrella-17-quartz/a.rs", &["x", "umbrella-17-quartz", "lamp-34-granite"]);
    let found = |change: &ChangedLines| {
        let found = find_secrets(std::slice::from_ref(change), &known, |_| false);
        found.into_iter().map(|one| (one.line, one.rule)).collect::<Vec<_>>()
    };
    let in_line = (Some(2), "the value of DEPLOY".to_owned());
    assert_eq!(found(&change), std::slice::from_ref(&in_line));
    change.is_new_name = true;
    assert_eq!(found(&change), [(None, "the value of DEPLOY".to_owned()), in_line]);
    let (rule, key) = keys().swap_remove(1);
    let shaped = ChangedLines { is_new_name: true, ..file(&format!("keys/{key}.txt"), &[]) };
    assert_eq!(found(&shaped), [(None, rule.to_owned())]);
}
