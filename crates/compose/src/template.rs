//! Texts with holes: `{action}` and `{target}`.

/// Returns the names in braces. Braces around anything but a lower-case word are just text.
pub(crate) fn holes(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |name: &&str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase());
    text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).filter(is_word)
}

/// Puts `values` into the holes of their names. What a value says is never a hole itself.
pub(crate) fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let found = after.split_once('}').and_then(|(name, tail)| {
            let value = values.iter().find(|(hole, _)| *hole == name)?.1;
            Some((value, tail))
        });
        match found {
            Some((value, tail)) => {
                filled.push_str(value);
                rest = tail;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let values = [("action", "PLAN"), ("target", "{action}")];
        assert_eq!(fill(text, &values), expected);
    }

    #[test]
    fn holes_are_filled_once_and_other_braces_stay() {
        check("{action} {target}", "PLAN {action}");
        check("{\"a\": {}} {", "{\"a\": {}} {");
        check("{{action}}", "{PLAN}");
        assert_eq!(holes("{a} {B} {} {cd} {").collect::<Vec<_>>(), ["a", "cd"]);
    }
}
