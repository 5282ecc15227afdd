#!/usr/bin/env python3
"""A host of daruma in Python: sends a request through whatever goes wrong, with the standard library alone.

    daruma chaos --fault rate_limit --times 1 &
    DARUMA_LIBRARY=build/libdaruma.so python3 bindings/python/example.py http://127.0.0.1:9100 [--stream]

One thread for each call reads from the network; the session stays in the thread that owns it.
"""

import http.client
import json
import queue
import sys
import threading
import urllib.parse

import daruma

KEYS = {"openai": ("authorization", "Bearer "), "anthropic": ("x-api-key", ""), "gemini": ("x-goog-api-key", "")}


def how_it_failed(error):
    for kind, how in ((ConnectionRefusedError, "refused"), (ConnectionResetError, "reset"), (TimeoutError, "idle_timeout")):
        if isinstance(error, kind):
            return how
    return "cut" if isinstance(error, http.client.IncompleteRead) else "closed"


def call(url, key, act, inbox, stopped):
    """Makes one call and tells what came of it, in the thread of its own."""
    to = urllib.parse.urlsplit(url)
    Connection = http.client.HTTPSConnection if to.scheme == "https" else http.client.HTTPConnection
    name, prefix = KEYS.get(act.dialect, KEYS["openai"])
    try:
        connection = Connection(to.hostname, to.port, timeout=act.total_ms / 1000 if act.total_ms > 0 else None)
        connection.request("POST", to.path + act.path, act.body, {"content-type": "application/json", name: prefix + key})
        answer = connection.getresponse()
        inbox.put(("head", act.call, answer.status, answer.getheaders()))
        while not stopped.is_set():
            piece = answer.read1(65536)
            if not piece:
                break
            inbox.put(("bytes", act.call, piece))
        inbox.put(("end", act.call))
    except (OSError, http.client.HTTPException) as error:
        inbox.put(("failed", act.call, how_it_failed(error)))


def recover(memory, options, body, urls, key, write):
    """Sends `body` and writes the answer. Returns its status, fields, and how it went."""
    inbox, calls, status, fields, over = queue.Queue(), {}, 0, [], None
    with memory.session(options, body) as session:
        while over is None:
            for act in session:
                if act.kind == daruma.SEND:
                    calls[act.call] = threading.Event()
                    arguments = (urls[act.target], key, act, inbox, calls[act.call])
                    threading.Thread(target=call, args=arguments, daemon=True).start()
                elif act.kind == daruma.CANCEL:
                    calls[act.call].set()
                elif act.kind == daruma.HEAD:
                    status, fields = act.status, act.fields
                elif act.kind == daruma.BYTES:
                    write(act.body)
                elif act.kind == daruma.EVENT:
                    print(act.body.decode(), file=sys.stderr)
                elif act.kind in (daruma.END, daruma.BREAK):
                    over = act.kind
            if over is None:
                try:
                    what, *rest = inbox.get(timeout=session.wakes_in())
                    getattr(session, what)(*rest)
                except queue.Empty:
                    session.clock()
        return status, fields, session.outcome, session.attempts, session.remedies, over == daruma.END


def main():
    urls = [a for a in sys.argv[1:] if not a.startswith("--")]
    if not urls:
        sys.exit(__doc__)
    request = {"model": "m-main", "messages": [{"role": "user", "content": "Say hello."}], "stream": "--stream" in sys.argv}
    targets = [{"name": f"place{i}", "model": "m-main"} for i in range(len(urls))]
    options = {"dialect": "openai", "targets": targets, "secrets": ["sk-example-key"]}
    places = {t["name"]: url for t, url in zip(targets, urls)}
    write = lambda piece: sys.stdout.write(piece.decode())  # noqa: E731
    status, _, outcome, attempts, remedies, whole = recover(
        daruma.Memory(), options, json.dumps(request).encode(), places, "sk-example-key", write
    )
    print(f"\n{status} {outcome} after {attempts} calls: {remedies}")
    sys.exit(0 if whole and status == 200 else 1)


if __name__ == "__main__":
    main()
