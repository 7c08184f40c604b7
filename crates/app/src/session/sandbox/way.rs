//! Names in a home that was kept from an earlier session, cleared for what is placed there.
//!
//! A session may have put anything at any name of its home: a file where a toolchain's directory
//! is mounted the next time, a link, a directory where a file is. No root could be made with that,
//! and the run would end with an error where the next bounce should be.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use spore_effects::files::{Beneath, WayFor};
use spore_effects::session::Confinement;

use crate::{Error, Result};

/// Clears `kept`, which stands in for `home`, for all that `confinement` places in it and for the
/// files of these names.
pub(super) fn make_way(
    kept: &Path,
    home: &Path,
    confinement: &Confinement,
    files: &[(PathBuf, PathBuf)],
) -> Result<()> {
    let failed = |source| Error::io(format!("cannot clear {}", kept.display()), source);
    // It may have closed the directory itself, too.
    let open = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(kept, open).map_err(failed)?;
    let beneath = Beneath::open(kept).map_err(failed)?;
    let Some(root) = &confinement.root else { return Ok(()) };
    let Confinement { read, keep, write, hide, .. } = confinement;
    let named = [&root.show, read, keep, write, hide].into_iter().flatten();
    let layered = root.layered.iter().map(|layered| &layered.at);
    let dirs = root.stand_ins.iter().map(|stand_in| &stand_in.at).chain(layered);
    let all = named.filter_map(|place| placed(place));
    let all = all.chain(dirs.map(|place| (place.as_path(), WayFor::Directory)));
    let inside = all.filter_map(|(place, kind)| Some((place.strip_prefix(home).ok()?, kind)));
    let files = files.iter().map(|(_, name)| (name.as_path(), WayFor::File));
    for (name, kind) in inside.chain(files).filter(|(name, _)| !name.as_os_str().is_empty()) {
        beneath.make_way(name, kind).map_err(failed)?;
    }
    Ok(())
}

/// Returns what has to be free for `place` to be seen in a root; nothing where it is not there.
fn placed(place: &Path) -> Option<(&Path, WayFor)> {
    match place.symlink_metadata().ok()? {
        // It is made anew where the name is free.
        found if found.is_symlink() => Some((place.parent()?, WayFor::Directory)),
        found if found.is_dir() => Some((place, WayFor::Directory)),
        _ => Some((place, WayFor::File)),
    }
}
