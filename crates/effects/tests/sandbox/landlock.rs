//! Landlock alone: the machine has no namespaces for us.

use std::fs;
use std::path::Path;

use crate::stage::{FOR_ROOT, NOBODY, Stage, TRICKS};
use nix::unistd::geteuid;
use spore_effects::session::{Confinement, RootSupport, enforceable};

const TRIES: u32 = 20;

fn is_skipped() -> bool {
    let sound = enforceable(&Confinement::default(), &RootSupport::not_wanted()).is_some();
    if !sound {
        println!("skipped: this kernel has no Landlock of version 3 or later");
    }
    !sound
}

/// Plays every trick as `user`, and returns how many got out of how many.
fn escapes(user: u32) -> (u32, u32) {
    let (mut out, mut tries) = (0, 0);
    for trick in &TRICKS {
        let mut succeeded = 0;
        for _ in 0..TRIES {
            let stage = Stage::new(user);
            let (said, _) = stage.play(trick.script, Some(stage.confinement()));
            if (trick.worked)(&stage, &said) {
                println!("escaped by {}: {said}", trick.name);
                succeeded += 1;
            }
            tries += 1;
        }
        out += succeeded;
        println!("{:60} {succeeded} of {TRIES}", trick.name);
    }
    (out, tries)
}

#[test]
fn every_trick_works_where_nothing_holds_it() {
    let is_root = geteuid().is_root();
    for trick in TRICKS.iter().filter(|trick| is_root || !FOR_ROOT.contains(&trick.name)) {
        let stage = Stage::new(geteuid().as_raw());
        let (said, enforced) = stage.play(trick.script, None);
        assert!((trick.worked)(&stage, &said), "{}: {said}", trick.name);
        assert_eq!(enforced, None);
    }
}

#[test]
fn nothing_gets_out_of_the_sandbox() {
    if is_skipped() {
        return;
    }
    let me = geteuid().as_raw();
    let (out, tries) = escapes(me);
    println!("as user {me}: {out} escapes in {tries} tries");
    assert_eq!(out, 0);
}

#[test]
fn nothing_gets_out_of_the_sandbox_of_another_user() {
    if is_skipped() {
        return;
    }
    if !geteuid().is_root() || !Path::new("/usr/bin/setpriv").exists() {
        println!("skipped: needs root and setpriv");
        return;
    }
    let (out, tries) = escapes(NOBODY);
    println!("as user {NOBODY}: {out} escapes in {tries} tries");
    assert_eq!(out, 0);
}

/// Plays `script` confined and returns what it printed.
#[track_caller]
fn check(script: &str, expected: &str) {
    let stage = Stage::new(geteuid().as_raw());
    let (said, _) = stage.play(script, Some(stage.confinement()));
    assert_eq!(said, expected);
}

#[test]
fn an_agent_can_work_in_its_checkout() {
    if is_skipped() {
        return;
    }
    check(
        "mkdir -p a/b && echo hi > a/b/f && mv a/b/f a/g && ln a/g a/h && ln -s g a/s && cat a/s",
        "hi\n",
    );
    check("echo x > $TMPDIR/t && mv $TMPDIR/t here && cat here && rm here", "x\n");
    check("mkfifo p && (echo through > p &) && cat p", "through\n");
    check("cat $T/repo/file; echo; cat $T/house/note", "the user's\nthe user's");
    check("cp /bin/echo e && ./e run; echo x > /dev/null; : < /dev/stdin", "run\n");
    check("python3 -c 'print(6 * 7)' 2>/dev/null || echo 42", "42\n");
    check("sleep 60 & kill $! && wait $! 2>/dev/null; echo ended", "ended\n");
    check("ls $T/checkout", "own\n");
}

#[test]
fn tcp_is_denied_where_it_is_asked_for() {
    let script = "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); print(\"OPEN\")' 2>&1 | tail -1";
    let stage = Stage::new(geteuid().as_raw());
    let wanted = stage.confinement();
    let Some(possible) =
        enforceable(&wanted, &RootSupport::not_wanted()).filter(|it| it.holds("bind_tcp"))
    else {
        println!("skipped: this kernel cannot deny TCP");
        return;
    };
    let (said, enforced) = stage.play(script, Some(wanted.clone()));
    assert!(said.contains("Permission denied") || said.contains("not found"), "{said}");
    assert_eq!(enforced, Some(possible));
    let (said, enforced) = stage.play(script, Some(Confinement { no_tcp: false, ..wanted }));
    assert!(said.contains("OPEN") || said.contains("not found"), "{said}");
    assert!(!enforced.unwrap().holds("bind_tcp"));
}

#[test]
fn what_is_said_to_be_held_is_what_was_asked_of_this_kernel() {
    if is_skipped() {
        return;
    }
    let stage = Stage::new(geteuid().as_raw());
    let (_, enforced) = stage.play("true", Some(stage.confinement()));
    let enforced = enforced.unwrap();
    for right in ["write_file", "read_file", "make_reg", "refer", "truncate"] {
        assert!(enforced.holds(right), "{right}: {enforced:?}");
    }
    assert_eq!(Some(enforced), enforceable(&stage.confinement(), &RootSupport::not_wanted()));
}

#[test]
fn what_is_hidden_below_something_writable_stays_hidden() {
    if is_skipped() {
        return;
    }
    let stage = Stage::new(geteuid().as_raw());
    let wide = Confinement { write: vec![stage.dir.path().to_owned()], ..stage.confinement() };
    let script = "echo x >> $T/house/note; echo x > $T/house/new; cat $T/state/other/secret; echo x > $T/repo/.spore/spore.db; cat $T/house/new";
    let (said, _) = stage.play(script, Some(wide));
    assert!(!said.contains("of another run") && said.ends_with("x\n"), "{said}");
    assert_eq!(fs::read_to_string(stage.path("house/note")).unwrap(), "the user'sx\n");
    assert_eq!(fs::read_to_string(stage.path("repo/.spore/spore.db")).unwrap(), "the journal");
}
