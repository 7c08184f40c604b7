//! Prompts that say what belongs elsewhere, found with file and line.

use crate::scenes::{self, told};

#[test]
fn a_role_a_path_and_stages_in_the_wrong_place_are_errors_with_their_line() {
    let env = scenes::small();
    env.write(".spore/agents/planner.md", "You plan.\n\nRead src/main.rs first.\n");
    env.write(".spore/prompts/orchestrators/ospec.md", "You run stages, PLAN -> BUILD.\n");
    env.write(".spore/prompts/orchestrators/ospec.prompt.md", "full tabs\nPLAN -> BUILD\n");
    env.write(".spore/prompts/executors/spec.prompt.md", "Write src/main.rs.\nYou are a coder.\n");
    env.write(
        ".spore/flows/release.toml",
        "[executors.plan]\nrole = \"planner\"\nprompt = \"\"\"\nPlan {target}.\nAct as a critic.\n\"\"\"\n",
    );
    let output = env.spore(&["prompt-lint"]).code(1);
    insta::assert_snapshot!(told(&output));
    let report = env.spore(&["prompt-lint", "--json"]).code(1).json();
    assert_eq!(report["files"], 5);
    assert_eq!(report["problems"].as_array().unwrap().len(), 4);
    let one = env.spore(&["prompt-lint", ".spore/prompts/orchestrators/ospec.md"]).code(0);
    assert!(one.stdout.contains("1 file looked at, nothing wrong"), "{}", one.render());
    let missing = env.spore(&["prompt-lint", "nowhere"]).code(64);
    assert!(missing.stderr.contains("there is no"), "{}", missing.stderr);
}

#[test]
fn what_a_flow_names_as_a_prompt_is_one_wherever_it_is() {
    let env = scenes::small();
    env.write("texts/use.md", "Who uses {target}?\nYou are a critic.\n");
    env.write(
        ".spore/flows/look.toml",
        "[campaigns.look]\ndomains = [{ name = \"use\", executor = \"e\", prompt_file = \"texts/use.md\" }]\n",
    );
    let report = env.spore(&["prompt-lint", "--json"]).code(1).json();
    assert_eq!(report["files"], 2);
    assert_eq!(report["problems"][0]["file"], "texts/use.md");
    assert_eq!(report["problems"][0]["line"], 2);
}

#[test]
fn the_roles_that_are_written_out_for_editing_pass() {
    let env = scenes::small();
    let _ = env.spore(&["init", "--agents"]).code(0);
    let output = env.spore(&["prompt-lint"]).code(0);
    assert!(output.stdout.contains("17 files looked at"), "{}", output.render());
}

#[test]
fn flows_in_json_and_what_a_led_layer_is_about_are_looked_at() {
    let env = scenes::small();
    env.write(
        ".spore/flows/a.json",
        "{ \"executors\": { \"e\": {\n  \"prompt\": \"Plan it.\\nYou are a planner.\" } } }\n",
    );
    env.write(
        ".spore/flows/b.toml",
        "[coordinators.c]\nphases = []\ndescription = \"PLAN -> BUILD\"\n",
    );
    env.write("other/data.json", "{ \"prompt\": \"You are a test\" }\n");
    let report = env.spore(&["prompt-lint", "--json"]).code(1).json();
    let problems = report["problems"].as_array().unwrap().iter();
    let found: Vec<String> = problems
        .map(|one| format!("{}:{} {}", one["file"].as_str().unwrap(), one["line"], one["rule"]))
        .collect();
    assert_eq!(
        found,
        [".spore/flows/a.json:2 \"role-in-prompt\"", ".spore/flows/b.toml:3 \"stages-in-prompt\""]
    );
    // Elsewhere a file in JSON is no flow, unless a person says so.
    let _ = env.spore(&["prompt-lint", "other"]).code(0);
    let _ = env.spore(&["prompt-lint", "other/data.json"]).code(1);
}
