use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::reading::Sources;
use super::{EXCEPTIONS, Plan, Strictness, plans, text};

/// A crate from one text, in which a line `=== PATH` starts each file.
fn plan(files: &str) -> Plan {
    let mut sources = Sources::new();
    for file in files.split("=== ").skip(1) {
        let (path, text) = file.split_once('\n').unwrap();
        sources.insert(PathBuf::from(path.trim()), text.to_owned());
    }
    Plan::read("fixture", &sources, Path::new("lib.rs")).unwrap()
}

/// What the strictest rule finds, as one text.
#[track_caller]
fn check(files: &str, expected: &[&str]) {
    assert_eq!(plan(files).faults(Strictness::Wholly).join("\n"), expected.join("\n"));
}

#[test]
fn a_ladder_has_no_fault_whatever_its_tests_do() {
    check(
        "\
=== lib.rs
mod base;
mod top;
pub use base::Error;
pub use top::climb;
=== base.rs
pub struct Error;
#[cfg(test)]
mod tests { use crate::top::climb; }
#[cfg(all(test, unix))]
mod contract { use crate::top::climb; }
#[cfg(test)]
use crate::top::climb;
=== top.rs
use crate::Error;
pub(in crate::top) fn climb() -> Result<(), super::base::Error> { Err(Error) }
",
        &[],
    );
}

#[test]
fn a_cycle_through_imports_is_found_with_its_places() {
    check(
        "\
=== lib.rs
mod a;
mod b;
mod c;
=== a.rs
use std::fmt;
use crate::{b as other, c::*};
=== b.rs
use super::a::{self, Thing as Renamed};
=== c.rs
",
        &[
            "cycle of 2 in crate: a b",
            "  a → b: a.rs:2 crate::b",
            "  b → a: b.rs:1 super::a and 1 more",
        ],
    );
}

