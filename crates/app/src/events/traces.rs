//! Sends traces of runs to a collector. What becomes of it never changes a run: the journal has all
//! that there is to send, and what did not arrive is sent with the next one.

use schemars::JsonSchema;
use std::io::Read;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_config::TelemetryConfig;
use spore_model::{Fault, Run, RunId, Timestamp};
use spore_runs::{RunFilter, RunSpan};
use spore_store::{Journal, RunQuery};

use crate::base::stores::ProjectJournal;
use crate::report::{LocalRuns, named_or_newest};
use crate::{Error, Result, Surroundings, Workspace};

/// Under which kind of kept values it is noted what was sent.
const KEPT_AS: &str = "telemetry";

/// Two processes may end runs at once, and the one that writes its row first need not have the
/// earlier time: what ended this long before the last that was sent is looked at again.
const OVERLAP: Duration = Duration::from_secs(300);

/// How much of a collector's answer is read.
const ANSWER_BYTES: u64 = 64 << 10;

/// What was sent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
pub struct SentTraces {
    pub endpoint: String,
    pub runs: u32,
    pub spans: u32,
    /// The traces, in the order of the runs; one that several runs share is there once.
    pub traces: Vec<String>,
}

/// Sends runs of the past to a collector: one by its name, or all that `period` asks for.
pub fn send_runs(
    around: &Surroundings,
    endpoint: &str,
    typed: Option<&str>,
    period: Option<&RunFilter>,
) -> Result<SentTraces> {
    let workspace = Workspace::find_with_runs(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let runs = match period {
        Some(filter) => {
            let presence = LocalRuns(&workspace);
            let all = RunFilter { limit: u32::MAX, ..filter.clone() };
            let listed = spore_runs::list_runs(&journal, &presence, &all, around.clock.now())?;
            listed.rows.into_iter().map(|row| row.run).collect()
        }
        None => vec![named_or_newest(&journal, typed)?],
    };
    let collector = Collector::new(around, endpoint, &config.telemetry)?;
    collector.send(&journal, &runs)
}

/// What was sent up to when.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct SentMark {
    until: Timestamp,
    /// Those that ended shortly before.
    runs: Vec<RunId>,
}

/// Sends what ended and was not sent yet, if the settings ask for it; what ended before `since` is
/// left to [`send_runs`] where nothing was ever sent. Returns nothing where nothing is to be sent.
pub fn send_ended_runs(around: &Surroundings, since: Timestamp) -> Result<Option<SentTraces>> {
    let Ok(workspace) = Workspace::find(around) else { return Ok(None) };
    let config = workspace.config(around, &[])?;
    let Some(endpoint) = &config.telemetry.endpoint else { return Ok(None) };
    let journal = workspace.journal(&config)?;
    let kept = journal.cached(KEPT_AS, endpoint)?;
    let mark: Option<SentMark> = kept.and_then(|kept| serde_json::from_value(kept).ok());
    let from = mark.as_ref().map_or(since, |mark| before(mark.until));
    let sent_before = mark.map(|mark| mark.runs).unwrap_or_default();
    let query = RunQuery { roots_only: true, without_settings: true, ..RunQuery::default() };
    let mut ended: Vec<Run> = journal.runs(&query)?;
    ended.retain(|run| run.ended.is_some_and(|at| at >= from) && !sent_before.contains(&run.id));
    let Some(until) = ended.iter().filter_map(|run| run.ended).max() else { return Ok(None) };
    let sent = Collector::new(around, endpoint, &config.telemetry)?.send(&journal, &ended)?;
    let until = until.max(from);
    // All that a later look could find again.
    let mut runs = sent_before;
    runs.extend(ended.iter().map(|run| run.id));
    let is_near = |id: &RunId| -> Result<bool> {
        let ended = journal.run(*id)?.and_then(|run| run.ended);
        Ok(ended.is_some_and(|at| at >= before(until)))
    };
    let mut near = Vec::new();
    for run in runs {
        if is_near(&run)? {
            near.push(run);
        }
    }
    let mark = json!(SentMark { until, runs: near });
    journal.cache(KEPT_AS, endpoint, &mark, around.clock.now())?;
    Ok(Some(sent))
}

