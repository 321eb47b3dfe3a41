"""Two checkers, one verdict: Python's `checker.py` and the lab's `checker.js` on 100,000 claims.

    python -m benchmarks.lab_checkers [--cases 100000]

Node runs the page's own module. Every claim is one that the library makes, or one with a single
thing changed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

from tests.lab.checker_cases import cases, disagreements

STATIC = Path(__file__).parent.parent / "src" / "separatrix" / "lab" / "static"
_SCRIPT = """
import { createInterface } from "node:readline";
const { checkCertificate } = await import(process.argv[1]);
for await (const line of createInterface({ input: process.stdin })) {
  const { certificate, data } = JSON.parse(line);
  const { holds, words } = await checkCertificate(certificate, data);
  console.log(JSON.stringify([holds, words]));
}
"""


def by_node(made: list[dict]) -> list[tuple[bool, str]]:
    node = shutil.which("node")
    if node is None:
        raise SystemExit("This needs Node.js, which is not installed.")
    command = [node, "--input-type=module", "-e", _SCRIPT, (STATIC / "checker.js").as_uri()]
    told = "\n".join(json.dumps(one) for one in made)
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=True)
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    count, block, done, bad, kinds = parser.parse_args().cases, 5_000, 0, 0, Counter()
    begun = time.perf_counter()
    while done < count:
        made = cases(min(block, count - done), seed=1 + done)
        answers = by_node(made)
        for one, expected, sentence, holds, words in disagreements(made, answers):
            bad += 1
            print("disagree:", expected, sentence, "|", holds, words, "|", json.dumps(one)[:600])
        for one, (holds, _) in zip(made, answers, strict=True):
            kinds[one["certificate"].get("kind"), holds] += 1
        done += len(made)
    spent = time.perf_counter() - begun
    print(f"{done:,} claims, {bad} disagreements, {spent:.0f} s")
    for (kind, holds), number in sorted(kinds.items(), key=str):
        print(f"  {kind:14} {'proved ' if holds else 'refused'} {number:7,}")


if __name__ == "__main__":
    main()
