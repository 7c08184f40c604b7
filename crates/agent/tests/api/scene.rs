//! A checkout, a scripted model, and a request that a test may still change.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time and environment")]

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use spore_agent::api::{ApiAgent, ApiSettings, CallForm, Price, PriceList, Protocol, Retries};
use spore_agent::{
    Agent, AgentEvent, AgentWatch, BoxError, Request, RequestLimits, SessionReport, ToolPolicy,
    Watchdog,
};
use spore_effects::FixedClock;
use spore_effects::session::{Grace, ProcessIdentity, Shim, find_by_token};
use spore_model::{Outcome, SessionToken, Timestamp, Usd};
use spore_scripted_model::{ModelScenario, ModelServer, ScriptedPrice};

pub(crate) const PROTOCOLS: [Protocol; 3] =
    [Protocol::Messages, Protocol::Responses, Protocol::Chat];
pub(crate) const KEY: &str = "sk-dummy-0123456789";
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// So long that no test ever waits for it, and a stuck one does not wait for ever.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) struct Scene {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) server: ModelServer,
    pub(crate) settings: ApiSettings,
    pub(crate) watchdog: Watchdog,
    pub(crate) request: Request,
}

/// What a session looked like from outside.
#[derive(Default)]
pub(crate) struct Witness {
    pub(crate) events: Vec<AgentEvent>,
    pub(crate) starts: u32,
    pub(crate) cancel_at: Option<Instant>,
    /// Cancels when the first command starts.
    pub(crate) cancels_commands: bool,
}

impl AgentWatch for Witness {
    fn starting(&mut self, _: &ProcessIdentity) -> Result<(), BoxError> {
        self.starts += 1;
        Ok(())
    }

    fn event(&mut self, event: &AgentEvent) {
        self.events.push(event.clone());
    }

    fn cancelled(&self) -> bool {
        self.cancel_at.is_some_and(|at| Instant::now() > at)
            || (self.cancels_commands && self.starts > 0)
    }
}

pub(crate) fn usd(dollars: f64) -> Usd {
    Usd::from_dollars(dollars).unwrap()
}

pub(crate) fn settings(protocol: Protocol) -> ApiSettings {
    let price = Price {
        input: usd(3.0),
        output: usd(15.0),
        cache_read: usd(0.5),
        up_to: None,
        cache_write: usd(3.0),
    };
    ApiSettings {
        protocol,
        call_form: CallForm::Auto,
        mends: 2,
        repeats: 4,
        small_window: 0,
        local: None,
        context_window: 200_000,
        context_share: 0.7,
        max_output_tokens: 4096,
        prices: PriceList::new([("model-1".to_owned(), price)]),
        retries: Retries { most: 2, pause: Duration::from_millis(4), longest: LONG },
        nudges: 0,
        command_timeout: LONG,
        command_output: 10_000,
        idle: LONG,
        longest_line: 1 << 20,
    }
}

impl Scene {
    pub(crate) fn new(protocol: Protocol, scenario: ModelScenario) -> Self {
        let price = ScriptedPrice::per_million(usd(3.0), usd(15.0), usd(0.5));
        let server = ModelServer::start(scenario.price("*", price)).unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("checkout")).unwrap();
        fs::write(dir.path().join("checkout/add.txt"), "1 + 1 = 3\n").unwrap();
        let variables = [
            ("PATH", std::env::var("PATH").unwrap()),
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            ("ANTHROPIC_BASE_URL", server.url()),
            ("OPENAI_API_KEY", KEY.to_owned()),
            ("OPENAI_BASE_URL", format!("{}/v1", server.url())),
        ];
        let request = Request {
            role: "coder".to_owned(),
            bounce: 1,
            system_prompt: "You are the coder.".to_owned(),
            native_role: None,
            prompt: "Mend the sum.".to_owned(),
            model: Some("model-1".to_owned()),
            dir: dir.path().join("checkout"),
            env: variables.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            // What a coder in a sandbox has.
            tools: ToolPolicy {
                deny: vec!["grep".to_owned()],
                skip_permissions: true,
                ..ToolPolicy::default()
            },
            sandbox: spore_agent::SessionSandbox::None,
            secrets: Default::default(),
            mcp_servers: Vec::new(),
            schema: None,
            resume: None,
            turns: None,
            limits: RequestLimits { turns: 10, wall: LONG, idle: None, usd: None },
            token: SessionToken::new(format!("api{:016x}", server.port())).unwrap(),
            transcript: dir.path().join("run/transcript.jsonl"),
        };
        let watchdog = Watchdog {
            first_output: LONG,
            exit: LONG,
            start_retry_pause: Duration::from_millis(1),
            grace: Grace { interrupt_ms: 100, terminate_ms: 100 },
            line_cap: 1 << 20,
            transcript_cap: 8 << 20,
        };
        Self { dir, server, settings: settings(protocol), watchdog, request }
    }

    pub(crate) fn play_before(&self, witness: &mut Witness) -> SessionReport {
        let shim = Shim::new(env!("CARGO_BIN_EXE_agent-test-shim").into());
        let api =
            ApiAgent::new(shim, Arc::new(FixedClock(NOW)), self.watchdog, self.settings.clone());
        let report = api.run(&self.request, witness).unwrap();
        let transcript = fs::read_to_string(&self.request.transcript).unwrap();
        for told in [&transcript, &format!("{report:?}"), &format!("{:?}", witness.events)] {
            assert!(!told.contains(KEY), "{told}");
        }
        assert_eq!(find_by_token(&self.request.token), Vec::<i32>::new());
        report
    }

    pub(crate) fn play(&self) -> SessionReport {
        self.play_before(&mut Witness::default())
    }
}

/// Plays a scenario on every protocol and compares how it ended.
#[track_caller]
pub(crate) fn check(scenario: &ModelScenario, outcome: Outcome, reason: &str, requests: u64) {
    check_with(scenario, &|_| {}, outcome, reason, requests);
}

#[track_caller]
pub(crate) fn check_with(
    scenario: &ModelScenario,
    change: &(dyn Fn(&mut Scene) + Sync),
    outcome: Outcome,
    reason: &str,
    requests: u64,
) {
    std::thread::scope(|scope| {
        for protocol in PROTOCOLS {
            scope.spawn(move || {
                let mut scene = Scene::new(protocol, scenario.clone());
                change(&mut scene);
                let report = scene.play();
                let found = report.reason.clone().unwrap_or_default();
                assert_eq!(report.outcome, outcome, "{protocol:?}: {found}");
                assert!(found.starts_with(reason), "{protocol:?}: {found}");
                assert_eq!(scene.server.totals().requests, requests, "{protocol:?}");
                let unanswered = scene.server.unanswered();
                assert!(unanswered.is_empty(), "{unanswered:?}");
            });
        }
    });
}
