// Opens a trace as the HTML page that gprof-cli makes of it.
"use strict";
const { execFile } = require("node:child_process");
const vscode = require("vscode");

const MOST_BYTES = 1 << 28;

/** The page, or what gprof-cli said where it made none. */
function pageOf(trace) {
  const program = vscode.workspace.getConfiguration("gprof-cli").get("path") || "gprof-cli";
  return new Promise((resolve, reject) => {
    execFile(program, ["report", trace, "--format", "html"], { maxBuffer: MOST_BYTES }, (error, stdout, stderr) => {
      if (error) reject(new Error(error.code === "ENOENT" ? `${program} was not found: set gprof-cli.path` : stderr || error.message));
      else resolve(stdout);
    });
  });
}

const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

class TraceEditor {
  openCustomDocument(uri) {
    return { uri, dispose() {} };
  }

  async resolveCustomEditor(document, panel) {
    // The page forbids all scripts but its own, by their hashes, and fetches nothing.
    panel.webview.options = { enableScripts: true, localResourceRoots: [] };
    try {
      panel.webview.html = await pageOf(document.uri.fsPath);
    } catch (error) {
      panel.webview.html = `<pre>${escaped(error.message)}</pre>`;
    }
  }
}

exports.activate = (context) => {
  context.subscriptions.push(vscode.window.registerCustomEditorProvider("gprof-cli.trace", new TraceEditor(), {
    webviewOptions: { retainContextWhenHidden: true },
  }));
};
