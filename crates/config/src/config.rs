//! The typed view of the settings.
//!
//! The types say what a value is, [`crate::tables`] which values make sense; both are checked
//! before anything starts. What a setting is for is said in `defaults.toml`, once.

use std::collections::BTreeMap;
use std::time::Duration;

use spore_model::{CheckoutAccess, NetAddress, ProbeTime, ProofLevel, ToolGroups, Usd};

use crate::telemetry::TelemetryConfig;

#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    pub orchestrate: OrchestrateConfig,
    pub spawn: SpawnConfig,
    pub flows: FlowConfig,
    pub task_loop: LoopConfig,
    pub sentinel: SentinelConfig,
    pub verdict: VerdictRules,
    pub session: SessionLimits,
    pub claude: ClaudeConfig,
    pub codex: CodexConfig,
    /// Commands of agents that speak ACP, by name.
    pub acp: BTreeMap<String, Vec<String>>,
    pub api: ApiConfig,
    pub local: LocalConfig,
    pub command: CommandConfig,
    pub gates: GateConfig,
    pub commit: CommitConfig,
    pub checkout: CheckoutConfig,
    pub environment: EnvironmentConfig,
    pub sandbox: SandboxConfig,
    pub prices: PriceConfig,
    pub store: StoreConfig,
    pub spine: SpineConfig,
    pub diff: DiffConfig,
    pub index: IndexConfig,
    pub scan: ScanConfig,
    pub search: SearchConfig,
    pub tools: ToolConfig,
    pub graph: GraphConfig,
    pub investigate: InvestigateConfig,
    pub context: ContextConfig,
    pub impact: ImpactConfig,
    pub lessons: LessonConfig,
    pub summary: SummaryConfig,
    pub memory: MemoryConfig,
    pub records: RecordConfig,
    pub show: ShowConfig,
    pub telemetry: TelemetryConfig,
    pub tiers: BTreeMap<String, TierConfig>,
    pub roles: RoleTable,
}

#[derive(Clone, PartialEq, Debug)]
pub struct OrchestrateConfig {
    pub backend: String,
    pub max_bounces: u32,
    pub max_turns: u32,
    pub budget_usd: Usd,
    /// As it is set; [`OrchestrateConfig::session_time`] is what it means.
    pub timeout: Duration,
    pub turn_time: Duration,
    pub min_time: Duration,
    pub apply: String,
    pub summarize: bool,
}

impl Config {
    /// Returns the turns of a session of `role`: what a person `asked` for, else the role's own.
    pub fn turns(&self, role: &str, asked: Option<u32>) -> u32 {
        asked.or(self.roles.of(role).turns).unwrap_or(self.orchestrate.max_turns)
    }
}

impl OrchestrateConfig {
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
pub struct SpawnConfig {
    pub max_depth: u32,
}

/// What holds for every flow that does not say otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowConfig {
    pub exec_depth: u32,
    pub stage_depth: u32,
    pub phase_depth: u32,
    pub campaign_depth: u32,
    pub at_depth: String,
    pub heals: u32,
    pub retries: u32,
    pub max_attempts: u32,
    pub max_parallel: u32,
    pub max_items: u32,
    pub max_planned: u32,
    pub max_rounds: u32,
    pub max_phases: u32,
    pub campaign_heals: u32,
    pub diagnosis_bytes: u64,
}