/// Returns from when on runs are looked at again that ended up to `until`.
fn before(until: Timestamp) -> Timestamp {
    let overlap = i64::try_from(OVERLAP.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(until.as_millis().saturating_sub(overlap))
}

struct Collector {
    endpoint: String,
    address: String,
    headers: Vec<(String, String)>,
    client: ureq::Agent,
}

impl Collector {
    fn new(around: &Surroundings, endpoint: &str, settings: &TelemetryConfig) -> Result<Self> {
        let address = traces_address(endpoint)?;
        let mut headers = Vec::new();
        for (name, variable) in &settings.headers {
            let Some(value) = around.variable(variable).filter(|value| !value.is_empty()) else {
                let message = format!("the header {name} is to be sent, and {variable} is not set");
                return Err(Error::new(Fault::Config, message)
                    .hint("set the variable, or take it out of `telemetry.headers`"));
            };
            headers.push((name.clone(), value.to_owned()));
        }
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(settings.timeout))
            // Headers may hold a key: it goes to no other host than the one that was named.
            .max_redirects(0)
            .http_status_as_error(false)
            .proxy(proxy(around, &address))
            .user_agent("spore")
            .build();
        let client = ureq::Agent::new_with_config(config);
        Ok(Self { endpoint: endpoint.to_owned(), address, headers, client })
    }

    fn send(&self, journal: &ProjectJournal, runs: &[Run]) -> Result<SentTraces> {
        let mut sent = SentTraces { endpoint: self.endpoint.clone(), ..SentTraces::default() };
        let mut waiting: Vec<RunSpan> = Vec::new();
        for run in runs {
            let spans = spore_runs::spans_of_run(journal, run)?;
            sent.runs += 1;
            sent.spans = sent.spans.saturating_add(u32::try_from(spans.len()).unwrap_or(u32::MAX));
            for span in &spans {
                if !sent.traces.contains(&span.trace_id) {
                    sent.traces.push(span.trace_id.clone());
                }
            }
            waiting.extend(spans);
            // Ten thousand runs are not held at once.
            if waiting.len() >= 1000 {
                self.post(&std::mem::take(&mut waiting))?;
            }
        }
        self.post(&waiting)?;
        Ok(sent)
    }

    fn post(&self, spans: &[RunSpan]) -> Result<()> {
        for request in spore_runs::trace_requests(spans, env!("CARGO_PKG_VERSION")) {
            self.post_one(&request).map_err(|why| {
                let message = format!("{} did not take the traces: {why}", self.endpoint);
                Error::new(Fault::Missing, message).hint(
                    "is a collector listening there that takes OTLP as JSON over HTTP? Nothing is \
                     lost: the same spans can be sent again",
                )
            })?;
        }
        Ok(())
    }

    fn post_one(&self, request: &Value) -> std::result::Result<(), String> {
        let mut post = self.client.post(&self.address).header("content-type", "application/json");
        for (name, value) in &self.headers {
            post = post.header(name, value);
        }
        let response = post.send(request.to_string()).map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        let mut answer = String::new();
        let read =
            response.into_body().into_reader().take(ANSWER_BYTES).read_to_string(&mut answer);
        if !(200..300).contains(&status) {
            let said = spore_plain::line_within(&answer, 200);
            return Err(format!("it answered {status} {said}").trim_end().to_owned());
        }
        let partial: Value =
            read.ok().and_then(|_| serde_json::from_str(&answer).ok()).unwrap_or_default();
        let partial = &partial["partialSuccess"];
        let rejected = &partial["rejectedSpans"];
        let rejected = rejected.as_u64().or_else(|| rejected.as_str()?.parse().ok()).unwrap_or(0);
        if rejected == 0 {
            return Ok(());
        }
        let said = spore_plain::line_within(partial["errorMessage"].as_str().unwrap_or(""), 200);
        Err(format!("it turned {rejected} spans down: {said}"))
    }
}

/// Returns where traces are posted: below the address of a collector, or the address itself if it
/// says so already.
fn traces_address(endpoint: &str) -> Result<String> {
    let is_address = ["http://", "https://"].iter().any(|scheme| endpoint.starts_with(scheme));
    if !is_address {
        let message = format!("{endpoint:?} is no address of a collector");
        return Err(Error::new(Fault::BadInput, message)
            .hint("it begins with http:// or https://, as in http://127.0.0.1:4318"));
    }
    let endpoint = endpoint.trim_end_matches('/');
    Ok(match endpoint.ends_with("/v1/traces") {
        true => endpoint.to_owned(),
        false => format!("{endpoint}/v1/traces"),
    })
}

/// Returns the proxy of the user's environment, which a collector on this machine needs none of.
fn proxy(around: &Surroundings, address: &str) -> Option<ureq::Proxy> {
    let host = address.split_once("://").map_or("", |(_, rest)| rest);
    let local = ["127.", "localhost", "[::1]"].iter().any(|name| host.starts_with(name));
    let names = match address.starts_with("https://") {
        true => ["HTTPS_PROXY", "https_proxy"],
        false => ["HTTP_PROXY", "http_proxy"],
    };
    let found = names.iter().find_map(|name| around.variable(name).filter(|set| !set.is_empty()));
    found.filter(|_| !local).and_then(|proxy| ureq::Proxy::new(proxy).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_go_below_a_collector() {
        for (typed, expected) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
            ("https://c.example/otlp/v1/traces", "https://c.example/otlp/v1/traces"),
        ] {
            assert_eq!(traces_address(typed).unwrap(), expected);
        }
        assert!(traces_address("127.0.0.1:4318").is_err());
    }
}
