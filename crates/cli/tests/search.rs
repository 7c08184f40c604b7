//! `spore search`: what it finds first, what it says, and what it refuses.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use serde_json::Value;
use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes;

const LIB: &str = "\
mod price;

/// Sells one thing and prints the receipt.
pub struct Shop;

impl Shop {
    /// Sells.
    pub fn sell_item(&self) -> u32 {
        price::total_price()
    }
}
";
const PRICE: &str = "\
//! What things cost.

/// Adds up what a customer has to pay, with the tax.
pub fn total_price() -> u32 {
    7
}
";
const TEST: &str = "\
#[test]
fn total_price_is_seven() {
    assert_eq!(shop::total_price(), 7);
}
";

fn shop() -> TestEnv {
    let env = scenes::env();
    env.write("src/lib.rs", LIB);
    env.write("src/price.rs", PRICE);
    env.write("tests/price.rs", TEST);
    env.write("README.md", "# Shop\n\n## Taxes\n\nEvery customer pays the tax.\n");
    env.commit_all("a shop");
    let _ = env.spore(&["init"]).code(0);
    let _ = env.spore(&["index"]).code(0);
    env
}

fn search(env: &TestEnv, args: &[&str]) -> ProgramOutput {
    let args: Vec<&str> = ["search"].into_iter().chain(args.iter().copied()).collect();
    env.spore(&args)
}

/// Kind, qualified name and path of every hit.
#[track_caller]
fn found(env: &TestEnv, args: &[&str]) -> Vec<String> {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let answer = search(env, &args).code(0).json();
    let hits = answer["hits"].as_array().unwrap().iter();
    let text = |hit: &Value, key: &str| hit[key].as_str().unwrap().to_owned();
    hits.map(|hit| format!("{} {}", text(hit, "kind"), text(hit, "qualified"))).collect()
}

