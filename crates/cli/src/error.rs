//! What a person sees of an error: what happened, why, what to do next.

use std::error::Error as _;
use std::io::Write;

use clap::error::ErrorKind;
use serde_json::json;
use spore_model::Fault;

/// The chain of causes below an error, outermost first.
fn causes(error: &spore_app::Error) -> Vec<String> {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    causes
}

pub(crate) fn as_text(error: &spore_app::Error) -> String {
    let mut text = format!("error: {error}");
    for cause in causes(error) {
        // A wrapper often repeats its cause; say it once.
        if !text.contains(&cause) {
            text.push_str(&format!("\n  because: {cause}"));
        }
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
        "exit_code": error.fault.exit_code(),
    }})
}

/// Help and version are answers; everything else that clap says is a wrong call.
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
            let message = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
            let object = json!({ "error": { "message": message, "fault": Fault::Usage, "exit_code": code } });
            let _ = writeln!(std::io::stderr(), "{object}");
            code
        }
        _ => {
            let _ = error.print();
            Fault::Usage.exit_code()
        }
    }
}
