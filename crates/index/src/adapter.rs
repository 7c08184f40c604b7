//! One module a language: which nodes of its tree are items, uses and imports.

mod bash;
mod c;
mod comments;
mod cpp;
mod csharp;
mod go;
mod java;
mod kotlin;
mod locals;
mod php;
mod python;
mod ruby;
mod rust;
mod scala;
mod swift;
mod table;
mod typescript;

use tree_sitter::Tree;

use crate::reader::{Adapter, read_with};
use crate::{FileFacts, Language};

/// Reads a text in the way of its language.
pub(crate) fn read(path: &str, text: &str, language: Language) -> FileFacts {
    let read = |adapter: &dyn Adapter, language| Some(read_with(adapter, path, text, language));
    let facts = with_adapter(path, text, language, read);
    facts.unwrap_or_else(|| crate::document::read(path, text, language))
}

/// Returns the tree of a text; nothing for a document, or if it takes too much.
pub(crate) fn tree(path: &str, text: &str, language: Language) -> Option<Tree> {
    with_adapter(path, text, language, |adapter, language| {
        crate::parse::parse(adapter, text, language)
    })
}

/// Hands `act` who reads the text's language, and which that is. Documents have no such reader.
fn with_adapter<T>(
    path: &str,
    text: &str,
    language: Language,
    act: impl FnOnce(&dyn Adapter, Language) -> Option<T>,
) -> Option<T> {
    let adapter: &dyn Adapter = match language {
        Language::Rust => &rust::Rust,
        Language::Go => &go::Go::default(),
        Language::TypeScript | Language::Tsx | Language::JavaScript => {
            &typescript::TypeScript::new(language)
        }
        Language::Python => &python::Python,
        Language::Java => &java::JAVA,
        Language::Kotlin => &kotlin::KOTLIN,
        Language::C if path.ends_with(".h") && cpp::is_likely(text) => {
            return act(&cpp::CPP, Language::Cpp);
        }
        Language::C => &c::C,
        Language::Cpp => &cpp::CPP,
        Language::CSharp => &csharp::CSHARP,
        Language::Ruby => &ruby::RUBY,
        Language::Php => &php::PHP,
        Language::Swift => &swift::SWIFT,
        Language::Scala => &scala::SCALA,
        Language::Bash => &bash::BASH,
        Language::Markdown | Language::Rst => return None,
    };
    act(adapter, language)
}
