// The official MCP client for JavaScript lists and calls the tools, and prints what it saw as
// one JSON document. Called as: node mcp_client.mjs SDK_DIR stdio PROGRAM ARGS…
//                           or: node mcp_client.mjs SDK_DIR http URL TOKEN
import path from "node:path";
import { pathToFileURL } from "node:url";

const [sdk, how, ...rest] = process.argv.slice(2);
const load = (file) =>
  import(pathToFileURL(path.join(sdk, "node_modules/@modelcontextprotocol/sdk/dist/esm/client", file)).href);

const { Client } = await load("index.js");
let transport;
if (how === "stdio") {
  const { StdioClientTransport } = await load("stdio.js");
  transport = new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env });
} else {
  const { StreamableHTTPClientTransport } = await load("streamableHttp.js");
  const headers = { Authorization: `Bearer ${rest[1]}` };
  transport = new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers } });
}

const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const call = async (name, args) => {
  const answer = await client.callTool({ name, arguments: args });
  return { text: answer.content[0].text, isError: answer.isError ?? false };
};
const seen = {
  server: client.getServerVersion().name,
  tools: tools.map((tool) => tool.name),
  search: await call("search", { query: "pour" }),
  explore: await call("explore", { query: "water_all" }),
  refused: await call("submit_verdict", {}),
  resources: (await client.listResources()).resources.map((resource) => resource.uri),
  prompts: (await client.listPrompts()).prompts.map((prompt) => prompt.name),
};
if (process.env.SPORE_BENCH_CALLS) {
  const words = (process.env.SPORE_BENCH_WORDS ?? "pour").split(",");
  const took = [];
  for (let n = 0; n < Number(process.env.SPORE_BENCH_CALLS); n++) {
    const begun = process.hrtime.bigint();
    await call("search", { query: words[n % words.length] });
    took.push(Number(process.hrtime.bigint() - begun) / 1e6);
  }
  took.sort((a, b) => a - b);
  const at = (share) => took[Math.min(took.length - 1, Math.floor(took.length * share))];
  seen.millis = { p50: at(0.5), p95: at(0.95), max: at(1) };
}
await client.close();
console.log(JSON.stringify(seen));
