#!/usr/bin/env python3
"""A host of daruma in Python: sends a request through whatever goes wrong, with the standard library alone.

    daruma chaos --fault rate_limit --times 1 &
    DARUMA_LIBRARY=build/libdaruma.so python3 bindings/python/example.py http://127.0.0.1:9100 [--stream]

One thread for each call reads from the network; the session stays in the thread that owns it.
"""

import http.client
import json
import queue
import socket
import ssl
import sys
import threading
import urllib.parse

import daruma

KEYS = {
    "openai": ("authorization", "Bearer "),
    "openai-responses": ("authorization", "Bearer "),
    "anthropic": ("x-api-key", ""),
    "gemini": ("x-goog-api-key", ""),
}


def how_it_failed(error, headed, late):
    if late:
        return "total_timeout"
    for kind, how in (
        (ConnectionRefusedError, "refused"),
        (ConnectionResetError, "reset"),
        (socket.gaierror, "dns"),
        (ssl.SSLCertVerificationError, "certificate"),
        (ssl.SSLError, "tls"),
        (http.client.BadStatusLine, "closed"),
    ):
        if isinstance(error, kind):
            return how
    return "cut" if headed else "closed"


class Call(threading.Thread):
    """Makes one call and tells what came of it, in a thread of its own."""

    def __init__(self, url, key, act, inbox):
        super().__init__(daemon=True)
        self.act, self.inbox, self.to = act, inbox, urllib.parse.urlsplit(url)
        name, prefix = KEYS[act.dialect]
        self.fields = dict(act.fields) | {name: prefix + key}
        kind = http.client.HTTPSConnection if self.to.scheme == "https" else http.client.HTTPConnection
        self.connection = kind(self.to.hostname, self.to.port)
        self.may_read, self.late = threading.Event(), False
        self.may_read.set()
        self.timer = None
        self.limit(act.total_ms)

    def limit(self, total_ms):
        """Ends the call when it takes longer than that from now on; negative: never."""
        if self.timer:
            self.timer.cancel()
        self.timer = threading.Timer(total_ms / 1000, self.end, [True]) if total_ms >= 0 else None
        if self.timer:
            self.timer.daemon = True
            self.timer.start()

    def end(self, late=False):
        """Ends the call from another thread: whoever reads from its connection stops."""
        self.late = late
        self.may_read.set()
        if self.connection.sock:
            try:
                self.connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def run(self):
        number, headed = self.act.call, False
        try:
            self.connection.request("POST", self.to.path + self.act.path, self.act.body, self.fields)
            answer = self.connection.getresponse()
            headed = True
            self.inbox.put(("head", number, answer.status, answer.getheaders()))
            while piece := answer.read1(65536):
                self.inbox.put(("bytes", number, piece))
                self.may_read.wait()
            whole = not answer.length and not self.late
            self.inbox.put(("end", number) if whole else ("failed", number, "total_timeout" if self.late else "cut"))
        except (OSError, http.client.HTTPException) as error:
            self.inbox.put(("failed", number, how_it_failed(error, headed, self.late)))
        finally:
            self.limit(-1)
            self.connection.close()


def recover(memory, options, body, urls, key, write):
    """Sends `body` and writes the answer. Returns its status, fields, and how it went."""
    inbox, calls, status, fields, over = queue.Queue(), {}, 502, [], None
    with memory.session(options, body) as session:
        while over is None:
            for act in session:
                if act.kind == daruma.SEND:
                    calls[act.call] = Call(urls[act.target], key, act, inbox)
                    calls[act.call].start()
                elif act.kind == daruma.CANCEL:
                    calls[act.call].end()
                elif act.kind == daruma.PAUSE:
                    calls[act.call].may_read.clear()
                elif act.kind == daruma.RESUME:
                    calls[act.call].may_read.set()
                elif act.kind == daruma.LIMIT:
                    calls[act.call].limit(act.total_ms)
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
        for call in calls.values():
            call.end()
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
