//! How long a session takes from the request until its program runs, by what holds it.
//!
//!     cargo run --release -p spore-effects --example session_start_bench [-- ROUNDS]
//!
//! Goal: under 40 ms with all layers, a network of its own and fifteen layered caches. The median and the
//! best of 50 starts are told, beside a plain start of the same program.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use spore_effects::session::{
    Confinement, Grace, LayeredPlace, SHIM_ARG, SandboxRoot, Shim, ShimPlan, StandIn, shim_main,
};
use spore_effects::{Ids, SystemClock};

const CACHES: u32 = 15;
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt"];
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

fn main() -> Result<(), Box<dyn Error>> {
    let word = std::env::args().nth(1).unwrap_or_default();
    if word == SHIM_ARG {
        std::process::exit(shim_main());
    }
    let rounds = word.parse().unwrap_or(50);
    let dir = tempfile::tempdir()?;
    for name in ["checkout", "home", "tmp"] {
        fs::create_dir(dir.path().join(name))?;
    }
    for number in 0..CACHES {
        fs::create_dir(dir.path().join(format!("cache-{number}")))?;
    }
    let mut plain = Vec::new();
    for _ in 0..rounds {
        let begin = Instant::now();
        let mut child = Command::new("/bin/true").spawn()?;
        plain.push(begin.elapsed());
        child.wait()?;
    }
    tell("a plain start", &mut plain);
    let written = vec![dir.path().join("checkout")];
    let fallback = Confinement { write: written, no_tcp: true, ..Confinement::default() };
    for (name, layers, confinement) in [
        ("a shim", 0, None),
        ("a shim with Landlock and a filter", 0, Some(fallback)),
        ("a root made anew", 0, Some(rooted(dir.path(), 0))),
        ("a root made anew with 15 layered caches", CACHES, Some(rooted(dir.path(), CACHES))),
    ] {
        let mut starts = Vec::new();
        for round in 0..rounds {
            let confinement = confinement.clone().map(|it| anew(it, dir.path(), round));
            starts.push(start(dir.path(), confinement)?);
        }
        tell(&format!("{name} ({layers} layers)"), &mut starts);
    }
    Ok(())
}

/// Changes go to a new place for each session, as in the product.
fn anew(mut confinement: Confinement, dir: &Path, round: u32) -> Confinement {
    for (number, layered) in confinement.root.iter_mut().flat_map(|it| &mut it.layered).enumerate()
    {
        layered.changes = dir.join(format!("changes/{round}/{number}"));
    }
    confinement
}

fn rooted(dir: &Path, caches: u32) -> Confinement {
    let layered = (0..caches).map(|number| {
        let at = dir.join(format!("cache-{number}"));
        LayeredPlace { lowers: vec![at.clone()], at, changes: PathBuf::new() }
    });
    let root = SandboxRoot {
        show: SYSTEM.iter().map(PathBuf::from).collect(),
        stand_ins: vec![StandIn { at: "/tmp".into(), dir: dir.join("tmp") }],
        layered: layered.collect(),
        own_network: true,
        ..SandboxRoot::default()
    };
    Confinement {
        write: vec![dir.join("checkout"), dir.join("home")],
        devices: DEVICES.iter().map(PathBuf::from).collect(),
        no_tcp: true,
        root: Some(root),
        ..Confinement::default()
    }
}

fn start(dir: &Path, confinement: Option<Confinement>) -> Result<Duration, Box<dyn Error>> {
    let plan = ShimPlan {
        token: Ids::random(Arc::new(SystemClock)).session_token(),
        program: "/bin/true".into(),
        args: Vec::new(),
        cwd: dir.join("checkout"),
        env: Vec::new(),
        grace: Grace { interrupt_ms: 1000, terminate_ms: 1000 },
        stdin: false,
        confinement,
    };
    let begin = Instant::now();
    let session = Shim::new(std::env::current_exe()?).prepare(&plan)?.go()?;
    let took = begin.elapsed();
    session.wait()?;
    Ok(took)
}

fn tell(name: &str, times: &mut [Duration]) {
    times.sort();
    let (Some(best), Some(median)) = (times.first(), times.get(times.len() / 2)) else { return };
    println!("{name:55} median {median:>9.2?}   best {best:>9.2?}");
}
