//! Who works and with what: the agents there are, how to get one by its name, and their terms.
//!
//! From outside, `backends` gives the agent of a name, `ready` the one to use where the person
//! chose none, `roles` what a role of the configuration means to the agent that plays it, and
//! `prices` what its tokens cost. `known` is what is true of each agent without looking. It always
//! holds that nothing here opens a session or costs anything.

pub(crate) mod backends;
pub(crate) mod known;
pub(crate) mod leaders;
pub(crate) mod prices;
pub(crate) mod ready;
pub(crate) mod roles;
