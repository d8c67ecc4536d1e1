"""What is done less often than checking: logging in, ending many sessions at once. And memory."""

import json
import time

from .load import Credentials, wrk
from .machine import service

PASSWORD = "correct horse battery"
USERS = 64


class Memory:
    """Resident memory of a service in megabytes, as the rounds go on."""

    def __init__(self, process):
        self.process, self.samples = process, [round(process.resident_mb())]

    def sample(self):
        self.samples.append(round(self.process.resident_mb()))


def log_ins(process, name, seconds):
    """Log-ins per second of users that were made with this service's own cost of hashing."""
    lines = []
    for i in range(USERS):
        body = {"email": f"{name}{i}@example.org", "password": PASSWORD}
        process.post("/api/v1/auth/sign_up", body)
        lines.append(json.dumps({**body, "delivery": "token"}))
    result = wrk(process, "/api/v1/auth/login", Credentials(lines), "body", 8, seconds, "POST")
    return round(result["per_second"], 1)


def logout_all(cluster, process, rows, count=10_000):
    """Seconds to end so many sessions of one user."""
    user_id = 2_000_000_000
    cluster.seed(rows + 1_000_000_000, rows + 1_000_000_000 + count - 1, user_id, per_user=count)
    token = cluster.sql(f"SELECT bench_token({rows + 1_000_000_000})").strip()
    start = time.monotonic()
    answer = process.post("/api/v1/auth/logout_all", None, token)
    elapsed = time.monotonic() - start
    assert answer["revoked_count"] == count, answer
    return round(elapsed, 3)


def all_tasks(cluster, program, rows, seconds):
    unlimited = {"LOGIN_THROTTLE_FAILURES": "0", "LOGIN_THROTTLE_ADDRESS_FAILURES": "0", "SESSION_MAX_PER_USER": "1000"}
    normal = service(program, cluster, **unlimited)
    cheap = service(
        program, cluster, PASSWORD_ARGON2_MEMORY="64", PASSWORD_ARGON2_ITERATIONS="1", **unlimited
    )
    facts = {
        "log-ins/s with Argon2id of 19 MiB": log_ins(normal, "normal", seconds),
        "log-ins/s with hashing next to free": log_ins(cheap, "cheap", seconds),
        "seconds of logout_all with 10,000 sessions": logout_all(cluster, normal, rows),
    }
    normal.kill()
    cheap.kill()
    return facts
