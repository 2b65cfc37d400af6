"""A service that counts, in a pool of threads: `python counters.py hits.endura`, then `curl -d '' localhost:8080/hits/home`.

One process has the pool open, and any number of its threads add to a number in one step each. With `--try` it asks itself.
"""

import argparse
import json
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import endura


class Handler(BaseHTTPRequestHandler):
    hits: endura.Map[str, int]

    def do_POST(self) -> None:
        """`/hits/NAME`: adds one."""
        self.answer(self.hits.incr(self.name()))

    def do_GET(self) -> None:
        """`/hits/NAME`: the number; `/hits/NAME*`: those that begin so."""
        name = self.name()
        if name.endswith("*"):
            self.answer(dict(self.hits.items(prefix=name[:-1])))
        else:
            self.answer(self.hits.get(name, 0))

    def name(self) -> str:
        return self.path.removeprefix("/hits/")

    def answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Nothing is printed for each request."""


def ask(port: int, path: str, *, add: bool = False) -> object:
    url = f"http://127.0.0.1:{port}/hits/{path}"
    with urllib.request.urlopen(url, data=b"" if add else None) as answer:
        return json.loads(answer.read())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", default="hits.endura")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--try", dest="is_try", action="store_true")
    options = parser.parse_args()
    with endura.open(options.path) as pool:
        Handler.hits = pool.map("hits", str, int)
        server = ThreadingHTTPServer(("127.0.0.1", 0 if options.is_try else options.port), Handler)
        port = server.server_address[1]
        if not options.is_try:
            print(f"listening on port {port}")
            server.serve_forever()
        threading.Thread(target=server.serve_forever).start()
        before = Handler.hits.get("home", 0)
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda _: ask(port, "home", add=True), range(200)))
        assert ask(port, "home") == before + 200, ask(port, "home")
        print(ask(port, "h*"))
        server.shutdown()


if __name__ == "__main__":
    main()
