"""Programs, throw-away clusters and processes."""

import atexit
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PEERS = ROOT / "bench" / "peers"


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def output(*command, **more):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def install(programs):
    """Debian packages by the program that each brings."""
    missing = [package for program, package in programs.items() if not shutil.which(program)]
    if missing:
        output(ROOT / "script/postgres", "packages", *missing)


def build(directory, *arguments):
    """Builds with cargo; the programs by name."""
    messages = output(
        "cargo", "build", "--release", "--locked", "--message-format=json-render-diagnostics", *arguments, cwd=directory
    )
    built = (json.loads(line) for line in messages.splitlines())
    return {item["target"]["name"]: item["executable"] for item in built if item.get("executable")}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """A throw-away PostgreSQL with a database `bench`. As script/postgres makes it: without fsync,
    which nothing that is only read notices; writes are faster than on a durable one."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="sekisho-bench-", dir="/tmp")
        settings = ["shared_buffers=1GB", "max_wal_size=4GB", "checkpoint_timeout=1h"]
        flags = [part for setting in settings for part in ("-c", setting)]
        atexit.register(self.remove)
        self.server = output(ROOT / "script/postgres", "create", self.directory, *flags).strip()
        self.bin = Path(output(ROOT / "script/postgres", "bin").strip())
        self.socket = f"{self.directory}/s"
        self.url = f"postgres://dev@localhost/bench?host={self.socket}"
        self.sql("CREATE DATABASE bench", url=self.server)

    def remove(self):
        subprocess.run([ROOT / "script/postgres", "control", self.directory, "remove"], check=False)
        shutil.rmtree(self.directory, ignore_errors=True)

    def sql(self, text, url=None):
        return output(self.bin / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", text, url or self.url)

    def seed(self, first, last, user_id, per_user=10):
        say(f"making sessions {first} to {last}")
        numbers = {"first": first, "last": last, "user_id": user_id, "per_user": per_user}
        flags = [part for item in numbers.items() for part in ("-v", "=".join(map(str, item)))]
        output(self.bin / "psql", "-Xq", "-v", "ON_ERROR_STOP=1", *flags, "-f", ROOT / "bench/seed.sql", self.url)

    def sample(self, function, rows, count):
        """Tokens or hashes of random sessions."""
        numbers = f"(SELECT 1 + floor(random() * {rows})::bigint AS i FROM generate_series(1, {count}) OFFSET 0) AS n"
        return self.sql(f"SELECT {function}(i) FROM {numbers}").split()


class Process:
    """A program that serves HTTP on a port of its own; killed at the end."""

    def __init__(self, name, command, environment=None, probe="/"):
        self.port = free_port()
        self.log = tempfile.NamedTemporaryFile(prefix=f"sekisho-bench-{name}-", suffix=".log")
        self.child = subprocess.Popen(
            [str(part).replace("{port}", str(self.port)) for part in command],
            env={**os.environ, **{k: v.replace("{port}", str(self.port)) for k, v in (environment or {}).items()}},
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
        )
        atexit.register(self.kill)
        self.await_answer(name, probe)

    def kill(self):
        self.child.kill()
        self.child.wait()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def await_answer(self, name, probe):
        for _ in range(300):
            if self.child.poll() is not None:
                break
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    if probe is None:
                        return
                urllib.request.urlopen(self.url(probe), timeout=2).read()
                return
            except urllib.error.HTTPError as error:
                if error.code != 503:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        sys.exit(f"bench: {name} does not answer; its log: {Path(self.log.name).read_text()[-2000:]}")

    def resident_mb(self):
        for line in Path(f"/proc/{self.child.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return None

    def post(self, path, body, token=None):
        headers = {"Content-Type": "application/json"} if body else {}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = json.dumps(body).encode() if body else b""
        request = urllib.request.Request(self.url(path), data=data, headers=headers, method="POST")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


def service(program, cluster, **settings):
    """The service with its defaults, apart from what is given."""
    environment = {
        "DATABASE_URL": cluster.url,
        "LISTEN_ADDRESS": "127.0.0.1:{port}",
        "CLEANUP_INTERVAL": "0",
        "LOG_LEVEL": "warn",
        # Only what is called touch-heavy is to write.
        "SESSION_TOUCH_INTERVAL": "1h",
        **settings,
    }
    return Process("service", [program, "serve"], environment, "/health/ready")
