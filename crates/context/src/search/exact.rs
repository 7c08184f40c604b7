//! Whether something was named outright.

use spore_lexical::plain_name;
use spore_store::UnitRow;

use super::wanted::{Extent, WantedName, WantedPath, is_relative};

/// How exactly the question names something. A better one comes first, whatever the words say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) enum Exact {
    #[default]
    Not,
    /// A word of the question names it: worth more, but no more than that.
    Part,
    /// But for case and joints.
    Spelling,
    Name,
    /// With all that was said about where it is; a whole path.
    Qualified,
}

impl Exact {
    /// Returns how far it is lifted above what was only described.
    pub(super) fn rank(self) -> f32 {
        match self {
            Self::Not | Self::Part => 0.0,
            Self::Spelling => 1.0,
            Self::Name => 2.0,
            Self::Qualified => 3.0,
        }
    }
}

/// Judges an item that carries the name, in some spelling.
pub(super) fn of_item(wanted: &WantedName, row: &UnitRow, path: &str) -> Exact {
    let fits = fits_above(wanted, &row.qualified, path);
    let same = row.name == wanted.name;
    match wanted.extent {
        Extent::Part if fits => Exact::Part,
        Extent::Part => Exact::Not,
        Extent::Joined => Exact::Spelling,
        Extent::Whole => match (wanted.parents.is_empty(), fits, same) {
            (true, _, true) => Exact::Name,
            (false, true, true) => Exact::Qualified,
            (_, true, false) => Exact::Spelling,
            // It is called so, but somewhere else than was said.
            (_, false, _) => Exact::Part,
        },
    }
}

/// Returns whether everything that was said to hold the name does: what it is in, the innermost
/// first, and then its file and directories, of which some may be left out.
fn fits_above(wanted: &WantedName, qualified: &str, path: &str) -> bool {
    let mut above: Vec<String> = qualified.split("::").map(plain_name).collect();
    above.pop();
    let path = path.rsplit_once('.').map_or(path, |(path, _)| path);
    let mut all: Vec<String> = path.split('/').map(plain_name).collect();
    all.append(&mut above);
    let mut left = all.iter().rev();
    wanted
        .parents
        .iter()
        .rev()
        .filter(|parent| !is_relative(parent))
        .all(|parent| left.any(|known| known == parent))
}

/// Judges a file by its path.
pub(super) fn of_path(wanted: &[WantedPath], path: &str) -> Exact {
    let lower = path.to_lowercase();
    let stem = lower.rsplit_once('.').map_or(lower.as_str(), |(stem, _)| stem);
    // A directory's own file stands for it.
    let inside = ["/mod", "/__init__", "/index", "/lib", "/main"]
        .iter()
        .find_map(|own| stem.strip_suffix(own));
    let judge = |wanted: &WantedPath| {
        let exact = if wanted.as_module {
            let named = ends_with(stem, &wanted.path)
                || inside.is_some_and(|inside| ends_with(inside, &wanted.path));
            if named { Exact::Spelling } else { Exact::Not }
        } else if lower == wanted.path {
            Exact::Qualified
        } else if ends_with(&lower, &wanted.path) {
            Exact::Name
        } else if ends_with(stem, &wanted.path)
            || inside.is_some_and(|inside| ends_with(inside, &wanted.path))
        {
            Exact::Spelling
        } else {
            Exact::Not
        };
        match wanted.extent {
            Extent::Whole => exact,
            Extent::Part | Extent::Joined => exact.min(Exact::Part),
        }
    };
    wanted.iter().map(judge).max().unwrap_or_default()
}

/// Returns whether a path ends with whole parts of it.
fn ends_with(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::super::wanted::Wanted;
    use super::*;

    #[track_caller]
    fn item(query: &str, qualified: &str, path: &str, expected: Exact) {
        let wanted = Wanted::of(query);
        let name = qualified.rsplit("::").next().unwrap().to_owned();
        let row = UnitRow { no: 1, kind: "function".into(), name, qualified: qualified.into() };
        let found = wanted.names.iter().map(|name| of_item(name, &row, path)).max();
        assert_eq!(found.unwrap_or_default(), expected, "{query} {qualified}");
    }

    #[test]
    fn a_name_with_its_place_beats_a_name_and_that_another_spelling() {
        let path = "crates/searcher/src/searcher/mod.rs";
        item("Searcher::search_path", "Searcher::search_path", path, Exact::Qualified);
        item("searcher.search_path", "Searcher::search_path", path, Exact::Qualified);
        item("search_path", "Searcher::search_path", path, Exact::Name);
        item("searchPath", "Searcher::search_path", path, Exact::Spelling);
        item("search path", "Searcher::search_path", path, Exact::Spelling);
        item("Printer::search_path", "Searcher::search_path", path, Exact::Part);
    }

    #[test]
    fn modules_and_directories_hold_names_too() {
        let path = "src/flask/sessions.py";
        item("flask.sessions.SessionMixin", "SessionMixin", path, Exact::Qualified);
        item("crate::sessions::SessionMixin", "SessionMixin", path, Exact::Qualified);
        item("flask.SessionMixin.permanent", "SessionMixin::permanent", path, Exact::Qualified);
        item("flask.app.SessionMixin", "SessionMixin", path, Exact::Part);
    }

    #[track_caller]
    fn path(query: &str, path: &str, expected: Exact) {
        assert_eq!(of_path(&Wanted::of(query).paths, path), expected, "{query} {path}");
    }

    #[test]
    fn a_path_is_named_whole_by_its_end_or_as_a_module() {
        path("src/flask/app.py", "src/flask/app.py", Exact::Qualified);
        path("flask/app.py", "src/flask/app.py", Exact::Name);
        path("APP.PY", "src/flask/app.py", Exact::Name);
        path("pp.py", "src/flask/app.py", Exact::Not);
        path("flask.app", "src/flask/app.py", Exact::Spelling);
        path("app", "src/flask/app.py", Exact::Spelling);
        path("flask/json", "src/flask/json/__init__.py", Exact::Spelling);
        path("crate::flags", "crates/core/flags/mod.rs", Exact::Spelling);
        path("what is in app.py", "src/flask/app.py", Exact::Part);
    }
}
