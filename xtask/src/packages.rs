//! What Spore is built from: how many packages, from where, under which licences, and which of
//! them are not needed.
//!
//! `cargo deny` and `cargo machete` ask the same questions. They are not used: to build the first
//! takes longer than all of Spore, and a tool that has to be downloaded is one that is missing where
//! there is no network. `cargo metadata` and `Cargo.lock` know the answers. Known vulnerabilities
//! are not looked for, because the list of them is on the network only.

mod licences;
mod unused;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use cargo_metadata::{CargoOpt, DependencyKind, Metadata, MetadataCommand, Package};

/// How many packages `Cargo.lock` may hold: a few more than it does. To raise it is a decision.
const MOST_PACKAGES: usize = 339;

/// Where packages come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Packages that must not be built in, each with what is used instead.
const BANNED: &[(&str, &str)] = &[
    ("native-tls", "rustls speaks TLS, without a library of the system"),
    ("openssl-sys", "rustls speaks TLS, without a library of the system"),
    ("reqwest", "ureq asks over HTTP, without an async runtime"),
];

/// Packages that only some of our crates may use, because these hide them from the others.
const OWNED: &[(&str, &[&str])] = &[
    ("hyper", &["spore-mcp"]),
    ("rmcp", &["spore-mcp"]),
    ("rusqlite", &["spore-store"]),
    ("tokio", &["spore-mcp"]),
    ("tree-sitter", &["spore-index", "spore-proof"]),
    ("ureq", &["spore-agent", "spore-app"]),
];

/// Packages of which two versions are built in for now, because others ask for different ones.
/// Those for Windows are not built at all.
const TWICE: &[&str] = &[
    "bitflags",
    "getrandom",
    "hashbrown",
    "rand",
    "rand_core",
    "syn",
    "thiserror",
    "thiserror-impl",
    "toml_datetime",
    "winnow",
];

/// Looks at everything that this module knows about, and returns what is wrong.
pub(crate) fn faults(workspace: &Path) -> Result<Vec<String>, String> {
    let lock = std::fs::read_to_string(workspace.join("Cargo.lock"))
        .map_err(|error| format!("Cargo.lock: {error}"))?;
    let compiler = said("rustc", &["-vV"])?;
    let mut faults = faults_of_lock(&locked(&lock));
    let metadata = MetadataCommand::new()
        .current_dir(workspace)
        .features(CargoOpt::AllFeatures)
        .other_options(vec!["--filter-platform".to_owned(), host(&compiler).to_owned()])
        .exec()
        .map_err(|error| error.to_string())?;
    let ours: Vec<&Package> =
        metadata.packages.iter().filter(|package| package.source.is_none()).collect();
    faults.extend(faults_of_licences(&metadata));
    for package in ours {
        faults.extend(faults_of_owners(package));
        faults.extend(faults_of_version(package, release(&compiler))?);
        faults.extend(unused::faults(package)?);
    }
    Ok(faults)
}

/// One package of `Cargo.lock`.
#[derive(Debug, PartialEq, Eq)]
struct Locked<'a> {
    name: &'a str,
    source: Option<&'a str>,
}

fn locked(lock: &str) -> Vec<Locked<'_>> {
    let packages = lock.split("[[package]]").skip(1);
    packages
        .filter_map(|entry| {
            Some(Locked { name: value(entry, "name")?, source: value(entry, "source") })
        })
        .collect()
}

/// The text of a line `key = "text"`.
fn value<'a>(entry: &'a str, key: &str) -> Option<&'a str> {
    let line = entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
    line.strip_suffix('"')
}

