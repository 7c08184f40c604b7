use proptest::prelude::*;

use super::*;

/// A list in a line each: what it is called where a person named it, its words, and its settings.
fn told(text: &str) -> Vec<String> {
    let list = match read_tasks(text) {
        Ok(list) => list,
        Err(error) => return vec![format!("refused: {error}")],
    };
    let one = |task: &LoopTask| {
        let mut line = String::new();
        if task.ticked {
            line.push_str("[x] ");
        }
        if task.named {
            line.push_str(&format!("{}: ", task.id));
        }
        line.push_str(&task.text);
        for (what, values) in
            [("after", &task.after), ("touches", &task.touches), ("gates", &task.gates)]
        {
            if !values.is_empty() {
                line.push_str(&format!(" | {what} {}", values.join(" + ")));
            }
        }
        line.extend(task.budget.map(|usd| format!(" | {usd}")));
        line.extend(task.backend.iter().map(|name| format!(" | by {name}")));
        line.extend(task.model.iter().map(|name| format!(" | with {name}")));
        line.extend(task.max_bounces.map(|bounces| format!(" | {bounces} bounces")));
        line.extend(task.fix_red.then_some(" | mends what is red"));
        line
    };
    list.tasks.iter().map(one).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(told(text), expected, "{text}");
}

#[test]
fn a_line_is_a_task() {
    check("", &[]);
    check("fix it\n\n  # not this\n  and that  \r\n", &["fix it", "and that"]);
    check("\u{feff}fix it", &["fix it"]);
    check("id: is a word here\n", &["id: is a word here"]);
    check("backend: mend it\nmodel: high\n", &["backend: mend it", "model: high"]);
    check("-- not a rule\n--- nor this\n", &["-- not a rule", "--- nor this"]);
}

#[test]
fn blocks_are_joined_and_may_begin_with_settings() {
    check("one\ntwo\n---\nthree\n# no\n\nfour\n", &["one two", "three four"]);
    check("---\n---\nalone\n---\n", &["alone"]);
    check(
        "id: lexer\nbudget: $2.5\nThe lexer takes tabs.\n---\nafter: [lexer]\ntouches: src/a.rs, \
         docs/\nbackend: codex\nmodel: high\ngates: sh slow.sh\nmax_bounces: 5\nThen the \
         parser.\nbudget: of words\n",
        &[
            "lexer: The lexer takes tabs. | $2.50",
            "Then the parser. budget: of words | after lexer | touches src/a.rs + docs/ | gates sh \
             slow.sh | by codex | with high | 5 bounces",
        ],
    );
    // What is written like a setting and is none is words where it is all of them or stands below some.
    check(
        "fix: typo\n---\nsee: https://a.example\nx\n",
        &["fix: typo", "see: https://a.example x"],
    );
    check("x\nfix: typo\ny\n---\nnote: two words\nz\n", &["x fix: typo y", "note: two words z"]);
    check(
        "gates: sh due.sh\nfix_red: true\nMend it.\n---\nfix_red: false\nLeave it.\n",
        &["Mend it. | gates sh due.sh | mends what is red", "Leave it."],
    );
}

