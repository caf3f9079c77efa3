// Activates the extension with a stand-in for the editor: nothing is started without trust, and the configured command is with it.
"use strict";

const Module = require("node:module");
const assert = require("node:assert");
const path = require("node:path");

const started = [];
let granted;
const editor = {
  commands: { registerCommand: () => ({ dispose() {} }), executeCommand: async () => {} },
  window: { showErrorMessage: async () => undefined },
  workspace: {
    isTrusted: false,
    workspaceFolders: [{ uri: { fsPath: "/project" } }],
    getConfiguration: () => ({ get: () => "${workspaceFolder}/.venv/bin/reconciler" }),
    createFileSystemWatcher: () => ({ dispose() {} }),
    onDidGrantWorkspaceTrust: (then) => ((granted = then), { dispose() {} }),
    onDidChangeConfiguration: () => ({ dispose() {} }),
  },
};
class LanguageClient {
  constructor(id, name, server) {
    this.server = server;
  }
  async start() {
    started.push([this.server.command, ...this.server.args]);
  }
  async stop() {
    started.push("stopped");
  }
}
const load = Module._load;
Module._load = (name, ...rest) =>
  name === "vscode" ? editor : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);

async function main() {
  const extension = require(path.join(__dirname, "..", "extension.js"));
  await extension.activate({ subscriptions: [] });
  assert.deepStrictEqual(started, []);
  editor.workspace.isTrusted = true;
  await granted();
  assert.deepStrictEqual(started, [["/project/.venv/bin/reconciler", "lsp"]]);
  await extension.deactivate();
  assert.deepStrictEqual(started.at(-1), "stopped");
  console.log("ok");
}

main();
