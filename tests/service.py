#!/usr/bin/env python3
"""The program as a service manager and a shell see it: a socket that is handed over, readiness, reload, completions.
Prints TAP. Usage: service.py DARUMA BUILD_FOLDER"""
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

DARUMA = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
told = 0
bad = 0


def check(name, run):
    global told, bad
    told += 1
    try:
        run()
        print(f"ok {told} - {name}", flush=True)
    except Exception as e:  # a failure of any kind is one
        bad += 1
        print(f"not ok {told} - {name}\n# {type(e).__name__}: {e}", flush=True)


def get(port, path="/health"):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as r:
        return r.status, r.read()


def become(args, env, listener, stderr):
    """In a child: the program itself, with listeners from descriptor 3 on."""
    try:
        fds = [fcntl.fcntl(l, fcntl.F_DUPFD, 50) for l in (listener if isinstance(listener, list) else [listener])]
        os.dup2(stderr, 2)
        for i, fd in enumerate(fds):
            os.dup2(fd, 3 + i, inheritable=True)
        os.execve(DARUMA, [DARUMA, *args], {**os.environ, **env})
    finally:
        os._exit(99)


class Service:
    """daruma serve, as systemd starts it: the socket as descriptor 3, and a socket that it tells its state."""

    def __init__(self, args=(), hand_over=True, env=None, more_listeners=()):
        self.dir = tempfile.mkdtemp(prefix="daruma-service-")
        notify = os.path.join(self.dir, "notify")
        self.told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.told.bind(notify)
        self.told.settimeout(20)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        self.log = open(os.path.join(self.dir, "log"), "w+")
        self.pid = os.fork()
        if self.pid == 0:
            more = {"NOTIFY_SOCKET": notify}
            if hand_over:
                more |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(1 + len(more_listeners))}
            become(["serve", *args], {**more, **(env or {})}, [self.listener, *more_listeners], self.log.fileno())

    def state(self):
        return self.told.recv(200).decode()

    def end(self, by=signal.SIGTERM):
        os.kill(self.pid, by)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def refuses(self):
        """The exit code of one that must not start, or None where it did."""
        for _ in range(400):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
        self.end(signal.SIGKILL)
        return None

    def said(self):
        self.log.seek(0)
        return self.log.read()


def a_socket_is_taken_over():
    s = Service()
    early = socket.create_connection(("127.0.0.1", s.port))  # before it runs: the connection waits
    early.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    assert s.state() == "READY=1"
    early.settimeout(10)
    assert early.recv(100).startswith(b"HTTP/1.1 200"), "the connection that waited was not answered"
    assert get(s.port)[0] == 200
    assert f"127.0.0.1:{s.port}" in s.said(), s.said()
    os.kill(s.pid, signal.SIGHUP)
    for _ in range(100):
        if "was read again" in s.said():
            break
        time.sleep(0.1)
    assert "was read again" in s.said(), s.said()
    assert get(s.port)[0] == 200
    assert s.end() == 0
    assert s.state() == "STOPPING=1"


def a_socket_of_others_is_left_alone():
    s = Service(args=["--listen", "127.0.0.1:0"], hand_over=False, env={"LISTEN_PID": "1", "LISTEN_FDS": "1"})
    assert s.state() == "READY=1"
    assert f":{s.port} " not in s.said(), s.said()
    assert s.end() == 0


def two_places_to_listen_are_refused():
    s = Service(args=["--listen", "127.0.0.1:0"])
    assert s.refuses() == 2 and "remove --listen" in s.said(), s.said()


def two_sockets_are_served():
    second = socket.create_server(("127.0.0.2", 0))  # as another ListenStream: [::1]:4141
    s = Service(more_listeners=[second])
    assert s.state() == "READY=1"
    early = [socket.create_connection(l.getsockname(), timeout=10) for l in (second, s.listener)]
    for c in early:
        c.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        assert c.recv(100).startswith(b"HTTP/1.1 200")
    assert s.end() == 0


