//! Takes an answer apart into fences, tagged calls, thoughts and prose, as CommonMark has fences: a
//! fence ends at a line of at least as many of its own marks and nothing else.

/// The tags between which some models are trained to write a call.
const TAG: &str = "<tool_call>";
const END_TAG: &str = "</tool_call>";

/// The tags between which reasoning models think, where a server leaves that in the answer.
const THOUGHT: &str = "<think>";
const END_THOUGHT: &str = "</think>";

pub(super) enum TextBlock<'a> {
    Fence(Fence<'a>),
    Tagged(Tagged<'a>),
    /// What the model only considered. Nothing in it is a call or was meant as one.
    Thought {
        line: usize,
    },
    Prose {
        line: usize,
        text: &'a str,
    },
}

pub(super) struct Fence<'a> {
    pub(super) line: usize,
    /// What follows the marks of the first line.
    pub(super) info: &'a str,
    pub(super) content: &'a str,
    pub(super) is_closed: bool,
    /// A line of the content begins like a fence, so that its end may be another's.
    pub(super) holds_fence: bool,
    /// It is indented, or made of tildes: where calls do not stand.
    pub(super) is_quoted: bool,
}

pub(super) struct Tagged<'a> {
    pub(super) line: usize,
    pub(super) content: &'a str,
    pub(super) is_closed: bool,
    /// Other text follows its end in the same line.
    pub(super) goes_on: bool,
}

impl TextBlock<'_> {
    pub(super) fn line(&self) -> usize {
        match self {
            Self::Fence(fence) => fence.line,
            Self::Tagged(tagged) => tagged.line,
            Self::Thought { line } | Self::Prose { line, .. } => *line,
        }
    }
}

/// The marks at the beginning of a line that may open or close a fence.
struct FenceMarks<'a> {
    indent: usize,
    mark: char,
    count: usize,
    rest: &'a str,
}

impl<'a> FenceMarks<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let body = line.trim_start_matches(' ');
        let mark = body.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = body.trim_start_matches(mark);
        let count = body.len() - rest.len();
        (count >= 3).then_some(Self { indent: line.len() - body.len(), mark, count, rest })
    }

    /// What follows the marks of a backtick fence has no backtick: else it is code in a line.
    fn opens(&self) -> bool {
        self.indent <= 3 && !(self.mark == '`' && self.rest.contains('`'))
    }

    fn closes(&self, open: &FenceMarks<'_>) -> bool {
        self.indent <= 3
            && self.mark == open.mark
            && self.count >= open.count
            && self.rest.trim().is_empty()
    }
}

/// Takes `text` apart. Every line of it is in exactly one block.
pub(super) fn blocks(text: &str) -> Vec<TextBlock<'_>> {
    let mut found = Vec::new();
    let lines: Vec<(usize, &str)> = lines(text).collect();
    let mut prose = 0;
    let mut at = 0;
    while at < lines.len() {
        let (start, line) = lines[at];
        let opened = match FenceMarks::of(line).filter(FenceMarks::opens) {
            Some(marks) => fence(text, &lines, at, &marks),
            None if line.starts_with(TAG) => tagged(text, &lines, at),
            None if line.trim_start().starts_with(THOUGHT) => thought(&lines, at),
            // Some templates put the opening tag into the prompt, so that only its end is here.
            None if line.trim() == END_THOUGHT => {
                found = vec![TextBlock::Thought { line: 1 }];
                at += 1;
                prose = at;
                continue;
            }
            None => {
                at += 1;
                continue;
            }
        };
        push_prose(&mut found, text, &lines, prose, start);
        let (block, next) = opened;
        found.push(block);
        at = next;
        prose = at;
    }
    push_prose(&mut found, text, &lines, prose, text.len());
    found
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line.trim_end_matches(['\n', '\r']))
    })
}

fn push_prose<'a>(
    found: &mut Vec<TextBlock<'a>>,
    text: &'a str,
    lines: &[(usize, &'a str)],
    from: usize,
    end: usize,
) {
    if let Some((start, _)) = lines.get(from)
        && *start < end
    {
        found.push(TextBlock::Prose { line: from + 1, text: &text[*start..end] });
    }
}

/// Returns the fence that the line `at` opens, and the line after it.
fn fence<'a>(
    text: &'a str,
    lines: &[(usize, &'a str)],
    at: usize,
    open: &FenceMarks<'a>,
) -> (TextBlock<'a>, usize) {
    let mut holds_fence = false;
    let mut end = at + 1;
    let mut is_closed = false;
    while let Some((_, line)) = lines.get(end) {
        if FenceMarks::of(line).is_some_and(|marks| marks.closes(open)) {
            is_closed = true;
            break;
        }
        // However far in: models differ in what they take for a fence.
        holds_fence |= FenceMarks::of(line.trim_start())
            .is_some_and(|marks| marks.mark == open.mark && marks.count >= open.count);
        end += 1;
    }
    let start_of = |line: usize| lines.get(line).map_or(text.len(), |(start, _)| *start);
    let fence = Fence {
        line: at + 1,
        info: open.rest.trim(),
        content: &text[start_of(at + 1)..start_of(end)],
        is_closed,
        holds_fence,
        is_quoted: open.indent > 0 || open.mark != '`',
    };
    (TextBlock::Fence(fence), end + usize::from(is_closed))
}

/// Returns what the tag of the line `at` opens, and the line after it.
fn tagged<'a>(text: &'a str, lines: &[(usize, &'a str)], at: usize) -> (TextBlock<'a>, usize) {
    let start = lines[at].0 + TAG.len();
    let (content, after) = match text[start..].find(END_TAG) {
        Some(length) => (&text[start..start + length], Some(start + length)),
        None => (&text[start..], None),
    };
    let next = match after {
        Some(after) => lines.iter().position(|(start, _)| *start > after).unwrap_or(lines.len()),
        None => lines.len(),
    };
    let end = lines.get(next).map_or(text.len(), |(start, _)| *start);
    let rest = after.map_or("", |after| &text[after + END_TAG.len()..end]);
    let is_closed = after.is_some();
    let goes_on = !rest.trim().is_empty();
    (TextBlock::Tagged(Tagged { line: at + 1, content, is_closed, goes_on }), next)
}

/// Returns the thought that the line `at` opens, and the line after it: that of its end, or none.
fn thought<'a>(lines: &[(usize, &'a str)], at: usize) -> (TextBlock<'a>, usize) {
    let ends = lines[at..].iter().position(|(_, line)| line.contains(END_THOUGHT));
    let next = ends.map_or(lines.len(), |ends| at + ends + 1);
    (TextBlock::Thought { line: at + 1 }, next)
}
