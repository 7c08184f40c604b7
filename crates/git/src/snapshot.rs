//! From the files of a checkout to a tree.
//!
//! A snapshot is a function of the files on disk, the base commit and the exclusions; the
//! index only saves reading files that did not change. What is tracked is what the base
//! tracks: neither an earlier snapshot nor anything the agent staged, committed or deleted
//! in its `.git` counts.
//!
//! Two kinds of path keep what the base has, whatever is on disk: excluded ones, and
//! submodules, whose content a checkout does not have. A file that would need the place of
//! one of these is left out.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use spore_model::{CommitId, TreeId};

use crate::checkout::{AttributesAre, Checkout, attributes};
use crate::command::{Git, is_sound, records};
use crate::listing::{Name, TreeEntry, TreeListing, below, parents};
use crate::repository::{text, tree_id};
use crate::survey::{Names, SurveyScope, SurveyedKind, survey};
use crate::{Exclusions, GitError};

/// How much a change may write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangeCaps {
    pub bytes: u64,
    pub files: u64,
}

impl ChangeCaps {
    pub const NONE: Self = Self { bytes: u64::MAX, files: u64::MAX };
}

/// What a snapshot is taken by.
struct SnapshotScope<'a> {
    base: &'a CommitId,
    listing: &'a TreeListing,
    exclusions: &'a Exclusions,
    caps: ChangeCaps,
}

impl Checkout {
    /// Stores the checkout's files, tracked or new and not ignored, and returns their tree.
    /// A ref has to keep the objects.
    pub fn snapshot(&self, base: &CommitId, exclusions: &Exclusions) -> Result<TreeId, GitError> {
        self.snapshot_within(base, exclusions, ChangeCaps::NONE)
    }

    /// Does the same with a change that is within `caps`. Of any other nothing is stored: it is
    /// [`GitError::Unstorable`].
    pub fn snapshot_within(
        &self,
        base: &CommitId,
        exclusions: &Exclusions,
        caps: ChangeCaps,
    ) -> Result<TreeId, GitError> {
        let _lock = self.enter()?;
        self.repository().make_work()?;
        self.recall_laid()?;
        let listing = &*self.repository().listing(base)?;
        let scope = SnapshotScope { base, listing, exclusions, caps };
        let checkout = self.with_attributes_of(base);
        let taken = match checkout.take(&scope) {
            // Of files that look untouched the index names objects that may have been pruned.
            Err(GitError::ObjectsGone { .. }) => {
                self.forget_index()?;
                checkout.take(&scope)
            }
            taken => taken,
        };
        taken.map_err(|error| self.blame(error))
    }

    fn take(&self, scope: &SnapshotScope<'_>) -> Result<TreeId, GitError> {
        let base = scope.listing;
        let kept = KeptPaths::of(base, scope.exclusions);
        let wanted = self.wanted(base, &kept, scope.exclusions)?;
        let mut indexed = self.indexed()?;
        if indexed.is_empty() {
            // It was lost. Without one every file would be new, and count for the caps.
            self.git("read a commit").args(["read-tree", scope.base.as_str()]).run()?;
            indexed = self.indexed()?;
        }
        self.correct_index(&indexed, base, &kept, &wanted)?;
        let call = |action| {
            let lying = self.attributes_lying(scope, &wanted)?;
            Ok::<_, GitError>(self.git_by(action, scope.base, lying))
        };
        self.hold_to(scope.caps, (&indexed, &wanted), &call)?;
        if let Err(error) = self.store(call("store files")?, &wanted) {
            if !self.open_up_files(&wanted) {
                return Err(error);
            }
            self.store(call("store files")?, &wanted)?;
        }
        let answer = self.git("store a tree").args(["write-tree"]).run()?;
        tree_id("store a tree", &answer)
    }

    /// Turns an error that the files are to blame for into one that says so.
    fn blame(&self, error: GitError) -> GitError {
        let named = |path: &Path| {
            let path = path.strip_prefix(self.dir()).unwrap_or(path).to_string_lossy();
            match path.char_indices().nth(200) {
                Some((end, _)) => format!("{}...", &path[..end]),
                None => path.into_owned(),
            }
        };
        let why = match &error {
            GitError::TooDeep { path } => format!("the path {} is too long", named(path)),
            GitError::Unusable { path } => format!("{} is no regular file", named(path)),
            GitError::Io { path, source } if path.starts_with(self.dir()) => match source.kind() {
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::InvalidFilename => {
                    format!("{}: {source}", named(path))
                }
                _ => return error,
            },
            GitError::Failed { action: "store files", complaint, .. }
                if !GitError::is_of_the_machine(complaint) =>
            {
                complaint.clone()
            }
            _ => return error,
        };
        GitError::Unstorable { why }
    }

