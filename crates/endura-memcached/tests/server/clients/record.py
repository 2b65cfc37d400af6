"""Records what clients and memcached say to each other, for `clients/mod.rs`.

    python3 -m venv v
    v/bin/pip install pymemcache python-memcached pylibmc meta-memcache python-binary-memcached
    v/bin/python record.py

Each dialogue is a file. `>` begins a line of the client, `<` one of memcached, `.` a connection's end. Numbers of stores are
written as `{1}`, `{2}` and so on, and the version as `{*}`.
"""

import re
import socket
import subprocess
import sys
import threading
import time

MEMCACHED = ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-U", "0"]


class Proxy:
    """Stands between a client and memcached, and keeps what both say, in its order."""

    def __init__(self, server):
        self.server, self.said = server, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            self.said.append((".", b""))
            server = socket.create_connection(("127.0.0.1", self.server))
            for mark, pair in ((">", (client, server)), ("<", (server, client))):
                threading.Thread(target=self.copy, args=(mark, *pair), daemon=True).start()

    def copy(self, mark, source, sink):
        try:
            while data := source.recv(1 << 16):
                self.said.append((mark, data))
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def text(said):
    """The lines of a dialogue."""
    joined = []
    for mark, data in said:
        if joined and mark == joined[-1][0] and mark != ".":
            joined[-1][1] += data
        else:
            joined.append([mark, data])
    numbers, lines = {}, []

    def number(match):
        name = numbers.setdefault(match[2], len(numbers) + 1)
        return match[1] + f"{{{name}}}".encode()

    for mark, data in joined:
        if mark == ".":
            lines.append(".")
            continue
        if mark == "<":
            data = re.sub(rb"^(VALUE \S+ \d+ \d+ )(\d+)(?=\r$)", number, data, flags=re.M)
            data = re.sub(rb"^((?:HD|VA)[^\r]* c)(\d+)", number, data, flags=re.M)
            data = re.sub(rb"^(VERSION ).*(?=\r$)", rb"\1{*}", data, flags=re.M)
        else:
            data = re.sub(rb"^(cas \S+ \d+ \d+ \d+ )(\d+)", number, data, flags=re.M)
            data = re.sub(rb"^(m[sda] .* C)(\d+)", number, data, flags=re.M)
        for line in re.findall(rb"[^\n]*\n|[^\n]+", data):
            escaped = line.decode("latin-1").encode("unicode_escape").decode()
            lines.append(f"{mark} {escaped}")
    return "\n".join(lines) + "\n"


def pymemcache_(port):
    from pymemcache.client.base import Client

    client = Client(("127.0.0.1", port), default_noreply=False)
    client.version()
    client.set("a", "one", expire=100)
    client.set("b", b"two \r\n three", flags=7)
    client.get("a")
    client.gets("b")
    client.get("absent")
    client.set_many({"c": "3", "d": "4"})
    client.get_many(["a", "c", "d", "absent"])
    client.gets_many(["a", "b"])
    client.add("a", "no")
    client.add("e", "yes")
    client.replace("absent", "no")
    client.append("a", "!")
    client.prepend("a", "?")
    _, cas = client.gets("a")
    client.cas("a", "swapped", cas)
    client.cas("a", "late", cas)
    client.cas("absent", "x", 1)
    client.set("n", "10")
    client.incr("n", 5)
    client.decr("n", 100)
    client.incr("absent", 1)
    client.touch("a", 50)
    client.delete("a")
    client.delete("a")
    client.delete_many(["b", "c", "absent"])
    client.set("quiet", "x" * 3000, noreply=True)
    client.get("quiet")
    client.raw_command("mg quiet s t", b"\r\n")
    client.flush_all()
    client.get("d")
    client.quit()


def python_memcached(port):
    import memcache

    client = memcache.Client([f"127.0.0.1:{port}"], cache_cas=True)
    client.set("text", "hello", time=100)
    client.set("number", 7)
    client.set("list", [1, 2, 3])
    client.set("long", "abc" * 1000, min_compress_len=100)
    client.get("text")
    client.get("list")
    client.get("long")
    client.set_multi({"a": "1", "b": "2"}, key_prefix="p_")
    client.get_multi(["a", "b", "absent"], key_prefix="p_")
    client.gets("text")
    client.cas("text", "new")
    client.cas("text", "late")
    client.add("text", "no")
    client.replace("text", "yes")
    client.append("text", "!")
    client.prepend("text", "?")
    client.incr("number", 3)
    client.decr("number", 100)
    client.touch("text", 20)
    client.delete("text")
    client.delete("text")
    client.delete_multi(["p_a", "p_b"])
    client.flush_all()
    client.get("number")
    client.disconnect_all()


def pylibmc_(port):
    import pylibmc

    client = pylibmc.Client([f"127.0.0.1:{port}"], binary=False)
    client.behaviors = {"tcp_nodelay": True, "cas": True, "ketama": False}
    client.set("text", "hello", time=100)
    client["list"] = [1, 2, 3]
    client.get("text")
    client.get("absent")
    client.gets("text")
    client.set_multi({"a": "1", "b": "2", "c": "x" * 5000}, key_prefix="p_")
    client.get_multi(["a", "b", "c", "absent"], key_prefix="p_")
    _, cas = client.gets("text")
    client.cas("text", "new", cas)
    for change in (lambda: client.add("text", "no"), lambda: client.replace("absent", "no")):
        try:
            change()
        except pylibmc.Error:
            pass
    client.append("text", "!")
    client.prepend("text", "?")
    client.set("number", 7)
    client.incr("number", 3)
    client.decr("number", 100)
    client.touch("text", 20)
    client.delete("text")
    client.delete("text")
    client.delete_multi(["p_a", "p_b"])
    client.flush_all()
    client.get("number")
    client.disconnect_all()


