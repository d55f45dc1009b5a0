"""`make pictures`: every kind of page of `ggp web` in light, dark, on a phone and printed, as PNG files to look at."""

import sys
import tempfile
from pathlib import Path

from tests.support.browser import Visitor, WebServer, chromium, save_pictures
from tests.support.cli import ggp
from tests.support.ladders import write_ladder

HEAD = """\
seed = 7
[pool.main]
game = "yugo,size=7"
control = "5+0.05"
openings = 2
[pool.five]
game = "taigo"
control = "5+0.05"
openings = 1
"""
BOTS = ("random", "greedy:playouts=2", "greedy:playouts=8", "mcts:playouts=64")
KINDS = {"pools": "pool", "bots": "bot", "match": "match", "pair": "pair", "tests": "test"}


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as made:
        file = write_ladder(Path(made), *BOTS, head=HEAD)
        ran = ggp("ladder", "run", str(file), "--games", "48", "--quiet")
        assert ran.status == 0, ran.err
        with WebServer(str(file)) as server, chromium() as browser:
            visitor = Visitor(browser, server)
            paths = {"overview": ""}
            seen, left = set[str](), [""]
            while left:  # one page of each kind, wherever a page leads to it
                page = visitor.visit(left.pop(0))
                assert page
                for link in visitor.links():
                    path = link.removeprefix(f"{server.url}/")
                    if "format=json" in path or path in seen:
                        continue
                    seen.add(path)
                    first = path.partition("?")[0].partition("/")
                    name = KINDS.get(first[0], first[0].removesuffix(".html")) or "overview"
                    if name != "index" and name not in paths:
                        paths[name] = path
                        left.append(path)
            visitor.close()
            save_pictures(browser, server, paths, folder)
            print(f"{len(paths)} pages, {len(list(folder.glob('*.png')))} pictures in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
