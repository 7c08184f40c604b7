"""A model on this machine that answers every pass of an investigation at once, in the words of the
Messages protocol."""
import http.server, json, threading


class Model(http.server.BaseHTTPRequestHandler):
    calls = 0

    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        Model.calls += 1
        text = json.dumps(asked["messages"])
        tool, answer = "submit_report", {"summary": "Holds parts of a shop.", "completeness": 0.9, "confidence": 0.9}
        if "Say what this directory is" in text:
            tool, answer = "submit_survey", {"description": "a shop", "approach": "read", "confidence": 0.9}
        elif "Decide where a closer look" in text:
            skip = [{"path": path, "reason": "far down"} for path in self.server.skipped]
            tool, answer = "submit_plan", {"skip_dirs": skip, "notes": ""}
        elif "from what is known of its directories" in text:
            answer = {"brief": "A shop of many parts.", "detailed": "Each directory holds parts."}
        events = [
            {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [],
             "model": asked["model"], "usage": {"input_tokens": 900, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0,
             "content_block": {"type": "tool_use", "id": f"t{Model.calls}", "name": tool, "input": {}}},
            {"type": "content_block_delta", "index": 0,
             "delta": {"type": "input_json_delta", "partial_json": json.dumps(answer)}},
            {"type": "content_block_stop", "index": 0},
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
