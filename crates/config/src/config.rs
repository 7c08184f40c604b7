//! The typed view of the settings.
//!
//! The types say what a value is, this module says which values make sense; both are checked
//! before anything starts. What a setting is for is said in `defaults.toml`, once.

use std::collections::BTreeMap;
use std::time::Duration;

use spore_model::Usd;

use crate::error::{ConfigError, Place};
use crate::{Entry, Origin, Value, parse_duration};

#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    pub orchestrate: Orchestrate,
    pub spawn: Spawn,
    pub flows: Flows,
    pub sentinel: Sentinel,
    pub verdict: VerdictRules,
    pub session: SessionLimits,
    pub claude: Claude,
    pub codex: Codex,
    /// Commands of agents that speak ACP, by name.
    pub acp: BTreeMap<String, Vec<String>>,
    pub api: Api,
    pub command: Command,
    pub gates: Gates,
    pub commit: Commit,
    pub checkout: Checkout,
    pub environment: Environment,
    pub sandbox: Sandbox,
    pub prices: Prices,
    pub store: Store,
    pub spine: Spine,
    pub diff: Diff,
    pub index: Index,
    pub scan: Scan,
    pub search: Search,
    pub context: Context,
    pub memory: Memory,
    pub show: Show,
    pub tiers: BTreeMap<String, Tier>,
    pub roles: BTreeMap<String, Role>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Orchestrate {
    pub backend: String,
    pub max_bounces: u32,
    pub max_turns: u32,
    pub budget_usd: Usd,
    /// As it is set; [`Orchestrate::session_time`] is what it means.
    pub timeout: Duration,
    pub turn_time: Duration,
    pub min_time: Duration,
    pub apply: String,
    pub summarize: bool,
}

