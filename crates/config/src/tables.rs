//! From entries to the typed view, a table at a time: which keys there are, and which of their
//! values make sense.

use std::collections::BTreeMap;

use spore_model::{CheckoutAccess, NetAddress, ProbeTime, ToolGroup, ToolGroups};

use crate::config::{
    AgentState, AgentVariables, ApiConfig, CheckoutConfig, ClaudeConfig, CodexConfig,
    CommandConfig, CommitConfig, ContextConfig, DiffConfig, EnvironmentConfig, FlowConfig,
    GateCommand, GateConfig, GraphConfig, ImpactConfig, IndexConfig, InvestigateConfig,
    LessonConfig, LocalConfig, LocalServerConfig, LoopConfig, MemoryConfig, ModelPrice,
    OrchestrateConfig, PriceConfig, ReachList, RecordConfig, RoleConfig, RoleTable, SandboxConfig,
    ScanConfig, ScheduleConfig, SearchConfig, SentinelConfig, SessionLimits, ShowConfig,
    SpawnConfig, SpineConfig, StoreConfig, SummaryConfig, TierConfig, ToolConfig, VerdictRules,
};
use crate::distance::distance;
use crate::entries::Entries;
use crate::error::ConfigError;
use crate::{Config, SettingEntry};

const CHECKOUT_ACCESS: &[&str] = &["write", "read-only"];
const TIERS: &[&str] = &["low", "medium", "high"];
/// The member of the table of roles that says what a role has that is not named, and what a
/// named one leaves out.
const OTHER_ROLES: &str = "default";
const CALL_FORMS: &[&str] = &["native", "text", "auto", "schema"];
const GATE_KINDS: &[&str] = &["build", "test", "lint"];
const PARSERS: &[&str] = &[
    "cargo", "pytest", "unittest", "jest", "vitest", "mocha", "tap", "go", "ctest", "dotnet",
    "junit", "auto", "plain",
];

impl Config {
    pub(crate) fn from_entries(
        entries: &BTreeMap<String, SettingEntry>,
    ) -> Result<Self, ConfigError> {
        let all = Entries(entries);
        Ok(Self {
            orchestrate: all.orchestrate()?,
            spawn: SpawnConfig { max_depth: all.positive("spawn.max_depth")? },
            flows: all.flows()?,
            task_loop: all.task_loop()?,
            sentinel: SentinelConfig {
                max_cycles: all.positive("sentinel.max_cycles")?,
                stuck_cycles: all.positive("sentinel.stuck_cycles")?,
            },
            verdict: VerdictRules {
                require: all
                    .word("verdict.require", &["checked", "proved", "seen", "held-out"])?
                    .parse()
                    .unwrap_or(spore_model::ProofLevel::Checked),
                min_confidence: all.fraction("verdict.min_confidence")?,
                phrase_confidence: all.fraction("verdict.phrase_confidence")?,
                verifier_attempts: all.positive("verdict.verifier_attempts")?,
                verifier_retry_pause: all.time("verdict.verifier_retry_pause")?,
                instructions: all.list("verdict.instructions")?,
            },
            session: all.session()?,
            claude: ClaudeConfig {
                program: all.text("claude.program")?,
                sign_in_attempts: all.positive("claude.sign_in_attempts")?,
            },
            codex: CodexConfig { program: all.text("codex.program")? },
            acp: all.members("acp", |all, path| all.list(&format!("{path}.command")))?,
            api: all.api()?,
            local: all.local()?,
            command: CommandConfig {
                program: all.text("command.program")?,
                args: all.list("command.args")?,
                output: all.word("command.output", &["text", "events"])?,
            },
            gates: all.gates()?,
            commit: CommitConfig {
                exclude: all.list("commit.exclude")?,
                allow: all.list("commit.allow")?,
                allow_secrets: all.list("commit.allow_secrets")?,
                max_files: all.positive("commit.max_files")?,
                max_bytes: all.bytes("commit.max_bytes")?,
            },
            checkout: CheckoutConfig {
                setup: all.list("checkout.setup")?,
                copy: all.list("checkout.copy")?,
                submodules: all.word("checkout.submodules", &["refuse", "empty"])?,
            },
            environment: EnvironmentConfig {
                allow: all.list("environment.allow")?,
                network: all.list("environment.network")?,
                install: all.list("environment.install")?,
                agent: all.list("environment.agent")?,
                agents: all.members("environment.agents", |all, path| {
                    let list = |field: &str| all.list_if_set(&format!("{path}.{field}"));
                    Ok(AgentVariables { allow: list("allow")?, providers: list("providers")? })
                })?,
                providers: all.members("environment.providers", |all, path| {
                    all.list_if_set(&format!("{path}.allow"))
                })?,
                deny: all.list("environment.deny")?,
            },
            sandbox: all.sandbox()?,
            prices: PriceConfig {
                models: all.members("prices", |all, path| all.model_price(path))?,
                fallback_input_usd_per_million: all
                    .price("prices.fallback_input_usd_per_million")?,
                fallback_output_usd_per_million: all
                    .price("prices.fallback_output_usd_per_million")?,
                lost_session_usd: all.price("prices.lost_session_usd")?,
            },
            store: StoreConfig { busy_timeout: all.time("store.busy_timeout")? },
            spine: SpineConfig { line_cap_bytes: all.bytes("spine.line_cap_bytes")? },
            diff: DiffConfig { cap_bytes: all.bytes("diff.cap_bytes")? },
            index: all.index()?,
            scan: all.scan()?,
            search: all.search()?,
            tools: all.tool_answers()?,
            graph: GraphConfig {
                edges_of_node: all.count("graph.edges_of_node")?,
                edges_around: all.count("graph.edges_around")?,
            },
            memory: all.memory()?,
            investigate: InvestigateConfig { budget_usd: all.money("investigate.budget_usd")? },
            context: all.context()?,
            impact: all.impact()?,
            lessons: all.lessons()?,
            summary: all.summary()?,
            records: RecordConfig { cap_bytes: all.bytes("records.cap_bytes")? },
            show: ShowConfig { limit: all.count("show.limit")? },
            telemetry: all.telemetry()?,
            tiers: all.members("tiers", |all, path| all.tier(path))?,
            roles: all.roles()?,
        })
    }
}

