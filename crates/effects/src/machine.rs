//! What the machine has to offer: room on its disks, places to write, a sandbox.
//!
//! Questions only. Each is one system call and changes nothing.

use std::io;
use std::path::Path;

use nix::libc;
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

/// Returns how many bytes this user can still write at `path`, or where it would be made.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = statvfs(nearest(path))?;
    Ok(found.blocks_available().saturating_mul(found.fragment_size()))
}

/// Says why nothing could be made in the directory `path`, or in what there is above it.
pub fn check_writable(path: &Path) -> io::Result<()> {
    let place = nearest(path);
    if !place.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(access(place, AccessFlags::W_OK | AccessFlags::X_OK)?)
}

/// Returns the version of the kernel's Landlock; `None` where it has none or it is off.
#[expect(unsafe_code, reason = "nix has no wrapper for this call")]
pub fn landlock_abi() -> Option<u32> {
    /// `LANDLOCK_CREATE_RULESET_VERSION`: makes no rule set, only tells the version.
    const VERSION: libc::c_uint = 1;
    let nothing: *const libc::c_void = std::ptr::null();
    // SAFETY: with this flag the kernel wants a null pointer and a size of zero, and reads
    // and writes no memory of ours.
    let answer = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0 as libc::size_t, VERSION)
    };
    u32::try_from(answer).ok().filter(|version| *version > 0)
}

/// Returns the number of the user that this process acts for.
pub fn user() -> u32 {
    nix::unistd::geteuid().as_raw()
}

/// Returns `path` or the nearest directory above it that is there.
fn nearest(path: &Path) -> &Path {
    path.ancestors().find(|place| place.exists()).unwrap_or(Path::new("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_not_there_yet_is_judged_by_what_is_above_it() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("a/b/c");
        assert!(check_writable(&place).is_ok());
        assert_eq!(free_bytes(&place).unwrap() > 0, free_bytes(dir.path()).unwrap() > 0);
        assert!(!dir.path().join("a").exists());
    }

    #[test]
    fn a_file_is_no_place_to_write_in() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = check_writable(&file.join("below")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn the_kernel_says_the_same_every_time() {
        assert_eq!(landlock_abi(), landlock_abi());
    }
}
