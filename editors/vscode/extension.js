// Starts `reconciler lsp` for trusted workspaces with a reconciler.yaml, and stops it with them. Everything else is in the server.
"use strict";

const vscode = require("vscode");

const MISSING = "Install Reconciler with its extra lsp, or set reconciler.path.";

let client;

/** The command of the settings; `folder` replaces ${workspaceFolder}. */
function command(path, folder) {
  return path.replace("${workspaceFolder}", folder ?? "");
}

async function start() {
  // VS Code does not activate the extension in a workspace that is not trusted; this line is for editors that ignore that.
  if (client !== undefined || !vscode.workspace.isTrusted) {
    return;
  }
  const { LanguageClient } = require("vscode-languageclient/node");
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const path = command(vscode.workspace.getConfiguration("reconciler").get("path", "reconciler"), folder);
  const files = vscode.workspace.createFileSystemWatcher("**/*.{yaml,yml,json}");
  const started = new LanguageClient(
    "reconciler",
    "Reconciler",
    { command: path, args: ["lsp"], options: { cwd: folder } },
    {
      documentSelector: [{ scheme: "file", language: "yaml" }, { scheme: "file", pattern: "**/*.{yaml,yml}" }],
      synchronize: { fileEvents: files },
    },
  );
  client = started;
  try {
    await started.start();
  } catch (error) {
    client = undefined;
    files.dispose();
    const choice = await vscode.window.showErrorMessage(`${path} lsp did not start: ${error.message ?? error}. ${MISSING}`, "Open settings");
    if (choice !== undefined) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "reconciler.path");
    }
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running !== undefined) {
    await running.stop();
  }
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("reconciler.restart", restart),
    vscode.workspace.onDidGrantWorkspaceTrust(start),
    vscode.workspace.onDidChangeConfiguration((event) => (event.affectsConfiguration("reconciler.path") ? restart() : undefined)),
  );
  await start();
}

module.exports = { activate, deactivate: stop, command };
