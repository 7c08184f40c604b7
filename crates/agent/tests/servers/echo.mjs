// The smallest MCP server that has a tool: `ping` answers `pong` and what it was given.
import { createInterface } from "node:readline";

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "echo", version: "1" },
  }),
  "tools/list": () => ({
    tools: [{ name: "ping", description: "Answers pong.", inputSchema: { type: "object" } }],
  }),
  "tools/call": ({ arguments: given }) => ({
    content: [{ type: "text", text: `pong ${JSON.stringify(given)}` }],
  }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = answers[method]?.(params) ?? {};
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\n");
}
