"""Answers equal questions equally: a model's server behind a memory of what it was asked.

With temperature 0 an answer should follow from its question, but what a server has in its cache from
other conversations, and what else it computes at the same time, changes the order in which it adds numbers,
and with that now and then a word. Here a question is asked once, and every arm that asks it gets that answer;
the processor time that it took is counted each time, as if it had been computed again.
"""

import hashlib
import http.client
import http.server
import json
import os
import pathlib
import re
import threading
import urllib.error
import urllib.request


class Meter:
    """Shares a server's processor time out equally among the questions that it answers at once."""

    def __init__(self, computed):
        self.computed, self.before = computed, 0.0
        self.lock, self.open = threading.Lock(), {}

    def begin(self, question):
        with self.lock:
            self.share()
            self.open[question] = 0.0

    def end(self, question):
        """Returns the seconds that the question took."""
        with self.lock:
            self.share()
            return self.open.pop(question)

    def share(self):
        now = self.computed()
        for question in self.open:
            self.open[question] += (now - self.before) / len(self.open)
        self.before = now


class Memo:
    """Listens on 127.0.0.1 in front of a server, for one arm at a time, and keeps answers under `place`."""

    def __init__(self, served, place, meter):
        self.served, self.place, self.meter = served, pathlib.Path(place), meter
        self.place.mkdir(parents=True, exist_ok=True)
        # Processor seconds of all that was asked here, as if each had been computed.
        self.seconds = 0.0
        # How many tokens the newest questions had, as the server counts, since somebody emptied it.
        self.counted = []
        memo = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                memo.answer(self, None)

            def do_POST(self):
                memo.answer(self, self.rfile.read(int(self.headers["content-length"])))

            def log_message(self, *_):
                pass

        self.listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.listener.server_port}"

    def answer(self, request, body):
        kept = self.place / hashlib.sha256(request.path.encode() + b"\n" + (body or b"")).hexdigest()
        if body is not None and kept.exists():
            head, _, text = kept.read_bytes().partition(b"\n")
            told = json.loads(head)
            self.seconds += told["seconds"]
            self.count(text)
            self.send(request, 200, told["type"], text)
            return
        asked = urllib.request.Request(self.served.address + request.path, body)
        if body is not None:
            asked.add_header("content-type", "application/json")
        self.meter.begin(request)
        try:
            with urllib.request.urlopen(asked, timeout=7200) as answer:
                kind, text = answer.headers.get("content-type", ""), answer.read()
        except urllib.error.HTTPError as error:
            self.send(request, error.code, error.headers.get("content-type", ""), error.read())
            return
        except (OSError, http.client.HTTPException):
            # As the one who asks would see it without us: no answer, and nothing is kept.
            request.close_connection = True
            return
        finally:
            seconds = round(self.meter.end(request), 3)
            self.seconds += seconds
        if body is not None:
            told = {"seconds": seconds, "type": kind}
            draft = kept.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
            draft.write_bytes(json.dumps(told).encode() + b"\n" + text)
            draft.rename(kept)
            self.count(text)
        self.send(request, 200, kind, text)

    def count(self, text):
        said = re.findall(rb'"prompt_tokens":\s*(\d+)', text)
        self.counted += [int(said[-1])] if said else []

    @staticmethod
    def send(request, code, kind, text):
        try:
            request.send_response(code)
            request.send_header("content-type", kind)
            request.send_header("content-length", str(len(text)))
            request.end_headers()
            request.wfile.write(text)
        except OSError:
            # Spore was ended in the middle: the answer is kept for when it asks again.
            pass
