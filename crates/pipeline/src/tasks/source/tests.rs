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
fn a_line_of_gates_is_one_command_whatever_signs_it_has() {
    let gates = |lines: &str| match read_tasks(&format!("---\n{lines}\nx\n")) {
        Ok(list) => list.tasks[0].gates.clone(),
        Err(error) => vec![format!("refused: {error}")],
    };
    for command in [
        "[ -f a.txt ]",
        "[ -f a.txt ] && [ -f b.txt ]",
        "[[ -f a.txt ]]",
        "[ \"$CI\" ]",
        "sh -c 'test -f b.txt'",
        "python3 -c \"import os; print(1, 2)\"",
        "'./with blank.sh' \"one, two\"",
        "grep -q \"it's\" a,b.txt",
        "echo it's \"",
    ] {
        assert_eq!(gates(&format!("gates: {command}")), [command]);
    }
    for (lines, expected) in [
        (r#"gates: ["sh a.sh", 'echo "1, 2"',]"#, &["sh a.sh", "echo \"1, 2\""][..]),
        (r#"gates: [ "say \"no\"" ]"#, &["say \"no\""]),
        (r#"gates: "cargo test""#, &["cargo test"]),
        ("gates: make lint\nGates : make test", &["make lint", "make test"]),
    ] {
        assert_eq!(gates(lines), expected, "{lines}");
    }
    for unquoted in ["[sh a.sh, sh b.sh]", "[\"sh a.sh\", sh b.sh]"] {
        let found = gates(&format!("gates: {unquoted}"));
        assert!(
            found[0].starts_with("refused: line 2: `gates` in brackets are quoted"),
            "{found:?}"
        );
    }
}

#[test]
fn a_setting_is_one_however_it_is_written() {
    check("---\nBudget: 1\nx\n", &["x | $1.00"]);
    check("---\nbudget : 1\nx\n", &["x | $1.00"]);
    check("---\ntouches: src/a.rs src/b.rs\nx\n", &["x | touches src/a.rs + src/b.rs"]);
    check("---\ntouches: ['a b.rs', \"c,d.rs\"]\nx\n", &["x | touches a b.rs + c,d.rs"]);
    for (line, key) in [
        ("gate: cargo test", "gate"),
        ("Tuoches: src/a.rs src/b.rs", "Tuoches"),
        ("max-bounces: 2 or so", "max-bounces"),
        ("Timeout: 5m", "Timeout"),
    ] {
        let found = told(&format!("---\n{line}\nx\n"));
        assert!(
            found[0].starts_with(&format!("refused: line 2: `{key}` is no setting")),
            "{found:?}"
        );
    }
}

#[test]
fn nothing_that_begins_like_a_box_is_dropped() {
    for line in
        ["- [ ]write b", "- [x]done", "- []  write b", "-[ ] write b", "* [-] no", "[ ] write b"]
    {
        for text in
            [format!("{line}\n"), format!("- [ ] a\n{line}\n"), format!("- [ ] a\n  {line}\n")]
        {
            let at = text.lines().count();
            let expected = format!("refused: line {at}: this begins like a box and is none");
            assert!(told(&text)[0].starts_with(&expected), "{text}: {:?}", told(&text));
        }
    }
    check("- [ ] a\n- [x](link)\n- [1] a note\n- [x]: link\n", &["a"]);
}

#[test]
fn boxes_in_fences_and_comments_are_no_tasks() {
    check(
        "- [ ] one\n```md\n- [ ] an example\n- [ ]none\n---\n```\n<!-- - [ ] two\n- [ ] three -->\n\
         ~~~~\n```\n- [ ] four\n~~~~\n- [ ] five <!-- of May -->\n",
        &["one", "five"],
    );
    // What is set in below a box is of its task, and the boxes of an example are no tasks.
    check(
        "- [ ] one\n  ```\n  - [ ] as here\n  ```\n- [ ] two\n",
        &["one ``` - [ ] as here ```", "two"],
    );
    check("- [ ] use ``` and `- [ ]`\n- [ ] two\n", &["use ``` and `- [ ]`", "two"]);
    for (text, expected) in [
        ("- [ ] a\n```\n- [ ] b\n", "refused: line 2: this fence has no end"),
        ("- [ ] a\n<!--\n- [ ] b\n", "refused: line 2: this comment has no end"),
    ] {
        assert!(told(text)[0].starts_with(expected), "{text}: {:?}", told(text));
    }
    check("- [ ] a\n```\nno end\n", &["a"]);
    let text = "```\n- [ ] one\n```\n- [ ] one\n";
    assert_eq!(ticked(text, &|_| true), "```\n- [ ] one\n```\n- [x] one\n");
}

#[test]
fn a_check_list_has_a_task_for_each_box() {
    check(
        "# Plan\nSome prose.\n- [ ] one\n  and more\n- [x] done\n  1. [ ] two\n\n  not of two\n* [X] \
         also\n- [ ](link) no box\n- [ ]\n",
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
        ("write it\nBudget: 1\n", "refused: line 2: `budget:` is a setting of a block"),
        ("- [ ] a\n  touches: b.rs\n", "refused: line 2: `touches:` is a setting of a block"),
        ("- [ ] id: a\n", "refused: line 1: `id:` is a setting of a block, and a check list"),
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
