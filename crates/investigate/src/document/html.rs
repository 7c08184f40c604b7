//! The document as a page.

use std::collections::BTreeMap;

use spore_plain::page::{HtmlTable, block, page_with, text};
use tokei::LanguageType;

use super::treemap::{CellKind, HEIGHT, MapCell, MapRect, WIDTH, cells};
use super::{EntryStanding, InvestigationAccount, SaidOfPlace};
use crate::entry::EntryKind;
use crate::shown::{number_text, path_text, size_text};
use crate::tree::{Dir, File};

/// Languages that have a colour of their own, by how much of them there is.
const COLOURS: usize = 12;
/// Directories whose summaries stand in the list below the map.
const LISTED: usize = 3_000;
/// Bytes of a name in the map and of a summary in a panel.
const NAME_BYTES: usize = 80;
const SUMMARY_BYTES: usize = 8_000;

pub(super) fn page(account: &InvestigationAccount<'_>) -> String {
    let mut body = format!(
        "<p class=\"faint\">Investigation</p>\n<h1>{}</h1>\n{}<h2>In short</h2>\n{}",
        text(account.target),
        flags(account),
        brief(account)
    );
    body.push_str(&MapView::of(account).html());
    if let Some(said) = account.said.filter(|said| !said.detailed.trim().is_empty()) {
        let detailed = block(&said.detailed);
        body.push_str(&format!("<h2>In detail</h2>\n<pre class=\"task\">{detailed}</pre>\n"));
    }
    body.push_str(&directories(account));
    body.push_str(&languages(account));
    body.push_str("<h2>This investigation</h2>\n<dl class=\"facts\">\n");
    for (name, value) in &account.facts {
        body.push_str(&format!("<dt>{name}</dt><dd>{}</dd>\n", text(value)));
    }
    body.push_str("</dl>\n");
    for note in account.notes {
        body.push_str(&format!("<p class=\"faint\">{}</p>\n", text(note)));
    }
    page_with(&format!("{} · investigation", account.target), STYLE, &body)
}

fn flags(account: &InvestigationAccount<'_>) -> String {
    if account.flags.is_empty() {
        return String::new();
    }
    let mut html = "<h2>Flags</h2>\n<ul class=\"flags\">\n".to_owned();
    for flag in &account.flags {
        let kind = match flag.severity {
            "critical" => "bad",
            "concern" => "wait",
            _ => "open",
        };
        html.push_str(&format!(
            "<li><span class=\"badge {kind}\">{}</span> <code>{}</code> {}</li>\n",
            text(flag.severity),
            text(flag.path),
            text(flag.finding)
        ));
    }
    html + "</ul>\n"
}

fn brief(account: &InvestigationAccount<'_>) -> String {
    let brief = account.said.map_or(account.scan.brief.as_str(), |said| said.brief.as_str());
    format!("<p class=\"brief\">{}</p>\n", text(brief))
}

/// The tree as a map, and a panel for each rectangle of it.
struct MapView<'a> {
    account: &'a InvestigationAccount<'a>,
    cells: Vec<MapCell>,
    /// Where a language is among the colours.
    ranks: BTreeMap<LanguageType, usize>,
    names: Vec<&'static str>,
}

impl<'a> MapView<'a> {
    fn of(account: &'a InvestigationAccount<'a>) -> Self {
        let mut lines: BTreeMap<LanguageType, u64> = BTreeMap::new();
        for file in &account.tree.files {
            if let Some(language) = file.language {
                *lines.entry(language).or_default() += u64::from(file.lines).max(1);
            }
        }
        let mut most: Vec<(LanguageType, u64)> = lines.into_iter().collect();
        most.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        most.truncate(COLOURS);
        let names = most.iter().map(|(language, _)| language.name()).collect();
        let ranks =
            most.iter().enumerate().map(|(rank, (language, _))| (*language, rank)).collect();
        Self { account, cells: cells(account.tree), ranks, names }
    }

    fn html(&self) -> String {
        let mut html = String::from(
            "<h2 id=\"map\">Map</h2>\n<p class=\"faint\">A rectangle is as large as there are lines \
             to read in it. Choose what its colour tells; click it for what is known of it.</p>\n\
             <div class=\"maps\">\n",
        );
        for (at, (id, name)) in MODES.iter().enumerate() {
            let checked = if at == 0 { " checked" } else { "" };
            html.push_str(&format!(
                "<input type=\"radio\" name=\"by\" id=\"by-{id}\"{checked}><label for=\"by-{id}\">\
                 {name}</label>\n"
            ));
        }
        html.push_str(&self.legends());
        html.push_str(&format!(
            "<svg class=\"map\" viewBox=\"0 0 {WIDTH:.0} {HEIGHT:.0}\" role=\"img\" \
             aria-label=\"The tree as a map\">\n"
        ));
        for (number, cell) in self.cells.iter().enumerate() {
            html.push_str(&self.cell(number, cell));
        }
        html.push_str("</svg>\n</div>\n<div class=\"panels\">\n");
        for (number, cell) in self.cells.iter().enumerate() {
            html.push_str(&self.panel(number, cell));
        }
        html + "</div>\n"
    }

