//! A block of ours in a file that is another owner's.
//!
//! Everything outside of the two markers stays as it is, to the byte: there may be anything. What
//! stands between them is ours to replace. A file whose markers do not pair is not touched.

use std::ops::Range;

/// Markers that do not pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadMarkers {
    #[error("it has the marker of a block's begin and none of its end, or the other way round")]
    Unpaired,
    #[error("it has more than one block of that name")]
    Several,
}

fn begin(name: &str) -> String {
    format!("<!-- spore:{name}:begin -->")
}

fn end(name: &str) -> String {
    format!("<!-- spore:{name}:end -->")
}

/// Where a block is: from its first marker to behind its last one, and what is between.
struct FoundBlock {
    whole: Range<usize>,
    inner: Range<usize>,
}

fn find(text: &str, name: &str) -> Result<Option<FoundBlock>, BadMarkers> {
    let (open, close) = (begin(name), end(name));
    let (opened, closed) = (text.matches(&open).count(), text.matches(&close).count());
    if (opened, closed) == (0, 0) {
        return Ok(None);
    }
    if opened > 1 || closed > 1 {
        return Err(BadMarkers::Several);
    }
    let (Some(from), Some(to)) = (text.find(&open), text.find(&close)) else {
        return Err(BadMarkers::Unpaired);
    };
    let inner = from + open.len();
    if inner > to {
        return Err(BadMarkers::Unpaired);
    }
    Ok(Some(FoundBlock { whole: from..to + close.len(), inner: inner..to }))
}

/// Returns what stands in the block; nothing where there is none.
pub fn block<'t>(text: &'t str, name: &str) -> Result<Option<&'t str>, BadMarkers> {
    Ok(find(text, name)?.map(|found| text[found.inner].trim_matches('\n')))
}

/// Returns the text without the block and what it holds.
pub fn without_block(text: &str, name: &str) -> Result<String, BadMarkers> {
    Ok(match find(text, name)? {
        Some(FoundBlock { whole, .. }) => {
            format!("{}{}", &text[..whole.start], &text[whole.end..])
        }
        None => text.to_owned(),
    })
}

/// Puts `content` into the block; where there is none, it is made at the end. An end of the file
/// without a newline gets one first.
pub fn put_block(text: &str, name: &str, content: &str) -> Result<String, BadMarkers> {
    let content = content.trim_matches('\n');
    let inside = if content.is_empty() { "\n".to_owned() } else { format!("\n{content}\n") };
    if let Some(FoundBlock { inner, .. }) = find(text, name)? {
        return Ok(format!("{}{inside}{}", &text[..inner.start], &text[inner.end..]));
    }
    let gap = match text {
        "" => "",
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    Ok(format!("{text}{gap}{}{inside}{}\n", begin(name), end(name)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_block_is_made_at_the_end_and_replaced_where_it_stands() {
        let made = put_block("# Mine\n", "memory", "- One").unwrap();
        assert_eq!(
            made,
            "# Mine\n\n<!-- spore:memory:begin -->\n- One\n<!-- spore:memory:end -->\n"
        );
        let moved = format!("{made}\n## After\n");
        let again = put_block(&moved, "memory", "- Two\n- Three\n").unwrap();
        assert_eq!(block(&again, "memory"), Ok(Some("- Two\n- Three")));
        assert!(again.starts_with("# Mine\n\n") && again.ends_with("end -->\n\n## After\n"));
        assert_eq!(block("# Mine\n", "memory"), Ok(None));
        assert_eq!(
            put_block("", "x", "").as_deref(),
            Ok("<!-- spore:x:begin -->\n<!-- spore:x:end -->\n")
        );
    }

    #[test]
    fn markers_that_do_not_pair_are_left_alone() {
        let (open, close) = (begin("memory"), end("memory"));
        for (text, expected) in [
            (open.clone(), BadMarkers::Unpaired),
            (close.clone(), BadMarkers::Unpaired),
            (format!("{close}\n{open}"), BadMarkers::Unpaired),
            (format!("{open}\n{open}\n{close}"), BadMarkers::Several),
            (format!("{open}{close}{open}{close}"), BadMarkers::Several),
        ] {
            assert_eq!(put_block(&text, "memory", "x"), Err(expected), "{text}");
            assert_eq!(block(&text, "memory"), Err(expected), "{text}");
            assert!(put_block(&text, "other", "x").is_ok());
        }
    }

    proptest! {
        /// Whatever surrounds a block, and whatever is put into it, the rest is as it was.
        #[test]
        fn what_is_outside_of_the_markers_stays_to_the_byte(
            before in "(?s).{0,60}", after in "(?s).{0,60}",
            first in "[^<]{0,40}", second in "[^<]{0,40}",
        ) {
            let file = format!("{before}{}\n{first}\n{}{after}", begin("memory"), end("memory"));
            let put = put_block(&file, "memory", &second).unwrap();
            let (open, close) = (begin("memory"), end("memory"));
            let (head, foot) = (format!("{before}{open}"), format!("{close}{after}"));
            prop_assert!(put.starts_with(&head));
            prop_assert!(put.ends_with(&foot));
            prop_assert_eq!(block(&put, "memory").unwrap().unwrap(), second.trim_matches('\n'));
            prop_assert_eq!(&put_block(&put, "memory", &second).unwrap(), &put);
            prop_assert_eq!(without_block(&put, "memory").unwrap(), format!("{before}{after}"));
            // One that is new is added behind everything.
            let text = format!("{before}{after}");
            let added = put_block(&text, "memory", &first).unwrap();
            prop_assert!(added.starts_with(&text));
        }
    }
}
