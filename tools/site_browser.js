// node tools/site_browser.js [FOLDER] opens each page of site/ in headless Chromium at the width of a desktop and of a
// phone. The script prints one line for each page that is wider than the window, for each picture that is missing or
// has no alternative text, for each error in the console, for each request to a network, and for a search field,
// because the site has no search. If FOLDER is given, the script writes a picture of each page into this folder.
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");
const { pathToFileURL } = require("url");

const widths = { desktop: 1280, phone: 390 };

// ---- Chromium, by the DevTools protocol over pipes: messages end with a zero byte

function openBrowser(program) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "site-"));
  const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
                   "--allow-file-access-from-files", `--user-data-dir=${profile}`, "about:blank"];
  const process_ = spawn(program, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const waiting = new Map();
  let listener = () => {};
  let rest = "";
  let number = 0;
  process_.stdio[4].setEncoding("utf8");
  process_.stdio[4].on("data", (text) => {
    const messages = (rest + text).split("\0");
    rest = messages.pop();
    for (const message of messages.map((m) => JSON.parse(m))) {
      if (message.id) waiting.get(message.id)(message);
      else listener(message);
    }
  });
  const send = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
    number += 1;
    waiting.set(number, (m) => (m.error ? reject(new Error(`${method}: ${m.error.message}`)) : resolve(m.result)));
    process_.stdio[3].write(JSON.stringify({ id: number, method, params, sessionId }) + "\0");
  });
  const close = async () => {
    await send("Browser.close").catch(() => {});
    await new Promise((resolve) => { process_.on("exit", resolve); });
    fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  return { send, close, listen: (f) => { listener = f; } };
}

// ---- one page

// This function runs in the page. Elements that scroll within a box do not make the page wider.
function inspect() {
  const problems = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    const wide = [...document.querySelectorAll("body *")].filter((e) => {
      for (let p = e.parentElement; p && p !== root; p = p.parentElement) {
        if (getComputedStyle(p).overflowX !== "visible") return false;
      }
      return e.getBoundingClientRect().right > root.clientWidth + 1;
    });
    const last = wide[wide.length - 1];
    const name = last ? `<${last.tagName.toLowerCase()}> "${last.textContent.trim().slice(0, 40)}"` : "";
    problems.push(`is ${root.scrollWidth} pixels wide in a window of ${root.clientWidth}: ${name}`);
  }
  for (const image of document.images) {
    const name = image.getAttribute("src");
    if (!image.complete || image.naturalWidth === 0) problems.push(`has a picture that is not shown: ${name}`);
    if (!image.hasAttribute("alt")) problems.push(`has a picture without alternative text: ${name}`);
  }
  for (const field of document.querySelectorAll("input[type=search], #search-input")) {
    if (field.offsetParent !== null) problems.push("shows a field for searches");
  }
  return problems;
}

async function openPage(browser, session, file, width, picture) {
  const problems = [];
  const loaded = new Promise((resolve) => {
    browser.listen(({ method, params }) => {
      if (method === "Page.loadEventFired") resolve();
      if (method === "Runtime.exceptionThrown") {
        problems.push(`throws ${(params.exceptionDetails.exception || {}).description || params.exceptionDetails.text}`);
      }
      if (method === "Log.entryAdded" && params.entry.level === "error") problems.push(`logs ${params.entry.text}`);
      if (method === "Runtime.consoleAPICalled" && params.type === "error") {
        problems.push(`logs ${params.args.map((a) => a.value || a.description).join(" ")}`);
      }
      if (method === "Network.requestWillBeSent" && !/^(file|data|blob|about):/.test(params.request.url)) {
        problems.push(`requests ${params.request.url}`);
      }
    });
  });
  const send = (method, params) => browser.send(method, params, session);
  await send("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: width < 600 });
  await send("Page.navigate", { url: pathToFileURL(path.resolve(file)).href });
  await loaded;
  // waits for scripts that run after the page is loaded
  await new Promise((resolve) => { setTimeout(resolve, 100); });
  const { result } = await send("Runtime.evaluate", { expression: `(${inspect})()`, returnByValue: true });
  problems.push(...result.value);
  if (picture) {
    const { data } = await send("Page.captureScreenshot", { format: "png" });
    fs.writeFileSync(picture, Buffer.from(data, "base64"));
  }
  return [...new Set(problems)];
}

function pages(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return pages(file);
    return entry.name.endsWith(".html") ? [file] : [];
  });
}

async function main(pictures) {
  const program = process.env.CHROMIUM || "chromium";
  const browser = openBrowser(program);
  const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await browser.send(`${domain}.enable`, {}, sessionId);
  if (pictures) fs.mkdirSync(pictures, { recursive: true });
  const files = pages("site");
  let count = 0;
  for (const file of files) {
    for (const [name, width] of Object.entries(widths)) {
      const picture = pictures &&
        path.join(pictures, `${path.relative("site", file).replace(/[\\/]/g, "-").replace(/\.html$/, "")}-${name}.png`);
      for (const problem of await openPage(browser, sessionId, file, width, picture)) {
        count += 1;
        console.log(`site: ${file} at ${width} pixels ${problem}`);
      }
    }
  }
  await browser.close();
  console.log(`site: ${files.length} pages opened at ${Object.values(widths).join(" and ")} pixels, ${count} problems`);
  process.exitCode = count > 0 ? 1 : 0;
}

main(process.argv[2]).catch((error) => {
  console.error(`site: ${error.message}`);
  process.exit(2);
});