impl Entries<'_> {
    fn orchestrate(self) -> Result<OrchestrateConfig, ConfigError> {
        Ok(OrchestrateConfig {
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

    fn flows(self) -> Result<FlowConfig, ConfigError> {
        Ok(FlowConfig {
            exec_depth: self.positive("flows.exec_depth")?,
            stage_depth: self.positive("flows.stage_depth")?,
            phase_depth: self.positive("flows.phase_depth")?,
            campaign_depth: self.positive("flows.campaign_depth")?,
            at_depth: self.word("flows.at_depth", &["abort", "compress", "escalate"])?,
            heals: self.count("flows.heals")?,
            retries: self.count("flows.retries")?,
            max_attempts: self.positive("flows.max_attempts")?,
            max_parallel: self.positive("flows.max_parallel")?,
            max_items: self.positive("flows.max_items")?,
            max_planned: self.positive("flows.max_planned")?,
            max_rounds: self.positive("flows.max_rounds")?,
            max_phases: self.positive("flows.max_phases")?,
            campaign_heals: self.count("flows.campaign_heals")?,
            diagnosis_bytes: self.bytes("flows.diagnosis_bytes")?,
        })
    }

    fn task_loop(self) -> Result<LoopConfig, ConfigError> {
        Ok(LoopConfig {
            budget_usd: self.money("loop.budget_usd")?,
            max_runs: self.positive("loop.max_runs")?,
            cooldown: self.time("loop.cooldown")?,
            escalation_limit: self.positive("loop.escalation_limit")?,
            anomaly_factor: self.positive("loop.anomaly_factor")?,
            anomaly_after: self.positive("loop.anomaly_after")?,
            quota_pause: self.time("loop.quota_pause")?,
            max_returns: self.count("loop.max_returns")?,
            summarize: self.flag("loop.summarize")?,
            planned_files: self.positive("loop.planned_files")?,
        })
    }

    fn session(self) -> Result<SessionLimits, ConfigError> {
        Ok(SessionLimits {
            first_output: self.time("session.first_output")?,
            idle: self.time("session.idle")?,
            require_tools: self.flag("session.require_tools")?,
            exit_deadline: self.time("session.exit_deadline")?,
            start_retry_pause: self.time("session.start_retry_pause")?,
            interrupt_grace: self.time("session.interrupt_grace")?,
            terminate_grace: self.time("session.terminate_grace")?,
            line_cap_bytes: self.bytes("session.line_cap_bytes")?,
            transcript_cap_bytes: self.bytes("session.transcript_cap_bytes")?,
        })
    }

    fn api(self) -> Result<ApiConfig, ConfigError> {
        let protocol = self.word("api.protocol", &["messages", "responses", "chat"])?;
        let tools = self.word("api.tools", CALL_FORMS)?;
        if tools == "schema" && protocol != "chat" {
            let why = format!(
                "\"schema\" needs `[api] protocol = \"chat\"`: servers hold no answer to a schema over \
                 {protocol:?}; set that, or \"auto\", \"native\" or \"text\" here"
            );
            return Err(self.bad("api.tools", why));
        }
        Ok(ApiConfig {
            protocol,
            context_window: self.positive("api.context_window")?.into(),
            context_share: self.share("api.context_share")?,
            max_output_tokens: self.positive("api.max_output_tokens")?,
            retries: self.count("api.retries")?,
            retry_pause: self.time("api.retry_pause")?,
            longest_wait: self.time("api.longest_wait")?,
            nudges: self.count("api.nudges")?,
            command_timeout: self.time("api.command_timeout")?,
            command_output_bytes: self.bytes("api.command_output_bytes")?,
            line_cap_bytes: self.bytes("api.line_cap_bytes")?,
            idle: self.time("api.idle")?,
            tools,
            mends: self.count("api.mends")?,
            repeats: self.count("api.repeats")?,
            small_window: self.count("api.small_window")?.into(),
        })
    }

    fn local(self) -> Result<LocalConfig, ConfigError> {
        Ok(LocalConfig {
            first_output: self.time("local.first_output")?,
            ollama: self.local_server("ollama")?,
            llama_server: self.local_server("llama_server")?,
            lmstudio: self.local_server("lmstudio")?,
        })
    }

    fn local_server(self, name: &str) -> Result<LocalServerConfig, ConfigError> {
        let key = |field: &str| format!("local.{name}.{field}");
        let address = self.text(&key("address"))?;
        if !address.starts_with("http://") && !address.starts_with("https://") {
            let why = format!("must be an address such as http://127.0.0.1:8080, not {address:?}");
            return Err(self.bad(&key("address"), why));
        }
        Ok(LocalServerConfig {
            address,
            context_window: self.positive(&key("context_window"))?.into(),
            max_output_tokens: self.positive(&key("max_output_tokens"))?,
            tools: self.word(&key("tools"), CALL_FORMS)?,
        })
    }

    fn gates(self) -> Result<GateConfig, ConfigError> {
        Ok(GateConfig {
            timeout: self.time("gates.timeout")?,
            log_cap_bytes: self.bytes("gates.log_cap_bytes")?,
            evidence_bytes: self.bytes("gates.evidence_bytes")?,
            only: self.flag("gates.only")?,
            allow_red: self.flag("gates.allow_red")?,
            allow_test_changes: self.flag("gates.allow_test_changes")?,
            tests: self.list("gates.tests")?,
            protected: self.list("gates.protected")?,
            outputs: self.list("gates.outputs")?,
            cache_cap_bytes: self.bytes("gates.cache_cap_bytes")?,
            recorded_paths: self.positive("gates.recorded_paths")?,
            canary_tests: self.count("gates.canary_tests")?,
            canary_whole: self.time("gates.canary_whole")?,
            canary_full: self.time("gates.canary_full")?,
            probe: self.probe_time("gates.probe")?,
            probe_hunks: self.positive("gates.probe_hunks")?,
            hold_out: self.flag("gates.hold_out")?,
            commands: self.members("gates.commands", |all, path| all.gate_command(path))?,
        })
    }

    fn probe_time(self, key: &str) -> Result<ProbeTime, ConfigError> {
        let text = self.text(key)?;
        Ok(match text.as_str() {
            "off" => ProbeTime::Off,
            "auto" => ProbeTime::Auto,
            "all" => ProbeTime::All,
            time => ProbeTime::For(crate::parse_duration(time).map_err(|_| {
                self.bad(key, format!("must be off, auto, all or a time such as 5m, not {time:?}"))
            })?),
        })
    }

    fn index(self) -> Result<IndexConfig, ConfigError> {
        Ok(IndexConfig {
            threads: self.count("index.threads")?,
            max_file_bytes: self.bytes("index.max_file_bytes")?,
            history: self.count("index.history")?,
            max_commit_files: self.positive("index.max_commit_files")?,
            half_life: self.time("index.half_life")?,
            companions: self.count("index.companions")?,
            least_together: self.fraction("index.least_together")?,
            keep_trees: self.positive("index.keep_trees")?,
            debounce: self.time("index.debounce")?,
            embed_for: self.time("index.embed_for")?,
        })
    }

    fn scan(self) -> Result<ScanConfig, ConfigError> {
        Ok(ScanConfig {
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

    fn context(self) -> Result<ContextConfig, ConfigError> {
        let (from, to) = ("context.snippet_from", "context.snippet_to");
        let (snippet_from, snippet_to) = (self.positive(from)?, self.positive(to)?);
        if snippet_from > snippet_to {
            return Err(
                self.bad(from, format!("must not be more than {to}, which is {snippet_to}"))
            );
        }
        Ok(ContextConfig {
            tokens: self.positive("context.tokens")?,
            first_index_files: self.count("context.first_index_files")?,
            files: self.positive("context.files")?,
            items_of_file: self.count("context.items_of_file")?,
            reasons: self.count("context.reasons")?,
            locations: self.count("context.locations")?,
            locations_of_file: self.count("context.locations_of_file")?,
            snippets: self.count("context.snippets")?,
            snippet_lines: self.positive("context.snippet_lines")?,
            snippet_from,
            snippet_to,
            calls: self.count("context.calls")?,
            neighbours_of_call: self.count("context.neighbours_of_call")?,
            places: self.count("context.places")?,
            anchors: self.count("context.anchors")?,
            anchor_files: self.count("context.anchor_files")?,
            namesakes: self.count("context.namesakes")?,
            nodes_of_anchor: self.count("context.nodes_of_anchor")?,
            max_hops: self.count("context.max_hops")?,
            max_cost: self.number("context.max_cost")?,
            nodes: self.count("context.nodes")?,
            near: self.count("context.near")?,
            least_nearness: self.fraction("context.least_nearness")?,
            memory_lines: self.count("context.memory_lines")?,
        })
    }

    fn impact(self) -> Result<ImpactConfig, ConfigError> {
        Ok(ImpactConfig {
            files: self.count("impact.files")?,
            touched: self.count("impact.touched")?,
            removed: self.count("impact.removed")?,
            users: self.count("impact.users")?,
            tests: self.count("impact.tests")?,
            companions: self.count("impact.companions")?,
            least_together: self.fraction("impact.least_together")?,
            pointed_at: self.count("impact.pointed_at")?,
            untouched: self.count("impact.untouched")?,
            connected_of_file: self.count("impact.connected_of_file")?,
        })
    }

    fn lessons(self) -> Result<LessonConfig, ConfigError> {
        Ok(LessonConfig {
            carried: self.count("lessons.carried")?,
            looked_at: self.positive("lessons.looked_at")?,
            least_likeness: self.fraction("lessons.least_likeness")?,
            same: self.fraction("lessons.same")?,
            same_situation: self.fraction("lessons.same_situation")?,
            other_answer: self.fraction("lessons.other_answer")?,
            from_verified: self.fraction("lessons.from_verified")?,
            from_unfinished: self.fraction("lessons.from_unfinished")?,
            of_run: self.count("lessons.of_run")?,
            places: self.positive("lessons.places")?,
            namesakes: self.positive("lessons.namesakes")?,
            chars: self.positive("lessons.chars")?,
            lines: self.positive("lessons.lines")?,
        })
    }

    fn summary(self) -> Result<SummaryConfig, ConfigError> {
        Ok(SummaryConfig {
            chars: self.positive("summary.chars")?,
            bytes: self.bytes("summary.bytes")?,
            message_bytes: self.bytes("summary.message_bytes")?,
            reason_bytes: self.bytes("summary.reason_bytes")?,
            files: self.count("summary.files")?,
            checks: self.count("summary.checks")?,
            findings: self.count("summary.findings")?,
        })
    }

    fn memory(self) -> Result<MemoryConfig, ConfigError> {
        Ok(MemoryConfig {
            fragments_per_pass: self.positive("memory.fragments_per_pass")?,
            pending_per_line: self.positive("memory.pending_per_line")?,
            dossiers_per_pass: self.positive("memory.dossiers_per_pass")?,
            wrong_before_removal: self.positive("memory.wrong_before_removal")?,
            judge_budget: self.money("memory.judge_budget")?,
            judge_batch: self.positive("memory.judge_batch")?,
            judge_most: self.positive("memory.judge_most")?,
            broadcast_bytes: self.bytes("memory.broadcast_bytes")?,
            schedule: ScheduleConfig {
                enabled: self.flag("memory.schedule.enabled")?,
                tick: self.time("memory.schedule.tick")?,
                cooldown_ticks: self.positive("memory.schedule.cooldown_ticks")?,
                max_duration: self.time("memory.schedule.max_duration")?,
            },
        })
    }

    fn search(self) -> Result<SearchConfig, ConfigError> {
        Ok(SearchConfig {
            limit: self.positive("search.limit")?,
            refresh_files: self.count("search.refresh_files")?,
            embed_for: self.time("search.embed_for")?,
            near: self.count("search.near")?,
            near_of_some: self.count("search.near_of_some")?,
            least_nearness: self.fraction("search.least_nearness")?,
        })
    }

    fn tool_answers(self) -> Result<ToolConfig, ConfigError> {
        Ok(ToolConfig {
            list_tokens: self.positive("tools.list_tokens")?,
            source_tokens: self.positive("tools.source_tokens")?,
            context_tokens: self.positive("tools.context_tokens")?,
            hits: self.positive("tools.hits")?,
            notes: self.count("tools.notes")?,
            places: self.positive("tools.places")?,
            lines_of_place: self.positive("tools.lines_of_place")?,
            lines_of_code: self.positive("tools.lines_of_code")?,
            neighbours: self.count("tools.neighbours")?,
            impact_steps: self.positive("tools.impact_steps")?,
            max_hops: self.positive("tools.max_hops")?,
            reached: self.positive("tools.reached")?,
            edges: self.positive("tools.edges")?,
            ways: self.positive("tools.ways")?,
            runs: self.count("tools.runs")?,
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
        let kind = word("kind", "test", GATE_KINDS)?;
        // Where no parser reads the names of tests, one that is gone is not missed.
        let reader = if kind == "test" { "auto" } else { "plain" };
        let parser = word("parser", reader, PARSERS)?;
        let reports = texts("reports")?;
        if parser == "junit" && reports.is_empty() {
            let problem = "reads files: say which, as in reports = [\"build/**/*.xml\"]";
            return Err(self.bad(&key("parser"), problem));
        }
        Ok(GateCommand {
            run,
            kind,
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

    fn sandbox(self) -> Result<SandboxConfig, ConfigError> {
        Ok(SandboxConfig {
            mode: self.word("sandbox.mode", &["auto", "off", "required"])?,
            free_shell: self.word("sandbox.free_shell", &["sandboxed", "always", "never"])?,
            network: self.reached("sandbox.network")?,
            checks_network: self.word("sandbox.checks_network", &["allow", "deny"])?,
            root: self.word("sandbox.root", &["auto", "off", "required"])?,
            show: self.list("sandbox.show")?,
            cover: self.list("sandbox.cover")?,
            write: self.list("sandbox.write")?,
            hide: self.list("sandbox.hide")?,
            caches: self.list("sandbox.caches")?,
            devices: self.list("sandbox.devices")?,
            sign_in_margin: self.time("sandbox.sign_in_margin")?,
            renew_timeout: self.time("sandbox.renew_timeout")?,
            agents: self.members("sandbox.agents", Self::agent_state)?,
        })
    }

    fn agent_state(self, path: &str) -> Result<AgentState, ConfigError> {
        let list = |key: &str| self.list_if_set(&format!("{path}.{key}"));
        let text = |key: &str| {
            let key = format!("{path}.{key}");
            if self.0.contains_key(&key) { self.text(&key) } else { Ok(String::new()) }
        };
        Ok(AgentState {
            sign_in: list("sign_in")?,
            access_token: text("access_token")?,
            refresh_token: text("refresh_token")?,
            expires: text("expires")?,
            renewed_with: list("renewed_with")?,
            renew: list("renew")?,
            instead: list("instead")?,
            write: list("write")?,
            network: self.reached_if_set(&format!("{path}.network"))?,
        })
    }

    fn reached_if_set(self, key: &str) -> Result<ReachList, ConfigError> {
        if self.0.contains_key(key) { self.reached(key) } else { Ok(ReachList::default()) }
    }

    /// Reads a list of addresses, with or without a port.
    fn reached(self, key: &str) -> Result<ReachList, ConfigError> {
        let mut list = ReachList::default();
        for text in self.list(key)? {
            match text.as_str() {
                "*" => list.everything = true,
                "allow" | "deny" => {
                    return Err(self.bad(key, format!("has {text:?}, which is no host")));
                }
                host => {
                    let found = read_reached(host);
                    if found.is_empty() {
                        let problem = format!("has {host:?}, which is no host and no host:port");
                        return Err(self.bad(key, problem));
                    }
                    list.addresses.extend(found);
                }
            }
        }
        Ok(list)
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

    fn tier(self, path: &str) -> Result<TierConfig, ConfigError> {
        let model = |field: &str| {
            let key = format!("{path}.{field}");
            self.0.contains_key(&key).then(|| self.text(&key)).transpose()
        };
        Ok(TierConfig { low: model("low")?, medium: model("medium")?, high: model("high")? })
    }

    fn role(self, path: &str) -> Result<RoleConfig, ConfigError> {
        let own = |field: &str| {
            let key = format!("{path}.{field}");
            self.0.contains_key(&key).then(|| self.text(&key)).transpose()
        };
        // What it does not say itself is as it is for roles that are not named.
        let key = |field: &str| {
            let own = format!("{path}.{field}");
            let other = || format!("roles.{OTHER_ROLES}.{field}");
            if self.0.contains_key(&own) { own } else { other() }
        };
        let turns = key("turns");
        let tools = self.tools(&key("tools"))?;
        let sandbox = match self.word(&key("sandbox"), CHECKOUT_ACCESS)?.as_str() {
            "read-only" => CheckoutAccess::ReadOnly,
            _ => CheckoutAccess::Write,
        };
        if sandbox == CheckoutAccess::ReadOnly && tools.contains(&ToolGroup::Write) {
            let problem = "is \"read-only\", but the role's tools have \"write\"";
            return Err(self.bad(&key("sandbox"), problem));
        }
        Ok(RoleConfig {
            tier: self.word(&key("tier"), TIERS)?,
            turns: self.0.contains_key(&turns).then(|| self.positive(&turns)).transpose()?,
            tools,
            sandbox,
            backend: own("backend")?,
            model: own("model")?,
        })
    }

    fn roles(self) -> Result<RoleTable, ConfigError> {
        let mut named = self.members("roles", |all, path| all.role(path))?;
        match named.remove(OTHER_ROLES) {
            Some(other) => Ok(RoleTable { named, other }),
            None => Err(self.bad(&format!("roles.{OTHER_ROLES}"), "is missing")),
        }
    }

    /// Reads a list of words for groups of tools.
    fn tools(self, key: &str) -> Result<ToolGroups, ConfigError> {
        let group = |word: &String| {
            ToolGroup::of_word(word).ok_or_else(|| self.bad(key, unknown_tool(word)))
        };
        self.list(key)?.iter().map(group).collect()
    }
}

/// Returns the addresses that are meant: of a host without a port both that the web has.
fn read_reached(text: &str) -> Vec<NetAddress> {
    if let Some(address) = NetAddress::read(text) {
        return vec![address];
    }
    let host = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let both = [443, 80].map(|port| NetAddress::new(host, port));
    both.into_iter().filter(NetAddress::is_sound).collect()
}

/// Says what is wrong with a word for tools, and which one was probably meant.
fn unknown_tool(word: &str) -> String {
    let words = ToolGroup::ALL.map(ToolGroup::as_str);
    let nearest = words.into_iter().min_by_key(|known| distance(word, known));
    match nearest.filter(|known| distance(word, known) <= (word.chars().count() / 3).max(2)) {
        Some(nearest) => format!("has no {word:?}; did you mean {nearest:?}?"),
        None => format!("has no {word:?}: the words are {}", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults() -> BTreeMap<String, SettingEntry> {
        let loaded = Config::load(&[]).unwrap();
        loaded.entries().map(|(key, entry)| (key.to_owned(), entry.clone())).collect()
    }

    #[test]
    fn every_default_is_read_by_the_typed_view() {
        let all = defaults();
        let open = [
            "environment.agents.",
            "environment.providers.",
            "roles.",
            "sandbox.agents.",
            "tiers.",
        ];
        let is_open = |key: &str| open.iter().any(|table| key.starts_with(table));
        for key in all.keys().filter(|key| !is_open(key)) {
            let mut less = all.clone();
            less.remove(key);
            let error = Config::from_entries(&less).unwrap_err();
            assert_eq!(error.key(), Some(key.as_str()), "{error}");
        }
    }
}
