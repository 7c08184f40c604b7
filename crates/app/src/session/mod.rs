//! One agent session: which agent, what it may do, what it cost.

pub(crate) mod agents;
pub(crate) mod backends;
pub(crate) mod broker;
pub(crate) mod environment;
pub(crate) mod lost;
pub(crate) mod nesting;
pub(crate) mod players;
pub(crate) mod prices;
pub(crate) mod processes;
pub(crate) mod roles;
pub(crate) mod sandbox;
pub(crate) mod spawn;
pub(crate) mod watch;
