//! The program from outside.

mod support;

use garden_core::Store;
use support::Sandbox;

#[test]
fn a_plan_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.run(&["plan", "tomato"]);
    let store = Store::open(sandbox.path());
    assert_eq!(store.len(), support::lines(&sandbox));
}
