//! The protocol's requests, each as a question to the host.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use spore_app::toolbox::{Ask, Declared, RESOURCE_TEMPLATES, Told};

use crate::host::ToolHost;
use crate::prompts;

const INSTRUCTIONS: &str = "\
Spore knows this project: its code as a graph of files, functions, types and calls, its history, \
and what earlier runs learnt. Begin with `context` for a task or `explore` for a question about \
the code; `search` says where something is, `callers` and `impact` what a change would reach. \
Answers cite file:line. A long answer ends with a cursor: ask again with it to read on.";

/// One per connection; all share a host.
#[derive(Clone)]
pub(crate) struct McpHandler {
    host: Arc<dyn ToolHost>,
    version: Arc<str>,
}

impl McpHandler {
    pub(crate) fn new(host: impl ToolHost, version: &str) -> Self {
        Self { host: Arc::new(host), version: version.into() }
    }

    /// Asks the host on a thread that may wait.
    async fn ask(&self, ask: Ask) -> Result<Told, ErrorData> {
        let host = Arc::clone(&self.host);
        let asked = tokio::task::spawn_blocking(move || host.ask(ask)).await;
        match asked {
            Ok(Ok(Told::Refused)) => Err(refused()),
            Ok(Ok(told)) => Ok(told),
            // The broker ends with its run: a client that still asks is refused like any other.
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::InvalidInput => {
                Err(ErrorData::invalid_params(error.to_string(), None))
            }
            Ok(Err(_)) => Err(refused()),
            Err(_) => Err(ErrorData::internal_error("this question could not be answered", None)),
        }
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<CallToolResult, ErrorData> {
        match self.ask(Ask::Call { tool: tool.to_owned(), arguments }).await? {
            Told::Answer(answer) => {
                let text = vec![ContentBlock::text(answer.text)];
                Ok(if answer.is_error {
                    CallToolResult::error(text)
                } else {
                    CallToolResult::success(text)
                })
            }
            _ => Err(refused()),
        }
    }
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let mut config = ServerConfig::new(capabilities).with_instructions(INSTRUCTIONS);
        config.server_info = Implementation::new("spore", self.version.to_string());
        config
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        match self.ask(Ask::Tools).await? {
            Told::Tools(tools) => {
                Ok(ListToolsResult::with_all_items(tools.into_iter().map(tool).collect()))
            }
            _ => Err(refused()),
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        Ok(self.call(&request.name, arguments).await?.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let Told::Resources(found) = self.ask(Ask::Resources).await? else {
            return Err(refused());
        };
        let resources = found.into_iter().map(|resource| {
            Resource::new(resource.uri, resource.name)
                .with_description(resource.description)
                .with_mime_type(resource.mime)
        });
        Ok(ListResourcesResult::with_all_items(resources.collect()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = RESOURCE_TEMPLATES
            .iter()
            .map(|(uri, name, what)| ResourceTemplate::new(*uri, *name).with_description(*what));
        Ok(ListResourceTemplatesResult::with_all_items(templates.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        match self.ask(Ask::Read { uri: uri.clone() }).await? {
            Told::Contents(Some(found)) => {
                let contents = ResourceContents::TextResourceContents {
                    uri,
                    mime_type: Some(found.mime),
                    text: found.text,
                    meta: None,
                };
                Ok(ReadResourceResult::new(vec![contents]).into())
            }
            Told::Contents(None) => {
                Err(ErrorData::resource_not_found("there is no such resource", None))
            }
            _ => Err(refused()),
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::all()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let Some(asked) = prompts::read(&request.name, &arguments) else {
            return Err(ErrorData::invalid_params("there is no such prompt", None));
        };
        let asked = asked.map_err(|missing| ErrorData::invalid_params(missing, None))?;
        let told = self.call(asked.tool, asked.arguments.clone()).await?;
        let text = told.content.iter().filter_map(|block| block.as_text());
        let text: Vec<&str> = text.map(|block| block.text.as_str()).collect();
        Ok(GetPromptResult::new(vec![asked.message(&text.join("\n"))]).into())
    }
}

fn tool(declared: Declared) -> Tool {
    let only_reads = !declared.proposes();
    let schema = match declared.schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    let mut tool =
        Tool::new(Cow::Owned(declared.name), Cow::Owned(declared.description), Arc::new(schema));
    // Nothing is ever removed, and nothing outside of the project is reached.
    let annotations = ToolAnnotations::from_raw(
        Some(declared.title.clone()),
        Some(only_reads),
        Some(false),
        Some(only_reads),
        Some(false),
    );
    tool.title = Some(declared.title);
    tool.annotations = Some(annotations);
    tool
}

/// The one answer to every client that is refused, so that none learns why.
fn refused() -> ErrorData {
    ErrorData::invalid_request("refused", None)
}
