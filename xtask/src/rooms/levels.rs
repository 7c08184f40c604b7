//! Lifts the uses between modules to the level at which they part, and looks for cycles there.

use std::collections::{BTreeMap, BTreeSet};

use super::resolving::Resolver;
use super::tree::{MentionKind, ModuleId, Tree};

/// One use of a module by another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    pub(super) from: ModuleId,
    pub(super) to: ModuleId,
    pub(super) line: usize,
    pub(super) path: String,
}

/// One of the things that stand side by side in a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// What the room's own file defines.
    FrontDoor,
    Child(ModuleId),
}

/// A module that has modules in it, and the arrows between these.
pub(super) struct Room {
    pub(super) module: ModuleId,
    pub(super) parts: BTreeSet<Part>,
    /// Each arrow with the uses that it is made of.
    pub(super) arrows: BTreeMap<(Part, Part), Vec<Use>>,
}

/// Whether what a room's own file defines is one of the parts that cycles are looked for among.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrontDoors {
    Count,
    AreLeftOut,
}

/// Every use of one module by another, each path once a line.
pub(super) fn uses(tree: &Tree) -> BTreeSet<Use> {
    let resolver = Resolver::new(tree);
    let mut uses = BTreeSet::new();
    for (from, module) in tree.modules.iter().enumerate() {
        for mention in &module.mentions {
            for to in resolver.used(from, mention) {
                let is_signpost =
                    mention.kind == MentionKind::Reexport || mention.kind == MentionKind::Glob;
                if is_signpost && tree.is_within(to, from) {
                    continue;
                }
                let path = mention.segments.join("::");
                uses.insert(Use { from, to, line: mention.line, path });
            }
        }
    }
    uses
}

/// The rooms of a crate, the outermost first.
pub(super) fn rooms(tree: &Tree, uses: &BTreeSet<Use>) -> Vec<Room> {
    let mut rooms: BTreeMap<ModuleId, Room> = BTreeMap::new();
    for (id, module) in tree.modules.iter().enumerate() {
        if !module.children.is_empty() {
            let parts = module.children.values().map(|child| Part::Child(*child)).collect();
            rooms.insert(id, Room { module: id, parts, arrows: BTreeMap::new() });
        }
    }
    for found in uses {
        let (room, from, to) = lifted(tree, found);
        if let Some(room) = rooms.get_mut(&room) {
            room.parts.extend([from, to]);
            room.arrows.entry((from, to)).or_default().push(found.clone());
        }
    }
    rooms.into_values().collect()
}

/// The innermost room that has both ends of a use, and the parts of it that they are in.
fn lifted(tree: &Tree, found: &Use) -> (ModuleId, Part, Part) {
    let mut from = tree.ancestors(found.from);
    let mut to = tree.ancestors(found.to);
    let mut room = 0;
    while let (Some(left), Some(right)) = (from.last(), to.last())
        && left == right
    {
        room = *left;
        from.pop();
        to.pop();
    }
    let part = |rest: &[ModuleId]| rest.last().map_or(Part::FrontDoor, |child| Part::Child(*child));
    (room, part(&from), part(&to))
}

impl Room {
    /// The parts of which each uses each other, directly or not, in groups: what a group uses
    /// comes before it. A part that is in no cycle is a group of its own.
    pub(super) fn groups(&self, front_doors: FrontDoors) -> Vec<Vec<Part>> {
        let counts = |part: &Part| front_doors == FrontDoors::Count || *part != Part::FrontDoor;
        let mut search = Search {
            room: self,
            left: self.parts.iter().copied().filter(counts).collect(),
            numbers: BTreeMap::new(),
            stack: Vec::new(),
            groups: Vec::new(),
        };
        while let Some(part) = search.left.first().copied() {
            search.visit(part);
        }
        search.groups
    }

    /// The groups that are cycles.
    pub(super) fn cycles(&self, front_doors: FrontDoors) -> Vec<Vec<Part>> {
        let groups = self.groups(front_doors).into_iter();
        groups.filter(|group| group.len() > 1).collect()
    }

    pub(super) fn used_by(&self, part: Part) -> impl Iterator<Item = Part> {
        self.arrows.keys().filter(move |(from, _)| *from == part).map(|(_, to)| *to)
    }

    pub(super) fn children(&self) -> usize {
        self.parts.iter().filter(|part| **part != Part::FrontDoor).count()
    }
}

/// Tarjan's search for strongly connected components.
/// <https://en.wikipedia.org/wiki/Tarjan%27s_strongly_connected_components_algorithm>
struct Search<'a> {
    room: &'a Room,
    left: BTreeSet<Part>,
    /// The number of each part that was visited, and the lowest that it reaches on the stack.
    numbers: BTreeMap<Part, (usize, usize)>,
    stack: Vec<Part>,
    groups: Vec<Vec<Part>>,
}

impl Search<'_> {
    /// Returns the lowest number that the part reaches on the stack.
    fn visit(&mut self, part: Part) -> usize {
        self.left.remove(&part);
        let number = self.numbers.len();
        self.numbers.insert(part, (number, number));
        self.stack.push(part);
        let mut lowest = number;
        for used in self.room.used_by(part).collect::<Vec<_>>() {
            if self.left.contains(&used) {
                lowest = lowest.min(self.visit(used));
            } else if self.stack.contains(&used) {
                lowest = lowest.min(self.numbers.get(&used).map_or(lowest, |(_, low)| *low));
            }
        }
        self.numbers.insert(part, (number, lowest));
        if lowest == number {
            let start = self.stack.iter().position(|other| *other == part).unwrap_or(0);
            let mut group = self.stack.split_off(start);
            group.sort();
            self.groups.push(group);
        }
        lowest
    }
}
