//! The opener with an agent that only looks at its request.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use spore_agent::{Agent, AgentError, AgentEvent, AgentWatch, Capabilities};
use spore_model::{EffectClass, Outcome, Run, RunId, RunKind, StepKey};
use spore_tools::remote::{Ask, Remote, Told};

use super::*;
use crate::Update;
use crate::agents::roles::RoleTerms;
use crate::session::agent_choice::AgentChoice;
use crate::session::confinement::{OwnHold, SessionConfinement};
use crate::session::nesting::Nesting;
use crate::session::plan::{SessionPosition, SessionTools};
use crate::session::sandbox::Enforcement;
use crate::toolbox::tests::garden::Garden;

/// A value that is made up.
const KEY: &str = "umbrella-17-quartz";

/// Keeps its request, asks the graph one question, and says what it must not.
#[derive(Default)]
struct Looker {
    seen: Mutex<Option<(Request, String)>>,
}

impl Agent for Looker {
    fn name(&self) -> &str {
        "looker"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn run(
        &self,
        request: &Request,
        _: &mut dyn AgentWatch,
    ) -> std::result::Result<SessionReport, AgentError> {
        let remote = Remote::of_environment(&request.mcp_servers[0].env).unwrap();
        let ask = Ask::Call { tool: "search".to_owned(), arguments: json!({ "query": "pour" }) };
        let told = match remote.ask(&ask, &|| false).unwrap() {
            Told::Answer(answer) => format!("{answer:?}"),
            other => panic!("{other:?}"),
        };
        let flagged = json!({ "message": format!("flagged {KEY}"), "file": KEY });
        let flag = Ask::Call { tool: "flag".to_owned(), arguments: flagged };
        assert!(matches!(remote.ask(&flag, &|| false).unwrap(), Told::Answer(_)));
        *self.seen.lock().unwrap() = Some((request.clone(), told));
        Ok(SessionReport {
            model: Some("really-used".to_owned()),
            final_text: format!("final {KEY}"),
            structured: Some(json!({ "said": KEY })),
            ..SessionReport::ended(Outcome::Success, Some(format!("reason {KEY}")))
        })
    }
}

struct Quiet;

impl Progress for Quiet {
    fn update(&mut self, _: &Update) {}
}

fn plan(garden: &Garden, agent: Arc<dyn Agent>, confinement: SessionConfinement) -> SessionPlan {
    let (run, id) = (RunId::from_parts(1, 1), RunId::from_parts(1, 2));
    let config = &spore_config::Config::load(&[]).unwrap().config;
    SessionPlan {
        role: "operator".to_owned(),
        name: "look".to_owned(),
        choice: AgentChoice { backend: "looker".to_owned(), model: Some("asked-for".to_owned()) },
        agent,
        prompt: format!("look around {KEY}"),
        conversation: None,
        fresh: None,
        keeps_home: None,
        keeps_turns: false,
        system_prompt: None,
        dir: garden.root(),
        files: crate::base::run_files::SessionFiles::new(garden.root().join("s")),
        terms: RoleTerms::settle(config, "operator", Some(1), Some(Duration::from_secs(1))),
        usd: None,
        tools: SessionTools::Allowed(Vec::new()),
        brief: None,
        graph_at: None,
        commands: None,
        nesting: Nesting { depth: 1, limit: 3 },
        row: SessionPosition {
            id,
            root: run,
            attempt: 1,
            bounce: 1,
            depth: 1,
            experiment: None,
            parent: run,
            run,
            key: StepKey::session(),
        },
        confinement,
    }
}

#[test]
fn a_session_has_variables_tools_and_a_model_and_no_secret_however_it_is_held() {
    let not_held = Enforcement { held: false, root: false, layers: false, notes: Vec::new() };
    for is_own in [true, false] {
        let garden = Garden::planted();
        let variables = [("DEPLOY_KEY".to_owned(), KEY.to_owned())];
        let credentials = crate::Credentials::of(&variables, &garden.root());
        let around = Surroundings { credentials, ..garden.around() };
        let workspace = Workspace::find(&around).unwrap();
        let config = workspace.config(&around, &[]).unwrap();
        let journal = workspace.journal(&config).unwrap();
        let agent = Arc::new(Looker::default());
        let held = |settings: &str| {
            let origin = spore_config::SettingsOrigin::Flag("test".into());
            let text = settings.to_owned();
            spore_config::Config::load(&[spore_config::SettingsLayer { origin, text }]).unwrap()
        };
        let off = held("sandbox.mode = \"off\"").config;
        let own = OwnHold::find(&around, &off, "looker", &garden.root()).unwrap();
        let confinement = match is_own {
            true => SessionConfinement::OwnDirectory(own),
            false => SessionConfinement::Checkout(not_held.clone()),
        };
        let plan = plan(&garden, Arc::clone(&agent) as Arc<dyn Agent>, confinement);
        let (run, now) = (plan.row.run, around.clock.now());
        journal.create_run(&Run::begin(run, RunKind::Spawn, "look", now), &[]).unwrap();
        let (class, intent) = (EffectClass::Paid, json!({}));
        journal.begin_step(run, &plan.row.key, class, &intent, now).unwrap();
        let opener = SessionOpener {
            around: &around,
            workspace: &workspace,
            config: &config,
            journal: &journal,
            broker: &Broker::start(&around, &workspace, &config).unwrap(),
            trace: &plan.row.id.into(),
        };
        let end = opener.run(&plan, &mut Quiet).unwrap();
        assert_eq!(end.booking.model.as_deref(), Some("really-used"));
        let (request, told) = agent.seen.lock().unwrap().take().unwrap();
        assert!(told.contains("src/lib.rs"), "{told}");
        let names: Vec<&str> = request.env.iter().map(|(name, _)| name.as_str()).collect();
        for name in [
            "SPORE_ROOT",
            "SPORE_SPAWN_DEPTH",
            "SPORE_TRACE_ID",
            "SPORE_SPAWN_MAX_DEPTH",
            "SPORE_SESSION_RUN",
        ] {
            assert_eq!(names.iter().filter(|known| **known == name).count(), 1, "{name}");
        }
        assert!(plan.files.task().is_file() && plan.files.last_message().is_file());
        let struck = |text: &str| format!("{text}[secret DEPLOY_KEY]");
        assert_eq!(request.prompt, struck("look around "));
        assert_eq!(end.report.final_text, struck("final "));
        assert_eq!(end.report.reason, Some(struck("reason ")));
        assert_eq!(end.report.structured, Some(json!({ "said": struck("") })));
        let [flag] = &end.proposals.flags[..] else { panic!("{:?}", end.proposals) };
        assert_eq!((&flag.message, &flag.file), (&struck("flagged "), &Some(struck(""))));
    }
}

/// Speaks and ends well, but has never started its server of tools.
struct Unserved {
    starts_servers: bool,
    says: Option<&'static str>,
}

impl Agent for Unserved {
    fn name(&self) -> &str {
        "unserved"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn starts_servers(&self) -> bool {
        self.starts_servers
    }

    fn run(
        &self,
        _: &Request,
        watch: &mut dyn AgentWatch,
    ) -> std::result::Result<SessionReport, AgentError> {
        if let Some(status) = self.says {
            let server = crate::SERVER_NAME.to_owned();
            watch.event(&AgentEvent::McpStatus { server, status: status.to_owned() });
        }
        watch.event(&AgentEvent::Text { text: "done".to_owned() });
        // What is said at once would end the session here.
        let final_text = watch.worthless().unwrap_or_default();
        Ok(SessionReport { final_text, ..SessionReport::ended(Outcome::Success, None) })
    }
}

#[test]
fn a_session_without_the_tools_of_its_role_is_worthless() {
    let check = |starts_servers: bool, says: Option<&'static str>, at_once: &str, reason: &str| {
        let garden = Garden::planted();
        let around = garden.around();
        let workspace = Workspace::find(&around).unwrap();
        let config = workspace.config(&around, &[]).unwrap();
        let journal = workspace.journal(&config).unwrap();
        let not_held = Enforcement { held: false, root: false, layers: false, notes: Vec::new() };
        let agent = Arc::new(Unserved { starts_servers, says });
        let plan = plan(&garden, agent, SessionConfinement::Checkout(not_held));
        let (run, now) = (plan.row.run, around.clock.now());
        journal.create_run(&Run::begin(run, RunKind::Spawn, "look", now), &[]).unwrap();
        journal.begin_step(run, &plan.row.key, EffectClass::Paid, &json!({}), now).unwrap();
        let opener = SessionOpener {
            around: &around,
            workspace: &workspace,
            config: &config,
            journal: &journal,
            broker: &Broker::start(&around, &workspace, &config).unwrap(),
            trace: &plan.row.id.into(),
        };
        let report = opener.run(&plan, &mut Quiet).unwrap().report;
        assert_eq!(report.final_text, at_once);
        assert_eq!(report.reason.as_deref().unwrap_or_default(), reason);
        assert_eq!(report.outcome == Outcome::Success, reason.is_empty());
    };
    let failed = "the MCP server spore is needed and is failed";
    check(false, Some("failed"), failed, failed);
    check(false, Some("connected"), "", "");
    // Only the broker knows it of an agent that does not say, and not of every agent.
    check(true, None, "", "the MCP server spore is needed and was not started");
    check(false, None, "", "");
}