    /// Says whose attributes lie in the checkout. Only an old git goes by them, so only then is
    /// it found out.
    fn attributes_lying(
        &self,
        scope: &SnapshotScope<'_>,
        wanted: &Names,
    ) -> Result<AttributesAre, GitError> {
        if is_sound() {
            return Ok(AttributesAre::TheSources);
        }
        let is_attributes = |name: &&Name| {
            name.rsplit(|byte| *byte == b'/').next() == Some(b".gitattributes".as_slice())
        };
        let of_base = attributes(scope.listing);
        if wanted.iter().filter(is_attributes).count() != of_base.len() {
            return Ok(AttributesAre::Others);
        }
        for (name, object) in of_base {
            let stored = self.git("read attributes").args(["cat-file", "blob", object]).run()?;
            if fs::read(below(self.dir(), name)).ok() != Some(stored.stdout) {
                return Ok(AttributesAre::Others);
            }
        }
        Ok(AttributesAre::TheSources)
    }

    /// Refuses what is beyond the caps, before anything of it is stored. As long as all files
    /// together are within them, or all that look changed, which of them changed does not matter.
    fn hold_to(
        &self,
        caps: ChangeCaps,
        (indexed, wanted): (&TreeListing, &Names),
        call: &dyn Fn(&'static str) -> Result<Git, GitError>,
    ) -> Result<(), GitError> {
        if caps == ChangeCaps::NONE || are_all_within(caps, self.dir(), wanted) {
            return Ok(());
        }
        let changed = || {
            let call = call("look for changes")?;
            let answer = call.args(["diff-files", "-z", "--name-only", "--diff-filter=d"]).run()?;
            let touched: Vec<Name> = records(&answer.stdout).map(<[u8]>::to_vec).collect();
            let untracked = wanted.iter().filter(|name| !indexed.contains(name));
            Ok::<_, GitError>(sized(self.dir(), untracked.chain(&touched)))
        };
        if changed()?.is_within(caps) {
            return Ok(());
        }
        // Looks into files that only look changed, and writes nothing but the index.
        call("look for changes")?.args(["update-index", "-q", "--refresh"]).answer()?;
        let size = changed()?;
        if size.is_within(caps) {
            return Ok(());
        }
        let largest = size.largest.map(|(name, bytes)| {
            format!("; the largest file is {} with {bytes} bytes", text(&name))
        });
        let why = format!(
            "the change writes {} files with {} bytes together, and {} files and {} bytes are \
             what `[commit] max_files` and `max_bytes` allow{}",
            size.files,
            size.bytes,
            caps.files,
            caps.bytes,
            largest.unwrap_or_default()
        );
        Err(GitError::Unstorable { why })
    }

    /// Gives Spore the right to read files that an agent took it off. Returns whether there were
    /// any.
    fn open_up_files(&self, wanted: &Names) -> bool {
        let mut opened = false;
        for name in wanted {
            let path = below(self.dir(), name);
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            let mode = metadata.permissions().mode();
            if metadata.is_file() && mode & 0o400 == 0 {
                let readable = Permissions::from_mode(mode | 0o400);
                opened |= fs::set_permissions(&path, readable).is_ok();
            }
        }
        opened
    }

    /// Returns what differs from the last snapshot because it is excluded: tracked files that were
    /// edited, and new ones that are not ignored, a directory of them as one with a `/` behind it.
    pub fn left_out(&self, exclusions: &Exclusions) -> Result<Vec<String>, GitError> {
        let _lock = self.enter()?;
        let call = self.git("look for changes");
        let edited = call.args(["diff-files", "-z", "--name-only"]).run()?;
        let call = self.git("look for new files");
        let new = call
            .args(["ls-files", "-z", "--others", "--exclude-standard", "--directory"])
            .args(["--no-empty-directory"])
            .run()?;
        let is_excluded = |name: &&[u8]| match name.strip_suffix(b"/") {
            Some(directory) => exclusions.excludes_directory(directory),
            None => exclusions.excludes_file(name),
        };
        let names = records(&edited.stdout).chain(records(&new.stdout)).filter(is_excluded);
        let mut names: Vec<String> = names.map(text).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Returns whether no tracked file was touched since the checkout was laid out or reset; what
    /// is new does not count. Where this is false a snapshot tells whether that means anything.
    pub fn looks_untouched(&self) -> Result<bool, GitError> {
        let _lock = self.enter()?;
        self.recall_laid()?;
        let call = self.git("look for changes");
        let call = call.args(["diff-files", "--quiet", "--ignore-submodules=all"]);
        let answer = call.answer()?;
        match answer.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(call.failure(&answer)),
        }
    }

    /// Returns the files whose content on disk is to be stored.
    fn wanted(
        &self,
        base: &TreeListing,
        kept: &KeptPaths<'_>,
        exclusions: &Exclusions,
    ) -> Result<Names, GitError> {
        let skip = |name: &[u8], kind: SurveyedKind| match kind {
            SurveyedKind::Foreign => true,
            SurveyedKind::File => exclusions.excludes_file(name) || kept.blocks(name),
            SurveyedKind::Directory => {
                exclusions.excludes_directory(name) || kept.names.contains(name)
            }
        };
        let scope =
            SurveyScope { is_own: true, skip: &skip, ignored: &|names| self.ignored(names) };
        let found = survey(self.dir(), base, &scope)?;
        let tracked = found.tracked.into_iter().filter(|name| !kept.names.contains(&name[..]));
        Ok(tracked.chain(found.untracked).collect())
    }

    /// Takes out of the index what is not wanted, and puts back what the base keeps.
    fn correct_index(
        &self,
        indexed: &TreeListing,
        base: &TreeListing,
        kept: &KeptPaths<'_>,
        wanted: &Names,
    ) -> Result<(), GitError> {
        let mut lines = Vec::new();
        for (name, entry) in indexed.iter() {
            if !wanted.contains(name) && !kept.names.contains(name) {
                lines.extend(removal_line(entry, name));
            }
        }
        for (name, entry) in base.iter() {
            if kept.names.contains(name) && indexed.get(name) != Some(entry) {
                lines.extend(index_line(entry.mode, entry.object, name));
            }
        }
        if !lines.is_empty() {
            let call = self.git("correct the index").stdin(lines);
            call.args(["update-index", "-z", "--index-info"]).run()?;
        }
        Ok(())
    }

    fn store(&self, call: Git, wanted: &Names) -> Result<(), GitError> {
        let mut names: Vec<&Name> = wanted.iter().collect();
        names.sort_unstable();
        let mut question = Vec::new();
        for name in names {
            question.extend_from_slice(name);
            question.push(0);
        }
        call.stdin(question).args(["update-index", "--add", "--remove", "-z", "--stdin"]).run()?;
        Ok(())
    }
}

/// What a number of files amount to.
#[derive(Default)]
struct WrittenSize {
    files: u64,
    bytes: u64,
    largest: Option<(Name, u64)>,
}

impl WrittenSize {
    fn is_within(&self, caps: ChangeCaps) -> bool {
        self.files <= caps.files && self.bytes <= caps.bytes
    }
}

/// Returns whether all of these files together are within the caps. The files of a large project
/// are looked at until they are not.
fn are_all_within(caps: ChangeCaps, root: &Path, names: &Names) -> bool {
    let mut left = (names.len() as u64 <= caps.files).then_some(caps.bytes);
    for name in names {
        let Some(bytes) = left else { return false };
        let size = fs::symlink_metadata(below(root, name)).map_or(0, |found| found.len());
        left = bytes.checked_sub(size);
    }
    left.is_some()
}

fn sized<'a>(root: &Path, names: impl Iterator<Item = &'a Name>) -> WrittenSize {
    let mut size = WrittenSize::default();
    for name in names {
        let bytes = fs::symlink_metadata(below(root, name)).map_or(0, |found| found.len());
        size.files += 1;
        size.bytes = size.bytes.saturating_add(bytes);
        if size.largest.as_ref().is_none_or(|(_, most)| bytes > *most) {
            size.largest = Some((name.clone(), bytes));
        }
    }
    size
}

