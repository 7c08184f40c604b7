#!/usr/bin/env python3
"""How long `spore mcp` takes to start and to answer, and how much memory it holds.

    bench.py SPORE DIR [CALLS]

DIR is an indexed project. Prints one JSON document: the start is from the spawn to the answer
to `initialize`, the median of eleven; the calls are searches for names that are really there,
each a different one, answered over stdin and stdout.
"""
import json
import os
import subprocess
import sys
import time


class Client:
    def __init__(self, spore, root):
        begun = time.perf_counter()
        self.child = subprocess.Popen(
            [spore, "mcp", "--root", root], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.count = 0
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        self.ask("initialize", hello)
        self.start = time.perf_counter() - begun
        self.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def tell(self, message):
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def ask(self, method, params):
        self.count += 1
        self.tell({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params})
        answer = json.loads(self.child.stdout.readline())
        assert answer["id"] == self.count and "error" not in answer, answer
        return answer["result"]

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result["content"][0]["text"]

    def memory(self):
        with open(f"/proc/{self.child.pid}/status") as status:
            lines = dict(line.split(":", 1) for line in status)
        return {name: int(lines[name].split()[0]) // 1024 for name in ("VmRSS", "VmHWM", "RssAnon")}

    def leave(self):
        self.child.stdin.close()
        return self.child.wait()


def share(sorted_values, part):
    return round(sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * part))] * 1e3, 2)


def main():
    spore, root = sys.argv[1], os.path.abspath(sys.argv[2])
    calls = int(sys.argv[3]) if len(sys.argv) > 3 else 400
    starts = []
    for _ in range(11):
        client = Client(spore, root)
        starts.append(client.start)
        client.leave()
    client = Client(spore, root)
    first = time.perf_counter()
    client.call("search", query="parser")
    first = time.perf_counter() - first
    words = ["parse", "error", "buffer", "token", "stream", "hash", "iterator", "lock", "format", "cursor"]
    verbs = ["read the next", "how is a", "write", "open", "fn", "where is the", "drop of", "new"]
    took = []
    for n in range(calls):
        query = f"{verbs[n % len(verbs)]} {words[n // len(verbs) % len(words)]} {n}"
        begun = time.perf_counter()
        client.call("search", query=query)
        took.append(time.perf_counter() - begun)
    took.sort()
    print(
        json.dumps(
            {
                "start_ms": {"p50": share(sorted(starts), 0.5), "max": share(sorted(starts), 1)},
                "first_search_ms": round(first * 1e3, 2),
                "search_ms": {"p50": share(took, 0.5), "p95": share(took, 0.95), "max": share(took, 1)},
                "calls": calls,
                "memory_mb": client.memory(),
            },
            indent=2,
        )
    )
    client.leave()


main()
