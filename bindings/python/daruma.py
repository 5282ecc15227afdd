"""daruma - recovery of requests to models, by libdaruma. One file, no build: ctypes and the shared library.

    memory = daruma.Memory()
    with memory.session({"dialect": "openai", "targets": [{"name": "main", "model": "gpt-4o"}]}, body) as session:
        for act in session:                 # what to do now; ends when there is nothing
            if act.kind == daruma.SEND:     # send act.body to act.path of act.target, as call number act.call
                ...
        session.head(call, 200, fields)     # what came of it: head, bytes, end, failed

A memory and its sessions belong to one thread at a time. include/daruma.h says what each of them does; example.py is a
whole host. DARUMA_LIBRARY names the library where the system does not find it.
"""

import ctypes
import ctypes.util
import json
import os
import random
import time
import weakref

ABI = 1  # of the functions that are used here
(NOTHING, SEND, CANCEL, PAUSE, RESUME, LIMIT, HEAD, BYTES, EVENT, END, BREAK) = range(11)

_text, _size, _pointer, _int64 = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int64
_length = ctypes.POINTER(_size)
_functions = {
    "version": (_text,),
    "abi": (ctypes.c_int,),
    "policy_new": (_pointer, _text, _size, _text, _size),
    "policy_json": (_size, _pointer, _text, _size),
    "policy_free": (None, _pointer),
    "memory_new": (_pointer,),
    "memory_free": (None, _pointer),
    "memory_now": (None, _pointer, _int64, _int64, ctypes.c_uint64),
    "memory_ready": (_pointer, _pointer),
    "memory_status": (_size, _pointer, _text, _size),
    "memory_save": (_size, _pointer, _text, _size),
    "memory_load": (_int64, _pointer, _text, _size, _text, _size),
    "session_open": (_pointer, _pointer, _pointer, _text, _size, _text, _size, _text, _size),
    "session_free": (None, _pointer),
    "session_next": (ctypes.c_int, _pointer),
    "session_wakes_ms": (_int64, _pointer),
    "session_call": (_int64, _pointer),
    "session_target": (_pointer, _pointer, _length),
    "session_dialect": (_pointer, _pointer, _length),
    "session_model": (_pointer, _pointer, _length),
    "session_path": (_pointer, _pointer, _length),
    "session_bytes": (_pointer, _pointer, _length),
    "session_fields": (_pointer, _pointer, _length),
    "session_total_ms": (_int64, _pointer),
    "session_status": (ctypes.c_int, _pointer),
    "session_clock": (None, _pointer),
    "session_gone": (None, _pointer),
    "session_outcome": (_text, _pointer),
    "session_remedies": (_size, _pointer, _text, _size),
    "session_attempts": (_int64, _pointer),
    "call_head": (None, _pointer, _int64, ctypes.c_int, _text, _size),
    "call_bytes": (None, _pointer, _int64, _text, _size),
    "call_end": (None, _pointer, _int64),
    "call_failed": (None, _pointer, _int64, _text),
}


class Error(ValueError):
    """What libdaruma says is wrong with a policy or with options."""


def _load():
    name = os.environ.get("DARUMA_LIBRARY") or ctypes.util.find_library("daruma") or "libdaruma.so.0"
    library = ctypes.CDLL(name)
    for function, (result, *arguments) in _functions.items():
        f = getattr(library, "daruma_" + function)
        f.restype, f.argtypes = result, arguments
    if library.daruma_abi() != ABI:
        version = library.daruma_version().decode()
        raise ImportError(f"{name} is daruma {version} with interface {library.daruma_abi()}; this file needs {ABI}")
    return library


_lib = _load()


def version():
    return _lib.daruma_version().decode()


def _whole(function, *arguments):
    """A text that a function writes into a buffer: asked for its length first."""
    n = function(*arguments, None, 0)
    room = ctypes.create_string_buffer(n + 1)
    function(*arguments, room, n + 1)
    return room.value.decode()


def now_ms():
    """The clock of all times here."""
    return time.monotonic_ns() // 1000000


class Policy:
    """What is done about each kind of failure: a dict as in daruma.h; {} is the default one."""

    def __init__(self, settings=None):
        text, why = json.dumps(settings or {}).encode(), ctypes.create_string_buffer(512)
        self._p = _lib.daruma_policy_new(text, len(text), why, len(why))
        if not self._p:
            raise Error(why.value.decode())

    def settings(self):
        return json.loads(_whole(_lib.daruma_policy_json, self._p))

    def __del__(self):
        if getattr(self, "_p", None):
            _lib.daruma_policy_free(self._p)


