//! Puts our entry into a text of settings, and takes it out: everything else stays as it is.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use spore_app::{Error, Result, SERVER_NAME};
use spore_model::Fault;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::clients::{ClientFile, EntryShape};

const TOML_TABLE: &str = "mcp_servers";

/// Returns `text` with our entry, in the place of an older one if there is one.
pub(super) fn with_entry(target: &ClientFile, text: &str, program: &str) -> Result<String> {
    match target.shape {
        EntryShape::Toml => toml_with(target, text, program),
        EntryShape::Json(key) | EntryShape::TypedJson(key) | EntryShape::LocalJson(key) => {
            json_with(target, text, key, entry(target.shape, program))
        }
    }
}

/// Returns `text` without our entry. A table that held nothing else stays, empty.
pub(super) fn without_entry(target: &ClientFile, text: &str) -> Result<String> {
    match target.shape {
        EntryShape::Toml => {
            let mut document = toml(target, text)?;
            if let Some(servers) = document.get_mut(TOML_TABLE).and_then(Item::as_table_like_mut) {
                servers.remove(SERVER_NAME);
            }
            Ok(document.to_string())
        }
        EntryShape::Json(key) | EntryShape::TypedJson(key) | EntryShape::LocalJson(key) => {
            let root = json(target, text)?;
            let servers = root.object_value().and_then(|all| all.get(key)?.object_value());
            if let Some(entry) = servers.and_then(|servers| servers.get(SERVER_NAME)) {
                entry.remove();
            }
            Ok(root.to_string())
        }
    }
}

fn entry(shape: EntryShape, program: &str) -> Vec<(String, CstInputValue)> {
    let word = |text: &str| CstInputValue::String(text.to_owned());
    let words = |all: &[&str]| CstInputValue::Array(all.iter().map(|text| word(text)).collect());
    let field = |name: &str, value: CstInputValue| (name.to_owned(), value);
    match shape {
        EntryShape::LocalJson(_) => vec![
            field("type", word("local")),
            field("command", words(&[program, "mcp"])),
            field("enabled", CstInputValue::Bool(true)),
        ],
        EntryShape::TypedJson(_) => vec![
            field("type", word("stdio")),
            field("command", word(program)),
            field("args", words(&["mcp"])),
        ],
        EntryShape::Json(_) | EntryShape::Toml => {
            vec![field("command", word(program)), field("args", words(&["mcp"]))]
        }
    }
}

fn json_with(
    target: &ClientFile,
    text: &str,
    key: &str,
    entry: Vec<(String, CstInputValue)>,
) -> Result<String> {
    let root = json(target, if text.trim().is_empty() { "{}\n" } else { text })?;
    put(target, &root, key, entry)?;
    Ok(root.to_string())
}

fn put(
    target: &ClientFile,
    root: &CstRootNode,
    key: &str,
    entry: Vec<(String, CstInputValue)>,
) -> Result<()> {
    let strange = || {
        Error::new(
            Fault::BadInput,
            format!("{}: {key} is not an object", spore_plain::path(&target.path)),
        )
        .hint("mend it by hand: nothing was written")
    };
    let all: CstObject = root.object_value_or_create().ok_or_else(strange)?;
    let servers = all.object_value_or_create(key).ok_or_else(strange)?;
    match servers.get(SERVER_NAME) {
        // The same already: leave every byte of it.
        Some(old) if is_same(&old.to_string(), &entry) => {}
        Some(old) => old.set_value(CstInputValue::Object(entry)),
        None => {
            servers.append(SERVER_NAME, CstInputValue::Object(entry));
        }
    }
    Ok(())
}

/// Whether a member `"spore": {…}` of the text says what `entry` says.
fn is_same(member: &str, entry: &[(String, CstInputValue)]) -> bool {
    let wrapped = format!("{{{member}}}");
    let Ok(root) = CstRootNode::parse(&wrapped, &ParseOptions::default()) else { return false };
    let wanted = CstRootNode::parse("{}", &ParseOptions::default());
    let (Some(old), Ok(wanted)) = (root.object_value(), wanted) else { return false };
    let Some(all) = wanted.object_value() else { return false };
    all.append(SERVER_NAME, CstInputValue::Object(entry.to_vec()));
    let plain = |text: String| serde_json::from_str::<serde_json::Value>(&text).ok();
    plain(old.to_string()).is_some_and(|old| Some(old) == plain(all.to_string()))
}

fn json(target: &ClientFile, text: &str) -> Result<CstRootNode> {
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| {
        let place = format!(
            "{}:{}:{}",
            spore_plain::path(&target.path),
            error.line_display(),
            error.column_display()
        );
        Error::new(Fault::BadInput, format!("{place}: {}", error.kind()))
            .hint("mend it by hand: nothing was written")
    })
}

