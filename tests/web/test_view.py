"""gprof-cli view: opens a page in a browser, serves it on this machine, hands a trace to Perfetto."""

import contextlib
import http.client
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

import page_reader

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", ROOT / "build" / "release"))
CLI = str(BUILD / "bin" / "gprof-cli")
TRACE = ROOT / "tests" / "data" / "normalise_v2.trace"
LIMIT_S = 60
PERFETTO_PORT = 9001


class ViewTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gprof-view-")
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.env = {key: value for key, value in os.environ.items()
                    if key not in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")}
        self.env["TMPDIR"] = str(self.work)
        self.opened = self.work / "opened"

    def fake_browser(self, code=0, name="browser"):
        path = self.work / name
        path.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\" >> '{self.opened}'\nexit {code}\n")
        path.chmod(0o755)
        return path

    def opened_words(self):
        return self.opened.read_text().splitlines() if self.opened.exists() else []

    def view(self, *words, code=0):
        done = subprocess.run([CLI, "view", *map(str, words)], env=self.env, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def start(self, *words):
        """Starts a `view` that serves, and returns it with the address that it prints."""
        process = subprocess.Popen([CLI, "view", *map(str, words)], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        url = process.stdout.readline().strip()
        if not url:
            process.wait(LIMIT_S)
            said = process.stderr.read()
            if f"cannot serve on 127.0.0.1:{PERFETTO_PORT}" in said:
                self.skipTest(said)
            self.fail(said)
        return process, url

    def request(self, url, method="GET", path=None, headers=None):
        parts = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=LIMIT_S)
        self.addCleanup(connection.close)
        connection.request(method, parts.path if path is None else path, headers=headers or {})
        response = connection.getresponse()
        return response, response.read()

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait(LIMIT_S)
        process.stdout.close()
        process.stderr.close()


class Open(ViewTest):
    def test_browser_gets_the_page(self):
        browser = self.fake_browser()
        self.env["BROWSER"] = str(browser)
        done = self.view(TRACE)
        path = pathlib.Path(done.stdout.strip())
        self.assertEqual(self.opened_words(), [str(browser), f"file://{path}"])
        self.assertEqual(page_reader.read(path).data["kind"], "report")
        self.assertIn("opened in the browser", done.stderr)

    def test_page_is_private(self):
        path = pathlib.Path(self.view(TRACE, "--no-open").stdout.strip())
        self.assertEqual(stat.S_IMODE(path.parent.stat().st_mode), 0o700)
        self.assertEqual(path.parent.parent, self.work)

    def test_browser_with_words_of_its_own(self):
        browser = self.fake_browser()
        self.env["BROWSER"] = f"{browser} --new-window %s --last"
        path = self.view(TRACE).stdout.strip()
        self.assertEqual(self.opened_words(), [str(browser), "--new-window", f"file://{path}", "--last"])

    def test_next_browser_where_one_fails(self):
        bad, good = self.fake_browser(1, "bad"), self.fake_browser(0, "good")
        self.env["BROWSER"] = f"/no/such/browser:{bad}:{good}"
        done = self.view(TRACE)
        self.assertEqual([word for word in self.opened_words() if "browser" not in word and not word.startswith("file:")],
                         [str(bad), str(good)])
        self.assertIn(str(good), done.stderr)

    def test_no_browser_is_no_failure(self):
        done = self.view(TRACE)
        self.assertTrue(pathlib.Path(done.stdout.strip()).exists())
        self.assertIn("no browser opened: there is no display, and BROWSER is not set", done.stderr)
        self.assertIn("--port 8080", done.stderr)

    def test_no_open(self):
        self.env["BROWSER"] = str(self.fake_browser())
        done = self.view(TRACE, "--no-open")
        self.assertEqual(self.opened_words(), [])
        self.assertTrue(pathlib.Path(done.stdout.strip()).exists())
        self.assertNotIn("no browser", done.stderr)

    def test_odd_names(self):
        odd = self.work / "a b#?%'ü.trace"
        odd.write_bytes(TRACE.read_bytes())
        self.env["BROWSER"] = str(self.fake_browser())
        path = self.view(odd).stdout.strip()
        self.assertEqual(urllib.parse.unquote(self.opened_words()[1].removeprefix("file://")), path)
        self.assertTrue(pathlib.Path(path).exists())

    def test_page_that_is_there(self):
        page = self.work / "my page.html"
        subprocess.run([CLI, "report", TRACE, "--format", "html", "-o", page], check=True, env=self.env, stderr=subprocess.DEVNULL)
        self.env["BROWSER"] = str(self.fake_browser())
        self.assertEqual(self.view(page).stdout.strip(), str(page))
        self.assertEqual(self.opened_words()[1], f"file://{self.work}/my%20page.html")
        self.assertIn("is an HTML page", self.view(page, "--perfetto", code=2).stderr)

    def test_old_pages_are_removed(self):
        first = pathlib.Path(self.view(TRACE, "--no-open").stdout.strip())
        young = first.parent / "young.html"
        young.write_text("x")
        day_before_yesterday = time.time() - 2 * 24 * 3600
        os.utime(first, (day_before_yesterday, day_before_yesterday))
        self.view(TRACE, "--no-open")
        self.assertFalse(first.exists())
        self.assertTrue(young.exists())

    def test_folder_of_somebody_else(self):
        folder = self.work / f"gprof-cli-view-{os.geteuid()}"
        elsewhere = self.work / "elsewhere"
        elsewhere.mkdir()
        folder.symlink_to(elsewhere)
        self.assertIn("is not private to this user", self.view(TRACE, "--no-open", code=3).stderr)
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_errors(self):
        self.assertIn("no trace given", self.view(code=2).stderr)
        self.view(self.work / "no.trace", code=3)
        self.view(TRACE, "--port", "99999", code=2)
        self.assertIn("port 9001", self.view(TRACE, "--port", "8080", "--perfetto", code=2).stderr)


class Serve(ViewTest):
    def test_page_and_nothing_else(self):
        process, url = self.start(TRACE, "--port", "0", "--no-open")
        response, body = self.request(url)
        self.assertEqual((response.status, response.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertEqual(response.headers["X-Content-Type-Options"], "nosniff")
        self.assertIsNone(response.headers["Access-Control-Allow-Origin"])
        self.assertEqual(page_reader.Page(body.decode()).data["kind"], "report")
        self.assertEqual(self.request(url)[0].status, 200, "a page can be loaded again")
        head, nothing = self.request(url, "HEAD")
        self.assertEqual((head.status, nothing, int(head.headers["Content-Length"])), (200, b"", len(body)))
        for path in ("/", "/favicon.ico", "/../etc/passwd", urllib.parse.urlsplit(url).path + "x"):
            self.assertEqual(self.request(url, path=path)[0].status, 404)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            self.assertEqual(self.request(url, method)[0].status, 405)
        self.assertIsNone(process.poll())

    def test_names_of_other_hosts_are_refused(self):
        _, url = self.start(TRACE, "--port", "0", "--no-open")
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "localhost.evil.example:8080"):
            response, body = self.request(url, headers={"Host": host})
            self.assertEqual((host, response.status, body), (host, 403, b""))
        for host in ("localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]:80"):
            self.assertEqual((host, self.request(url, headers={"Host": host})[0].status), (host, 200))

    def test_idle_and_odd_connections_hold_nobody_up(self):
        process, url = self.start(TRACE, "--port", "0", "--no-open")
        port = urllib.parse.urlsplit(url).port
        held = [socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) for _ in range(5)]
        for connection in held:
            self.addCleanup(connection.close)
        held[1].sendall(b"GET / HT")
        held[2].sendall(b"\x00\xff\r\n\r\n")
        held[3].sendall(b"\r\n\r\n")
        held[4].sendall(b"GET " + urllib.parse.urlsplit(url).path.encode() + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")  # and reads nothing
        self.assertEqual(self.request(url)[0].status, 200)
        long = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        self.addCleanup(long.close)
        try:
            long.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000)
            self.assertEqual(long.recv(100), b"")
        except (ConnectionResetError, BrokenPipeError):
            pass
        self.assertEqual(self.request(url)[0].status, 200)
        self.assertIsNone(process.poll())

    def test_connections_of_others_that_stay_open_keep_nobody_out(self):
        """More than the server holds, each of which sends a bit now and then: time does not close them."""
        _, url = self.start(TRACE, "--port", "0", "--no-open")
        address = urllib.parse.urlsplit(url)
        held = [socket.create_connection(("127.0.0.1", address.port), timeout=LIMIT_S) for _ in range(100)]
        is_over = threading.Event()

        def trickle():
            while not is_over.wait(0.1):
                for connection in held:
                    with contextlib.suppress(OSError):
                        connection.sendall(b"x")

        sender = threading.Thread(target=trickle)
        sender.start()
        try:
            # One that reads its answer slowly is none of them.
            slow = socket.create_connection(("127.0.0.1", address.port), timeout=LIMIT_S)
            slow.sendall(f"GET {address.path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            got = slow.recv(1000)
            for _ in range(5):
                self.assertEqual(self.request(url)[0].status, 200)
            while piece := slow.recv(1 << 16):
                got += piece
            self.assertTrue(got.endswith(self.request(url)[1]))
        finally:
            is_over.set()
            sender.join()
            for connection in (*held, slow):
                connection.close()

    def test_ends_with_ctrl_c(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process, url = self.start(TRACE, "--port", "0", "--no-open")
            self.assertEqual(self.request(url)[0].status, 200)
            process.send_signal(number)
            self.assertEqual(process.wait(LIMIT_S), 0)

    def test_says_how_to_get_there(self):
        browser = self.fake_browser()
        self.env["BROWSER"] = str(browser)
        process, url = self.start(TRACE, "--port", "0")
        port = urllib.parse.urlsplit(url).port
        self.assertTrue(url.startswith("http://127.0.0.1:"))
        self.assertEqual(self.request(url)[0].status, 200)
        process.send_signal(signal.SIGINT)
        process.wait(LIMIT_S)
        self.assertIn(f"ssh -L {port}:127.0.0.1:{port} ", process.stderr.read())
        self.assertEqual(self.opened_words(), [str(browser), url])

    def test_address_cannot_be_guessed(self):
        urls = {self.start(TRACE, "--port", "0", "--no-open")[1] for _ in range(2)}
        tokens = {urllib.parse.urlsplit(url).path.split("/")[1] for url in urls}
        self.assertEqual(len(tokens), 2)
        for token in tokens:
            self.assertRegex(token, r"^[a-z2-7]{20}$")

    def test_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            done = self.view(TRACE, "--port", taken.getsockname()[1], code=2)
        self.assertIn("cannot serve on 127.0.0.1:", done.stderr)

    def test_serves_a_page_that_is_there(self):
        page = self.work / "page.html"
        subprocess.run([CLI, "report", TRACE, "--format", "html", "-o", page], check=True, env=self.env, stderr=subprocess.DEVNULL)
        _, url = self.start(page, "--port", "0", "--no-open")
        self.assertEqual(self.request(url)[1], page.read_bytes())


class Perfetto(ViewTest):
    def setUp(self):
        super().setUp()
        try:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", PERFETTO_PORT))
        except OSError:
            self.skipTest(f"port {PERFETTO_PORT} is taken")

    def test_trace_for_its_page_alone(self):
        self.env["BROWSER"] = str(self.fake_browser())
        process, url = self.start(TRACE, "--perfetto")
        match = re.fullmatch(r"https://ui\.perfetto\.dev/#!/\?url=(http://127\.0\.0\.1:9001/[a-z2-7]{20}/normalise_v2\.pftrace)", url)
        self.assertTrue(match, url)
        asked, _ = self.request(match.group(1), "OPTIONS", headers={"Access-Control-Request-Private-Network": "true"})
        self.assertEqual((asked.status, asked.headers["Access-Control-Allow-Private-Network"]), (204, "true"))
        for path in ("/status", "/", "/normalise_v2.pftrace", f"/{'a' * 20}/normalise_v2.pftrace"):
            response, body = self.request(match.group(1), path=path)
            self.assertEqual((path, response.status, body), (path, 404, b""))
        self.assertIsNone(process.poll(), "it goes on until its page has the trace")
        response, body = self.request(match.group(1))
        self.assertEqual(response.headers["Access-Control-Allow-Origin"], "https://ui.perfetto.dev")
        exported = self.work / "x.pftrace"
        subprocess.run([CLI, "export", TRACE, "-o", exported], check=True, env=self.env, stderr=subprocess.DEVNULL)
        self.assertEqual(body, exported.read_bytes())
        self.assertEqual(process.wait(LIMIT_S), 0, "it ends once the trace was fetched")
        self.assertEqual(self.opened_words()[1], url)

    def test_page_that_somebody_hosts(self):
        for address, page in (("https://perfetto.example.com", "https://perfetto.example.com"),
                              ("http://localhost:10000/ui/", "http://localhost:10000")):
            process, url = self.start(TRACE, "--perfetto", "--perfetto-url", address, "--no-open")
            start, _, trace = url.partition("/#!/?url=")
            self.assertEqual(start, address.rstrip("/"))
            response, body = self.request(trace)
            self.assertEqual((response.status, response.headers["Access-Control-Allow-Origin"]), (200, page))
            self.assertEqual(process.wait(LIMIT_S), 0)

    def test_addresses_that_are_none(self):
        for address in ("perfetto.example.com", "file:///tmp/ui", "https://", "https://a b", "https://a/#!/", "https://a/?b"):
            self.assertIn("is not a URL", self.view(TRACE, "--perfetto", "--perfetto-url", address, "--no-open", code=2).stderr)
        self.view(TRACE, "--perfetto-url", "https://perfetto.example.com", "--no-open", code=2)


if __name__ == "__main__":
    unittest.main()
