//! The shapes of secrets: those with a form of their own, and those whose name gives them
//! away.
//!
//! A wrong alarm costs a bounce, so a form must be one that nothing else has, and a value that
//! is only named like a secret must look like chance: letters and digits mixed, no words, no
//! pattern.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexSet};

/// The name of the rule, and the form, for bytes.
const FORMS: [(&str, &str); 22] = [
    ("an AWS access key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    ("a GitHub token", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    ("a GitHub token", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    ("a GitLab token", r"glpat-[A-Za-z0-9_-]{20,}"),
    ("an Anthropic key", r"sk-ant-[a-z0-9]{3,10}-[A-Za-z0-9_-]{24,}"),
    ("an OpenAI key", r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}"),
    ("an OpenAI key", r"sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"),
    ("an OpenAI key", r"sk-[A-Za-z0-9]{48}"),
    ("an OpenRouter key", r"sk-or-v1-[0-9a-f]{64}"),
    ("a Google API key", r"AIza[0-9A-Za-z_-]{35}"),
    ("a Google client secret", r"GOCSPX-[0-9A-Za-z_-]{28}"),
    ("a Slack token", r"xox[abeprs]-(?:[0-9]+-)+[0-9A-Za-z-]{16,}"),
    ("a Slack token", r"xapp-[0-9]-[A-Z0-9]+-[0-9]+-[0-9a-f]{32,}"),
    ("a Slack webhook", r"hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{24}"),
    ("a Stripe key", r"(?:sk|rk)_live_[0-9A-Za-z]{24,}"),
    ("an npm token", r"npm_[A-Za-z0-9]{36}"),
    ("a PyPI token", r"pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}"),
    ("a Hugging Face token", r"hf_[A-Za-z0-9]{34}"),
    ("a SendGrid key", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    ("a DigitalOcean token", r"do[opr]_v1_[0-9a-f]{64}"),
    ("an Azure storage key", r"AccountKey=[A-Za-z0-9+/]{86}=="),
    (
        "a JSON web token",
        r"eyJ(?:hbGciOi|0eXAiOi|raWQiOi)[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}",
    ),
];

/// One of these stands in every text that has one of the forms.
const MARKS: [&str; 27] = [
    "AKIA",
    "ASIA",
    "ABIA",
    "ACCA",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "sk-",
    "AIza",
    "GOCSPX-",
    "xox",
    "xapp-",
    "hooks.slack",
    "_live_",
    "npm_",
    "pypi-",
    "hf_",
    "SG.",
    "doo_",
    "dop_",
    "dor_",
    "AccountKey=",
    "eyJ",
];

/// Returns whether a text may have one of the forms, at once.
pub(crate) fn may_have_form(text: &str) -> bool {
    text.len() >= 20 && MARKS.iter().any(|mark| text.contains(mark))
}

pub(crate) const PRIVATE_KEY: &str = "a private key";
const NAMED: &str = "a secret, by its name";

/// A name, perhaps its type, what stands between it and its value, and the value.
const ASSIGNMENT: &str = concat!(
    r#"(?i)([a-z][a-z0-9_.-]{0,60})["']?\]?\s{0,8}(?::[a-z&'<>\[\]. ]{1,30}=|:=|=>|=|:)\s{0,8}"#,
    r#"(?:[a-z:.]{0,24}\(\s?)?(["'`]?)([a-z0-9+/=_.~!@#%^&*-]{16,256})(["'`]?)"#
);

/// Made once: putting the forms together takes longer than looking at a change.
static SHAPES: LazyLock<Shapes> = LazyLock::new(Shapes::new);

/// The forms, ready to look.
pub(crate) struct Shapes {
    /// Says at once that a line has none, as most have.
    any: Option<RegexSet>,
    forms: Vec<(&'static str, Regex)>,
    assignment: Option<Regex>,
}

impl Shapes {
    pub(crate) fn get() -> &'static Self {
        &SHAPES
    }

    fn new() -> Self {
        let bytes = |form: &str| format!("(?-u){form}");
        let forms =
            FORMS.iter().filter_map(|(rule, form)| Some((*rule, Regex::new(&bytes(form)).ok()?)));
        Self {
            any: RegexSet::new(FORMS.iter().map(|(_, form)| bytes(form))).ok(),
            forms: forms.collect(),
            assignment: Regex::new(&bytes(ASSIGNMENT)).ok(),
        }
    }

    /// Returns the secrets of a line that have a form of their own.
    pub(crate) fn fixed(&self, line: &[u8]) -> Vec<(&'static str, Range<usize>)> {
        let Some(any) = &self.any else { return Vec::new() };
        let mut hits = Vec::new();
        for index in any.matches(line) {
            let Some((rule, form)) = self.forms.get(index) else { continue };
            for found in form.find_iter(line) {
                if stands_alone(line, found.range()) && !is_placeholder(found.as_bytes()) {
                    hits.push((*rule, found.range()));
                }
            }
        }
        hits
    }

    /// Returns a value that a name calls secret and that looks like chance.
    pub(crate) fn assigned(&self, path: &str, line: &[u8]) -> Option<(&'static str, Range<usize>)> {
        // A line of data is no assignment, and costs the most to look at.
        if line.len() > LONGEST_LINE || is_listing(path) || !mentions_secret(line) {
            return None;
        }
        for found in self.assignment.as_ref()?.captures_iter(line) {
            let (name, value) = (found.get(1)?, found.get(3)?);
            let quoted = found.get(2).is_some_and(|quote| !quote.is_empty());
            let closed = found.get(2).map(|quote| quote.as_bytes())
                == found.get(4).map(|quote| quote.as_bytes());
            if (quoted && closed || is_settings(path))
                && is_secret_name(name.as_bytes())
                && looks_random(value.as_bytes())
            {
                return Some((NAMED, value.range()));
            }
        }
        None
    }
}

/// Beyond this a line is data or minified code.
const LONGEST_LINE: usize = 2000;

/// In these, values stand without quotes.
fn is_settings(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let end = name.rsplit('.').next().unwrap_or_default();
    let ends = ["env", "ini", "cfg", "conf", "properties", "yml", "yaml", "sh", "bash", "tfvars"];
    name.starts_with(".env") || name == "Dockerfile" || ends.contains(&end)
}

/// In these, every second word is a digest.
fn is_listing(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let names = ["go.sum", "package-lock.json", "pnpm-lock.yaml", "flake.lock"];
    let ends = [".lock", ".svg", ".map", ".snap", ".ipynb"];
    names.contains(&name) || ends.iter().any(|end| name.ends_with(end)) || name.contains(".min.")
}

fn mentions_secret(line: &[u8]) -> bool {
    let words: [&[u8]; 7] = [b"secret", b"passw", b"pwd", b"token", b"key", b"credential", b"auth"];
    let lower = line.to_ascii_lowercase();
    words.iter().any(|word| lower.windows(word.len()).any(|window| window == *word))
}

/// Words that make a name that of a secret.
const SECRET: [&str; 9] = [
    "secret",
    "secrets",
    "password",
    "passwd",
    "pwd",
    "token",
    "credential",
    "credentials",
    "apikey",
];
/// Words that do so before `key`.
const KEYS: [&str; 9] =
    ["api", "access", "private", "auth", "signing", "encryption", "master", "license", "service"];
/// Words that say that it is something else about one, or not a real one.
const HARMLESS: [&str; 42] = [
    "public",
    "pub",
    "hash",
    "hashed",
    "digest",
    "checksum",
    "sha",
    "sha1",
    "sha256",
    "md5",
    "path",
    "file",
    "dir",
    "name",
    "url",
    "uri",
    "type",
    "kind",
    "header",
    "field",
    "prefix",
    "suffix",
    "pattern",
    "regex",
    "label",
    "placeholder",
    "example",
    "sample",
    "csrf",
    "test",
    "fake",
    "dummy",
    "mock",
    "length",
    "count",
    "limit",
    "ttl",
    "cache",
    "next",
    "page",
    "continuation",
    "cursor",
];

fn is_secret_name(name: &[u8]) -> bool {
    let words = words(name);
    let is = |list: &[&str], word: &String| list.contains(&word.as_str());
    if words.iter().any(|word| is(&HARMLESS, word)) || words.last().is_some_and(|word| word == "id")
    {
        return false;
    }
    let pairs = words.windows(2).any(|pair| is(&KEYS, &pair[0]) && pair[1] == "key");
    pairs || words.iter().any(|word| is(&SECRET, word))
}

/// Splits a name at dots, dashes, underscores and humps, into lower case.
pub(crate) fn words(name: &[u8]) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = 0;
    for &byte in name {
        let hump = byte.is_ascii_uppercase() && before_is_small(before);
        if !byte.is_ascii_alphanumeric() || hump {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| byte.is_ascii_alphanumeric()) {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
        before = byte;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn before_is_small(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Returns whether the bytes around do not make it part of something longer.
fn stands_alone(line: &[u8], span: Range<usize>) -> bool {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    !span.start.checked_sub(1).and_then(|at| line.get(at)).is_some_and(part)
        && !line.get(span.end).is_some_and(part)
}

/// Returns whether a person wrote this to stand for a secret.
fn is_placeholder(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let words: [&[u8]; 17] = [
        b"example",
        b"placeholder",
        b"your",
        b"xxxx",
        b"....",
        b"1234567",
        b"abcdefg",
        b"dummy",
        b"fake",
        b"redacted",
        b"changeme",
        b"insert",
        b"sample",
        b"0000000",
        b"aaaaaaa",
        b"deadbeef",
        b"not-a-",
    ];
    words.iter().any(|word| lower.windows(word.len()).any(|window| window == *word))
        || distinct(value) < 8
}

fn distinct(value: &[u8]) -> usize {
    let mut seen = [false; 256];
    value.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    seen.iter().filter(|seen| **seen).count()
}

/// Returns whether a value looks like chance and not like something that a person wrote.
pub(crate) fn looks_random(value: &[u8]) -> bool {
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let others = value.len() - letters - digits;
    let turns = value.windows(2).filter(|pair| class(pair[0]) != class(pair[1])).count();
    let mixed = digits >= 3 || digits >= 1 && turns * 3 >= value.len();
    if !mixed || letters < 4 || others * 4 > value.len() || is_placeholder(value) {
        return false;
    }
    let is_hex = value.iter().all(u8::is_ascii_hexdigit);
    let enough = if is_hex { value.len() >= 32 } else { value.len() >= 20 };
    // A digest of something is no secret; git's are forty, and everywhere.
    let is_digest = is_hex && matches!(value.len(), 40 | 64);
    let is_uuid = value.len() == 36 && value.iter().filter(|byte| **byte == b'-').count() == 4;
    let least = if is_hex { 3.0 } else { 3.7 };
    enough && !is_digest && !is_uuid && entropy(value) >= least && wordiness(value) < 0.5
}

/// Chance goes from one of these to another all the time; people do not.
fn class(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    }
}

/// Shannon's entropy, in bits a byte.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    value.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let share = |count: u32| f64::from(count) / value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| -share(*count) * share(*count).log2())
        .sum()
}

/// Returns which share of the bytes stands in words: five letters and more of one case that
/// could be spoken.
fn wordiness(value: &[u8]) -> f64 {
    let vowel = |byte: &u8| b"aeiouy".contains(&byte.to_ascii_lowercase());
    let case = |byte: u8| (byte.is_ascii_lowercase(), byte.is_ascii_uppercase());
    // A word may begin with a capital.
    let runs = value.chunk_by(|one, two| {
        one.is_ascii_alphabetic()
            && two.is_ascii_alphabetic()
            && (case(*one) == case(*two) || one.is_ascii_uppercase())
    });
    let one_case = |run: &[u8]| {
        run.iter().skip(1).all(u8::is_ascii_lowercase) || run.iter().all(u8::is_ascii_uppercase)
    };
    let words = runs.filter(|run| {
        run[0].is_ascii_alphabetic()
            && run.len() >= 5
            && one_case(run)
            && run.iter().filter(|byte| vowel(byte)).count() * 4 >= run.len()
            && !run.windows(4).any(|four| !four.iter().any(vowel))
    });
    words.map(<[u8]>::len).sum::<usize>() as f64 / value.len() as f64
}

const BEGIN: &[u8] = b"-----BEGIN ";
const KEY: &[u8] = b"PRIVATE KEY";
const END: &[u8] = b"-----END ";

/// Returns what follows the line that a private key begins with; nothing if it is none.
pub(crate) fn after_begin(line: &[u8]) -> &[u8] {
    let find =
        |text: &[u8], part: &[u8]| text.windows(part.len()).position(|window| window == part);
    let Some(start) = find(line, BEGIN) else { return &[] };
    let rest = &line[start + BEGIN.len()..];
    match find(rest, KEY) {
        // `RSA `, `ENCRYPTED `, `OPENSSH ` and the like stand between.
        Some(at) if at <= 20 => &rest[at + KEY.len()..],
        _ => &[],
    }
}

pub(crate) fn begins_private_key(line: &[u8]) -> bool {
    !after_begin(line).is_empty()
}

/// Returns where keys stand right in the line that they begin with: keys in strings of one line.
pub(crate) fn keys_of_one_line(line: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(after) = line.get(from..).map(after_begin).filter(|after| !after.is_empty()) {
        let start = line.len() - after.len();
        let end = after.windows(END.len()).position(|window| window == END);
        let end = end.map_or(line.trim_ascii_end().len(), |at| start + at);
        if line.get(start..end).is_some_and(is_key_material) {
            found.push(start..end);
        }
        from = start;
    }
    found
}

pub(crate) fn ends_private_key(line: &str) -> bool {
    line.contains("-----END ") && line.contains("PRIVATE KEY")
}

/// Returns whether a line holds the stuff that keys are made of.
pub(crate) fn is_key_material(line: &[u8]) -> bool {
    let material = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let runs = line.split(|byte| !material(byte));
    runs.into_iter().any(|run| run.len() >= 40 && distinct(run) >= 12)
}