def a_second_socket_for_others_needs_clients():
    s = Service(more_listeners=[socket.create_server(("0.0.0.0", 0))])
    assert s.refuses() == 2 and "other machines can reach 0.0.0.0" in s.said(), s.said()


def a_socket_for_others_needs_clients():
    listener = socket.create_server(("0.0.0.0", 0))
    pid = os.fork()
    if pid == 0:
        become(["serve"], {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}, listener, os.open(os.devnull, os.O_WRONLY))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2


def commands():
    out = subprocess.run([DARUMA, "--help"], capture_output=True, text=True, check=True).stdout
    return [l.split()[0] for l in out.splitlines() if l.startswith("  ") and not l.startswith("   ") and len(l.split()) > 2 and l.split()[0] != "daruma"]


def completed(words):
    script = subprocess.run([DARUMA, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    asked = " ".join(f"'{w}'" for w in words)
    shell = f"{script}\nCOMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}; _daruma; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    r = subprocess.run(["bash", "-euc", shell], capture_output=True, text=True, check=True)
    return r.stdout.split()


def bash_completes_what_there_is():
    all_commands = commands()
    assert len(all_commands) > 14, all_commands
    assert set(all_commands) <= set(completed(["daruma", ""])), completed(["daruma", ""])
    for c in all_commands:
        helped = subprocess.run([DARUMA, c, "--help"], capture_output=True, text=True, check=True).stdout
        shown = {w.split("=")[0] for l in helped.splitlines() if l.startswith("  --") for w in l.split()[:1]}
        assert shown <= set(completed(["daruma", c, "--"])), f"{c}: {shown - set(completed(['daruma', c, '--']))}"
    assert completed(["daruma", "mend", "--dialect", "anth"]) == ["anthropic"]
    assert "swarm" in completed(["daruma", "policy", "--profile", ""])


def scripts_are_right_where_their_shell_is():
    for shell in ("bash", "zsh", "fish"):
        r = subprocess.run([DARUMA, "completion", shell], capture_output=True, text=True)
        assert r.returncode == 0 and r.stdout, shell
        if subprocess.run(["sh", "-c", f"command -v {shell}"], capture_output=True).returncode == 0:
            look = subprocess.run([shell, "-n", "/dev/stdin"], input=r.stdout, capture_output=True, text=True)
            assert look.returncode == 0, f"{shell}: {look.stderr}"
    zsh = subprocess.run([DARUMA, "completion", "zsh"], capture_output=True, text=True).stdout
    for option, again in (("--fault", "*"), ("--after-events", "*"), ("--for", "")):
        assert f"'{again}{option}[" in zsh, f"{option}: each fault has its own, the run has one"
    assert subprocess.run([DARUMA, "completion", "csh"], capture_output=True).returncode == 2


def all_of_it_is_installed():
    with tempfile.TemporaryDirectory() as to:
        subprocess.run(["meson", "install", "-C", sys.argv[2], "--no-rebuild", "--quiet"], env={**os.environ, "DESTDIR": to}, check=True, capture_output=True)
        found = {os.path.join(d, f) for d, _, files in os.walk(to) for f in files}
        for end in (
            "/bin/daruma",
            "/share/man/man1/daruma.1",
            "/share/bash-completion/completions/daruma",
            "/share/zsh/site-functions/_daruma",
            "/share/fish/vendor_completions.d/daruma.fish",
            "/lib/systemd/system/daruma.service",
            "/lib/systemd/system/daruma.socket",
            "/share/doc/daruma/daruma.yaml",
            "/include/daruma.h",
        ):
            assert any(f.endswith(end) for f in found), f"{end} is not installed"
        unit = open(next(f for f in found if f.endswith("daruma.service"))).read()
        program = unit.split("ExecStart=")[1].split()[0]
        assert os.access(to + program, os.X_OK), f"the unit starts {program}, which is not there"
        example = next(f for f in found if f.endswith("share/doc/daruma/daruma.yaml"))
        text = open(example).read().replace("/var/log/daruma", to)  # which only the service has
        r = subprocess.run([DARUMA, "check", "-"], input=text, capture_output=True, text=True)
        assert r.returncode == 0 and "warning" not in r.stdout + r.stderr, r.stdout + r.stderr


def what_was_installed_goes_without_a_build():
    with tempfile.TemporaryDirectory() as tree:  # with nothing to build in it
        shutil.copy(os.path.join(HERE, "../run"), tree)
        there, logs = os.path.join(tree, "prefix/bin/daruma"), os.path.join(tree, "build/meson-logs")
        for d in (logs, os.path.dirname(there)):
            os.makedirs(d)
        for path, text in ((there, ""), (logs + "/install-log.txt", f"# made by meson\n{there}\n")):
            with open(path, "w") as f:
                f.write(text)
        went = [subprocess.run(["sh", os.path.join(tree, "run"), "uninstall"], capture_output=True).returncode for _ in range(2)]
        assert went == [0, 1] and not os.path.exists(os.path.join(tree, "prefix")), went


def the_image_has_all_that_it_needs():
    """The root of the container image, without a runtime: only what tools/image put there is there."""
    assert os.getuid() == 0, "to change the root needs root"
    with tempfile.TemporaryDirectory() as to, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        subprocess.run([os.path.join(HERE, "../tools/image"), DARUMA, to], check=True, capture_output=True)
        os.chmod(to, 0o755)
        kept = os.path.join(to, "var/lib/daruma")
        os.makedirs(kept)
        os.chown(kept, 65532, 65532)
        within = ["chroot", "--userspec=65532:65532", to, "/usr/bin/daruma"]
        config = ["--config", "/etc/daruma/daruma.yaml", "--listen", f"0.0.0.0:{port}"]
        none = subprocess.run([*within, "serve", *config], capture_output=True, text=True)
        assert none.returncode == 2 and "DARUMA_TOKEN is not set" in none.stderr, none.stderr
        env = {**os.environ, "DARUMA_TOKEN": "0123456789abcdef0123"}
        asked = [*within, "health", *config]
        assert subprocess.run(asked, env=env, capture_output=True).returncode == 1
        p = subprocess.Popen([*within, "serve", *config], env=env, stderr=subprocess.PIPE, text=True)
        try:
            for _ in range(100):
                up = subprocess.run(asked, env=env, capture_output=True, text=True)
                if up.returncode == 0:
                    break
                time.sleep(0.1)
            assert up.returncode == 0 and up.stdout.startswith("HTTP 200"), up
            for path in ("/v1/models", "/daruma/status"):
                try:
                    get(port, path)
                    raise AssertionError(f"{path} was answered to nobody")
                except urllib.error.HTTPError as e:
                    assert e.code in (401, 403), e.code
        finally:
            p.terminate()
            said = p.communicate()[1]
        assert p.returncode == 0, said
        assert os.path.exists(os.path.join(kept, "state.jsonl")), "what is known was not kept"
        assert os.stat(os.path.join(kept, "state.jsonl")).st_uid == 65532


check("a socket that listens already is taken over, with the connections that wait, and readiness is told", a_socket_is_taken_over)
check("a socket that is meant for another process is left alone", a_socket_of_others_is_left_alone)
check("a socket and --listen are refused together", two_places_to_listen_are_refused)
check("two sockets are both served", two_sockets_are_served)
check("of two sockets one that other machines reach needs clients", a_second_socket_for_others_needs_clients)
check("a socket that other machines reach needs clients, as any listener", a_socket_for_others_needs_clients)
check("bash completes every command and option of the program", bash_completes_what_there_is)
check("the scripts of all shells are right where the shell is there", scripts_are_right_where_their_shell_is)
check("what was installed goes without a build, and the second time there is nothing to go", what_was_installed_goes_without_a_build)
check("all of it is installed, the unit names the program, and the configuration is fine", all_of_it_is_installed)
if os.getuid() == 0:
    check("the image has all that the program needs, and its health check", the_image_has_all_that_it_needs)
else:
    told += 1
    print(f"ok {told} - the image has all that the program needs # SKIP to change the root needs root")
print(f"1..{told}")
sys.exit(1 if bad else 0)
