use super::*;

fn state(refresh: &str, access: &str, expires: &str, with: &[&str]) -> AgentState {
    AgentState {
        refresh_token: refresh.to_owned(),
        access_token: access.to_owned(),
        expires: expires.to_owned(),
        renewed_with: with.iter().map(|&name| name.to_owned()).collect(),
        ..AgentState::default()
    }
}

fn plain() -> TokenPlaces {
    TokenPlaces::of(&state("refresh", "access", "expires", &["id"])).unwrap()
}

fn shipped(backend: &str) -> TokenPlaces {
    let config = spore_config::Config::load(&[]).unwrap().config;
    TokenPlaces::of(&config.sandbox.agents[backend]).unwrap()
}

fn grant(file: &TokenFile, seconds: u64) -> TokenGrant {
    file.grant(Timestamp::from_millis(1_000_000_000_000), Duration::from_secs(seconds))
}

#[test]
fn the_files_of_the_agents_are_read_and_given_without_refresh_tokens() {
    // The claims are {"exp":1000000060}.
    let jwt = "eyJhbGciOiJub25lIn0.eyJleHAiOjEwMDAwMDAwNjB9.c2ln";
    let codex = format!(
        r#"{{"OPENAI_API_KEY":null,"tokens":{{"id_token":"i","access_token":"{jwt}","refresh_token":"r"}},"last_refresh":"2026-01-01T00:00:00Z"}}"#
    );
    let claude = r#"{"claudeAiOauth":{"accessToken":"a","refreshToken":"r","expiresAt":1000000060000,"scopes":["x"]}}"#;
    let google = r#"{"access_token":"a","refresh_token":"r","expiry_date":1000000060000.5}"#;
    let opencode = r#"{"anthropic":{"type":"oauth","access":"a","refresh":"r","expires":1000000060000},"openai":{"type":"api","key":"k"}}"#;
    for (backend, text) in [
        ("claude", claude),
        ("claude-acp", claude),
        ("codex", &codex),
        ("codex-acp", &codex),
        ("gemini", google),
        ("qwen", google),
        ("opencode", opencode),
    ] {
        let file = shipped(backend).read(text.as_bytes()).unwrap();
        assert_eq!(grant(&file, 60), TokenGrant::Access, "{backend}");
        assert_eq!(grant(&file, 61), TokenGrant::Due, "{backend}");
        let mut expected: Value = serde_json::from_str(text).unwrap();
        let held = expected.pointer_mut(&file.held[0].pointers[0]).unwrap();
        assert_eq!(held.take(), "r", "{backend}");
        *held = Value::String(String::new());
        let given: Value = serde_json::from_slice(&file.without_refresh()).unwrap();
        assert_eq!(given, expected, "{backend}");
        // What is left is a file like one with a key.
        assert_eq!(shipped(backend).read(&file.without_refresh()), None, "{backend}");
    }
}

#[test]
fn a_file_without_a_refresh_token_is_given_as_it_is() {
    for text in ["", "{", "[]", "{}", "null", r#"{"refresh":""}"#, r#"{"refresh":7}"#, "a: b"] {
        assert_eq!(plain().read(text.as_bytes()), None, "{text}");
    }
    assert_eq!(TokenPlaces::of(&AgentState::default()), None);
}

#[test]
fn a_token_of_unknown_age_is_due() {
    for text in [
        r#"{"refresh":"r"}"#,
        r#"{"refresh":"r","expires":null}"#,
        r#"{"refresh":"r","expires":"soon"}"#,
        r#"{"refresh":"r","expires":"a.b.c"}"#,
        r#"{"refresh":"r","expires":0}"#,
    ] {
        assert_eq!(grant(&plain().read(text.as_bytes()).unwrap(), 0), TokenGrant::Due, "{text}");
    }
    let far = plain().read(br#"{"refresh":"r","expires":9223372036854775807}"#).unwrap();
    assert_eq!(grant(&far, u64::MAX), TokenGrant::Access);
}

#[test]
fn of_several_tokens_the_first_to_expire_counts() {
    let text =
        r#"{"a":{"refresh":"r","expires":1000000100},"b":{"refresh":"s","expires":1000000010}}"#;
    let places = TokenPlaces::of(&state("*.refresh", "*.access", "*.expires", &[])).unwrap();
    let file = places.read(text.as_bytes()).unwrap();
    assert_eq!((grant(&file, 10), grant(&file, 11)), (TokenGrant::Access, TokenGrant::Due));
}

const USER: &str = r#"{"access":"a1","expires":1000000010,"hook":"mine","id":"i1","refresh":"r1"}"#;

#[track_caller]
fn check(copy: &str, was_given: bool, expected: Option<&str>) {
    let user = plain().read(USER.as_bytes()).unwrap();
    let renewed = plain().read(copy.as_bytes()).and_then(|it| user.with_renewed(&it, was_given));
    let value = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap();
    assert_eq!(renewed.map(|text| value(&text)), expected.map(|text| value(text.as_bytes())));
}

#[test]
fn tokens_alone_are_written_back_and_none_that_is_older() {
    let renewed =
        r#"{"access":"a2","expires":1000000020,"hook":"theirs","id":"i2","refresh":"r2","more":1}"#;
    let merged = r#"{"access":"a2","expires":1000000020,"hook":"mine","id":"i2","refresh":"r2"}"#;
    check(renewed, true, Some(merged));
    check(renewed, false, Some(merged));
    // Renewed in the same second: later only if it began as the user's file.
    let same = r#"{"access":"a2","expires":1000000010,"id":"i1","refresh":"r2"}"#;
    let merged = r#"{"access":"a2","expires":1000000010,"hook":"mine","id":"i1","refresh":"r2"}"#;
    check(same, true, Some(merged));
    check(same, false, None);
    // One vendor keeps the refresh token.
    let kept = r#"{"access":"a2","expires":1000000020,"refresh":"r1"}"#;
    let merged = r#"{"access":"a2","expires":1000000020,"hook":"mine","id":"i1","refresh":"r1"}"#;
    check(kept, true, Some(merged));
    check(kept, false, Some(merged));
    for older in [
        r#"{"access":"a0","expires":1000000009,"refresh":"r0"}"#,
        r#"{"access":"a0","refresh":"r0"}"#,
        r#"{"access":"a2","expires":1000000010,"refresh":"r1"}"#,
        r#"{"access":"","expires":0,"refresh":""}"#,
        USER,
    ] {
        check(older, true, None);
        check(older, false, None);
    }
    // What is no token does not take the place of one.
    let odd = r#"{"access":{"x":1},"expires":1000000020,"id":[1],"refresh":"r2"}"#;
    let merged = r#"{"access":"a1","expires":1000000020,"hook":"mine","id":"i1","refresh":"r2"}"#;
    check(odd, true, Some(merged));
}
