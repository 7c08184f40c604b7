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

use crate::reader::{Adapter, read_with};
use crate::{FileFacts, Language};

/// Reads a text in the way of its language.
pub(crate) fn read(path: &str, text: &str, language: Language) -> FileFacts {
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
            return read_with(&cpp::CPP, path, text, Language::Cpp);
        }
        Language::C => &c::C,
        Language::Cpp => &cpp::CPP,
        Language::CSharp => &csharp::CSHARP,
        Language::Ruby => &ruby::RUBY,
        Language::Php => &php::PHP,
        Language::Swift => &swift::SWIFT,
        Language::Scala => &scala::SCALA,
        Language::Bash => &bash::BASH,
        Language::Markdown | Language::Rst => return crate::document::read(path, text, language),
    };
    read_with(adapter, path, text, language)
}
