//! What a person asks of a flow, and what it means: flow files read, names looked up.

mod asked;
pub(super) mod depth;
mod left_out;
pub(super) mod plan;
mod planned;
mod ready;

pub use asked::{CampaignAsked, ExecAsked, FlowOptions, PhaseAsked, SentinelAsked, StageAsked};
pub(crate) use planned::{FlowSettings, Planned};
pub(crate) use ready::Ready;
