//! The real world, read once: environment, clock, ids, signals.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use spore_app::{Credentials, Error, Interrupt, Result, Surroundings};
use spore_effects::{Clock, FixedClock, Ids, Probe, SystemClock, programs};
use spore_model::{Fault, Timestamp};
use spore_plain::path;

use crate::commands::Global;

/// Returns whether a variable names the time zone.
#[expect(clippy::disallowed_methods, reason = "the environment comes in here")]
pub(crate) fn names_zone() -> bool {
    std::env::var_os("TZ").is_some()
}

/// Builds the surroundings of one command.
#[expect(clippy::disallowed_methods, reason = "the environment comes in here")]
pub(crate) fn read(global: &Global) -> Result<Surroundings> {
    let variables = texts(std::env::vars_os().filter_map(|(name, value)| {
        // A relative part means another directory in every checkout, and one that an agent fills.
        let is_path = name == "PATH";
        let value = if is_path { programs::without_relative_parts(&value)? } else { value };
        Some((name, value))
    }))?;
    let get = |name: &str| {
        let value = variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        value.filter(|value| !value.is_empty())
    };
    // Neither may be relative: what is kept would lie wherever the command was called.
    let raw = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let place = |name: &str| raw(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let xdg = |name: &str, below: &str| {
        let place = place(name).or_else(|| home.as_ref().map(|home| home.join(below)));
        place.map(|place| place.join("spore")).ok_or_else(|| {
            Error::new(Fault::Config, "there is no home directory to keep anything in")
                .hint(format!("set HOME or {name} to an absolute path"))
        })
    };
    let clock = clock(get("SPORE_TEST_CLOCK").as_deref())?;
    let ids = match get("SPORE_TEST_SEED").and_then(|seed| seed.parse().ok()) {
        Some(seed) => Ids::seeded(Arc::clone(&clock), seed),
        None => Ids::random(Arc::clone(&clock)),
    };
    let probe =
        Probe::armed(get("SPORE_EFFECTS_LOG").map(PathBuf::from), get("SPORE_KILL_AT").as_deref());
    let cwd = std::env::current_dir()
        .map_err(|source| Error::io("cannot read the current directory", source))?;
    let root = global.root.clone().or_else(|| raw(ROOT).map(PathBuf::from));
    let state_home = xdg("XDG_STATE_HOME", ".local/state")?;
    let mut closed = programs::project_around(&cwd);
    closed.extend(root.iter().flat_map(|root| programs::project_around(&cwd.join(root))));
    closed.push(state_home.clone());
    programs::close_off(closed);
    Ok(Surroundings {
        ids,
        clock,
        probe,
        exe: std::env::current_exe()
            .map_err(|source| Error::io("cannot find our own executable", source))?,
        credentials: Credentials::of(&variables, root.as_ref().unwrap_or(&cwd)),
        cwd,
        root,
        config_file: xdg("XDG_CONFIG_HOME", ".config")?.join("config.toml"),
        state_home,
        variables,
        interrupt: Interrupt::default(),
        starter: Some(Arc::new(spore_app::Starts)),
    })
}

/// Names the project; a path, which need not be text.
const ROOT: &str = "SPORE_ROOT";

/// Returns the variables that are text, which is all that a session is given. One of our own
/// that is no text is refused, lest a setting be passed over. Of PATH the directories count that
/// have names in text.
fn texts(variables: impl Iterator<Item = (OsString, OsString)>) -> Result<Vec<(String, String)>> {
    let mut texts = Vec::new();
    for (name, value) in variables {
        let Ok(name) = name.into_string() else { continue };
        match value.into_string() {
            Ok(value) => texts.push((name, value)),
            Err(value) if name == "PATH" => {
                let parts = std::env::split_paths(&value).map(PathBuf::into_os_string);
                let parts: Vec<String> = parts.filter_map(|part| part.into_string().ok()).collect();
                texts.push((name, parts.join(":")));
            }
            Err(value) if name.starts_with("SPORE_") && name != ROOT => {
                let message = format!("{name} is not UTF-8 text: {}", path(Path::new(&value)));
                return Err(Error::new(Fault::Usage, message).hint(format!("unset {name}")));
            }
            Err(_) => {}
        }
    }
    Ok(texts)
}

fn clock(fixed: Option<&str>) -> Result<Arc<dyn Clock>> {
    match fixed {
        None => Ok(Arc::new(SystemClock)),
        Some(text) => {
            let time: Timestamp = text.parse().map_err(|error| {
                Error::new(Fault::Usage, "SPORE_TEST_CLOCK cannot be read").because(error)
            })?;
            Ok(Arc::new(FixedClock(time)))
        }
    }
}

/// Lets Ctrl-C, a polite TERM and a terminal that is closed park the run; a second one ends us at once, and then the
/// shims end what they started.
pub(crate) fn listen_for_signals(interrupt: &Interrupt) -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let failed = |source| Error::io("cannot listen for signals", source);
    let hang_up = Some(SIGHUP).filter(|_| !is_hang_up_ignored());
    for signal in [SIGINT, SIGTERM].into_iter().chain(hang_up) {
        signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(spore_model::Outcome::Interrupted.exit_code()),
            interrupt.flag(),
        )
        .map_err(failed)?;
        signal_hook::flag::register(signal, interrupt.flag()).map_err(failed)?;
    }
    Ok(())
}

/// Returns whether we were started to outlive the terminal, as `nohup` does.
fn is_hang_up_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    // Signals count from one.
    mask.is_some_and(|mask| mask & (1 << (signal_hook::consts::SIGHUP - 1)) != 0)
}
