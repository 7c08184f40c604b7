//! What somebody asks for, as terms.

use crate::terms::for_each_term;

/// The terms of a question, each once, in the order in which they came.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Query {
    pub terms: Vec<QueryTerm>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct QueryTerm {
    pub term: String,
    /// How much it counts: how often it was said, the first line counting more.
    pub weight: f64,
}

/// More words than this are a log or a file, and its beginning says what it is.
const MAX_TERMS: usize = 256;

impl Query {
    /// Reads a question. What its first line says counts `first_line` times.
    pub fn new(text: &str, first_line: f64) -> Self {
        let mut query = Self::default();
        let (first, rest) = text.trim_start().split_once('\n').unwrap_or((text, ""));
        query.add(first, first_line);
        query.add(rest, 1.0);
        query
    }

    fn add(&mut self, text: &str, weight: f64) {
        for_each_term(text, |term| {
            if let Some(known) = self.terms.iter_mut().find(|known| known.term == term) {
                known.weight += weight;
            } else if self.terms.len() < MAX_TERMS {
                self.terms.push(QueryTerm { term: term.to_owned(), weight });
            }
        });
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_its_words_and_the_first_line_counts_more() {
        let query = Query::new("fix the printer: print_path\n\nThe printer used print_path", 3.0);
        let terms: Vec<_> = query.terms.iter().map(|t| (t.term.as_str(), t.weight)).collect();
        assert_eq!(terms, [("printer", 4.0), ("print", 4.0), ("path", 4.0), ("#printpath", 4.0)]);
    }

    #[test]
    fn a_question_of_common_words_or_none_is_empty() {
        assert!(Query::new("", 3.0).is_empty() && Query::new("fix it", 3.0).is_empty());
        let words: String = (0..1000).map(|n| format!("word{n} ")).collect();
        assert_eq!(Query::new(&words, 1.0).terms.len(), MAX_TERMS);
    }
}
