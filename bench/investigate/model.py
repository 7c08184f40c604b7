"""A model on this machine that answers every pass of an investigation at once, in the words of the
Messages protocol. What it says of a directory and of its files depends on their names alone."""
import http.server, json, re, threading, zlib

LISTED = re.compile(r"^(.+) \d+(?:\.\d)? [kMGTP]?B(?:, |$)")


def number(text):
    return zlib.crc32(text.encode())


def look(task):
    """What a look at a directory says: an entry for each file that it is told of, and its report."""
    place = re.search(r"Describe the directory (.*) of the target\.", task).group(1)
    block = re.search(r'<data of="files">\n(.*?)</data>', task, re.S)
    names = [found.group(1) for found in map(LISTED.match, block.group(1).splitlines() if block else []) if found]
    calls = []
    for name in names:
        path = name if place == "." else f"{place}/{name}"
        data = {"summary": f"Holds part {number(path)} of a shop.", "confidence": 0.9}
        calls.append(("write_cache", {"cache_type": "file", "path": path, "data": data}))
    report = {"summary": f"Holds parts {number(place)} of a shop.", "completeness": 0.9, "confidence": 0.9}
    return calls + [("submit_report", report)]


def said(asked):
    """Everything that was told, as text."""
    parts = [part for message in asked["messages"] for part in
             ([{"text": message["content"]}] if isinstance(message["content"], str) else message["content"])]
    return "\n".join(part.get("text", "") for part in parts)


class Model(http.server.BaseHTTPRequestHandler):
    calls = 0

    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        Model.calls += 1
        text = said(asked)
        if "Say what this directory is" in text:
            calls = [("submit_survey", {"description": "a shop", "approach": "read", "confidence": 0.9})]
        elif "Decide where a closer look" in text:
            skip = [{"path": path, "reason": "far down"} for path in self.server.skipped]
            calls = [("submit_plan", {"skip_dirs": skip, "notes": ""})]
        elif "from what is known of its directories" in text:
            calls = [("submit_report", {"brief": "A shop of many parts.", "detailed": "Each directory holds parts."})]
        else:
            calls = look(text)
        events = [
            {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [],
             "model": asked["model"], "usage": {"input_tokens": 900, "output_tokens": 1}}},
        ]
        for at, (tool, answer) in enumerate(calls):
            block = {"type": "tool_use", "id": f"t{Model.calls}-{at}", "name": tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(answer)}
            events += [
                {"type": "content_block_start", "index": at, "content_block": block},
                {"type": "content_block_delta", "index": at, "delta": delta},
                {"type": "content_block_stop", "index": at},
            ]
        events += [
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 60}},
            {"type": "message_stop"},
        ]
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(skipped=()):
    """Starts it; the planner leaves out the directories `skipped`."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.skipped = list(skipped)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def environment(home, url):
    import os
    return {"PATH": os.environ["PATH"], "HOME": home, "XDG_STATE_HOME": home + "/state",
            "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": url, "NO_COLOR": "1"}
