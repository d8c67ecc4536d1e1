"""Other session systems, each by its own documented set-up; see bench/peers."""

import os
import shutil
import subprocess

from .load import Credentials, wrk
from .machine import PEERS, Process, build, output, say

HELLO, REDIS = "hello", "actix-session, Redis"
TOWER, EXPRESS = "tower-sessions, PostgreSQL", "express-session, connect-pg-simple"


def build_all(hello_only):
    # Apart from the service's own, wherever that is.
    programs = build(PEERS, "--target-dir", PEERS / "target", *(["-p", "hello"] if hello_only else []))
    if not hello_only and shutil.which("npm"):
        output("npm", "ci", "--no-audit", "--no-fund", cwd=PEERS / "express")
    return programs


def hello(programs):
    return Process("hello", [programs["hello"], "127.0.0.1:{port}"])


def sides(cluster, programs, rows, sample):
    """Each with as many sessions as the service has."""

    def side(process, cookies):
        credentials = Credentials(cookies)
        measure = lambda connections, seconds: wrk(process, "/verify", credentials, "Cookie: ", connections, seconds)
        return measure, (64,)

    def seeded(command, **more):
        say(f"making sessions of {command[0]}")
        return output(*command, **more).split("\n")[:-1]

    result = {}
    # Its defaults but without snapshots, which would only slow it down.
    redis = Process("redis", ["redis-server", "--port", "{port}", "--save", "", "--bind", "127.0.0.1"], probe=None)
    redis_url = f"redis://127.0.0.1:{redis.port}"
    program = programs["actix_redis"]
    cookies = seeded([program, "seed", rows, sample, redis_url])
    result[REDIS] = side(Process("actix_redis", [program, "serve", "127.0.0.1:{port}", redis_url], probe=None), cookies)

    program = programs["tower_postgres"]
    cookies = seeded([program, "seed", rows, sample, cluster.url])
    process = Process("tower_postgres", [program, "serve", "127.0.0.1:{port}", cluster.url], probe=None)
    result[TOWER] = side(process, cookies)

    if shutil.which("npm"):
        names = {"PGHOST": cluster.socket, "PGUSER": "dev", "PGDATABASE": "bench", "NODE_ENV": "production"}
        directory = PEERS / "express" / "peer.js"
        cookies = seeded(["node", directory, "seed", rows, sample], env={**os.environ, **names})
        result[EXPRESS] = side(Process("express", ["node", directory, "serve", "{port}"], names, probe=None), cookies)
    else:
        say("without Node.js there is no express-session")
    subprocess.run([cluster.bin / "vacuumdb", "-q", "--analyze", "-h", cluster.socket, "-U", "dev", "bench"], check=True)
    return result
