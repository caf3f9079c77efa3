// Runs inside the extension host of VS Code: a misspelled key of the workspace is reported.
"use strict";

const assert = require("node:assert");
const vscode = require("vscode");

async function run() {
  const [file] = await vscode.workspace.findFiles("reconciler.yaml");
  await vscode.window.showTextDocument(file);
  for (let tries = 0; tries < 120; tries += 1) {
    if (vscode.languages.getDiagnostics(file).some((problem) => problem.source === "reconciler")) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  assert.fail("no problem was reported in 60 seconds");
}

module.exports = { run };
