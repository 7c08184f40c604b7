//! Flow files: what people and agents write down, read with the place of every key.

pub(crate) mod flow;
pub(crate) mod flow_campaign;
pub(crate) mod flow_file;
pub(crate) mod flow_json;
pub(crate) mod flow_node;
pub(crate) mod flow_stage;
pub(crate) mod flow_text;
pub(crate) mod mode;
