//! Files that an agent leaves and that cannot be taken over as they are: the bounce is turned down
//! with words, or they are left out. No run ends in an error because of them.

use spore_testkit::TestEnv;

use crate::scenes::{self, WRITE_42};

/// Two bounces: one that plays `odd`, and one that is told `words` and mends it.
fn two_bounces(odd: &str, words: &str, mend: &str) -> TestEnv {
    let coder = |bounce: u32, steps: &str| {
        format!(
            "[[session]]\nrole = \"coder\"\nbounce = {bounce}\ncost_usd = 0.5\nfinal = \"done\"\n\
             steps = [{steps}]\n"
        )
    };
    let first = coder(1, &format!("{WRITE_42}, {{ run = '''{odd}''' }}"));
    let second = coder(2, &format!("{{ expect = '''{words}''' }}, {{ run = '''{mend}''' }}"));
    let verifier = "[[session]]\nrole = \"verifier\"\nbounce = 2\ncost_usd = 0.25\n\
                    final = '''<verdict>{\"nonce\":\"$NONCE\",\"verdict\":\"supports\"}</verdict>'''\n";
    scenes::with_scenario(&[&first, &second, verifier].concat())
}

/// Checks that a bounce with odd files is turned down and told so, and that the run goes on.
#[track_caller]
fn turned_down(odd: &str, words: &str, mend: &str, settings: &str) {
    let env = two_bounces(odd, words, mend);
    let check = "[gates.commands.check]\nrun = \"sh check.sh\"\n";
    env.write(".spore/config.toml", &format!("{check}{settings}"));
    let _ = scenes::orchestrate(&env, &[]).code(0);
    let run = scenes::newest(&env);
    assert_eq!(run["bounces"].as_array().unwrap().len(), 2, "{run}");
    let branch = scenes::newest_branch(&env);
    assert_eq!(env.git(&["diff", "--name-only", "HEAD", &branch]), "answer.txt");
}

#[test]
fn a_path_beyond_what_the_system_takes_turns_the_bounce_down() {
    turned_down(
        "p=$(printf %0200d 0); for i in $(seq 25); do mkdir $p; cd -P $p; done; echo 1 > f",
        "is too long",
        "rm -r 000*",
        "",
    );
}

#[test]
fn a_change_beyond_the_caps_turns_the_bounce_down() {
    turned_down(
        "head -c 3000000 /dev/urandom > junk.bin",
        "3000003 bytes",
        "rm junk.bin",
        "[commit]\nmax_bytes = 2000000\n",
    );
    turned_down(
        "mkdir many; cd many; for i in $(seq 300); do : > $i; done",
        "the change writes 301 files",
        "rm -r many",
        "[commit]\nmax_files = 200\n",
    );
}

#[test]
fn rules_that_are_no_file_turn_the_bounce_down() {
    turned_down("mkfifo .gitattributes", "no regular file", "rm .gitattributes", "");
}

/// Checks that odd files hold up nothing, and what of them is on the branch beside the answer.
#[track_caller]
fn goes_through(odd: &str, expected: &[&str]) {
    let steps = format!("{WRITE_42}, {{ run = '''{odd}''' }}");
    let env = scenes::with_scenario(&scenes::one_bounce(&steps));
    let _ = scenes::orchestrate(&env, &[]).code(0);
    let branch = scenes::newest_branch(&env);
    let changed = env.git(&["diff", "--name-only", "HEAD", &branch]);
    let changed: Vec<&str> = changed.lines().filter(|name| *name != "answer.txt").collect();
    assert_eq!(changed, expected, "{odd}");
}

#[test]
fn odd_files_are_taken_as_they_are_or_left_out() {
    goes_through(
        "echo '* working-tree-encoding=nonsense' > .gitattributes; touch *",
        &[".gitattributes"],
    );
    goes_through("printf 1 > $(printf 'latin\\351')", &["\"latin\\351\""]);
    goes_through("echo 1 > closed; chmod 000 closed", &["closed"]);
    goes_through("mkfifo pipe; mkdir d; echo 1 > d/f; chmod 000 d", &["d/f"]);
    goes_through("git init -q in; echo 1 > in/f; touch .git/index.lock", &["in/f"]);
    goes_through("ln -s loop loop; ln -s . self", &["loop", "self"]);
    goes_through("mv kept.txt x; mv x KEPT.txt; cp KEPT.txt kept.txt", &["KEPT.txt"]);
    goes_through("rm -rf .git", &[]);
}

#[test]
fn a_rejected_run_leaves_nothing_in_the_repository_and_nothing_at_all_once_it_is_pruned() {
    let steps = "{ run = \"head -c 3000000 /dev/urandom > junk.bin; rm kept.txt\" }";
    let env = scenes::with_scenario(&scenes::one_bounce(steps));
    let objects = || env.git(&["cat-file", "--batch-check", "--batch-all-objects"]);
    let before = objects();
    let _ = scenes::orchestrate(&env, &["--max-bounces", "1"]).code(11);
    assert_eq!(objects(), before);
    assert_eq!(scenes::added_refs(&env), ["refs/spore/RUNID-001/base"]);
    let size = || -> u64 {
        let kilobytes = scenes::system(&env, "du", &["-sk", ".spore/work.git"]);
        kilobytes.split_whitespace().next().unwrap().parse().unwrap()
    };
    assert!(size() > 2900, "{}", size());
    let _ = env.spore(&["runs", "prune"]).code(0);
    assert!(size() < 200, "{}", size());
    assert_eq!(scenes::work_refs(&env), Vec::<String>::new());
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn pruning_the_repository_loses_nothing_of_a_run_that_waits() {
    let env = scenes::with_scenario(scenes::THREE_BOUNCES);
    let kill = [("SPORE_KILL_AT", "after:ref:refs/spore/RUN/bounce/2#1")];
    let _ = env.spore_in(&env.repo(), scenes::ORCHESTRATE, &kill);
    env.git(&["gc", "-q", "--prune=now"]);
    env.git(&["prune", "--expire=now"]);
    let _ = env.spore(&["resume"]).code(0);
    let branch = format!("{}:answer.txt", scenes::newest_branch(&env));
    assert_eq!(env.git(&["show", &branch]), "42");
}