#[test]
fn a_cycle_through_inline_paths_is_found_in_types_patterns_attributes_and_calls() {
    check(
        "\
=== lib.rs
mod a { pub fn f(x: crate::b::X) {} }
mod b { fn g(x: u8) { match x { super::c::LIMIT => {}, _ => {} } } }
mod c {
    #[derive(Serialize)]
    struct S { #[serde(with = \"crate::d::millis\")] at: u64 }
}
mod d { use crate::a; fn h() { a::f() } }
",
        &[
            "cycle of 4 in crate: a b c d",
            "  a → b: lib.rs:1 crate::b::X",
            "  b → c: lib.rs:2 super::c::LIMIT",
            "  c → d: lib.rs:5 crate::d::millis",
            "  d → a: lib.rs:7 a::f and 1 more",
        ],
    );
}

#[test]
fn a_re_export_is_followed_to_the_module_that_defines_the_item() {
    check(
        "\
=== lib.rs
mod a;
mod b;
pub use b::*;
=== a.rs
use crate::Error;
pub fn f() -> Error { Error }
=== b/mod.rs
mod error;
pub use error::Failure as Error;
=== b/error.rs
pub struct Failure;
fn g() { crate::a::f(); }
",
        &[
            "cycle of 2 in crate: a b",
            "  a → b: a.rs:1 crate::Error and 1 more",
            "  b → a: b/error.rs:2 crate::a::f",
        ],
    );
}

#[test]
fn a_cycle_through_the_tokens_of_macros_is_found() {
    check(
        "\
=== lib.rs
mod a;
mod b;
=== a.rs
fn f() { println!(\"{}\", vec![1, crate::b::g()].len()); }
=== b.rs
macro_rules! h { ($x:ident) => { { use $crate::{a::{self, f}}; $x::b::c; self.a::f } } }
",
        &[
            "cycle of 2 in crate: a b",
            "  a → b: a.rs:1 crate::b::g",
            "  b → a: b.rs:1 crate::a and 1 more",
        ],
    );
}

#[test]
fn a_use_is_lifted_to_the_level_at_which_both_ends_part() {
    check(
        "\
=== lib.rs
mod low;
mod high;
=== low.rs
mod inner;
=== low/inner.rs
mod deep { use super::super::super::high::X; use super::super::Y; }
=== high.rs
pub struct X(crate::low::Y);
",
        &[
            "cycle of 2 in crate: low high",
            "  low → high: low/inner.rs:1 super::super::super::high::X",
            "  high → low: high.rs:1 crate::low::Y",
        ],
    );
}

#[test]
fn a_front_door_may_hold_what_its_children_share_or_put_them_together_but_not_both() {
    let shared = "\
=== lib.rs
mod room;
=== room.rs
mod child;
pub use child::open;
pub struct Shared;
=== room/child.rs
use super::Shared;
pub fn open(with: Shared) {}
";
    check(shared, &[]);
    let both = shared.replace("pub struct Shared;", "pub struct Shared;\nfn f() { open(Shared) }");
    check(
        &both,
        &[
            "cycle of 2 in crate::room: (front door) child",
            "  (front door) → child: room.rs:4 open",
            "  child → (front door): room/child.rs:1 super::Shared and 1 more",
        ],
    );
    assert_eq!(plan(&both).faults(Strictness::BetweenSiblings), Vec::<String>::new());
    assert_eq!(plan(&both).keeps(), Strictness::BetweenSiblings);
}

#[test]
fn a_method_of_self_counts_as_the_module_that_gives_it() {
    check(
        "\
=== lib.rs
mod kind;
mod one;
mod two;
=== kind.rs
pub struct Kind;
=== one.rs
use crate::kind::Kind;
impl Kind { pub fn first(&self) { self.second() } }
=== two.rs
use crate::kind::Kind;
impl Kind { pub fn second(&self) { assert!(self.first()); } }
impl Default for Kind { fn default() -> Self { Self::nothing() } }
",
        &[
            "cycle of 2 in crate: one two",
            "  one → two: one.rs:2 Kind::second",
            "  two → one: two.rs:2 Kind::first",
        ],
    );
}

#[test]
fn names_of_other_crates_and_imports_of_each_other_lead_nowhere() {
    check(
        "\
=== lib.rs
mod a;
mod b;
use serde;
use serde::serde as Serde;
=== a.rs
use other::b::thing;
use ::b::thing as too;
pub use super::b::loops;
fn f(b: u8) -> u8 { let x = thing(b); b }
=== b.rs
use other::a;
pub use super::missing::*;
fn g() { a::f(); ::a::f(); }
fn h() { #[expect(clippy::a, reason = \"crate::a::f\")] let x = 1; }
",
        &[],
    );
}

#[test]
fn a_room_with_too_many_modules_is_no_room() {
    let files = |count: usize| {
        let modules: String = (0..count).map(|number| format!("mod m{number} {{}}\n")).collect();
        format!("=== lib.rs\n{modules}")
    };
    check(&files(20), &[]);
    check(&files(21), &["crate has 21 modules side by side, and 20 are the most"]);
}

#[test]
fn a_module_without_its_file_is_an_error() {
    let sources = Sources::from([(PathBuf::from("lib.rs"), "mod gone;".to_owned())]);
    let error = Plan::read("fixture", &sources, Path::new("lib.rs")).err();
    assert_eq!(error.as_deref(), Some("gone.rs: no such file"));
}

#[test]
fn people_and_graphviz_see_the_same_arrows() {
    let plan = plan(
        "=== lib.rs\nmod a { use crate::b::c::X; }\nmod b { mod c { use super::super::a; } }\n",
    );
    assert_eq!(
        text::report(&plan.tree, &plan.rooms),
        "\
crate: 2 modules, 2 of them in one cycle
  * a → b
  * b → a
  cycle of 2 in crate: a b
    a → b: lib.rs:1 crate::b::c::X
    b → a: lib.rs:2 super::super::a

crate::b: 1 modules, no cycle
    c

"
    );
    assert_eq!(
        text::dot(&plan.tree, &plan.rooms),
        "\
digraph modules {
  rankdir=BT;
  node [shape=box];
  subgraph cluster_0 {
    label=\"crate\";
    m0 [label=\"crate (front door)\"];
    m1 [label=\"a\"];
    subgraph cluster_2 {
      label=\"b\";
      m2 [label=\"b (front door)\"];
      m3 [label=\"c\"];
    }
  }
  m1 -> m3 [color=red];
  m3 -> m1 [color=red];
}
"
    );
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn modules_depend_one_way() {
    let exceptions: BTreeMap<&str, Strictness> = EXCEPTIONS.iter().copied().collect();
    for plan in plans(workspace()).unwrap() {
        let held = exceptions.get(plan.name.as_str()).copied().unwrap_or(Strictness::Wholly);
        let faults = plan.faults(held).join("\n");
        assert!(faults.is_empty(), "{}, which is held to {held:?}:\n{faults}", plan.name);
    }
}

/// The table only ever gets shorter.
#[test]
fn no_crate_is_excepted_that_keeps_the_rules() {
    let plans = plans(workspace()).unwrap();
    for (name, held) in EXCEPTIONS {
        let roots = plans.iter().filter(|plan| plan.name == *name);
        let keeps = roots.map(Plan::keeps).max().unwrap_or(Strictness::Wholly);
        assert_eq!(keeps, *held, "{name} keeps more than EXCEPTIONS asks of it: change its line");
    }
}
