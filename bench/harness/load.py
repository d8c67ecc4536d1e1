"""Load generators: wrk over HTTP, pgbench on the database itself."""

import json
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

from .machine import ROOT, say


class Credentials:
    """A file of what the requests present, one a line."""

    def __init__(self, lines):
        self.file = tempfile.NamedTemporaryFile("w", prefix="sekisho-bench-", suffix=".credentials")
        self.file.write("\n".join(lines) + "\n")
        self.file.flush()


def wrk(process, path, credentials, header, connections, seconds, method="GET"):
    """Requests per second and latencies; any answer that is not 2xx is a failure of the bench."""
    environment = {
        "BENCH_CREDENTIALS": credentials.file.name, "BENCH_HEADER": header,
        "BENCH_PATH": path, "BENCH_METHOD": method, "PATH": "/usr/local/bin:/usr/bin:/bin",
    }
    command = ["wrk", "-t1", f"-c{connections}", "-d{}s", "-s", ROOT / "bench/load.lua", process.url("")]

    def run(duration):
        filled = [str(part).format(duration) for part in command]
        text = subprocess.run(filled, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        return json.loads(text.strip().splitlines()[-1])

    run(1)  # opens connections, prepares statements
    result = run(seconds)
    if result["refused"] or result["broken"]:
        say(f"{path} at {connections}: {result['refused']} refused, {result['broken']} broken")
    return {**result, "per_second": result["requests"] / result["seconds"]}


class Pgbench:
    """The same single-row SELECT, prepared, with literal hashes: each statement of a script is a
    prepared one without parameters. (Computing the hash in SQL would cost a fifth.)"""

    STATEMENTS = 100

    def __init__(self, cluster, hashes):
        select = (ROOT / "bench/select.sql").read_text().splitlines()[-1]
        self.cluster, self.directory = cluster, tempfile.TemporaryDirectory(prefix="sekisho-bench-")
        self.scripts = []
        for i in range(0, len(hashes), self.STATEMENTS):
            script = Path(self.directory.name) / f"{i}.sql"
            script.write_text("\n".join(select.replace("{hash}", h) for h in hashes[i : i + self.STATEMENTS]) + "\n")
            self.scripts.append(script)

    def run(self, connections, seconds):
        files = [part for script in self.scripts for part in ("-f", str(script))]
        command = [
            str(self.cluster.bin / "pgbench"), "-n", "-M", "prepared", "-h", self.cluster.socket, "-U", "dev",
            "-c", str(connections), "-j", "1", "-P", "1", "-T", str(seconds + 2), *files, "bench",
        ]
        text = subprocess.run(command, check=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True).stderr
        # The first two seconds go to connecting and preparing.
        progress = re.findall(r"progress: [\d.]+ s, ([\d.]+) tps, lat ([\d.]+) ms", text)[2:]
        rate = statistics.mean(float(tps) for tps, _ in progress) * self.STATEMENTS
        latency = statistics.mean(float(latency) for _, latency in progress) / self.STATEMENTS
        return {"per_second": rate, "p50_ms": latency, "p99_ms": None, "refused": 0, "broken": 0, "requests": 0}