#[test]
fn what_was_found_is_told_with_its_place_and_why() {
    let env = shop();
    insta::assert_snapshot!("a_symbol", search(&env, &["total_price"]).code(0).render());
    insta::assert_snapshot!(search(&env, &["what", "does", "the", "customer", "pay", "--limit", "3"]).code(0).render(), @"
    exit code: 0
    --- stdout
    src/price.rs:4  function  total_price
        pub fn total_price() -> u32
        words: customer pay · 2 uses
    README.md:3  section  Shop::Taxes
        ## Taxes
        words: customer pay
    src/price.rs:1  file
        What things cost.
        words: customer pay
    --- stderr
    ");
    insta::assert_snapshot!(search(&env, &["src/price.rs", "--limit", "2"]).code(0).render(), @"
    exit code: 0
    --- stdout
    src/price.rs:1  file
        What things cost.
        path · words: src price rs
    src/lib.rs:1  file
        words: src price rs
    --- stderr
    ");
}

#[test]
fn machines_get_one_document_with_numbers() {
    let env = shop();
    let output = search(&env, &["Shop::sell_item", "--json"]).code(0);
    assert_eq!(output.stderr, "");
    let answer = output.json();
    assert_eq!(answer["query"], "Shop::sell_item");
    assert_eq!(answer["vectors"], "absent");
    assert_eq!(answer["files_behind"], 0);
    assert!(answer["timings_ms"]["search"].is_number(), "{answer}");
    let hit = &answer["hits"][0];
    assert_eq!((&hit["kind"], &hit["name"]), (&"method".into(), &"sell_item".into()));
    assert_eq!((&hit["first_line"], &hit["last_line"]), (&8.into(), &10.into()));
    assert_eq!(hit["why"][0], "qualified name");
    assert!(hit["score"].as_f64().unwrap() >= 3.0 && hit["id"].as_str().unwrap().len() == 32);
}

#[test]
fn a_symbol_is_found_first_in_any_spelling() {
    let env = shop();
    for typed in ["Shop::sell_item", "shop.sell_item", "sell_item", "sellItem", "sell item"] {
        assert_eq!(found(&env, &[typed])[0], "method Shop::sell_item", "{typed}");
    }
    for typed in ["price.rs", "src/price.rs", "./src/price.rs:4", "src/price"] {
        assert_eq!(found(&env, &[typed])[0], "file src/price.rs", "{typed}");
    }
}

#[test]
fn tests_stand_back_unless_they_are_asked_for() {
    let env = shop();
    let order = |query: &str| {
        let all = found(&env, &[query]);
        let at = |name: &str| all.iter().position(|hit| hit.ends_with(name)).unwrap();
        at("total_price") < at("total_price_is_seven")
    };
    assert!(order("price total"));
    assert!(!order("test that the price in total is seven"));
}

#[test]
fn kinds_and_paths_limit_what_is_found() {
    let env = shop();
    let kinds = found(&env, &["price", "tax", "--kind", "file,section"]);
    assert!(!kinds.is_empty() && kinds.iter().all(|hit| !hit.starts_with("function")), "{kinds:?}");
    for path in ["tests", "tests/", "./tests/price.rs", "tests/**", "**/tests/*.rs"] {
        let hits = found(&env, &["price", "--path", path, "--kind", "test"]);
        assert_eq!(hits, ["test total_price_is_seven"], "{path}");
    }
    assert_eq!(found(&env, &["price", "--path", "*.md", "--kind", "fn"]), Vec::<String>::new());
    assert_eq!(found(&env, &["price", "--limit", "1"]).len(), 1);
    let below = env.spore_in(
        &env.repo().join("src"),
        &["search", "price", "--path", "price.rs", "--json"],
        &[],
    );
    assert!(below.code(0).stdout.contains("src/price.rs"));
}

#[test]
fn what_cannot_be_asked_is_refused_with_a_reason() {
    let env = shop();
    insta::assert_snapshot!(search(&env, &["  "]).code(64).render(), @"
    exit code: 64
    --- stdout
    --- stderr
    error: there is nothing to search for
      try: name a symbol or a path, or say in a few words what the code does
    ");
    insta::assert_snapshot!(search(&env, &["x", "--kind", "strukt"]).code(64).render(), @r#"
    exit code: 64
    --- stdout
    --- stderr
    error: "strukt" is not a kind of thing that can be found
      try: did you mean struct? There are: module, function, method, struct, class, enum, trait, interface, impl, type, const, macro, test, section, file
    "#);
    insta::assert_snapshot!(search(&env, &["x", "--path", "src/[a"]).code(64).render(), @r#"
    exit code: 64
    --- stdout
    --- stderr
    error: "src/[a" is not a pattern of paths
      because: error parsing glob 'src/[a': unclosed character class; missing ']'
      try: a directory, a file, or a glob such as 'src/**/*.rs'
    "#);
    insta::assert_snapshot!(search(&env, &["x", "--path", "/etc"]).code(64).render(), @"
    exit code: 64
    --- stdout
    --- stderr
    error: /etc is outside of $TEST_ENV/repo
      try: name paths of the project, or another project with --root
    ");
    let error = search(&env, &["", "--json"]).code(64);
    assert_eq!(error.stdout, "");
    assert!(error.stderr.contains("\"exit_code\":64"), "{}", error.stderr);
}

#[test]
fn no_text_is_an_error_and_nothing_found_is_an_answer() {
    let env = shop();
    let long = "unbekannt ".repeat(12_000);
    for query in [
        "?!*",
        "\"",
        "'; DROP TABLE nodes; --",
        "a AND (b OR",
        "NEAR/2",
        "配置を読む",
        "Ошибка",
        "\u{1F600}",
        "%_%",
        "{}",
        "::",
        "/",
        "..",
        "-- --",
        "\\",
        "zzzznothing",
        &long,
    ] {
        let output = env.spore(&["search", "--", query]).code(0);
        assert!(!output.stdout.is_empty(), "{query}");
    }
    let nothing = search(&env, &["zzzznothing"]).code(0);
    assert_eq!(nothing.stdout, "Nothing found for zzzznothing.\n");
    let none = search(&env, &["zzzznothing", "--json"]).code(0).json();
    assert_eq!(none["hits"].as_array().unwrap().len(), 0);
}

#[test]
fn an_index_that_is_missing_is_made_and_said_so() {
    let env = scenes::env();
    env.write("src/lib.rs", "pub fn lonely() {}\n");
    env.commit_all("one");
    let first = search(&env, &["lonely"]).code(0);
    assert!(first.stderr.contains("There is no index yet: making one."), "{}", first.stderr);
    assert!(first.stdout.starts_with("src/lib.rs:1  function  lonely"), "{}", first.stdout);
    let second = search(&env, &["lonely"]).code(0);
    assert_eq!(second.stderr, "", "said once");
}

#[test]
fn an_edit_is_seen_and_too_many_are_counted() {
    let env = shop();
    env.write("src/more.rs", "pub fn brand_new() {}\n");
    assert_eq!(found(&env, &["brand_new"])[0], "function brand_new");
    env.write("src/more.rs", "pub fn renamed_now() {}\n");
    std::fs::remove_file(env.repo().join("src/price.rs")).unwrap();
    env.write(".spore/config.toml", "[search]\nrefresh_files = 1\n");
    let behind = search(&env, &["renamed_now", "--json"]).code(0).json();
    // A fixed clock trusts no stamp, so unchanged files may count too.
    assert!(behind["files_behind"].as_u64().unwrap() >= 2, "{behind}");
    assert_eq!(
        search(&env, &["total_price", "--json"]).code(0).json()["hits"][0]["path"],
        "src/price.rs"
    );
    let told = search(&env, &["brand_new"]).code(0);
    assert!(told.stderr.contains(" files behind: answering from what is there"), "{}", told.stderr);
    env.write(".spore/config.toml", "");
    assert_eq!(found(&env, &["renamed_now"])[0], "function renamed_now");
    assert!(found(&env, &["total_price", "--kind", "function"]).is_empty());
}

#[test]
fn a_missing_model_is_mentioned_once() {
    let env = scenes::env();
    env.write("a.rs", "pub fn a_function() {}\n");
    env.commit_all("one");
    let mentions = |output: ProgramOutput| output.code(0).stderr.contains("spore setup");
    assert!(mentions(env.spore(&["index"])));
    assert!(!mentions(env.spore(&["index"])));
    assert!(!mentions(search(&env, &["a_function"])));
    assert!(!env.repo().join(".spore/vectors").exists());
}

#[test]
fn with_the_model_vectors_are_made_once_and_meaning_counts() {
    let Some(wheel) = std::env::var_os("SPORE_TEST_WHEEL") else {
        eprintln!("skipped: SPORE_TEST_WHEEL names no wheel; `cargo xtask test` does");
        return;
    };
    let env = shop();
    let models = env.dir().join("models").display().to_string();
    let with = [("SPORE_MODEL_DIR", models.as_str())];
    let spore = |args: &[&str]| env.spore_in(&env.repo(), args, &with);
    let wheel = std::path::PathBuf::from(wheel).display().to_string();
    let _ = spore(&["setup", "--from", &wheel]).code(0);
    let made = spore(&["index", "--json"]).code(0).json();
    assert_eq!(made["vectors"]["state"], "complete");
    let texts = made["vectors"]["texts"].as_u64().unwrap();
    assert_eq!(made["vectors"]["embedded"].as_u64().unwrap(), texts);
    env.write("src/price.rs", &PRICE.replace("    7\n", "    8\n"));
    let again = spore(&["index", "--json"]).code(0).json();
    assert_eq!((&again["changed"], &again["vectors"]["embedded"]), (&1.into(), &0.into()));
    let answer = spore(&["search", "amount of money owed by the buyer", "--json"]).code(0).json();
    assert_eq!(answer["vectors"], "used");
    assert_eq!(answer["hits"][0]["name"], "total_price", "{answer}");
    let blind = [with[0], ("SPORE_SEARCH_NEAR", "0"), ("SPORE_SEARCH_NEAR_OF_SOME", "0")];
    for some in [&[][..], &["--kind", "function"]] {
        let asked = [&["search", "amount of money owed by the buyer", "--json"], some].concat();
        let near = spore(&asked).code(0).json();
        let none = env.spore_in(&env.repo(), &asked, &blind).code(0).json();
        assert_ne!(near["hits"], none["hits"], "{asked:?}");
    }
    let words = spore(&["search", "total_price", "--no-embed", "--json"]).code(0).json();
    assert_eq!(words["vectors"], "absent");
    env.write("src/more.rs", "pub fn brand_new() {}\n");
    let partial = spore(&["search", "brand_new", "--json"]).code(0).json();
    assert_eq!(partial["vectors"], "partial");
}
