//! The frame of an HTML page that stands by itself, and the one way for foreign text into it.

use std::borrow::Cow;

/// Returns one line of foreign text as HTML: nothing in it is markup, an escape sequence, or turns
/// the order of letters round.
pub fn text(foreign: &str) -> String {
    escaped(&crate::line(foreign))
}

/// The same for text of many lines.
pub fn block(foreign: &str) -> String {
    escaped(&crate::block(foreign))
}

fn escaped(plain: &str) -> String {
    let mut html = String::with_capacity(plain.len() + plain.len() / 8);
    for letter in plain.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            letter => html.push(letter),
        }
    }
    html
}

/// Puts a chart where it is moved sideways if the screen is narrow.
pub fn wide(chart: &str) -> String {
    match chart {
        "" => String::new(),
        _ => format!("<div class=\"wide\">{chart}</div>\n"),
    }
}

/// A table whose cells are HTML already.
pub struct HtmlTable {
    html: String,
}

impl HtmlTable {
    /// Begins a table. Columns whose name begins with `#` hold numbers.
    pub fn new(columns: &[&str]) -> Self {
        let heads = columns.iter().map(|name| match name.strip_prefix('#') {
            Some(name) => format!("<th class=\"number\" scope=\"col\">{name}</th>"),
            None => format!("<th scope=\"col\">{name}</th>"),
        });
        let heads: String = heads.collect();
        Self {
            html: format!("<div class=\"wide\"><table><thead><tr>{heads}</tr></thead><tbody>\n"),
        }
    }

    /// Adds a row; a cell is whether it is a number, and its HTML.
    pub fn row<'c>(&mut self, cells: impl IntoIterator<Item = (bool, Cow<'c, str>)>) {
        self.html.push_str("<tr>");
        for (is_number, cell) in cells {
            let class = if is_number { " class=\"number\"" } else { "" };
            self.html.push_str(&format!("<td{class}>{cell}</td>"));
        }
        self.html.push_str("</tr>\n");
    }

    pub fn end(self) -> String {
        self.html + "</tbody></table></div>\n"
    }
}

/// Returns the whole page. Its policy lets nothing be fetched and no script run, whatever a body
/// holds.
pub fn page(title: &str, body: &str) -> String {
    page_with(title, "", body)
}

/// Returns a page with a style of our own beside that of all pages.
pub fn page_with(title: &str, style: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
         </body>\n</html>\n",
        text(title)
    )
}

const STYLE: &str = include_str!("page.css");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_no_markup() {
        assert_eq!(
            text("<script>\u{1b}[2Jalert('1')</script>\u{202e}&\n\"x\""),
            "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp; &quot;x&quot;"
        );
        assert_eq!(block("a\n\u{7}</pre>"), "a\n&lt;/pre&gt;");
    }
}
