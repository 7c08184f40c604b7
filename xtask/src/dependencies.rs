//! Dependencies between Spore's crates point one way. The table names the crates that each crate may
//! use; the test fails on an arrow that the table lacks and on a crate that it does not know.

/// Each crate of Spore, with the crates of Spore that it may use.
#[cfg(test)]
const ALLOWED: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("plain", &[]),
    ("lexical", &[]),
    ("secrets", &[]),
    ("effects", &["model", "plain"]),
    ("store", &["model", "plain"]),
    ("engine", &["model", "effects", "store"]),
    ("git", &["model", "effects"]),
    ("config", &["model", "plain"]),
    ("index", &["model"]),
    ("embed", &["plain"]),
    ("indexer", &["model", "plain", "lexical", "effects", "store", "git", "index", "embed"]),
    ("context", &["model", "plain", "store", "lexical"]),
    ("tools", &["model", "plain", "effects"]),
    ("agent", &["model", "plain", "secrets", "effects", "tools"]),
    ("gates", &["model", "plain", "secrets", "effects"]),
    ("proof", &["model", "plain", "gates"]),
    ("pipeline", &["model", "plain"]),
    ("compose", &["model", "plain", "config"]),
    ("memory", &["model", "plain", "store"]),
    ("investigate", &["model", "plain"]),
    // What steps left is read as the pipeline wrote it, verdicts among it.
    ("runs", &["model", "plain", "store", "pipeline"]),
    (
        "app",
        &[
            "model",
            "plain",
            "effects",
            "store",
            "engine",
            "git",
            "config",
            "index",
            "embed",
            "indexer",
            "context",
            "tools",
            "agent",
            "gates",
            "proof",
            "pipeline",
            "compose",
            "memory",
            "investigate",
            "runs",
            "secrets",
        ],
    ),
    ("mcp", &["model", "plain", "app"]),
    ("scripted-model", &["model"]),
    ("conformance", &["model", "plain", "effects", "tools", "agent", "scripted-model"]),
    ("cli", &["model", "plain", "effects", "config", "agent", "app", "mcp", "conformance"]),
    ("testkit", &["model"]),
    ("fake-agent", &[]),
    ("xtask", &[]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cargo_metadata::{DependencyKind, MetadataCommand};

    use super::ALLOWED;

    fn short(name: &str) -> String {
        name.strip_prefix("spore-").unwrap_or(name).to_owned()
    }

    /// The arrows between the crates today, without dev-dependencies.
    fn arrows() -> BTreeMap<String, Vec<String>> {
        let metadata = MetadataCommand::new().no_deps().exec().unwrap();
        let ours: Vec<String> =
            metadata.packages.iter().map(|package| package.name.to_string()).collect();
        metadata
            .packages
            .iter()
            .map(|package| {
                let mut used: Vec<String> = package
                    .dependencies
                    .iter()
                    .filter(|used| used.kind == DependencyKind::Normal && ours.contains(&used.name))
                    .map(|used| short(&used.name))
                    .collect();
                used.sort();
                (short(&package.name), used)
            })
            .collect()
    }

    fn faults(arrows: &BTreeMap<String, Vec<String>>, allowed: &[(&str, &[&str])]) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, used) in arrows {
            match allowed.iter().find(|(known, _)| known == name) {
                None => faults.push(format!("{name} is not in the table")),
                Some((_, may)) => faults.extend(
                    used.iter()
                        .filter(|used| !may.contains(&used.as_str()))
                        .map(|used| format!("{name} may not use {used}")),
                ),
            }
        }
        faults
    }

    #[test]
    fn dependencies_point_one_way() {
        assert_eq!(faults(&arrows(), ALLOWED), Vec::<String>::new());
    }

    #[test]
    fn every_crate_of_the_table_exists() {
        let arrows = arrows();
        for (name, _) in ALLOWED {
            assert!(arrows.contains_key(*name), "{name} is in the table only");
        }
    }

    #[test]
    fn a_wrong_arrow_and_an_unknown_crate_are_found() {
        let arrows = BTreeMap::from([
            ("model".to_owned(), vec!["store".to_owned()]),
            ("surprise".to_owned(), Vec::new()),
        ]);
        assert_eq!(
            faults(&arrows, ALLOWED),
            ["model may not use store", "surprise is not in the table"]
        );
    }

    #[test]
    fn the_table_itself_has_no_cycle() {
        for (index, (name, used)) in ALLOWED.iter().enumerate() {
            for other in *used {
                let place = ALLOWED.iter().position(|(known, _)| known == other);
                assert!(place.is_some_and(|place| place < index), "{name} is above {other}");
            }
        }
    }
}
