"""`python tests/native/coverage.py FOLDER`: the lines of the core's headers that a run of the proofs missed."""

import gzip
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

CORE = Path("engines/core")
BRACES = ("}", "};")  # where gcov books the clean-up after exceptions that only a lack of memory raises


def lines_run(folder: Path) -> dict[str, dict[int, int]]:
    """By header and line: how often it ran, in whatever object and template instance."""
    counts: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    with tempfile.TemporaryDirectory() as scratch:
        for notes in sorted(folder.resolve().glob("*.gcno")):
            subprocess.run(
                ["gcov", "--json-format", str(notes)], cwd=scratch, check=True, capture_output=True, timeout=300
            )
            for report in Path(scratch).glob("*.gcov.json.gz"):
                for source in json.loads(gzip.decompress(report.read_bytes()))["files"]:
                    for line in source["lines"]:
                        counts[source["file"]][line["line_number"]] += line["count"]
                report.unlink()
    return counts


def main(folder: Path) -> int:
    """Prints a row for each header; status 1 if a line was not reached."""
    counts = lines_run(folder)
    complete = True
    for header in sorted(CORE.glob("*.hpp")):
        source = header.read_text(encoding="utf-8").splitlines()
        lines = next((lines for name, lines in counts.items() if Path(name) == header), {})
        code = {number: count for number, count in lines.items() if source[number - 1].strip() not in BRACES}
        missed = sorted(number for number, count in code.items() if count == 0)
        complete = complete and bool(lines) and not missed
        share = f"{100 * (1 - len(missed) / len(code)):6.1f} %" if code else "no proof includes it"
        print(f"{header.name:28} {len(code):5} lines {share}")
        for number in missed:
            print(f"    {number:4}: {source[number - 1].strip()}")
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
