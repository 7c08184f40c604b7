//! Texts with holes: `{action}`, `{target}`, `{item}`, `{stage.NAME.artifact}`.

/// Returns the names in braces. Braces around anything but a lower-case word, or a name that begins
/// as one of data does, are just text.
pub(crate) fn holes(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase());
    let is_data = |name: &str| name.starts_with("stage.") || name.starts_with("phase.");
    let names = text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    names.filter(move |name| is_word(name) || is_data(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_names_of_data_are_holes_and_other_braces_are_text() {
        let text = "{a} {B} {} {cd} { {stage.A.artifact} {phase.} {\"a\": 1}";
        assert_eq!(holes(text).collect::<Vec<_>>(), ["a", "cd", "stage.A.artifact", "phase."]);
    }
}
