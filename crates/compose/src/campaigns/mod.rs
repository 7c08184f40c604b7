//! L4: what a campaign is to do, the machine that leads it there, and what it tells.
//!
//! Plans are made of flow files (`flows`) and say which coordinators each step is (`plan`); the machine
//! (`machine`) says which is next; `answers` reads what sessions say that decide. A campaign calls
//! coordinators and nothing else.

pub(crate) mod answers;
pub(crate) mod flows;
pub(crate) mod machine;
pub(crate) mod plan;
pub(crate) mod report;