class Memory:
    """What is remembered between requests. It outlives its sessions."""

    def __init__(self):
        self._p = _lib.daruma_memory_new()
        if not self._p:
            raise MemoryError("libdaruma has no memory")
        self._sessions = weakref.WeakValueDictionary()

    def session(self, options, body, policy=None):
        """Opens a session for one request: `options` as in daruma.h, `body` the bytes of the request."""
        return Session(self, options, body, policy)

    def ready(self):
        """A session in which there is something to do; None: there is none."""
        return self._sessions.get(_lib.daruma_memory_ready(self._p))

    def status(self):
        self.tick()
        return json.loads(_whole(_lib.daruma_memory_status, self._p))

    def save(self):
        """What is known, as text for load() in another process. It holds texts of conversations, and no key."""
        self.tick()
        return _whole(_lib.daruma_memory_save, self._p)

    def load(self, snapshot):
        """Learns what save() wrote, before the first session; returns how many things were learned."""
        text, why = snapshot.encode(), ctypes.create_string_buffer(256)
        self.tick()
        taken = _lib.daruma_memory_load(self._p, text, len(text), why, len(why))
        if taken < 0:
            raise Error(why.value.decode())
        return taken

    def tick(self):
        _lib.daruma_memory_now(self._p, now_ms(), int(time.time()), random.getrandbits(64))

    def __del__(self):
        if getattr(self, "_p", None):
            _lib.daruma_memory_free(self._p)


class Act:
    """One thing to do; what it does not have is None, 0, -1 or empty."""

    __slots__ = ("kind", "call", "target", "dialect", "model", "path", "body", "total_ms", "status", "fields")

    def __init__(self, session, kind):
        def text(name):
            n = _size()
            p = getattr(_lib, "daruma_session_" + name)(session, ctypes.byref(n))
            return ctypes.string_at(p, n.value)

        self.kind = kind
        self.call = _lib.daruma_session_call(session)
        self.total_ms = _lib.daruma_session_total_ms(session)
        self.body = text("bytes")
        self.target = self.dialect = self.model = self.path = self.fields = None
        self.status = 0
        if kind == SEND:
            self.target, self.dialect, self.model, self.path = (
                text(name).decode("utf-8", "replace") for name in ("target", "dialect", "model", "path")
            )
        if kind in (SEND, HEAD):
            self.status, self.target = _lib.daruma_session_status(session), text("target").decode()
            lines = text("fields").decode("latin-1").split("\r\n")
            self.fields = [tuple(line.split(": ", 1)) for line in lines if line]


class Session:
    """One request. Iterate over it for what is to be done now, again after each input."""

    def __init__(self, memory, options, body, policy):
        self._p, self._memory = None, memory  # which outlives it
        text, why = json.dumps(options).encode(), ctypes.create_string_buffer(512)
        body = body.encode() if isinstance(body, str) else bytes(body)
        memory.tick()
        p = policy._p if policy else None
        self._p = _lib.daruma_session_open(memory._p, p, text, len(text), body, len(body), why, len(why))
        if not self._p:
            raise Error(why.value.decode())
        memory._sessions[self._p] = self

    def __iter__(self):
        while self._p:
            kind = _lib.daruma_session_next(self._p)
            if kind == NOTHING:
                return
            yield Act(self._p, kind)

    def wakes_in(self):
        """Seconds until clock() is to be called; None: never."""
        at = _lib.daruma_session_wakes_ms(self._open())
        return None if at < 0 else max(0, at - now_ms()) / 1000

    def _open(self):
        if not self._p:
            raise ValueError("the session is closed")
        return self._p

    def _input(self, function, *arguments):
        if self._p:
            self._memory.tick()
            function(self._p, *arguments)

    def head(self, call, status, fields):
        """The head of an answer: `fields` are pairs of name and value."""
        text = "".join(f"{name}: {value}\r\n" for name, value in fields).encode("latin-1", "replace")
        self._input(_lib.daruma_call_head, call, status, text, len(text))

    def bytes(self, call, data):
        self._input(_lib.daruma_call_bytes, call, data, len(data))

    def end(self, call):
        self._input(_lib.daruma_call_end, call)

    def failed(self, call, how):
        """`how`: "refused", "reset", "dns", "tls", "first_byte_timeout", "total_timeout", "closed", "cut", ..."""
        self._input(_lib.daruma_call_failed, call, how.encode())

    def clock(self):
        self._input(_lib.daruma_session_clock)

    def gone(self):
        self._input(_lib.daruma_session_gone)

    @property
    def outcome(self):
        return _lib.daruma_session_outcome(self._p).decode() if self._p else self._went[0]

    @property
    def attempts(self):
        return _lib.daruma_session_attempts(self._p) if self._p else self._went[1]

    @property
    def remedies(self):
        return _whole(_lib.daruma_session_remedies, self._p) if self._p else self._went[2]

    def close(self):
        """Gives the session back; how it went is still known."""
        if self._p:
            self._went = self.outcome, self.attempts, self.remedies
            self._memory._sessions.pop(self._p, None)
            _lib.daruma_session_free(self._p)
            self._p = None

    def __del__(self):
        if getattr(self, "_p", None):
            self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