    fn legends(&self) -> String {
        let entry = |class: &str, name: &str| {
            format!("<span><i class=\"{class}\"></i>{}</span>", text(name))
        };
        let languages: String = self
            .names
            .iter()
            .enumerate()
            .map(|(at, name)| entry(&format!("l{at}"), name))
            .collect();
        let other = entry("lx", "other");
        let confidence: String =
            CONFIDENCE.iter().map(|(class, name)| entry(class, name)).collect();
        let standing: String = STANDING.iter().map(|(class, name)| entry(class, name)).collect();
        format!(
            "<p class=\"legend of-language\">{languages}{other}</p>\n<p class=\"legend \
             of-confidence\">{confidence}</p>\n<p class=\"legend of-standing\">{standing}</p>\n"
        )
    }

    fn cell(&self, number: usize, cell: &MapCell) -> String {
        let MapRect { x, y, width, height } = cell.rect;
        let is_frame = matches!(cell.kind, CellKind::Frame(_));
        let class = if is_frame { "frame".to_owned() } else { self.classes(cell.kind) };
        let name = self.name(cell.kind);
        let mut html = format!(
            "<a href=\"#p{number}\"><rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" \
             width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            (width - 0.6).max(0.4),
            (height - 0.6).max(0.4),
            text(&self.path(cell.kind))
        );
        // A letter takes about six units.
        let letters = ((width - 6.0) / 6.2).max(0.0) as usize;
        let has_room = if is_frame { height > 45.0 } else { height > 14.0 };
        if has_room && letters >= 4 {
            let shown = spore_plain::line_within(&name, letters.min(NAME_BYTES));
            let (x, y) = (x + 3.0, y + 11.5);
            html.push_str(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", text(&shown)));
        }
        html + "</a>\n"
    }

    fn said(&self, kind: CellKind) -> Option<&SaidOfPlace> {
        let path = self.path(kind);
        match kind {
            CellKind::Frame(_) | CellKind::Directory(_) | CellKind::Rest { .. } => {
                self.account.said_of(EntryKind::Directory, &path)
            }
            CellKind::File(_) => self.account.said_of(EntryKind::File, &path),
        }
    }

    /// What a rectangle's colours are, by each of the ways.
    fn classes(&self, kind: CellKind) -> String {
        let language = match kind {
            CellKind::File(at) => self.account.tree.files[at].language,
            CellKind::Frame(at)
            | CellKind::Directory(at)
            | CellKind::Rest { directory: at, .. } => self.language_of(&self.account.tree.dirs[at]),
        };
        let language = language.and_then(|language| self.ranks.get(&language));
        let language = language.map_or_else(|| "lx".to_owned(), |rank| format!("l{rank}"));
        // A file of which nothing is said by itself has the colour of its directory.
        let said = self.said(kind).or_else(|| match kind {
            CellKind::File(at) => {
                let tree = self.account.tree;
                let above = path_text(&tree.dirs[tree.files[at].dir].path);
                let above = if above.is_empty() { "." } else { &above };
                self.account.said_of(EntryKind::Directory, above)
            }
            _ => None,
        });
        let confidence = confidence_class(said.and_then(|said| said.confidence));
        let standing = standing_class(said.map(|said| said.standing));
        format!("{language} {confidence} {standing}")
    }

    /// The language that most lines right in a directory are in.
    fn language_of(&self, dir: &Dir) -> Option<LanguageType> {
        let mut lines: BTreeMap<LanguageType, u64> = BTreeMap::new();
        for file in &self.account.tree.files[dir.files.clone()] {
            if let Some(language) = file.language {
                *lines.entry(language).or_default() += u64::from(file.lines).max(1);
            }
        }
        lines.into_iter().max_by_key(|(_, count)| *count).map(|(language, _)| language)
    }

    fn path(&self, kind: CellKind) -> String {
        let tree = self.account.tree;
        let path = match kind {
            CellKind::File(at) => tree.path_of(&tree.files[at]),
            CellKind::Frame(at)
            | CellKind::Directory(at)
            | CellKind::Rest { directory: at, .. } => tree.dirs[at].path.clone(),
        };
        let path = path_text(&path);
        if path.is_empty() { ".".to_owned() } else { path }
    }

    fn name(&self, kind: CellKind) -> String {
        match kind {
            CellKind::Rest { files, .. } => format!("{} more", number_text(files as u64)),
            kind => {
                let path = self.path(kind);
                path.rsplit('/').next().unwrap_or(&path).to_owned()
            }
        }
    }

    fn panel(&self, number: usize, cell: &MapCell) -> String {
        let path = self.path(cell.kind);
        let tree = self.account.tree;
        let facts = match cell.kind {
            CellKind::File(at) => file_facts(&tree.files[at]),
            CellKind::Rest { files, directory } => {
                let all = directory_facts(&tree.dirs[directory]);
                format!("{} files of this directory; in all {all}", number_text(files as u64))
            }
            CellKind::Frame(at) | CellKind::Directory(at) => directory_facts(&tree.dirs[at]),
        };
        let said = self.said(cell.kind).map_or_else(
            || "<p class=\"faint\">No model has described it.</p>".to_owned(),
            said_html,
        );
        let above = match path.rsplit_once('/') {
            _ if path == "." => String::new(),
            above => self.above(above.map_or(".", |(above, _)| above)),
        };
        format!(
            "<section class=\"panel\" id=\"p{number}\"><a class=\"close\" href=\"#map\">close</a>\
             <h3><code>{}</code></h3><p class=\"faint\">{}</p>{said}{above}</section>\n",
            text(&path),
            text(&facts)
        )
    }

    /// A file's panel tells what its directory is.
    fn above(&self, path: &str) -> String {
        let Some(said) = self.account.said_of(EntryKind::Directory, path) else {
            return String::new();
        };
        format!(
            "<p class=\"faint\">In <code>{}</code>: {}</p>",
            text(path),
            text(&spore_plain::line_within(&said.summary, 400))
        )
    }
}

fn said_html(said: &SaidOfPlace) -> String {
    let sure =
        said.confidence.map_or_else(String::new, |sure| format!(", {:.0} % sure", sure * 100.0));
    let why = said.confidence_reason.as_deref().map_or_else(String::new, |why| {
        format!("<p class=\"faint\">{}</p>", text(&spore_plain::line_within(why, 400)))
    });
    format!(
        "<p class=\"faint\">{}{sure}</p><pre class=\"task\">{}</pre>{why}",
        said.standing.as_str(),
        block(&spore_plain::cut(&said.summary, SUMMARY_BYTES))
    )
}

fn file_facts(file: &File) -> String {
    let kind = crate::mime::mime_of(file);
    let lines = match file.lines {
        0 => String::new(),
        lines => format!(", {} lines", number_text(lines.into())),
    };
    format!("{}{lines}, {kind}", size_text(file.size))
}

fn directory_facts(dir: &Dir) -> String {
    let sums = &dir.sums;
    let (files, dirs) = (number_text(sums.files), number_text(sums.dirs));
    format!("{files} files in {dirs} directories below, {}", size_text(sums.bytes))
}

/// What is said of directories, to be read from top to bottom.
fn directories(account: &InvestigationAccount<'_>) -> String {
    let all = || account.places.iter().filter(|((kind, _), _)| *kind == EntryKind::Directory);
    let count = all().count();
    if count == 0 {
        return String::new();
    }
    let mut html = format!(
        "<h2>Directories</h2>\n<p class=\"faint\">{} are described.</p>\n",
        number_text(count as u64)
    );
    for ((_, path), said) in all().take(LISTED) {
        html.push_str(&format!(
            "<details><summary><code>{}</code> <span class=\"faint\">{}</span></summary>{}</details>\n",
            text(path),
            text(&spore_plain::line_within(&said.summary, 100)),
            said_html(said)
        ));
    }
    if let Some(more) = count.checked_sub(LISTED).filter(|more| *more > 0) {
        html.push_str(&format!("<p class=\"faint\">and {} more.</p>\n", number_text(more as u64)));
    }
    html
}

fn languages(account: &InvestigationAccount<'_>) -> String {
    if account.scan.languages.is_empty() {
        return String::new();
    }
    let mut table = HtmlTable::new(&["language", "#files", "#lines of code"]);
    for row in account.scan.languages.iter().take(30) {
        table.row([
            (false, text(&row.name).into()),
            (true, number_text(row.files).into()),
            (true, number_text(row.code).into()),
        ]);
    }
    format!("<h2>Languages</h2>\n{}", table.end())
}

const MODES: [(&str, &str); 3] =
    [("language", "Language"), ("confidence", "Confidence"), ("standing", "Staleness")];

const CONFIDENCE: [(&str, &str); 5] = [
    ("c4", "85 % and more"),
    ("c3", "70 to 85 %"),
    ("c2", "50 to 70 %"),
    ("c1", "less"),
    ("c0", "not described"),
];

fn confidence_class(confidence: Option<f64>) -> &'static str {
    match confidence {
        None => "c0",
        Some(sure) if sure >= 0.85 => "c4",
        Some(sure) if sure >= 0.7 => "c3",
        Some(sure) if sure >= 0.5 => "c2",
        Some(_) => "c1",
    }
}

