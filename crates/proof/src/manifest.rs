//! Manifests: files that say both what the product is made of and how it is checked.
//!
//! A change that adds a dependency must touch its manifest, and one that points the test runner
//! somewhere else touches the same file. Only what says how the product is built and checked is held;
//! what a project depends on and tells of itself is the product's.

use serde_json::Value;

/// Keys of a manifest that no check goes by, by the manifest's name.
const OF_THE_PRODUCT: &[(&str, &[&str])] = &[
    (
        "Cargo.toml",
        &[
            "dependencies",
            "target",
            "features",
            "badges",
            "package.name",
            "package.version",
            "package.authors",
            "package.description",
            "package.documentation",
            "package.readme",
            "package.homepage",
            "package.repository",
            "package.license",
            "package.license-file",
            "package.keywords",
            "package.categories",
            "package.rust-version",
            "package.publish",
            "package.include",
            "package.exclude",
            "package.metadata",
            "workspace.dependencies",
            "workspace.package",
            "workspace.metadata",
        ],
    ),
    (
        "package.json",
        &[
            "name",
            "version",
            "description",
            "keywords",
            "homepage",
            "bugs",
            "license",
            "author",
            "contributors",
            "funding",
            "repository",
            "dependencies",
            "peerDependencies",
            "peerDependenciesMeta",
            "optionalDependencies",
            "files",
            "engines",
            "publishConfig",
        ],
    ),
    (
        "pyproject.toml",
        &[
            "project.name",
            "project.version",
            "project.description",
            "project.readme",
            "project.license",
            "project.license-files",
            "project.authors",
            "project.maintainers",
            "project.keywords",
            "project.classifiers",
            "project.urls",
            "project.dependencies",
            "project.optional-dependencies",
            "project.requires-python",
            "dependency-groups",
            "tool.poetry.version",
            "tool.poetry.dependencies",
            "tool.poetry.group",
        ],
    ),
];

/// Tables of what tests and builds are made of: a change may add to them, and what is there is held.
const ONLY_ADDED_TO: &[&str] = &["dev-dependencies", "build-dependencies", "devDependencies"];

/// What a change did to a manifest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ManifestChange {
    /// It is none.
    NotOne,
    /// Nothing that decides how the product is built or checked.
    OfTheProduct,
    /// Something that may.
    OfTheChecks,
}

/// Compares two versions of the file at `path`. One that cannot be read counts as changed.
pub(crate) fn compare(path: &str, base: Option<&[u8]>, now: Option<&[u8]>) -> ManifestChange {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((_, own)) = OF_THE_PRODUCT.iter().find(|(known, _)| *known == name) else {
        return ManifestChange::NotOne;
    };
    let read = |bytes: Option<&[u8]>| -> Option<Value> {
        let text = std::str::from_utf8(bytes?).ok()?;
        let mut value: Value = match name.ends_with(".json") {
            true => serde_json::from_str(text).ok()?,
            false => toml_edit::de::from_str(text).ok()?,
        };
        own.iter().for_each(|key| remove(&mut value, key));
        Some(value)
    };
    match (read(base), read(now)) {
        (Some(base), Some(mut now)) => {
            ONLY_ADDED_TO.iter().for_each(|key| leave_out_added(&base, &mut now, key));
            match without_empty(base) == without_empty(now) {
                true => ManifestChange::OfTheProduct,
                false => ManifestChange::OfTheChecks,
            }
        }
        _ => ManifestChange::OfTheChecks,
    }
}

fn remove(value: &mut Value, key: &str) {
    let (first, rest) = key.split_once('.').map_or((key, None), |(a, b)| (a, Some(b)));
    let Some(fields) = value.as_object_mut() else { return };
    match rest {
        None => {
            fields.remove(first);
        }
        Some(rest) => {
            if let Some(inner) = fields.get_mut(first) {
                remove(inner, rest);
            }
        }
    }
}

/// Takes out of a table what `base` does not have in it.
fn leave_out_added(base: &Value, now: &mut Value, key: &str) {
    let known = base.get(key).and_then(Value::as_object);
    if let Some(table) = now.get_mut(key).and_then(Value::as_object_mut) {
        table.retain(|name, _| known.is_some_and(|known| known.contains_key(name)));
    }
}

/// A table that holds nothing says nothing.
fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(key, value)| (key, without_empty(value)))
                .filter(|(_, value)| value.as_object().is_none_or(|inner| !inner.is_empty()))
                .collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, base: &str, now: &str, expected: ManifestChange) {
        let found = compare(path, Some(base.as_bytes()), Some(now.as_bytes()));
        assert_eq!(found, expected, "{path}: {now}");
    }

    #[test]
    fn a_dependency_is_the_products_and_a_test_target_is_not() {
        use ManifestChange::{NotOne, OfTheChecks, OfTheProduct};
        let base = "[package]\nname = \"a\"\nversion = \"1.0.0\"\n";
        check("Cargo.toml", base, &format!("{base}[dependencies]\nx = \"1\"\n"), OfTheProduct);
        check("a/Cargo.toml", base, &base.replace("1.0.0", "1.1.0"), OfTheProduct);
        for more in [
            "[[test]]\nname = \"it\"\npath = \"other.rs\"\n",
            "[[test]]\nname = \"it\"\nharness = false\n",
            "[lib]\npath = \"other.rs\"\n",
            "[lib]\ntest = false\n",
            "[profile.test]\ndebug-assertions = false\n",
            "[patch.crates-io]\nx = { path = \"x\" }\n",
        ] {
            check("Cargo.toml", base, &format!("{base}{more}"), OfTheChecks);
        }
        check("Cargo.toml", base, &format!("{base}build = \"x.rs\"\n"), OfTheChecks);
        check("Cargo.toml", base, "[package", OfTheChecks);
        let base = r#"{"name": "a", "scripts": {"test": "jest"}}"#;
        let with = r#"{"name": "a", "scripts": {"test": "jest"}, "dependencies": {"x": "1"}}"#;
        check("package.json", base, with, OfTheProduct);
        let tested = r#"{"scripts": {"test": "mocha"}, "devDependencies": {"mocha": "10"}}"#;
        let more = tested.replace("\"10\"", "\"10\", \"chai\": \"4\"");
        check("package.json", tested, &more, OfTheProduct);
        check("package.json", tested, &tested.replace("10", "file:./mine"), OfTheChecks);
        check("package.json", base, &base.replace("jest", "true"), OfTheChecks);
        check("package.json", base, r#"{"scripts":{"test":"jest"},"jest":{}}"#, OfTheProduct);
        check("package.json", base, r#"{"scripts":{"test":"jest"},"jest":{"a":1}}"#, OfTheChecks);
        check("README.md", "a", "b", NotOne);
    }
}
