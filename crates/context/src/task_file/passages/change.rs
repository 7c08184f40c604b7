//! What a verifier is told of a change: what it reaches, which tests exercise it, and what it
//! left alone.

use std::fmt::Write;

use super::{About, Draft, NAME_BYTES, listed, shown_path};
use crate::compiled::RankedFile;
use crate::impact::{Exercise, Impact, ImpactKind, RemovedItem, TouchedItem};
use crate::quoting::inline;

/// What is gone and still relied on is the likeliest mistake, so it comes first.
pub(super) fn reach(impact: &Impact) -> Vec<Draft> {
    let relied_on = |removed: &&RemovedItem| !removed.still_used_by.is_empty();
    let first = impact.removed.iter().filter(relied_on).map(removed_lines);
    let last = impact.removed.iter().filter(|removed| !relied_on(removed)).map(removed_lines);
    first.chain(impact.touched.iter().map(touched_lines)).chain(last).collect()
}

fn touched_lines(touched: &TouchedItem) -> Draft {
    let TouchedItem { how, item, users, more_users } = touched;
    let how = match how {
        ImpactKind::Changed => "changed",
        ImpactKind::Added => "new",
        ImpactKind::InChangedFile => "in a changed file",
    };
    let mut text = format!(
        "- {how}: {} `{}` ({}:{}-{})\n",
        item.kind,
        inline(&item.name, NAME_BYTES),
        shown_path(&item.path),
        item.first_line,
        item.last_line
    );
    if !users.is_empty() {
        let _ = write!(text, "  - used by {}", listed(users));
        if *more_users > 0 {
            let _ = write!(text, " and {more_users} more");
        }
        text.push('\n');
    }
    (text, std::iter::once(item).chain(users).flat_map(About::item).collect())
}

fn removed_lines(removed: &RemovedItem) -> Draft {
    let RemovedItem { item, still_used_by } = removed;
    let mut text = format!(
        "- gone: {} `{}` ({})\n",
        item.kind,
        inline(&item.name, NAME_BYTES),
        shown_path(&item.path)
    );
    if !still_used_by.is_empty() {
        let _ = writeln!(
            text,
            "  - was used by {}, which the change left as it was",
            listed(still_used_by)
        );
    }
    (text, std::iter::once(item).chain(still_used_by).flat_map(About::item).collect())
}

pub(super) fn exercises(impact: &Impact) -> Vec<Draft> {
    let line = |exercise: &Exercise| {
        let Exercise { test, exercises, touched } = exercise;
        let mut text = format!(
            "- `{}` ({}:{})",
            inline(&test.name, NAME_BYTES),
            shown_path(&test.path),
            test.first_line
        );
        if !exercises.is_empty() {
            let _ = write!(text, " exercises `{}`", inline(exercises, NAME_BYTES));
        }
        if *touched {
            text.push_str("; the change touched it");
        }
        text.push('\n');
        (text, About::item(test))
    };
    impact.tests.iter().map(line).collect()
}

/// Files that usually change along, then those that the task points at.
pub(super) fn untouched(impact: &Impact, ranked: &[RankedFile], most: usize) -> Vec<Draft> {
    let along = impact.companions.iter().map(|companion| {
        let text = format!(
            "- `{}`: usually changes together with `{}`\n",
            shown_path(&companion.path),
            shown_path(&companion.with)
        );
        (text, vec![About::File(companion.path.clone())])
    });
    let is_new = |file: &&RankedFile| {
        !impact.paths.contains(&file.path)
            && impact.companions.iter().all(|companion| companion.path != file.path)
    };
    let pointed_at = ranked.iter().take(most).filter(is_new).map(super::file_line);
    along.chain(pointed_at).collect()
}
