"""An agent program that is signed in by a file: agent.py WHO FILE URL WORD...

Each word is something that it does:
  renew     renews the tokens whatever their age
  work      renews them if they are due, and calls with the access token
  meet:X    waits at the server's place X until the test lets it go on
  stored:X  the same, for tokens that were stored
It ends with 1 when it is signed out. It reads its file anew each time, as agents do, and writes
it by rename. Nothing ends it in the middle of a renewal.
"""

import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request

who, file, url, *words = sys.argv[1:]
file = os.path.expanduser(file)
DUE_MS = 500


def call(path, headers, body=None):
    headers = {"x-client": who, **headers}
    request = urllib.request.Request(url + path, data=body, headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        return 200, json.load(opener.open(request, timeout=60))
    except urllib.error.HTTPError as error:
        return error.code, {}


def tokens():
    with open(file) as opened:
        return json.load(opened)


def renew():
    held = tokens()
    if not held["refresh_token"]:
        sys.exit(f"{who}: it has no refresh token")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    body = json.dumps({"refresh_token": held["refresh_token"]}).encode()
    code, new = call("/token", {"content-type": "application/json"}, body)
    if code != 200:
        sys.exit(f"{who}: it is signed out")
    held["access_token"] = new["access_token"]
    held["refresh_token"] = new["refresh_token"]
    held["expiry_date"] = new["expires_at"]
    beside = f"{file}.{os.getpid()}"
    with open(beside, "w") as opened:
        json.dump(held, opened)
    os.rename(beside, file)


for word in words:
    if word == "renew":
        renew()
    elif word == "work":
        if tokens()["expiry_date"] - time.time() * 1000 < DUE_MS:
            renew()
        code, _ = call("/work", {"authorization": "Bearer " + tokens()["access_token"]})
        if code != 200:
            sys.exit(f"{who}: its token was refused")
    elif word == "wait":
        # Until its token is due.
        time.sleep(max(0, tokens()["expiry_date"] / 1000 - time.time()))
    else:
        call("/meet/" + word.split(":")[1], {})