impl Orchestrate {
    /// Returns how long a session of `turns` turns may take.
    pub fn session_time(&self, turns: u32) -> Duration {
        if self.timeout.is_zero() {
            self.turn_time.saturating_mul(turns).max(self.min_time)
        } else {
            self.timeout
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spawn {
    pub max_depth: u32,
}

/// What holds for every flow that does not say otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flows {
    pub exec_depth: u32,
    pub stage_depth: u32,
    pub phase_depth: u32,
    pub heals: u32,
    pub retries: u32,
    pub max_attempts: u32,
    pub max_parallel: u32,
    pub diagnosis_bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sentinel {
    pub max_cycles: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct VerdictRules {
    pub min_confidence: f64,
    pub phrase_confidence: f64,
    pub verifier_retry_pause: Duration,
    /// Patterns of files that agents obey without being asked to.
    pub instructions: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionLimits {
    pub first_output: Duration,
    pub idle: Duration,
    pub exit_deadline: Duration,
    pub start_retry_pause: Duration,
    pub interrupt_grace: Duration,
    pub terminate_grace: Duration,
    pub line_cap_bytes: u64,
    pub transcript_cap_bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claude {
    pub program: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Codex {
    pub program: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Api {
    pub protocol: String,
    pub context_window: u64,
    pub max_output_tokens: u32,
    pub retries: u32,
    pub retry_pause: Duration,
    pub longest_wait: Duration,
    pub nudges: u32,
    pub command_timeout: Duration,
    pub command_output_bytes: u64,
    pub line_cap_bytes: u64,
    pub idle: Duration,
}

/// Any program as an agent; without a program there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    pub program: String,
    pub args: Vec<String>,
    pub output: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gates {
    pub timeout: Duration,
    pub log_cap_bytes: u64,
    pub evidence_bytes: u64,
    pub allow_red: bool,
    pub allow_test_changes: bool,
    /// Patterns for test files, on top of the conventions; with a `!` in front, for others.
    pub tests: Vec<String>,
    pub protected: Vec<String>,
    pub cache_cap_bytes: u64,
    pub commands: BTreeMap<String, GateCommand>,
}

/// A gate that a person named. The words for kind and parser are checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateCommand {
    pub run: String,
    pub kind: String,
    pub parser: String,
    pub timeout: Option<Duration>,
    /// Where it runs, from the root; empty for the root itself.
    pub dir: String,
    /// Report files it writes, for the parser that reads files.
    pub reports: Vec<String>,
    pub needs: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commit {
    pub exclude: Vec<String>,
    pub allow: Vec<String>,
    pub allow_secrets: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkout {
    pub setup: Vec<String>,
    pub copy: Vec<String>,
    pub submodules: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Environment {
    pub allow: Vec<String>,
    /// For agents, on top of `allow`.
    pub agent: Vec<String>,
    pub deny: Vec<String>,
}

/// What the kernel holds agents and gates to. Paths may begin with `~` or `$VARIABLE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sandbox {
    pub mode: String,
    pub free_shell: String,
    pub network: String,
    pub write: Vec<String>,
    pub hide: Vec<String>,
    pub caches: Vec<String>,
    pub devices: Vec<String>,
    /// Where each agent keeps its own state, by backend.
    pub agents: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Prices {
    pub fallback_input_usd_per_million: f64,
    pub fallback_output_usd_per_million: f64,
    pub lost_session_usd: f64,
    /// What a person set, by the beginning of a model's name.
    pub models: BTreeMap<String, ModelPrice>,
}

/// US dollars for a million tokens. Input that a cache holds or takes costs like any other
/// where nothing else is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelPrice {
    pub input: Usd,
    pub cached_input: Usd,
    pub cache_write: Usd,
    pub output: Usd,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Store {
    pub busy_timeout: Duration,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spine {
    pub line_cap_bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diff {
    pub cap_bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Index {
    /// 0: one for each core.
    pub threads: u32,
    pub max_file_bytes: u64,
    pub history: u32,
    pub max_commit_files: u32,
    pub half_life: Duration,
    pub keep_trees: u32,
    pub debounce: Duration,
    pub embed_for: Duration,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Context {
    pub tokens: u32,
    pub first_index_files: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scan {
    pub depth: u32,
    pub width: u32,
    pub whole_file_bytes: u64,
    pub large_bytes: u64,
    pub large_lines: u32,
    pub recent: u32,
    pub top_directories: u32,
    pub listed: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Search {
    pub limit: u32,
    pub refresh_files: u32,
    pub embed_for: Duration,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    pub fragments_per_pass: u32,
    pub pending_per_line: u32,
    pub dossiers_per_pass: u32,
    pub wrong_before_removal: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Show {
    pub limit: u32,
}

/// The models of one backend; nothing where the agent is to choose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tier {
    pub low: Option<String>,
    pub medium: Option<String>,
    pub high: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Role {
    pub tier: String,
    /// Its own agent; otherwise that of the run.
    pub backend: Option<String>,
    /// Its own model, by tier or by name.
    pub model: Option<String>,
}

const TIERS: &[&str] = &["low", "medium", "high"];
const GATE_KINDS: &[&str] = &["build", "test", "lint"];
const PARSERS: &[&str] = &[
    "cargo", "pytest", "unittest", "jest", "vitest", "mocha", "tap", "go", "ctest", "dotnet",
    "junit", "auto", "plain",
];

impl Config {
    pub(crate) fn from_entries(entries: &BTreeMap<String, Entry>) -> Result<Self, ConfigError> {
        let all = Entries(entries);
        Ok(Self {
            orchestrate: all.orchestrate()?,
            spawn: Spawn { max_depth: all.positive("spawn.max_depth")? },
            flows: all.flows()?,
            sentinel: Sentinel { max_cycles: all.positive("sentinel.max_cycles")? },
            verdict: VerdictRules {
                min_confidence: all.fraction("verdict.min_confidence")?,
                phrase_confidence: all.fraction("verdict.phrase_confidence")?,
                verifier_retry_pause: all.time("verdict.verifier_retry_pause")?,
                instructions: all.list("verdict.instructions")?,
            },
            session: all.session()?,
            claude: Claude { program: all.text("claude.program")? },
            codex: Codex { program: all.text("codex.program")? },
            acp: all.members("acp", |all, path| all.list(&format!("{path}.command")))?,
            api: all.api()?,
            command: Command {
                program: all.text("command.program")?,
                args: all.list("command.args")?,
                output: all.word("command.output", &["text", "events"])?,
            },
            gates: all.gates()?,
            commit: Commit {
                exclude: all.list("commit.exclude")?,
                allow: all.list("commit.allow")?,
                allow_secrets: all.list("commit.allow_secrets")?,
            },
            checkout: Checkout {
                setup: all.list("checkout.setup")?,
                copy: all.list("checkout.copy")?,
                submodules: all.word("checkout.submodules", &["refuse", "empty"])?,
            },
            environment: Environment {
                allow: all.list("environment.allow")?,
                agent: all.list("environment.agent")?,
                deny: all.list("environment.deny")?,
            },
            sandbox: all.sandbox()?,
            prices: Prices {
                models: all.members("prices", |all, path| all.model_price(path))?,
                fallback_input_usd_per_million: all
                    .price("prices.fallback_input_usd_per_million")?,
                fallback_output_usd_per_million: all
                    .price("prices.fallback_output_usd_per_million")?,
                lost_session_usd: all.price("prices.lost_session_usd")?,
            },
            store: Store { busy_timeout: all.time("store.busy_timeout")? },
            spine: Spine { line_cap_bytes: all.bytes("spine.line_cap_bytes")? },
            diff: Diff { cap_bytes: all.bytes("diff.cap_bytes")? },
            index: all.index()?,
            scan: all.scan()?,
            search: all.search()?,
            memory: all.memory()?,
            context: Context {
                tokens: all.positive("context.tokens")?,
                first_index_files: all.count("context.first_index_files")?,
            },
            show: Show { limit: all.count("show.limit")? },
            tiers: all.members("tiers", |all, path| all.tier(path))?,
            roles: all.members("roles", |all, path| all.role(path))?,
        })
    }
}

/// Reads entries by key, and says where a bad one was written.
#[derive(Clone, Copy)]
struct Entries<'a>(&'a BTreeMap<String, Entry>);

impl<'a> Entries<'a> {
    fn orchestrate(self) -> Result<Orchestrate, ConfigError> {
        Ok(Orchestrate {
            backend: self.text("orchestrate.backend")?,
            max_bounces: self.positive("orchestrate.max_bounces")?,
            max_turns: self.positive("orchestrate.max_turns")?,
            budget_usd: self.money("orchestrate.budget_usd")?,
            timeout: self.time("orchestrate.timeout")?,
            turn_time: self.time("orchestrate.turn_time")?,
            min_time: self.time("orchestrate.min_time")?,
            apply: self.word("orchestrate.apply", &["branch", "merge", "patch", "none"])?,
            summarize: self.flag("orchestrate.summarize")?,
        })
    }

    fn flows(self) -> Result<Flows, ConfigError> {
        Ok(Flows {
            exec_depth: self.positive("flows.exec_depth")?,
            stage_depth: self.positive("flows.stage_depth")?,
            phase_depth: self.positive("flows.phase_depth")?,
            heals: self.count("flows.heals")?,
            retries: self.count("flows.retries")?,
            max_attempts: self.positive("flows.max_attempts")?,
            max_parallel: self.positive("flows.max_parallel")?,
            diagnosis_bytes: self.bytes("flows.diagnosis_bytes")?,
        })
    }

    fn session(self) -> Result<SessionLimits, ConfigError> {
        Ok(SessionLimits {
            first_output: self.time("session.first_output")?,
            idle: self.time("session.idle")?,
            exit_deadline: self.time("session.exit_deadline")?,
            start_retry_pause: self.time("session.start_retry_pause")?,
            interrupt_grace: self.time("session.interrupt_grace")?,
            terminate_grace: self.time("session.terminate_grace")?,
            line_cap_bytes: self.bytes("session.line_cap_bytes")?,
            transcript_cap_bytes: self.bytes("session.transcript_cap_bytes")?,
        })
    }

    fn api(self) -> Result<Api, ConfigError> {
        Ok(Api {
            protocol: self.word("api.protocol", &["messages", "responses", "chat"])?,
            context_window: self.positive("api.context_window")?.into(),
            max_output_tokens: self.positive("api.max_output_tokens")?,
            retries: self.count("api.retries")?,
            retry_pause: self.time("api.retry_pause")?,
            longest_wait: self.time("api.longest_wait")?,
            nudges: self.count("api.nudges")?,
            command_timeout: self.time("api.command_timeout")?,
            command_output_bytes: self.bytes("api.command_output_bytes")?,
            line_cap_bytes: self.bytes("api.line_cap_bytes")?,
            idle: self.time("api.idle")?,
        })
    }

    fn gates(self) -> Result<Gates, ConfigError> {
        Ok(Gates {
            timeout: self.time("gates.timeout")?,
            log_cap_bytes: self.bytes("gates.log_cap_bytes")?,
            evidence_bytes: self.bytes("gates.evidence_bytes")?,
            allow_red: self.flag("gates.allow_red")?,
            allow_test_changes: self.flag("gates.allow_test_changes")?,
            tests: self.list("gates.tests")?,
            protected: self.list("gates.protected")?,
            cache_cap_bytes: self.bytes("gates.cache_cap_bytes")?,
            commands: self.members("gates.commands", |all, path| all.gate_command(path))?,
        })
    }

    fn index(self) -> Result<Index, ConfigError> {
        Ok(Index {
            threads: self.count("index.threads")?,
            max_file_bytes: self.bytes("index.max_file_bytes")?,
            history: self.count("index.history")?,
            max_commit_files: self.positive("index.max_commit_files")?,
            half_life: self.time("index.half_life")?,
            keep_trees: self.positive("index.keep_trees")?,
            debounce: self.time("index.debounce")?,
            embed_for: self.time("index.embed_for")?,
        })
    }

    fn scan(self) -> Result<Scan, ConfigError> {
        Ok(Scan {
            depth: self.count("scan.depth")?,
            width: self.positive("scan.width")?,
            whole_file_bytes: self.bytes("scan.whole_file_bytes")?,
            large_bytes: self.bytes("scan.large_bytes")?,
            large_lines: self.positive("scan.large_lines")?,
            recent: self.count("scan.recent")?,
            top_directories: self.count("scan.top_directories")?,
            listed: self.count("scan.listed")?,
        })
    }

    fn memory(self) -> Result<Memory, ConfigError> {
        Ok(Memory {
            fragments_per_pass: self.positive("memory.fragments_per_pass")?,
            pending_per_line: self.positive("memory.pending_per_line")?,
            dossiers_per_pass: self.positive("memory.dossiers_per_pass")?,
            wrong_before_removal: self.positive("memory.wrong_before_removal")?,
        })
    }

    fn search(self) -> Result<Search, ConfigError> {
        Ok(Search {
            limit: self.positive("search.limit")?,
            refresh_files: self.count("search.refresh_files")?,
            embed_for: self.time("search.embed_for")?,
        })
    }

    fn gate_command(self, path: &str) -> Result<GateCommand, ConfigError> {
        let key = |field: &str| format!("{path}.{field}");
        let word = |field: &str, default: &str, known| match self.0.contains_key(&key(field)) {
            true => self.word(&key(field), known),
            false => Ok(default.to_owned()),
        };
        let timeout = key("timeout");
        let run = self.text(&key("run"))?;
        if run.trim().is_empty() {
            return Err(self.bad(&key("run"), "must not be empty"));
        }
        let texts = |field: &str| match self.0.contains_key(&key(field)) {
            true => self.list(&key(field)),
            false => Ok(Vec::new()),
        };
        let parser = word("parser", "plain", PARSERS)?;
        let reports = texts("reports")?;
        if parser == "junit" && reports.is_empty() {
            let problem = "reads files: say which, as in reports = [\"build/**/*.xml\"]";
            return Err(self.bad(&key("parser"), problem));
        }
        Ok(GateCommand {
            run,
            kind: word("kind", "test", GATE_KINDS)?,
            parser,
            timeout: self.0.contains_key(&timeout).then(|| self.time(&timeout)).transpose()?,
            dir: self.folder(&key("dir"))?,
            reports,
            needs: texts("needs")?,
        })
    }

    /// Reads an optional path of a folder inside the project.
    fn folder(self, key: &str) -> Result<String, ConfigError> {
        if !self.0.contains_key(key) {
            return Ok(String::new());
        }
        let dir = self.text(key)?;
        let inside = dir.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if inside { Ok(dir) } else { Err(self.bad(key, "must be a folder inside the project")) }
    }

    fn sandbox(self) -> Result<Sandbox, ConfigError> {
        Ok(Sandbox {
            mode: self.word("sandbox.mode", &["auto", "off", "required"])?,
            free_shell: self.word("sandbox.free_shell", &["sandboxed", "always", "never"])?,
            network: self.word("sandbox.network", &["allow", "deny"])?,
            write: self.list("sandbox.write")?,
            hide: self.list("sandbox.hide")?,
            caches: self.list("sandbox.caches")?,
            devices: self.list("sandbox.devices")?,
            agents: self
                .members("sandbox.agents", |all, path| all.list(&format!("{path}.write")))?,
        })
    }

    fn model_price(self, path: &str) -> Result<ModelPrice, ConfigError> {
        let input = self.money(&format!("{path}.input"))?;
        let or_input = |field: &str| {
            let key = format!("{path}.{field}");
            if self.0.contains_key(&key) { self.money(&key) } else { Ok(input) }
        };
        Ok(ModelPrice {
            input,
            cached_input: or_input("cached_input")?,
            cache_write: or_input("cache_write")?,
            output: self.money(&format!("{path}.output"))?,
        })
    }

    fn tier(self, path: &str) -> Result<Tier, ConfigError> {
        let model = |field: &str| {
            let key = format!("{path}.{field}");
            self.0.contains_key(&key).then(|| self.text(&key)).transpose()
        };
        Ok(Tier { low: model("low")?, medium: model("medium")?, high: model("high")? })
    }

    fn role(self, path: &str) -> Result<Role, ConfigError> {
        let own = |field: &str| {
            let key = format!("{path}.{field}");
            self.0.contains_key(&key).then(|| self.text(&key)).transpose()
        };
        let tier = format!("{path}.tier");
        let tier =
            if self.0.contains_key(&tier) { self.word(&tier, TIERS)? } else { "high".into() };
        Ok(Role { tier, backend: own("backend")?, model: own("model")? })
    }

    /// Reads every member of the open table `prefix`.
    fn members<T>(
        self,
        prefix: &str,
        read: impl Fn(Self, &str) -> Result<T, ConfigError>,
    ) -> Result<BTreeMap<String, T>, ConfigError> {
        let prefix = format!("{prefix}.");
        let mut members = BTreeMap::new();
        let rest = self.0.keys().filter_map(|key| key.strip_prefix(&prefix));
        for (name, _) in rest.filter_map(|rest| rest.rsplit_once('.')) {
            if !members.contains_key(name) {
                members.insert(name.to_owned(), read(self, &format!("{prefix}{name}"))?);
            }
        }
        Ok(members)
    }

    fn value(self, key: &str) -> Result<&'a Value, ConfigError> {
        match self.0.get(key) {
            Some(entry) => Ok(&entry.value),
            None => Err(self.bad(key, "is missing")),
        }
    }

    /// Blames the value at `key`, or its neighbours if there is none.
    fn bad(self, key: &str, problem: impl Into<String>) -> ConfigError {
        let table = &key[..key.rfind('.').map_or(0, |dot| dot + 1)];
        let neighbour = || self.0.iter().find(|(other, _)| other.starts_with(table));
        let place = self.0.get(key).or_else(|| neighbour().map(|(_, entry)| entry));
        let place = place.map_or(Place { origin: Origin::Defaults, position: None }, |entry| {
            entry.place.clone()
        });
        ConfigError::BadValue { place, key: key.to_owned(), problem: problem.into() }
    }

    fn text(self, key: &str) -> Result<String, ConfigError> {
        match self.value(key)? {
            Value::Text(text) => Ok(text.clone()),
            _ => Err(self.bad(key, "must be text")),
        }
    }

    fn word(self, key: &str, known: &[&str]) -> Result<String, ConfigError> {
        let word = self.text(key)?;
        if known.contains(&word.as_str()) {
            return Ok(word);
        }
        let problem = match known {
            [only] => format!("must be {only:?}, not {word:?}"),
            known => format!("must be one of {}, not {word:?}", known.join(", ")),
        };
        Err(self.bad(key, problem))
    }

    fn flag(self, key: &str) -> Result<bool, ConfigError> {
        match self.value(key)? {
            Value::Bool(flag) => Ok(*flag),
            _ => Err(self.bad(key, "must be true or false")),
        }
    }

    fn list(self, key: &str) -> Result<Vec<String>, ConfigError> {
        match self.value(key)? {
            Value::List(list) => Ok(list.clone()),
            _ => Err(self.bad(key, "must be a list of texts")),
        }
    }

    fn time(self, key: &str) -> Result<Duration, ConfigError> {
        parse_duration(&self.text(key)?)
            .map_err(|error| self.bad(key, format!("is wrong: {error}")))
    }

    fn integer<N: TryFrom<i64>>(self, key: &str) -> Result<N, ConfigError> {
        match self.value(key)? {
            Value::Integer(number) => N::try_from(*number)
                .map_err(|_| self.bad(key, format!("is out of range: {number}"))),
            _ => Err(self.bad(key, "must be a whole number")),
        }
    }

    fn count(self, key: &str) -> Result<u32, ConfigError> {
        self.integer(key)
    }

    fn positive(self, key: &str) -> Result<u32, ConfigError> {
        match self.integer(key)? {
            0 => Err(self.bad(key, "must be at least 1")),
            count => Ok(count),
        }
    }

    fn bytes(self, key: &str) -> Result<u64, ConfigError> {
        self.integer(key)
    }

    fn number(self, key: &str) -> Result<f64, ConfigError> {
        match self.value(key)? {
            Value::Float(number) => Ok(*number),
            _ => Err(self.bad(key, "must be a number")),
        }
    }

    fn fraction(self, key: &str) -> Result<f64, ConfigError> {
        let number = self.number(key)?;
        if (0.0..=1.0).contains(&number) {
            Ok(number)
        } else {
            Err(self.bad(key, "must be from 0 to 1"))
        }
    }

    fn money(self, key: &str) -> Result<Usd, ConfigError> {
        Usd::from_dollars(self.number(key)?)
            .ok_or_else(|| self.bad(key, "is not an amount of money"))
    }

    fn price(self, key: &str) -> Result<f64, ConfigError> {
        self.money(key).map(Usd::as_dollars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults() -> BTreeMap<String, Entry> {
        let loaded = Config::load(&[]).unwrap();
        loaded.entries().map(|(key, entry)| (key.to_owned(), entry.clone())).collect()
    }

    #[test]
    fn every_default_is_read_by_the_typed_view() {
        let all = defaults();
        let is_open = |key: &str| key.starts_with("roles.") || key.starts_with("sandbox.agents.");
        for key in all.keys().filter(|key| !is_open(key)) {
            let mut less = all.clone();
            less.remove(key);
            let error = Config::from_entries(&less).unwrap_err();
            assert_eq!(error.key(), Some(key.as_str()), "{error}");
        }
    }

    #[test]
    fn a_session_without_a_time_of_its_own_has_one_by_its_turns() {
        let mut orchestrate = Config::load(&[]).unwrap().config.orchestrate;
        assert_eq!(orchestrate.session_time(50), Duration::from_secs(6000));
        assert_eq!(orchestrate.session_time(1), Duration::from_secs(600));
        orchestrate.timeout = Duration::from_secs(7);
        assert_eq!(orchestrate.session_time(50), Duration::from_secs(7));
    }
}