fn toml(target: &ClientFile, text: &str) -> Result<DocumentMut> {
    text.parse::<DocumentMut>().map_err(|error| {
        let line = error
            .span()
            .map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let message = format!("{}:{line}: {}", spore_plain::path(&target.path), error.message());
        Error::new(Fault::BadInput, message).hint("mend it by hand: nothing was written")
    })
}

fn toml_with(target: &ClientFile, text: &str, program: &str) -> Result<String> {
    let mut document = toml(target, text)?;
    let servers = document.entry(TOML_TABLE).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let Some(servers) = servers.as_table_like_mut() else {
        return Err(Error::new(
            Fault::BadInput,
            format!("{}: {TOML_TABLE} is not a table", spore_plain::path(&target.path)),
        )
        .hint("mend it by hand: nothing was written"));
    };
    let args: Array = ["mcp"].into_iter().collect();
    match servers.get_mut(SERVER_NAME).and_then(Item::as_table_like_mut) {
        Some(old) => {
            let command = old.get("command").and_then(Item::as_str) == Some(program);
            let list = old.get("args").and_then(Item::as_array);
            let same = list.is_some_and(|list| {
                list.len() == 1 && list.get(0).and_then(|word| word.as_str()) == Some("mcp")
            });
            if !(command && same) {
                old.insert("command", value(program));
                old.insert("args", value(args));
            }
        }
        None => {
            let mut table = Table::new();
            table.insert("command", value(program));
            table.insert("args", value(args));
            servers.insert(SERVER_NAME, Item::Table(table));
        }
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::install::McpClient;

    fn target(client: McpClient) -> ClientFile {
        client.target(None, Path::new("/project"), Path::new("/home")).unwrap()
    }

    #[test]
    fn every_client_gets_its_own_words() {
        let mut text = String::new();
        for client in McpClient::ALL {
            let target = target(client);
            let written = with_entry(&target, "", "spore").unwrap();
            text.push_str(&format!("== {client}: {}\n{written}\n", target.shown));
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn comments_and_order_stay_and_a_second_time_changes_nothing() {
        let old = "{\n    // mine\n    \"z\": 1,\n    \"mcpServers\": {\n        \"other\": { \"command\": \"x\" }, // keep\n    },\n    \"a\": [1,2]\n}\n";
        let cursor = target(McpClient::Cursor);
        let once = with_entry(&cursor, old, "spore").unwrap();
        assert!(once.contains("// mine") && once.contains("// keep"), "{once}");
        assert!(once.find("\"z\"").unwrap() < once.find("\"a\"").unwrap(), "{once}");
        assert_eq!(with_entry(&cursor, &once, "spore").unwrap(), once);
        let moved = with_entry(&cursor, &once, "/opt/spore").unwrap();
        assert!(moved.contains("/opt/spore") && !moved.contains("\"spore\", \"mcp\""), "{moved}");
        let toml = "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\" # keep\n";
        let codex = target(McpClient::Codex);
        let once = with_entry(&codex, toml, "spore").unwrap();
        assert!(once.starts_with(toml), "{once}");
        assert_eq!(with_entry(&codex, &once, "spore").unwrap(), once);
        assert_eq!(without_entry(&codex, &once).unwrap(), toml);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        let broken =
            with_entry(&target(McpClient::Claude), "{\n  \"a\": ,\n}", "spore").unwrap_err();
        assert!(broken.to_string().contains(".mcp.json:2:"), "{broken}");
        let strange = with_entry(&target(McpClient::Claude), "{\"mcpServers\": 3}", "spore");
        assert!(strange.unwrap_err().to_string().contains("mcpServers is not an object"));
        let broken =
            with_entry(&target(McpClient::Codex), "a = 1\nb = = 2\n", "spore").unwrap_err();
        assert!(broken.to_string().contains("config.toml:2:"), "{broken}");
        assert!(with_entry(&target(McpClient::Codex), "mcp_servers = 3\n", "spore").is_err());
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(text in "[{}\\[\\]\":,a-z/* \n#=.0-9]{0,60}") {
            for client in [McpClient::Claude, McpClient::Codex, McpClient::Opencode] {
                let target = target(client);
                if let Ok(written) = with_entry(&target, &text, "spore") {
                    prop_assert_eq!(with_entry(&target, &written, "spore").unwrap(), written.clone());
                    prop_assert!(without_entry(&target, &written).is_ok());
                }
            }
        }
    }
}
