//! The settings of Spore: layers of TOML in, one typed [`Config`] out.
//!
//! Every constant of the product is in `defaults.toml`, with a comment, so that people read
//! the same text as the code does. That file is also the only list of what can be set: a key
//! that is not in it is an error that names the nearest one that is, with file, line and
//! column. Only the tables that people name themselves are open: gates, tiers and roles.
//!
//! Nothing here reads a file or the environment: the caller hands in texts and says where
//! each comes from, and every value remembers that.

mod config;
mod distance;
mod edit;
mod entries;
mod environment;
mod error;
mod explain;
mod layer;
mod schema;
mod tables;
mod telemetry;
mod time;
mod value;

pub use config::{
    AgentState, AgentVariables, ApiConfig, CheckoutConfig, ClaudeConfig, CommandConfig,
    CommitConfig, Config, ContextConfig, DiffConfig, EnvironmentConfig, FlowConfig, GateCommand,
    GateConfig, GraphConfig, ImpactConfig, IndexConfig, LessonConfig, LocalConfig,
    LocalServerConfig, LoopConfig, ModelPrice, OrchestrateConfig, PriceConfig, ReachList,
    RecordConfig, RoleConfig, RoleTable, SandboxConfig, ScanConfig, ScheduleConfig, SearchConfig,
    SentinelConfig, SessionLimits, ShowConfig, SpawnConfig, SpineConfig, StoreConfig,
    SummaryConfig, TierConfig, ToolConfig, VerdictRules,
};
pub use distance::distance;
pub use edit::{set, unset};
pub use environment::{RESERVED, env_layers, variable};
pub use error::{ConfigError, Position, SettingPlace};
pub use explain::explain;
pub use layer::{Loaded, Origins, SettingEntry, SettingsLayer, SettingsOrigin};
pub use telemetry::TelemetryConfig;
pub use time::{BadDuration, parse_duration};
pub use value::Value;

/// The text that all other layers lie on, with the comments that people read.
pub const DEFAULTS: &str = include_str!("../defaults.toml");

/// The same without comments, for the program itself; the build script makes it.
const BARE_DEFAULTS: &str = include_str!(concat!(env!("OUT_DIR"), "/defaults.toml"));
