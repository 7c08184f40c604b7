//! Stubs for dossiers that a line points to and that do not exist yet.
//!
//! A stub says that it is one. What is there is never touched: prose about people and things
//! is for people and judges.

use std::collections::BTreeMap;

use crate::cues::DossierPointer;
use crate::lines::LineMap;

/// A dossier to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stub {
    pub pointer: DossierPointer,
    /// The hashes of the lines that point to it.
    pub hashes: Vec<String>,
}

impl Stub {
    /// Returns its path below the memory's directory.
    pub fn path(&self) -> String {
        self.pointer.dossier()
    }

    pub fn render(&self) -> String {
        let DossierPointer { kind, slug } = &self.pointer;
        let rows: String = self.hashes.iter().map(|hash| format!("- line `{hash}`\n")).collect();
        format!(
            "---\nkind: {}\nslug: {slug}\nstatus: stub\n---\n\n# {slug}\n\nNothing is known yet but \
             that memory/CLAUDE.md points here:\n\n{rows}",
            kind.as_str()
        )
    }
}

/// Returns what is missing, in the order of the lines.
pub fn missing(map: &LineMap, exists: &dyn Fn(&DossierPointer) -> bool) -> Vec<Stub> {
    let mut order: Vec<&DossierPointer> = Vec::new();
    let mut lines: BTreeMap<&DossierPointer, Vec<String>> = BTreeMap::new();
    for line in map.lines() {
        for pointer in line.cues.pointers.iter().filter(|pointer| !exists(pointer)) {
            let hashes = lines.entry(pointer).or_default();
            if hashes.is_empty() {
                order.push(pointer);
            }
            hashes.push(line.hash.to_string());
        }
    }
    let stub = |pointer: &DossierPointer| Stub {
        pointer: pointer.clone(),
        hashes: lines.get(pointer).cloned().unwrap_or_default(),
    };
    order.into_iter().map(stub).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stub_is_made_for_each_dossier_that_is_missing() {
        let map = LineMap::read(
            "- Ask [[entity-ada]] about [[topic-numbers]]\n- [[entity-ada]] is away on Fridays\n- See [[topic-there]]\n",
        );
        let stubs = missing(&map, &|pointer| pointer.slug == "there");
        let paths: Vec<String> = stubs.iter().map(Stub::path).collect();
        assert_eq!(paths, ["entities/ada.md", "topics/numbers.md"]);
        insta::assert_snapshot!(stubs[0].render(), @"
        ---
        kind: entity
        slug: ada
        status: stub
        ---

        # ada

        Nothing is known yet but that memory/CLAUDE.md points here:

        - line `2ad86029692a`
        - line `473886c02a6c`
        ");
    }
}