const STANDING: [(&str, &str); 4] =
    [("s3", "up to date"), ("s2", "in part"), ("s1", "stale"), ("s0", "not described")];

fn standing_class(standing: Option<EntryStanding>) -> &'static str {
    match standing {
        None => "s0",
        Some(EntryStanding::Stale) => "s1",
        Some(EntryStanding::Partial) => "s2",
        Some(EntryStanding::Holds) => "s3",
    }
}

const STYLE: &str = include_str!("map.css");

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use spore_model::Timestamp;

    use super::super::{DocumentFlag, DocumentFormat};
    use super::*;
    use crate::passes::PassReport;
    use crate::{ReportInput, ScanLimits, ScanProgress, ScanReport, ScanScope, ScanWatch, Tree};

    struct Quiet;

    impl ScanWatch for Quiet {
        fn pass(&self, _: ScanProgress) {}

        fn is_over(&self) -> bool {
            false
        }
    }

    const HOSTILE: &str =
        "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\u{202e}`|\n# x";

    /// Writes a document about a tree whose names and summaries are hostile.
    fn document(format: DocumentFormat) -> String {
        let dir = tempfile::tempdir().unwrap();
        let hostile = dir.path().join("<script>alert(3)<");
        std::fs::create_dir(&hostile).unwrap();
        std::fs::write(hostile.join("\"onload=alert(4) x.rs"), "fn main() {}\n".repeat(40))
            .unwrap();
        std::fs::write(dir.path().join("big.py"), "x = 1\n".repeat(40_000)).unwrap();
        for at in 0..300 {
            std::fs::write(dir.path().join(format!("small{at}.txt")), "a\n").unwrap();
        }
        let limits = ScanLimits {
            depth: 3,
            width: 10,
            whole_bytes: 1 << 20,
            large_bytes: 1 << 20,
            large_lines: 1_000,
            recent: 1,
            top_directories: 1,
            listed: 1,
        };
        let scope = ScanScope::default();
        let tree = Tree::read(dir.path(), &scope, &limits, &Quiet).unwrap();
        let scan = ScanReport::of(
            &tree,
            &ReportInput {
                target: dir.path(),
                scope: &scope,
                limits: &limits,
                now: Timestamp::from_millis(0),
                every_file: false,
            },
        );
        let said = PassReport { brief: HOSTILE.to_owned(), detailed: HOSTILE.to_owned() };
        let of = |confidence: f64, standing| SaidOfPlace {
            summary: HOSTILE.to_owned(),
            confidence: Some(confidence),
            confidence_reason: Some(HOSTILE.to_owned()),
            standing,
        };
        let places = BTreeMap::from([
            ((EntryKind::Directory, ".".to_owned()), of(0.9, EntryStanding::Holds)),
            ((EntryKind::File, "big.py".to_owned()), of(0.4, EntryStanding::Stale)),
        ]);
        let flag = DocumentFlag { severity: "critical", path: "big.py", finding: HOSTILE };
        let account = InvestigationAccount {
            target: HOSTILE,
            tree: &tree,
            scan: &scan,
            said: Some(&said),
            flags: vec![flag],
            places: &places,
            facts: vec![("cost", "$0.10".to_owned())],
            notes: &[HOSTILE.to_owned()],
        };
        account.document(format)
    }

    #[test]
    fn nothing_foreign_acts_in_the_page() {
        let page = document(DocumentFormat::Html);
        // As words they may stand there; as markup, attributes and addresses they may not.
        for acting in ["<script", "<img", "\"onload", "href=\"http", "src=\"", "url("] {
            assert!(!page.contains(acting), "{acting}");
        }
        assert!(page.contains("default-src 'none'"));
        assert!(page.contains("&lt;script&gt;alert(3)&lt;"));
        assert!(!page.contains('\u{202e}'));
    }

    #[test]
    fn flags_come_first_and_each_rectangle_has_its_panel_and_its_three_colours() {
        let page = document(DocumentFormat::Html);
        let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("{what}"));
        assert!(at(">Flags<") < at(">In short<") && at(">In short<") < at(">Map<"));
        let links = page.matches("<a href=\"#p").count();
        assert_eq!(links, page.matches("<section class=\"panel\"").count());
        assert!(page.contains("c1 s1\""), "the stale file's");
        assert!(
            page.contains("300 files of this directory; in all "),
            "small files stand together"
        );
    }

    #[test]
    fn the_same_tree_gives_the_same_markdown_and_no_text_opens_a_section() {
        let text = document(DocumentFormat::Markdown);
        let sections: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
        assert_eq!(
            sections[1..],
            [
                "## Flags",
                "## In short",
                "## In detail",
                "## Languages",
                "## Places",
                "## This investigation"
            ]
        );
    }
}