/// What holds for a loop over tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopConfig {
    pub budget_usd: Usd,
    pub max_runs: u32,
    pub cooldown: Duration,
    pub escalation_limit: u32,
    pub anomaly_factor: u32,
    pub anomaly_after: u32,
    pub quota_pause: Duration,
    pub max_returns: u32,
    pub summarize: bool,
    pub planned_files: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentinelConfig {
    pub max_cycles: u32,
    pub stuck_cycles: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct VerdictRules {
    /// How far the checks of a change must go.
    pub require: ProofLevel,
    pub min_confidence: f64,
    pub phrase_confidence: f64,
    pub verifier_attempts: u32,
    pub verifier_retry_pause: Duration,
    /// Patterns of files that agents obey without being asked to.
    pub instructions: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionLimits {
    pub first_output: Duration,
    pub idle: Duration,
    pub require_tools: bool,
    pub exit_deadline: Duration,
    pub start_retry_pause: Duration,
    pub interrupt_grace: Duration,
    pub terminate_grace: Duration,
    pub line_cap_bytes: u64,
    pub transcript_cap_bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaudeConfig {
    pub program: String,
    pub sign_in_attempts: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodexConfig {
    pub program: String,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ApiConfig {
    pub protocol: String,
    pub context_window: u64,
    pub context_share: f64,
    pub max_output_tokens: u32,
    pub retries: u32,
    pub retry_pause: Duration,
    pub longest_wait: Duration,
    pub nudges: u32,
    pub command_timeout: Duration,
    pub command_output_bytes: u64,
    pub line_cap_bytes: u64,
    pub idle: Duration,
    /// `native`, `text`, `auto` or `schema`.
    pub tools: String,
    pub mends: u32,
    pub repeats: u32,
    pub small_window: u64,
}

/// Servers of models on the person's own machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalConfig {
    pub first_output: Duration,
    pub ollama: LocalServerConfig,
    pub llama_server: LocalServerConfig,
    pub lmstudio: LocalServerConfig,
}

impl LocalConfig {
    /// Returns the settings of a backend, by its name.
    pub fn of(&self, backend: &str) -> Option<&LocalServerConfig> {
        match backend {
            "ollama" => Some(&self.ollama),
            "llama-server" => Some(&self.llama_server),
            "lmstudio" => Some(&self.lmstudio),
            _ => None,
        }
    }
}

/// One server on the person's own machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalServerConfig {
    pub address: String,
    pub context_window: u64,
    pub max_output_tokens: u32,
    pub tools: String,
}

/// Any program as an agent; without a program there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandConfig {
    pub program: String,
    pub args: Vec<String>,
    pub output: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateConfig {
    pub timeout: Duration,
    pub log_cap_bytes: u64,
    pub evidence_bytes: u64,
    /// Whether the gates that people name are all there are.
    pub only: bool,
    pub allow_red: bool,
    pub allow_test_changes: bool,
    /// Patterns for test files, on top of the conventions; with a `!` in front, for others.
    pub tests: Vec<String>,
    pub protected: Vec<String>,
    /// Tracked files that checks may write.
    pub outputs: Vec<String>,
    pub cache_cap_bytes: u64,
    /// How long parts of a change are taken back, and how many at most.
    pub probe: ProbeTime,
    pub probe_hunks: u32,
    /// Whether a tester writes tests that the coder never sees.
    pub hold_out: bool,
    /// What a record of a gate's look-ups keeps.
    pub recorded_paths: u32,
    /// How many tests of a gate get an end that must fail.
    pub canary_tests: u32,
    /// How long a gate may take that is run with them as a whole in any case.
    pub canary_whole: Duration,
    /// And one that cannot be told to run them alone.
    pub canary_full: Duration,
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
pub struct CommitConfig {
    pub exclude: Vec<String>,
    pub allow: Vec<String>,
    pub allow_secrets: Vec<String>,
    pub max_files: u32,
    pub max_bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckoutConfig {
    pub setup: Vec<String>,
    pub copy: Vec<String>,
    pub submodules: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnvironmentConfig {
    pub allow: Vec<String>,
    /// Of what is allowed: not for gates that have no network.
    pub network: Vec<String>,
    /// Of what is allowed: only for gates that install.
    pub install: Vec<String>,
    /// For agents, on top of `allow`.
    pub agent: Vec<String>,
    /// For one agent, on top of both, by the name of its backend.
    pub agents: BTreeMap<String, AgentVariables>,
    /// Those of one vendor of models, by name.
    pub providers: BTreeMap<String, Vec<String>>,
    pub deny: Vec<String>,
}

/// The variables of one agent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentVariables {
    pub allow: Vec<String>,
    /// The vendors whose models it works with.
    pub providers: Vec<String>,
}

/// What the kernel holds agents and gates to. Paths may begin with `~` or `$VARIABLE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SandboxConfig {
    pub mode: String,
    pub free_shell: String,
    /// What agents reach beside what is their own.
    pub network: ReachList,
    pub checks_network: String,
    pub root: String,
    pub show: Vec<String>,
    pub cover: Vec<String>,
    pub write: Vec<String>,
    pub hide: Vec<String>,
    pub caches: Vec<String>,
    pub devices: Vec<String>,
    /// For how long a token must be good beyond the longest that its session may take.
    pub sign_in_margin: Duration,
    /// How long an agent's own program may take to renew a token.
    pub renew_timeout: Duration,
    /// Where each agent keeps its own state, by backend.
    pub agents: BTreeMap<String, AgentState>,
}

/// Where an agent keeps its own state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentState {
    /// Files that it is signed in with.
    pub sign_in: Vec<String>,
    /// Where in them the tokens are, and when the first of them expires: names from the
    /// outermost to the innermost, `*` for any one.
    pub access_token: String,
    pub refresh_token: String,
    pub expires: String,
    /// What else changes in them when the agent renews its tokens.
    pub renewed_with: Vec<String>,
    /// The command by which its own program renews them; none where there is none.
    pub renew: Vec<String>,
    /// Variables with a key that it uses instead of these files.
    pub instead: Vec<String>,
    /// What it writes where its home is the user's.
    pub write: Vec<String>,
    /// What it reaches.
    pub network: ReachList,
}

/// Addresses that may be reached.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReachList {
    /// All that the machine reaches.
    pub everything: bool,
    pub addresses: Vec<NetAddress>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct PriceConfig {
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
pub struct StoreConfig {
    pub busy_timeout: Duration,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpineConfig {
    pub line_cap_bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffConfig {
    pub cap_bytes: u64,
}

#[derive(Clone, PartialEq, Debug)]
pub struct IndexConfig {
    /// 0: one for each core.
    pub threads: u32,
    pub max_file_bytes: u64,
    pub history: u32,
    pub max_commit_files: u32,
    pub half_life: Duration,
    pub companions: u32,
    pub least_together: f64,
    pub keep_trees: u32,
    pub debounce: Duration,
    pub embed_for: Duration,
}

#[derive(Clone, PartialEq, Debug)]
pub struct InvestigateConfig {
    pub budget_usd: Usd,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ContextConfig {
    pub tokens: u32,
    pub first_index_files: u32,
    pub files: u32,
    pub items_of_file: u32,
    pub reasons: u32,
    pub locations: u32,
    pub locations_of_file: u32,
    pub snippets: u32,
    pub snippet_lines: u32,
    pub snippet_from: u32,
    pub snippet_to: u32,
    pub calls: u32,
    pub neighbours_of_call: u32,
    pub places: u32,
    pub anchors: u32,
    pub anchor_files: u32,
    pub namesakes: u32,
    pub nodes_of_anchor: u32,
    pub max_hops: u32,
    pub max_cost: f64,
    pub nodes: u32,
    pub near: u32,
    pub least_nearness: f64,
    pub memory_lines: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ImpactConfig {
    pub files: u32,
    pub touched: u32,
    pub removed: u32,
    pub users: u32,
    pub tests: u32,
    pub companions: u32,
    pub least_together: f64,
    pub pointed_at: u32,
    pub untouched: u32,
    pub connected_of_file: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct LessonConfig {
    pub carried: u32,
    pub looked_at: u32,
    pub least_likeness: f64,
    pub same: f64,
    pub same_situation: f64,
    pub other_answer: f64,
    pub from_verified: f64,
    pub from_unfinished: f64,
    pub of_run: u32,
    pub places: u32,
    pub namesakes: u32,
    pub chars: u32,
    pub lines: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SummaryConfig {
    pub chars: u32,
    pub bytes: u64,
    pub message_bytes: u64,
    pub reason_bytes: u64,
    pub files: u32,
    pub checks: u32,
    pub findings: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScanConfig {
    pub depth: u32,
    pub width: u32,
    pub whole_file_bytes: u64,
    pub large_bytes: u64,
    pub large_lines: u32,
    pub recent: u32,
    pub top_directories: u32,
    pub listed: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct SearchConfig {
    pub limit: u32,
    pub refresh_files: u32,
    pub embed_for: Duration,
    pub near: u32,
    pub near_of_some: u32,
    pub least_nearness: f64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolConfig {
    pub list_tokens: u32,
    pub source_tokens: u32,
    pub context_tokens: u32,
    pub hits: u32,
    pub notes: u32,
    pub places: u32,
    pub lines_of_place: u32,
    pub lines_of_code: u32,
    pub neighbours: u32,
    pub impact_steps: u32,
    pub max_hops: u32,
    pub reached: u32,
    pub edges: u32,
    pub ways: u32,
    pub runs: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphConfig {
    pub edges_of_node: u32,
    pub edges_around: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryConfig {
    pub fragments_per_pass: u32,
    pub pending_per_line: u32,
    pub dossiers_per_pass: u32,
    pub wrong_before_removal: u32,
    pub judge_budget: Usd,
    pub judge_batch: u32,
    pub judge_most: u32,
    pub broadcast_bytes: u64,
    pub schedule: ScheduleConfig,
}

/// When memory looks for work by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduleConfig {
    pub enabled: bool,
    pub tick: Duration,
    pub cooldown_ticks: u32,
    pub max_duration: Duration,
}

/// What is kept of runs for people to look at closely.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordConfig {
    pub cap_bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShowConfig {
    pub limit: u32,
}

/// The models of one backend; nothing where the agent is to choose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TierConfig {
    pub low: Option<String>,
    pub medium: Option<String>,
    pub high: Option<String>,
}

/// What each role works with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoleTable {
    pub(crate) named: BTreeMap<String, RoleConfig>,
    /// What a role has that is not named.
    pub(crate) other: RoleConfig,
}

impl RoleTable {
    /// Returns what `role` works with, whether it is named or not.
    pub fn of(&self, role: &str) -> &RoleConfig {
        self.named.get(role).unwrap_or(&self.other)
    }

    /// Returns the roles that are named, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoleConfig {
    pub tier: String,
    /// Nothing where it has as many as `orchestrate.max_turns` says.
    pub turns: Option<u32>,
    pub tools: ToolGroups,
    pub sandbox: CheckoutAccess,
    /// Its own agent; otherwise that of the run.
    pub backend: Option<String>,
    /// Its own model, by tier or by name.
    pub model: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_without_a_time_of_its_own_has_one_by_its_turns() {
        let mut orchestrate = Config::load(&[]).unwrap().config.orchestrate;
        assert_eq!(orchestrate.session_time(50), Duration::from_secs(6000));
        assert_eq!(orchestrate.session_time(1), Duration::from_secs(600));
        orchestrate.timeout = Duration::from_secs(7);
        assert_eq!(orchestrate.session_time(50), Duration::from_secs(7));
    }
}
