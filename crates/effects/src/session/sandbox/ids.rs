//! The ids of users and groups inside of a session, and which they are outside.

use std::fs;

use nix::sys::statvfs::{FsFlags, statvfs};

use super::mounts::{Made, SandboxRefusal};

/// Maps every id to itself: all that we know of if we are root, else our own alone. Root itself has
/// the id of a plain user inside: from the id 0 no program could make namespaces of its own (the
/// kernel wants a capability for a map of it, `verify_root_map` in kernel/user_namespace.c), and many
/// programs do more as root than we let them. To the kernel it is root as before, so what is root's
/// outside is the plain user's inside and the other way round.
pub(super) fn map_ids(pid: i32) -> Made<()> {
    let write = |name: &str, text: &str| {
        let path = format!("/proc/{pid}/{name}");
        fs::write(&path, text).map_err(|error| SandboxRefusal::new(format!("write {name}"), &error))
    };
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    if user.is_root() {
        // Namespaces inside are limited by a setting (see `super::root`). Where that is read-only, as in
        // some containers, root stays root inside and can make none.
        let settings = statvfs("/proc/sys");
        let may_exchange = settings.is_ok_and(|it| !it.flags().contains(FsFlags::ST_RDONLY));
        for name in ["uid_map", "gid_map"] {
            let outer = fs::read_to_string(format!("/proc/self/{name}"));
            let outer = outer.map_err(|error| SandboxRefusal::new("read own ids", &error))?;
            write(name, &mapped(&outer, may_exchange))?;
        }
        return Ok(());
    }
    write("uid_map", &format!("{user} {user} 1\n"))?;
    write("setgroups", "deny")?;
    write("gid_map", &format!("{group} {group} 1\n"))
}

/// The id that root has inside.
pub(super) const PLAIN_ID: u32 = 1000;

/// Turns a map of ids into one that maps what it knows to itself, but for 0 and [`PLAIN_ID`], which
/// change places if `may_exchange`. Where there is no such id, all are mapped to themselves.
fn mapped(outer: &str, may_exchange: bool) -> String {
    let ranges = outer.lines().filter_map(|line| {
        let mut words = line.split_whitespace().map(|word| word.parse::<u64>().ok());
        let (start, _, count) = (words.next()??, words.next()??, words.next()??);
        Some((start, start + count))
    });
    let ranges: Vec<(u64, u64)> = ranges.collect();
    let plain = u64::from(PLAIN_ID);
    let is_known = |id: u64| ranges.iter().any(|(start, end)| (*start..*end).contains(&id));
    let is_exchange = may_exchange && is_known(0) && is_known(plain);
    let others = if is_exchange { [0, plain] } else { [u64::MAX; 2] };
    let mut map = String::new();
    for (start, end) in ranges {
        let mut from = start;
        for (id, other) in others.into_iter().zip(others.into_iter().rev()) {
            if (from..end).contains(&id) {
                if from < id {
                    map.push_str(&format!("{from} {from} {}\n", id - from));
                }
                map.push_str(&format!("{id} {other} 1\n"));
                from = id + 1;
            }
        }
        if from < end {
            map.push_str(&format!("{from} {from} {}\n", end - from));
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_mapped_to_themselves_and_root_is_a_plain_user() {
        let whole = "         0          0 4294967295\n";
        assert_eq!(mapped(whole, true), "0 1000 1\n1 1 999\n1000 0 1\n1001 1001 4294966294\n");
        assert_eq!(
            mapped("0 100000 1001\n70000 1 2\n", true),
            "0 1000 1\n1 1 999\n1000 0 1\n70000 70000 2\n"
        );
        assert_eq!(mapped("0 0 1\n", true), "0 0 1\n");
        assert_eq!(mapped(whole, false), "0 0 4294967295\n");
        assert_eq!(mapped("0 5 1\n1000 7 1\n", true), "0 1000 1\n1000 0 1\n");
    }
}