fn faults_of_lock(packages: &[Locked<'_>]) -> Vec<String> {
    let mut faults = Vec::new();
    let count = packages.len();
    if count > MOST_PACKAGES {
        faults.push(format!("Cargo.lock has {count} packages, and {MOST_PACKAGES} are the most"));
    }
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for Locked { name, source } in packages {
        *versions.entry(name).or_default() += 1;
        if source.is_some_and(|source| source != REGISTRY) {
            faults.push(format!("{name} is not from crates.io"));
        }
        if let Some((_, instead)) = BANNED.iter().find(|(banned, _)| banned == name) {
            faults.push(format!("{name} is banned: {instead}"));
        }
    }
    for (name, count) in versions {
        let is_known = TWICE.contains(&name) || name.starts_with("windows");
        if count > 1 && !is_known {
            faults.push(format!("{name} is there in {count} versions"));
        } else if count == 1 && is_known && !name.starts_with("windows") {
            faults.push(format!("{name} is there in one version: take it off the list TWICE"));
        }
    }
    faults
}

fn faults_of_licences(metadata: &Metadata) -> Vec<String> {
    let mut faults = Vec::new();
    for package in &metadata.packages {
        match &package.license {
            Some(licence) if licences::are_allowed(licence) => {}
            Some(licence) => faults.push(format!("{}: licence {licence}", package.name)),
            None => faults.push(format!("{}: no licence is named", package.name)),
        }
    }
    faults
}

fn faults_of_owners(package: &Package) -> Vec<String> {
    let used = package.dependencies.iter().filter(|used| used.kind == DependencyKind::Normal);
    let is_wrong = |used: &str| {
        let owners = OWNED.iter().find(|(name, _)| *name == used);
        owners.is_some_and(|(_, owners)| !owners.contains(&package.name.as_str()))
    };
    used.filter(|used| is_wrong(&used.name))
        .map(|used| format!("{} may not use {}", package.name, used.name))
        .collect()
}

/// The oldest compiler that we promise is the one that CI has: an older one is tried by nothing.
fn faults_of_version(package: &Package, release: &str) -> Result<Vec<String>, String> {
    let path = package.manifest_path.as_std_path();
    let manifest =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut faults = Vec::new();
    if !manifest.contains("rust-version.workspace = true") {
        faults.push(format!("{} does not inherit rust-version", package.name));
    }
    let promised = package.rust_version.as_ref().map(ToString::to_string).unwrap_or_default();
    let major_and_minor =
        |version: &str| version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    if major_and_minor(&promised) != major_and_minor(release) {
        faults.push(format!(
            "{} promises Rust {promised} and is built with {release}: change rust-version",
            package.name
        ));
    }
    Ok(faults)
}

fn host(compiler: &str) -> &str {
    value_of(compiler, "host: ")
}

fn release(compiler: &str) -> &str {
    value_of(compiler, "release: ")
}

fn value_of<'a>(text: &'a str, key: &str) -> &'a str {
    text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default()
}

fn said(program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(args).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_of_today_have_no_fault() {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(faults(workspace).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_foreign_source_a_banned_package_and_a_second_version_are_found() {
        let entry = |name: &str, source: &str| {
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"1.0.0\"\nsource = \"{source}\"\n\n"
            )
        };
        let known: String = TWICE.iter().map(|name| entry(name, REGISTRY).repeat(2)).collect();
        let lock = "version = 4\n\n".to_owned()
            + &known
            + &entry("reqwest", REGISTRY)
            + &entry("memchr", REGISTRY).repeat(2)
            + &entry("patched", "git+https://example.org/patched")
            + "[[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n";
        assert_eq!(
            faults_of_lock(&locked(&lock)),
            [
                "reqwest is banned: ureq asks over HTTP, without an async runtime",
                "patched is not from crates.io",
                "memchr is there in 2 versions",
            ]
        );
    }

    #[test]
    fn packages_beyond_the_cap_and_an_exception_without_need_are_found() {
        let names: Vec<String> = (0..=MOST_PACKAGES).map(|number| format!("p{number}")).collect();
        let mut packages: Vec<Locked<'_>> =
            names.iter().map(|name| Locked { name, source: None }).collect();
        packages.push(Locked { name: "winnow", source: None });
        assert_eq!(
            faults_of_lock(&packages),
            [
                "Cargo.lock has 341 packages, and 339 are the most",
                "winnow is there in one version: take it off the list TWICE",
            ]
        );
    }
}
