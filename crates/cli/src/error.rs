//! What a person sees of an error: what happened, why, what to do next.

use std::error::Error as _;
use std::io::Write;

use clap::error::ErrorKind;
use serde_json::json;
use spore_model::Fault;

use crate::ui::shown;

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
        "message": error.to_string(),
        "causes": causes(error),
        "hint": error.hint_text(),
        "fault": error.fault,
        "exit_code": error.exit_code(),
    }})
}

/// Help and version are answers; everything else that clap says is a wrong call.
#[expect(clippy::disallowed_methods, reason = "clap could not read the arguments")]
pub(crate) fn usage(error: &clap::Error) -> u8 {
    let json = std::env::args().any(|word| word == "--json");
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            0
        }
        _ if json => {
            let code = Fault::Usage.exit_code();
            let text = error.to_string();
            // clap writes paragraphs: what is wrong, perhaps a tip, how to call it.
            let mut parts = text.split("\n\n").map(str::trim);
            let first = parts.next().unwrap_or_default();
            let message = first.strip_prefix("error: ").unwrap_or(first);
            let object = json!({ "error": {
                "message": message.split_whitespace().collect::<Vec<_>>().join(" "),
                "causes": [],
                "hint": parts.find_map(|part| part.strip_prefix("tip: ")),
                "fault": Fault::Usage,
                "exit_code": code,
            }});
            let _ = writeln!(std::io::stderr(), "{object}");
            code
        }
        _ => {
            // It repeats what was typed, and that may have come from a file's name.
            let _ = writeln!(std::io::stderr(), "{}", shown(&error.to_string()));
            Fault::Usage.exit_code()
        }
    }
}
