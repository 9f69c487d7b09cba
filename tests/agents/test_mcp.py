"""A session with gprof-cli mcp, message by message, as a client of the Model Context Protocol has it."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import support

TRACE = support.SOURCE / "tests" / "data" / "starved_loader.trace"
BASE, NEW = (support.SOURCE / "tests" / "data" / name for name in ("normalise_v1.trace", "normalise_v2.trace"))
MOST_BYTES = 17000


class Session:
    def __init__(self, *options, folder=None):
        self.process = subprocess.Popen([support.COMMAND, "mcp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, cwd=folder)
        self.number = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def send(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def request(self, method, **params):
        self.number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))
        answer = self.receive()
        if answer["id"] != self.number:
            raise AssertionError(f"an answer to {answer['id']}, not to {self.number}")
        return answer

    def initialize(self):
        answer = self.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
        self.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer["result"]

    def call(self, name, **arguments):
        """(text, is_error)"""
        result = self.request("tools/call", name=name, arguments={key: value if isinstance(value, (list, int)) else str(value)
                                                                  for key, value in arguments.items()})["result"]
        return result["content"][0]["text"], result["isError"]

    def end(self):
        self.process.stdin.close()
        return self.process.wait(support.TIME_LIMIT_S)


class Mcp(unittest.TestCase):
    def test_a_session(self):
        with Session() as session:
            hello = session.initialize()
            self.assertEqual((hello["protocolVersion"], hello["serverInfo"]["name"]), ("2025-06-18", "gprof-cli"))
            self.assertIn("tools", hello["capabilities"])
            tools = session.request("tools/list")["result"]["tools"]
            self.assertEqual([tool["name"] for tool in tools], ["report", "explain", "query", "diff"])
            self.assertTrue(all(tool["annotations"]["readOnlyHint"] for tool in tools))
            text, is_error = session.call("report", trace=TRACE)
            self.assertFalse(is_error)
            first = json.loads(text)["findings"][0]
            text, is_error = session.call("explain", trace=TRACE, finding=first["evidence"])
            self.assertFalse(is_error)
            check = json.loads(text)["check"]["sql"]
            text, is_error = session.call("query", trace=TRACE, sql=check)
            self.assertFalse(is_error)
            self.assertGreater(json.loads(text)["rows"][0][2], 1_000_000)
            text, is_error = session.call("query", trace=TRACE, table="kernel")
            self.assertIn("short_name", json.loads(text)["tables"][0]["columns"])
            text, is_error = session.call("diff", base=BASE, new=NEW)
            self.assertFalse(is_error)
            self.assertIn("faster in the GPU window", text)
            self.assertEqual(session.end(), 0)

    def test_errors_are_answers_and_the_session_goes_on(self):
        with Session() as session:
            session.initialize()
            for line, code in (("{", -32700), ("[]", -32600), ('{"jsonrpc":"2.0","id":1}', -32600), ('{"jsonrpc":"2.0","id":1,"method":"x"}', -32601),
                               ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nonsense"}}', -32602),
                               ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}', -32602), ("x" * (2 << 20), -32700)):
                session.send(line)
                self.assertEqual(session.receive()["error"]["code"], code, line[:80])
            for name, arguments, reason in (
                    ("report", {}, "missing"), ("report", {"trace": ["a"]}, "type"), ("report", {"trace": TRACE, "more": "x"}, "no argument"),
                    ("report", {"trace": "no/such.trace"}, "no/such.trace"), ("report", {"trace": "--help"}, "--help"),
                    ("explain", {"trace": TRACE, "finding": "no.such"}, "no.such"), ("query", {"trace": TRACE}, "either"),
                    ("query", {"trace": TRACE, "sql": "DELETE FROM kernel"}, "only read"),
                    ("query", {"trace": TRACE, "sql": "SELECT 1", "most": 100000}, "200"),
                    ("query", {"trace": "/dev/stdin", "sql": "SELECT 1"}, "")):
                text, is_error = session.call(name, **arguments)
                self.assertTrue(is_error, (name, arguments, text))
                self.assertIn(reason, text)
            self.assertEqual(session.request("ping")["result"], {})
            self.assertEqual(session.end(), 0)

    def test_what_was_not_recorded_is_an_answer(self):
        with Session() as session:
            text, is_error = session.call("query", trace=TRACE, sql="SELECT count(*) FROM os_call")
            self.assertFalse(is_error)
            self.assertIn("cannot tell", text)
            text, is_error = session.call("explain", trace=TRACE, finding="os.lock")
            self.assertEqual((json.loads(text)["answer"], is_error), ("cannot tell", False))

    def test_answers_are_bounded(self):
        with Session() as session:
            numbers = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 200) SELECT printf('%.*c', 1500, 'y') FROM c"
            text, is_error = session.call("query", trace=TRACE, sql=numbers, most=200)
            self.assertFalse(is_error)
            self.assertLess(len(text), MOST_BYTES)
            self.assertIn("(cut: ", text)

    def test_records_only_where_it_may(self):
        with tempfile.TemporaryDirectory() as folder:
            with Session(folder=folder) as session:
                answer = session.request("tools/call", name="record", arguments={"command": ["touch", "made"], "output": "x.trace"})
                self.assertIn("--allow-record", answer["error"]["message"])
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
            with Session("--allow-record", folder=folder) as session:
                text, is_error = session.call("record", command=["sh", "-c", "echo said; touch made"], output="x.trace")
                self.assertFalse(is_error, text)
                self.assertIn("said", text)
                self.assertTrue((pathlib.Path(folder) / "made").exists())
                text, is_error = session.call("record", command=["sh", "-c", "exit 7"], output="y.trace")
                self.assertIn("(exit code 7)", text)

    def test_a_call_ends_after_its_time(self):
        with Session("--time-limit", "1") as session:
            forever = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"
            text, is_error = session.call("query", trace=TRACE, sql=forever)
            self.assertTrue(is_error)
            self.assertIn("(ended after 1 s)", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
