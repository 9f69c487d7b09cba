"""The extension of examples/vscode, in Node with a stand-in for VS Code: what it contributes exists, and a trace becomes a page."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("GPROF_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("GPROF_BUILD_DIR", ROOT / "build" / "release"))
EXTENSION = ROOT / "examples" / "vscode"
MANIFEST = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
SKIP = 77

# Prints the page, as VS Code would show it.
HARNESS = """
const Module = require("node:module");
const vscode = {
  workspace: { getConfiguration: () => ({ get: () => process.argv[3] }) },
  window: { registerCustomEditorProvider: (type, editor) => { vscode.type = type; vscode.editor = editor; return {}; } },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
require(process.argv[2]).activate({ subscriptions: [] });
const panel = { webview: {} };
const file = vscode.editor.openCustomDocument({ fsPath: process.argv[4] });
vscode.editor.resolveCustomEditor(file, panel).then(() => console.log(JSON.stringify({ type: vscode.type, ...panel.webview })));
"""


class Extension(unittest.TestCase):
    def shown(self, program, trace):
        with tempfile.TemporaryDirectory() as folder:
            harness = pathlib.Path(folder) / "harness.js"
            harness.write_text(HARNESS, encoding="utf-8")
            done = subprocess.run(["node", harness, EXTENSION / "extension.js", program, trace], capture_output=True, check=True, timeout=120)
        return json.loads(done.stdout)

    def test_a_trace_is_shown_as_its_page(self):
        trace = ROOT / "tests" / "data" / "normalise_v1.trace"
        shown = self.shown(BUILD / "bin" / "gprof-cli", trace)
        page = subprocess.run([BUILD / "bin" / "gprof-cli", "report", trace, "--format", "html"], capture_output=True, check=True, timeout=120)
        self.assertEqual(shown["html"], page.stdout.decode())
        self.assertTrue(shown["options"]["enableScripts"])
        self.assertEqual(shown["type"], MANIFEST["contributes"]["customEditors"][0]["viewType"])

    def test_problems_are_shown(self):
        self.assertIn("cannot read", self.shown(BUILD / "bin" / "gprof-cli", "/no/such.trace")["html"])
        self.assertIn("gprof-cli.path", self.shown("/no/such/program", "run.trace")["html"])

    def test_what_is_contributed_exists(self):
        self.assertTrue((EXTENSION / MANIFEST["main"]).is_file())
        for rule in MANIFEST["contributes"]["jsonValidation"]:
            self.assertTrue((ROOT / "docs" / rule["url"]).is_file(), rule)

    def test_the_manifest_follows_the_rules_of_vs_code(self):
        for key in ("name", "publisher", "version", "license", "engines", "categories"):
            self.assertTrue(MANIFEST[key], key)
        self.assertRegex(MANIFEST["name"], r"^[a-z0-9][a-z0-9-]*$")
        self.assertLessEqual(set(MANIFEST["categories"]), {"Visualization", "Linters", "Other", "Programming Languages", "Testing"})
        # From 1.74 on, a custom editor activates its extension without a word in activationEvents.
        major, minor = map(int, re.match(r"\^(\d+)\.(\d+)", MANIFEST["engines"]["vscode"]).groups())
        self.assertGreaterEqual((major, minor), (1, 74))
        for editor in MANIFEST["contributes"]["customEditors"]:
            self.assertEqual(set(editor), {"viewType", "displayName", "selector", "priority"})
            self.assertIn(editor["priority"], ("default", "option"))
            self.assertTrue(all(set(rule) == {"filenamePattern"} for rule in editor["selector"]))
        for name, setting in MANIFEST["contributes"]["configuration"]["properties"].items():
            self.assertTrue(name.startswith(MANIFEST["name"] + "."))
            self.assertIn(setting["scope"], ("application", "machine", "machine-overridable", "window", "resource"))
            self.assertTrue(setting["type"] and setting["description"])

    def test_version_is_that_of_the_project(self):
        self.assertIn(f"project(gprof-cli VERSION {MANIFEST['version']}", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))


if __name__ == "__main__":
    if not shutil.which("node"):
        print("skipped: no node (Debian: nodejs)")
        sys.exit(SKIP)
    unittest.main()
