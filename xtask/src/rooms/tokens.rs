//! Finds what looks like a path in tokens that `syn` has no tree for: those of macro calls and
//! of attributes.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Something that names an item, with its line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Path(Vec<String>, usize),
    Name(String, usize),
    /// `name(...)` or `name!`
    Called(String, usize),
    /// `self.name(...)`
    MethodOfSelf(String, usize),
}

/// What the string literals among the tokens are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Strings {
    AreText,
    /// As in `#[serde(with = "crate::time::millis")]`.
    MayBePaths,
}

pub(super) fn search(tokens: TokenStream, strings: Strings) -> Vec<Found> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => found.extend(search(group.stream(), strings)),
            TokenTree::Ident(_) => {
                at = name(&tokens, at, &mut found);
                continue;
            }
            TokenTree::Literal(literal) if strings == Strings::MayBePaths => {
                let text = literal.to_string();
                let path: Vec<String> =
                    text.trim_matches('"').split("::").map(str::to_owned).collect();
                if path.len() > 1 {
                    found.push(Found::Path(path, literal.span().start().line));
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Reads the path that starts at `start`, and returns where to go on.
fn name(tokens: &[TokenTree], start: usize, found: &mut Vec<Found>) -> usize {
    let line = tokens[start].span().start().line;
    let mut segments = vec![text(&tokens[start])];
    let mut at = start + 1;
    while is_punct(tokens, at, ':') && is_punct(tokens, at + 1, ':') {
        match tokens.get(at + 2) {
            Some(TokenTree::Ident(ident)) => segments.push(ident.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                imported(&segments, group.stream(), found);
                return at + 3;
            }
            _ => break,
        }
        at += 3;
    }
    if !stands_alone(tokens, start) {
        return at;
    }
    let is_called = is_punct(tokens, at, '!') || is_parenthesis(tokens, at);
    if segments.len() > 1 {
        found.push(Found::Path(segments, line));
    } else if segments[0] == "self" {
        if is_punct(tokens, at, '.')
            && let Some(TokenTree::Ident(method)) = tokens.get(at + 1)
            && is_parenthesis(tokens, at + 2)
        {
            found.push(Found::MethodOfSelf(method.to_string(), line));
        }
    } else if is_called {
        found.push(Found::Called(segments.remove(0), line));
    } else {
        found.push(Found::Name(segments.remove(0), line));
    }
    at
}

/// The paths of `prefix::{a, b::c, d as e}`, which only a `use` inside of a macro can have.
fn imported(prefix: &[String], group: TokenStream, found: &mut Vec<Found>) {
    let tokens: Vec<TokenTree> = group.into_iter().collect();
    for part in
        tokens.split(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ','))
    {
        let mut path = prefix.to_vec();
        let Some(first) = part.first() else { continue };
        let line = first.span().start().line;
        for token in part {
            match token {
                TokenTree::Ident(ident) if ident == "as" => break,
                TokenTree::Ident(ident) if ident == "self" => {}
                TokenTree::Ident(ident) => path.push(ident.to_string()),
                TokenTree::Group(group) => imported(&path, group.stream(), found),
                _ => {}
            }
        }
        found.push(Found::Path(path, line));
    }
}

/// Whether the name is not a field, a lifetime, a macro's variable or the rest of a path.
fn stands_alone(tokens: &[TokenTree], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return true };
    if is_punct(tokens, before, '$') {
        return text(&tokens[at]) == "crate";
    }
    let is_range = before > 0 && is_punct(tokens, before, '.') && is_punct(tokens, before - 1, '.');
    let follows_path =
        before > 0 && is_punct(tokens, before, ':') && is_punct(tokens, before - 1, ':');
    !follows_path && !is_punct(tokens, before, '\'') && (is_range || !is_punct(tokens, before, '.'))
}

fn is_punct(tokens: &[TokenTree], at: usize, mark: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

fn is_parenthesis(tokens: &[TokenTree], at: usize) -> bool {
    let Some(TokenTree::Group(group)) = tokens.get(at) else { return false };
    group.delimiter() == Delimiter::Parenthesis
}

fn text(token: &TokenTree) -> String {
    let text = token.to_string();
    text.strip_prefix("r#").map(str::to_owned).unwrap_or(text)
}
