//! The api backend, on the Messages protocol. Its own tests play all three.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use spore_agent::api::{ApiAgent, ApiSettings, CallForm, Protocol, Retries};
use spore_agent::{Agent, PriceList, Watchdog};
use spore_effects::SystemClock;
use spore_effects::session::Shim;
use spore_scripted_model::{ScriptedPrice, Turn};

use super::{Grant, KEY, Kit, ModelStep, SessionPlace, pairs, price};

const MODEL: &str = "model-1";

pub(super) struct ApiKit;

impl Kit for ApiKit {
    fn name(&self) -> &'static str {
        "api"
    }

    fn title(&self) -> &'static str {
        "api"
    }

    fn agent(&self, place: &SessionPlace, watchdog: Watchdog) -> Box<dyn Agent> {
        let shim = Shim::new(place.exe.clone());
        Box::new(ApiAgent::new(shim, Arc::new(SystemClock), watchdog, settings(self.prices())))
    }

    fn settle(
        &self,
        _: &SessionPlace,
        url: &str,
        _: &[ModelStep],
    ) -> io::Result<Vec<(String, String)>> {
        Ok(pairs([("ANTHROPIC_BASE_URL", url), ("ANTHROPIC_API_KEY", KEY)]))
    }

    fn model(&self) -> Option<&'static str> {
        Some(MODEL)
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn wall(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn write(&self, _: &SessionPlace, name: &str) -> Turn {
        Turn::calls("write", json!({ "path": name, "content": "hi\n" }))
    }

    fn shell(&self, command: &str) -> Turn {
        Turn::calls("run", json!({ "command": command }))
    }

    fn served(&self, _: &str, tool: &str, input: Value) -> Turn {
        Turn::calls(tool, input)
    }

    fn permission(&self, grant: Grant) -> String {
        match grant {
            Grant::Read => "read".to_owned(),
            Grant::Edit => "write".to_owned(),
            Grant::Command(command) => format!("run({command})"),
            Grant::Server => "ping".to_owned(),
        }
    }

    fn price(&self) -> Option<ScriptedPrice> {
        Some(price(3000, 15_000, 300, 3750))
    }
}

impl ApiKit {
    fn prices(&self) -> PriceList {
        let known = self.price().map(|price| spore_agent::Price {
            input: price.input,
            output: price.output,
            cache_read: price.cached,
            cache_write: price.written,
            up_to: None,
        });
        PriceList::new(known.map(|price| (MODEL.to_owned(), price)))
    }
}

fn settings(prices: PriceList) -> ApiSettings {
    let minute = Duration::from_secs(60);
    ApiSettings {
        protocol: Protocol::Messages,
        call_form: CallForm::Auto,
        repeats: 4,
        mends: 0,
        small_window: 0,
        local: None,
        context_window: 200_000,
        context_share: 0.7,
        max_output_tokens: 4096,
        prices,
        retries: Retries { most: 1, pause: Duration::from_millis(10), longest: minute },
        nudges: 0,
        command_timeout: minute,
        command_output: 10_000,
        idle: minute,
        longest_line: 1 << 20,
    }
}
