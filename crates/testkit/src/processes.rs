//! Finds what a session left running.

use std::path::Path;
use std::time::{Duration, Instant};

/// Returns the processes that carry a session token and belong below `dir`.
pub fn processes_below(dir: &Path) -> Vec<(i32, String)> {
    let mark = dir.display().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let environ = std::fs::read(entry.path().join("environ")).ok()?;
            let text = String::from_utf8_lossy(&environ);
            let ours = text.contains("SPORE_SESSION=") && text.contains(&mark);
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            ours.then(|| (pid, String::from_utf8_lossy(&command).replace('\0', " ")))
        })
        .collect()
}

/// Waits until no such process is left, and returns those that outlast the patience.
pub fn wait_until_none(dir: &Path, patience: Duration) -> Vec<(i32, String)> {
    let deadline = Instant::now() + patience;
    loop {
        let left = processes_below(dir);
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
