//! Output that fits.

/// The beginning and the end of output that may have no end.
pub(crate) struct Ends {
    head: Vec<u8>,
    tail: std::collections::VecDeque<u8>,
    cap: usize,
    left_out: u64,
}

impl Ends {
    /// Keeps a quarter of `cap` for what came first; the summary of a talkative program is in
    /// its last lines.
    pub(crate) fn new(cap: usize) -> Self {
        Self { head: Vec::new(), tail: std::collections::VecDeque::new(), cap, left_out: 0 }
    }

    pub(crate) fn append(&mut self, output: &[u8]) {
        let room = (self.cap / 4).saturating_sub(self.head.len()).min(output.len());
        let (head, rest) = output.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(self.cap - self.cap / 4);
        self.tail.drain(..excess);
        self.left_out += excess as u64;
    }

    pub(crate) fn text(&self) -> String {
        let (one, other) = self.tail.as_slices();
        let tail = [one, other].concat();
        if self.left_out == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        format!("{head}\n[… {} bytes left out …]\n{tail}", self.left_out)
    }
}

/// Returns `text` with at most about `most` bytes: its beginning and, longer, its end.
pub fn both_ends(text: &str, most: usize) -> String {
    let mut ends = Ends::new(most);
    ends.append(text.as_bytes());
    ends.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_keeps_its_beginning_and_its_end() {
        let mut ends = Ends::new(8);
        for byte in b"abcdefghijkl" {
            ends.append(&[*byte]);
        }
        assert_eq!(ends.text(), "ab\n[… 4 bytes left out …]\nghijkl");
        let mut whole = Ends::new(8);
        whole.append(b"abcdefgh");
        assert_eq!(whole.text(), "abcdefgh");
    }
}
