//! What a person sees of an error: what happened, why, what to do next.

use std::borrow::Cow;
use std::error::Error as _;
use std::io::Write;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::json;
use spore_model::Fault;
use spore_plain::{cut, path};

use crate::screen::Screen;
use crate::ui::{shown, shown_json};

/// Bytes of a message.
const MOST: usize = 16 * 1024;

/// The chain of causes below an error, outermost first. A wrapper often repeats its cause,
/// and some causes repeat their wrapper: each thing is said once.
fn causes(error: &spore_app::Error) -> Vec<String> {
    let mut said = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !said.iter().any(|before| before.contains(&text) || text.contains(before)) {
            said.push(text);
        }
        next = cause.source();
    }
    said.split_off(1)
}

pub(crate) fn as_text(error: &spore_app::Error) -> String {
    let mut text = format!("error: {}", error.to_string().trim_end().replace('\n', "\n  "));
    for cause in causes(error) {
        text.push_str(&format!("\n  because: {}", cause.trim_end().replace('\n', "\n    ")));
    }
    if let Some(hint) = error.hint_text() {
        text.push_str(&format!("\n  try: {}", hint.replace('\n', "\n  ")));
    }
    text
}

pub(crate) fn as_json(error: &spore_app::Error) -> serde_json::Value {
    json!({ "error": {
        "message": within(&error.to_string()),
        "causes": causes(error).iter().map(|cause| within(cause)).collect::<Vec<_>>(),
        "hint": error.hint_text(),
        "fault": error.fault,
        "exit_code": error.exit_code(),
    }})
}

/// Help and version are answers; everything else that clap says is a wrong call.
#[expect(clippy::disallowed_methods, reason = "clap could not read the arguments")]
pub(crate) fn usage(error: clap::Error) -> u8 {
    let error = with_nearest(error);
    let json = std::env::args_os().any(|word| word == "--json");
    let text = error.to_string();
    let strange = words_that_are_no_text();
    // clap says that there are such words, or repeats them with marks for what is no text.
    let is_about_them = error.kind() == ErrorKind::InvalidUtf8 || text.contains('\u{fffd}');
    let text = match is_about_them && !strange.is_empty() {
        true => format!(
            "error: arguments that are not UTF-8 text: {strange}\n\n\
             For more information, try '--help'."
        ),
        false => text,
    };
    match error.kind() {
        // Help names the program as it was called, and that may be anything.
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let help = Screen::stdout().render(&shown(&text));
            let written = writeln!(std::io::stdout(), "{help}");
            match written {
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    let _ = writeln!(std::io::stderr(), "error: the help could not be written");
                    Fault::Io.exit_code()
                }
                _ => 0,
            }
        }
        _ if json => {
            let code = Fault::Usage.exit_code();
            // clap writes paragraphs: what is wrong, perhaps a tip, how to call it.
            let mut parts = text.split("\n\n").map(str::trim);
            let first = parts.next().unwrap_or_default();
            let message = first.strip_prefix("error: ").unwrap_or(first);
            let object = json!({ "error": {
                "message": within(&message.split_whitespace().collect::<Vec<_>>().join(" ")),
                "causes": [],
                "hint": parts.find_map(|part| part.strip_prefix("tip: ")),
                "fault": Fault::Usage,
                "exit_code": code,
            }});
            let _ = writeln!(std::io::stderr(), "{}", shown_json(&object.to_string()));
            code
        }
        _ => {
            // It repeats what was typed, and that may have come from a file's name.
            let told = Screen::stderr().render(&within(&shown(&text)));
            let _ = writeln!(std::io::stderr(), "{told}");
            Fault::Usage.exit_code()
        }
    }
}

/// Leaves the nearest of the commands that a mistyped one may have meant, which clap tells last.
fn with_nearest(mut error: clap::Error) -> clap::Error {
    let similar = ContextKind::SuggestedSubcommand;
    if let Some(ContextValue::Strings(found)) = error.get(similar)
        && let [_, .., nearest] = found.as_slice()
    {
        let nearest = ContextValue::Strings(vec![nearest.clone()]);
        error.insert(similar, nearest);
    }
    error
}

/// The words of the call that are no text, spelled out.
#[expect(clippy::disallowed_methods, reason = "clap could not read the arguments")]
fn words_that_are_no_text() -> String {
    let words = std::env::args_os().filter(|word| word.to_str().is_none());
    let words: Vec<String> = words.map(|word| path(Path::new(&word))).collect();
    words.join(", ")
}

/// Returns as much of a message as people read; a word of the call may have any length.
pub(crate) fn within(text: &str) -> Cow<'_, str> {
    cut(text, MOST)
}
