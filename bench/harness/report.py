"""Medians, ratios, tables and JSON."""

import json
import os
import platform
import statistics
from pathlib import Path


class Results:
    """Every measurement, by side and number of connections."""

    def __init__(self):
        self.runs, self.facts = {}, {}

    def add(self, side, connections, result):
        self.runs.setdefault((side, connections), []).append(result)

    def median(self, side, connections, field="per_second"):
        values = [run[field] for run in self.runs.get((side, connections), []) if run[field] is not None]
        return statistics.median(values) if values else None

    def ratio(self, one, other, connections=64, field="per_second", other_connections=None):
        """Median of the rounds' ratios: neighbours in time share what disturbs them."""
        pairs = zip(self.runs.get((one, connections), []), self.runs.get((other, other_connections or connections), []))
        ratios = [a[field] / b[field] for a, b in pairs if b[field]]
        return statistics.median(ratios) if ratios else None

    def table(self):
        lines = ["| side | connections | requests/s | p50 ms | p99 ms |", "|---|---|---|---|---|"]
        for side, connections in self.runs:
            rate, p50, p99 = (self.median(side, connections, f) for f in ("per_second", "p50_ms", "p99_ms"))
            tail = "" if p99 is None else f"{p99:.2f}"
            lines.append(f"| {side} | {connections} | {rate:,.0f} | {p50:.2f} | {tail} |")
        return "\n".join(lines)

    def write(self, path, arguments, ratios):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        runs = [{"side": s, "connections": c, "rounds": r} for (s, c), r in self.runs.items()]
        machine = {"cores": os.cpu_count(), "system": platform.platform()}
        content = {"machine": machine, "arguments": arguments, "ratios": ratios, "facts": self.facts, "runs": runs}
        Path(path).write_text(json.dumps(content, indent=2) + "\n")


def ratio_table(rows):
    """rows: what, ratio, goal as text."""
    lines = ["| ratio | measured | goal |", "|---|---|---|"]
    return "\n".join(lines + [f"| {what} | {value:.2f} | {goal} |" for what, value, goal in rows if value is not None])
