//! What was found, for people and for Graphviz.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::levels::{FrontDoors, Part, Room, Use};
use super::tree::{ModuleId, Tree};

/// Each room with its parts from the bottom up, the arrows between them and the cycles.
pub(super) fn report(tree: &Tree, rooms: &[Room]) -> String {
    let mut text = String::new();
    for room in rooms {
        let path = tree.path(room.module);
        let _ = writeln!(text, "{path}: {} modules, {}", room.children(), size_of_cycles(room));
        for group in room.groups(FrontDoors::Count) {
            let mark = if group.len() > 1 { "*" } else { " " };
            for part in group {
                let used: Vec<String> = room.used_by(part).map(|used| name(tree, used)).collect();
                let arrow = if used.is_empty() { "" } else { " → " };
                let _ = writeln!(text, "  {mark} {}{arrow}{}", name(tree, part), used.join(" "));
            }
        }
        for cycle in cycles(tree, room, FrontDoors::Count) {
            let _ = writeln!(text, "  {}", cycle.replace('\n', "\n  "));
        }
        text.push('\n');
    }
    text
}

fn size_of_cycles(room: &Room) -> String {
    let size = |front_doors| room.cycles(front_doors).iter().map(Vec::len).max();
    match (size(FrontDoors::AreLeftOut), size(FrontDoors::Count)) {
        (None, None) => "no cycle".to_owned(),
        (None, Some(with)) => format!("no cycle but one of {with} through the front door"),
        (Some(without), Some(with)) if with > without => {
            format!("{without} of them in one cycle ({with} parts with the front door)")
        }
        (Some(without), _) => format!("{without} of them in one cycle"),
    }
}

/// Each cycle of a room with its members and one place for each arrow between these.
pub(super) fn cycles(tree: &Tree, room: &Room, front_doors: FrontDoors) -> Vec<String> {
    let path = tree.path(room.module);
    let told = room.cycles(front_doors).into_iter().map(|members| {
        let names: Vec<String> = members.iter().map(|part| name(tree, *part)).collect();
        let mut text = format!("cycle of {} in {path}: {}", members.len(), names.join(" "));
        for ((from, to), uses) in &room.arrows {
            if members.contains(from) && members.contains(to) {
                let arrow = format!("{} → {}", name(tree, *from), name(tree, *to));
                let _ = write!(text, "\n  {arrow}: {}", place(tree, uses));
            }
        }
        text
    });
    told.collect()
}

/// The first of the uses, and how many there are.
fn place(tree: &Tree, uses: &[Use]) -> String {
    let Some(first) = uses.first() else { return String::new() };
    let file = tree.modules[first.from].file.display();
    let more = if uses.len() > 1 { format!(" and {} more", uses.len() - 1) } else { String::new() };
    format!("{file}:{} {}{more}", first.line, first.path)
}

fn name(tree: &Tree, part: Part) -> String {
    match part {
        Part::FrontDoor => "(front door)".to_owned(),
        Part::Child(module) => tree.modules[module].name.clone(),
    }
}

/// The graph of all modules: a box for each room, and the arrows of cycles in red.
pub(super) fn dot(tree: &Tree, rooms: &[Room]) -> String {
    let mut text = "digraph modules {\n  rankdir=BT;\n  node [shape=box];\n".to_owned();
    cluster(tree, 0, 1, &mut text);
    let mut arrows = BTreeSet::new();
    for room in rooms {
        let cycles = room.cycles(FrontDoors::Count);
        for ((from, to), uses) in &room.arrows {
            let is_cyclic =
                cycles.iter().any(|members| members.contains(from) && members.contains(to));
            arrows.extend(uses.iter().map(|found| (found.from, found.to, is_cyclic)));
        }
    }
    for (from, to, is_cyclic) in arrows {
        let colour = if is_cyclic { " [color=red]" } else { "" };
        let _ = writeln!(text, "  m{from} -> m{to}{colour};");
    }
    text.push_str("}\n");
    text
}

fn cluster(tree: &Tree, module: ModuleId, depth: usize, text: &mut String) {
    let found = &tree.modules[module];
    let indent = "  ".repeat(depth);
    let label = if found.name.is_empty() { "crate" } else { &found.name };
    if found.children.is_empty() {
        let _ = writeln!(text, "{indent}m{module} [label=\"{label}\"];");
        return;
    }
    let _ = writeln!(text, "{indent}subgraph cluster_{module} {{\n{indent}  label=\"{label}\";");
    let _ = writeln!(text, "{indent}  m{module} [label=\"{label} (front door)\"];");
    for child in found.children.values() {
        cluster(tree, *child, depth + 1, text);
    }
    let _ = writeln!(text, "{indent}}}");
}
