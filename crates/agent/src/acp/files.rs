//! What an agent asks us to do to files: writes, inside of the checkout, by the rules that our
//! own tools keep to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use spore_effects::session::ProcessIdentity;
use spore_tools::{BoxError, Registry, Root, ToolCaller};

use crate::{Request, rpc};

/// A write that was asked for and is allowed.
pub(super) struct Write {
    pub(super) id: Value,
    pub(super) path: String,
    pub(super) content: String,
}

/// The caller of a write: a write starts no process and is not worth cancelling.
struct WriteCaller;

impl ToolCaller for WriteCaller {
    fn starting(&mut self, _: &ProcessIdentity) -> Result<(), BoxError> {
        Err("a file is written, no program is started".into())
    }

    fn cancelled(&self) -> bool {
        false
    }
}

pub(super) struct CheckoutFiles {
    dir: PathBuf,
    tools: Option<Registry>,
}

impl CheckoutFiles {
    pub(super) fn new(request: &Request) -> Self {
        let root = Root::open(&request.dir).ok().map(Arc::new);
        let tools = root.map(|root| Registry::of_checkout(&root, None));
        Self { dir: request.dir_inside(), tools }
    }

    /// Does it, and returns the answer to the agent.
    pub(super) fn write(&mut self, write: &Write) -> String {
        let Ok(path) = Path::new(&write.path).strip_prefix(&self.dir) else {
            let reason = format!("{} is outside of the working directory", write.path);
            return rpc::refuse(&write.id, rpc::REFUSED, &reason);
        };
        let Some(tools) = &self.tools else {
            return rpc::refuse(&write.id, rpc::REFUSED, "the working directory is not there");
        };
        let arguments = json!({ "path": path.to_string_lossy(), "content": write.content });
        let answer = tools.call("write", &arguments, &mut WriteCaller);
        if answer.is_error {
            return rpc::refuse(&write.id, rpc::REFUSED, &answer.text);
        }
        rpc::answer(&write.id, &json!({}))
    }
}