def meta_memcache_(port):
    from meta_memcache import CacheClient, Key, LeasePolicy, ServerAddress, SetMode
    from meta_memcache import connection_pool_factory_builder

    client = CacheClient.cache_client_from_servers(
        servers=[ServerAddress("127.0.0.1", port)],
        connection_pool_factory_fn=connection_pool_factory_builder(),
    )
    client.set(key="text", value="hello", ttl=100)
    client.set(key="number", value=7, ttl=100)
    client.set(key="list", value=[1, 2], ttl=None)
    client.get(key="text")
    client.get(key="absent")
    client.multi_get(keys=["text", "number", "absent"])
    client.get_cas(key="text")
    _, cas = client.get_cas(key="text")
    client.set(key="text", value="new", ttl=50, cas_token=cas)
    client.set(key="text", value="late", ttl=50, cas_token=cas)
    client.set(key="text", value="no", ttl=50, set_mode=SetMode.ADD)
    client.touch(key="text", ttl=60)
    client.get_or_lease(key="leased", lease_policy=LeasePolicy())
    client.delta(key="number", delta=3)
    client.delta(key="number", delta=-1)
    client.delta_initialize(key="counter", delta=1, initial_value=5, initial_ttl=100)
    client.delta_and_get(key="counter", delta=2)
    client.set(key=Key("unicode é"), value=b"x" * 3000, ttl=10)
    client.get(key=Key("unicode é"))
    client.invalidate(key="text")
    client.delete(key="number")
    client.delete(key="number")


def bmemcached_(port):
    import bmemcached

    client = bmemcached.Client((f"127.0.0.1:{port}",), socket_timeout=1)
    try:
        client.set("a", "b")
    except Exception as error:
        print("bmemcached:", repr(error), file=sys.stderr)


# The requests of Dalli 3.2 and later, the client of Ruby, as its `RequestFormatter` writes them: Ruby was not at hand.
DALLI = [
    b"version\r\n",
    b"ms text 5 c F0 T3600 MS\r\nhello\r\n",
    b"mg text v f\r\n",
    b"mg absent v f\r\n",
    b"mg text v f c\r\n",
    b"ms text 3 c F0 C{text} T60 MS\r\nnew\r\n",
    b"ms text 4 c F0 C1 T60 MS\r\nlate\r\n",
    b"ms text 2 c F0 T60 ME\r\nno\r\n",
    b"ms absent 2 c F0 T60 MR\r\nno\r\n",
    b"ms text 3 c F0 C{text} T60 MR\r\nyes\r\n",
    b"ms text 1 MA\r\n!\r\n",
    b"ms text 1 MP\r\n?\r\n",
    b"ms a 1 c F1 T0 MS q\r\n1\r\nms b 1 c F1 T0 MS q\r\n2\r\nmn\r\n",
    b"mg a v f k q s\r\nmg absent v f k q s\r\nmg b v f k q s\r\nmn\r\n",
    b"mg a v f c k q s\r\nmg b v f c k q s\r\nmn\r\n",
    b"mg text T100\r\n",
    b"mg text v f T100\r\n",
    b"ma number v D1 MI\r\n",
    b"ma number v D1 J10 N100 MI\r\n",
    b"ma number v D1 J10 N100 MI\r\n",
    b"ma number v D100 MD\r\n",
    b"ms 5LiA5LqM 3 c b F0 T0 MS\r\n123\r\n",
    b"mg 5LiA5LqM v f b\r\n",
    b"mg 5LiA5LqM v f b k q s\r\nmn\r\n",
    b"md a q\r\nmd absent q\r\nmn\r\n",
    b"md text\r\n",
    b"md text\r\n",
    b"flush_all 0\r\n",
    b"mg b v f\r\n",
]


def dalli(port):
    with socket.create_connection(("127.0.0.1", port)) as stream:
        stream.settimeout(0.2)
        for said in DALLI:
            if b"{text}" in said:
                stream.sendall(b"mg text c\r\n")
                said = said.replace(b"{text}", re.search(rb"c(\d+)", stream.recv(1 << 16))[1])
            stream.sendall(said)
            stream.recv(1 << 16)


CLIENTS = {
    "dalli": dalli,
    "pymemcache": pymemcache_,
    "python-memcached": python_memcached,
    "pylibmc": pylibmc_,
    "meta-memcache": meta_memcache_,
    "bmemcached": bmemcached_,
}


def main():
    only = sys.argv[1:] or CLIENTS
    for name in only:
        probe = socket.create_server(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        memcached = subprocess.Popen([*MEMCACHED, "-p", str(port)])
        try:
            time.sleep(0.5)
            proxy = Proxy(port)
            CLIENTS[name](proxy.port)
            time.sleep(0.2)
            with open(f"{name}.txt", "w", encoding="ascii") as file:
                file.write(text(proxy.said))
        finally:
            memcached.kill()
            memcached.wait()


main()