#[test]
fn a_check_list_has_a_task_for_each_box() {
    check(
        "# Plan\nSome prose.\n- [ ] one\n  and more\n- [x] done\n  1. [ ] two\n\n  not of two\n* [X] \
         also\n- [] no box\n- [ ](link) no box\n- [ ]\n",
        &["one and more", "[x] done", "two", "[x] also"],
    );
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_line() {
    for (text, expected) in [
        ("---\nid: a b\nx\n", "refused: line 2: `id` is made of letters"),
        ("id: a\nx\n---\nid: a\ny\n", "refused: line 4: the task of line 1 is called `a` already"),
        ("after: b\nx\n---\ny\n", "refused: line 1: `after` names `b`, and no task has that `id`"),
        (
            "id: a\nafter: b\nx\n---\nid: b\nafter: a\ny\n",
            "refused: line 1: these tasks wait for each other: a, b",
        ),
        ("id: a\nafter: a\nx\n---\n", "refused: line 1: these tasks wait for each other: a"),
        (
            "id: c\nafter: a\nz\n---\nid: a\nafter: b\nx\n---\nid: b\nafter: a\ny\n",
            "refused: line 5: these tasks wait for each other: a, b",
        ),
        (
            "---\nid: a\ntimeout: 5m\nx\n",
            "refused: line 3: `timeout` is no setting of a task; there",
        ),
        (
            "---\ntouch: a.rs,b.rs\nx\n",
            "refused: line 2: `touch` is no setting of a task; there are `id`",
        ),
        ("---\nbudget: much\nx\n", "refused: line 2: `budget` is an amount of dollars"),
        ("---\nbudget: 0\nx\n", "refused: line 2: `budget` is an amount of dollars"),
        ("---\nmax_bounces: 0\nx\n", "refused: line 2: `max_bounces` is a number from 1"),
        ("---\nfix_red: yes\nx\n", "refused: line 2: `fix_red` is `true` or `false`"),
        ("---\nfix_red:\nx\n", "refused: line 2: `fix_red` has no value"),
        ("mend it\nfix_red: true\n", "refused: line 2: `fix_red:` is a setting of a block"),
        ("---\nid:\nx\n", "refused: line 2: `id` has no value"),
        ("---\nid: a\nid: b\nx\n", "refused: line 3: `id` is said twice"),
        ("---\nid: a\n---\n", "refused: line 2: these settings belong to no task"),
        ("id: a\nwrite it\n", "refused: line 1: `id:` is a setting of a block, and this list has"),
        ("write it\nafter: a, b\n", "refused: line 2: `after:` is a setting of a block"),
        ("- [ ] one\n---\n", "refused: line 2: a check list has no lines that are just `---`"),
    ] {
        let found = told(text);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{text}: {found:?}");
    }
}

#[test]
fn a_task_keeps_its_name_wherever_it_stands() {
    let ids = |text: &str| -> Vec<String> {
        read_tasks(text).unwrap().tasks.into_iter().map(|task| task.id).collect()
    };
    let [one, two] = &ids("one\ntwo\n")[..] else { panic!() };
    assert_eq!(ids("new\ntwo\n  one\n")[1..], [two.clone(), one.clone()]);
    // Two of the same words are two tasks.
    assert_eq!(ids("one\none\n"), [one.clone(), format!("{one}-2")]);
    // How its words are broken into lines changes nothing.
    assert_eq!(ids("a\nb\n---\nc\n")[0], ids("a b\n---\nc\n")[0]);
}

#[test]
fn ticks_are_made_in_boxes_of_tasks_that_are_done() {
    let text = "# Plan\n- [ ] one\n- [x] two\n- [ ] three\r\nend";
    let done = |task: &LoopTask| task.text != "one";
    assert_eq!(ticked(text, &done), "# Plan\n- [ ] one\n- [x] two\n- [x] three\r\nend");
    assert_eq!(ticked("one\ntwo\n", &|_| true), "one\ntwo\n");
}

proptest! {
    #[test]
    fn any_text_is_tasks_of_different_names_or_refused(
        text in "((id|after|budget|touches): ?[a-c0-9,]{0,4}\n|---\n|- \\[[ x]\\] [a-c]{0,3}\n|#x\n|[a-c ]{0,6}\n){0,12}"
    ) {
        if let Ok(list) = read_tasks(&text) {
            let mut ids: Vec<&str> = list.tasks.iter().map(|task| task.id.as_str()).collect();
            ids.sort_unstable();
            ids.dedup();
            prop_assert_eq!(ids.len(), list.tasks.len());
            for task in &list.tasks {
                prop_assert!(!task.text.trim().is_empty());
                prop_assert!(!task.text.contains('\n'));
            }
        }
        // A list with every box ticked has the same tasks.
        if let (Ok(one), Ok(two)) = (read_tasks(&text), read_tasks(&ticked(&text, &|_| true))) {
            let names = |list: &TaskList| list.tasks.iter().map(|t| t.id.clone()).collect::<Vec<_>>();
            prop_assert_eq!(names(&one), names(&two));
        }
    }
}
