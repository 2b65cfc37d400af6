"""A crawl frontier: `python frontier.py crawl.endura`, killed and started as often as you like.

Pages to fetch are sorted by priority, and a page is fetched again only if a crash came between its fetch and the end of
its note. (The site is made up: each page links to others.)
"""

import hashlib
import sys
from collections.abc import Iterator

import endura

PAGES = 300


def links(page: int) -> Iterator[int]:
    """The links of a page of the site."""
    digest = hashlib.sha256(str(page).encode()).digest()
    return (int.from_bytes(digest[i : i + 2], "big") % PAGES for i in range(0, 8, 2))


class Frontier:
    def __init__(self, pool: endura.Pool) -> None:
        # Smallest first: the depth of a page, then its number.
        self.waiting = pool.map("waiting", tuple[int, int], None)
        self.depths = pool.map("depths", int, int)
        self.fetched = pool.map("fetched", int, str)

    def add(self, page: int, depth: int) -> None:
        """Lets a page wait, unless it is known."""
        if page not in self.depths:
            # Waiting first: a kill between the two lets it be added once more.
            self.waiting[depth, page] = None
            self.depths.add(page, depth)

    def next(self) -> tuple[int, int] | None:
        """The page to fetch, which waits until it is done."""
        return next(iter(self.waiting), None)

    def done(self, depth: int, page: int, text: str) -> None:
        self.fetched[page] = text
        self.waiting.pop((depth, page), None)


def main(path: str, most: int) -> None:
    with endura.open(path) as pool:
        frontier = Frontier(pool)
        frontier.add(0, 0)
        print(f"{len(frontier.fetched)} pages are fetched, {len(frontier.waiting)} wait")
        for _ in range(most):
            found = frontier.next()
            if found is None:
                break
            depth, page = found
            for link in links(page):
                frontier.add(link, depth + 1)
            frontier.done(depth, page, f"text of page {page}")
        deepest = max(frontier.depths.values(), default=0)
        print(f"{len(frontier.fetched)} pages are fetched, {len(frontier.waiting)} wait, the deepest is at {deepest}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "crawl.endura", int(sys.argv[2]) if len(sys.argv) > 2 else PAGES)