/// Takes a path out of an index.
pub(crate) fn removal_line(entry: TreeEntry<'_>, name: &[u8]) -> Vec<u8> {
    index_line("0", &"0".repeat(entry.object.len()), name)
}

/// Sets what an index has at a path.
pub(crate) fn index_line(mode: &str, object: &str, name: &[u8]) -> Vec<u8> {
    let mut line = format!("{mode} {object}\t").into_bytes();
    line.extend_from_slice(name);
    line.push(0);
    line
}

/// The paths that stay as they are in the base.
struct KeptPaths<'a> {
    names: HashSet<&'a [u8]>,
    folders: HashSet<&'a [u8]>,
}

impl<'a> KeptPaths<'a> {
    fn of(base: &'a TreeListing, exclusions: &Exclusions) -> Self {
        let stays = base
            .iter()
            .filter(|(name, entry)| entry.is_submodule() || exclusions.excludes_file(name));
        let names: HashSet<&[u8]> = stays.map(|(name, _)| name).collect();
        let folders = names.iter().flat_map(|name| parents(name)).collect();
        Self { names, folders }
    }

    /// Returns whether a file here would take a kept path's place.
    fn blocks(&self, name: &[u8]) -> bool {
        self.names.contains(name)
            || self.folders.contains(name)
            || parents(name).any(|folder| self.names.contains(folder))
    }
}
