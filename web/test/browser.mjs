// Chromium without a window, told what to do through a pipe in its own protocol: no library between.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A browser that was started. */
export class Browser {
  #next = 1;
  #waiting = new Map();
  #listeners = [];
  #rest = "";

  /** @param {string} program Path of Chromium. */
  constructor(program) {
    this.folder = mkdtempSync(join(tmpdir(), "domio-page-"));
    const options = [
      "--headless=new",
      "--remote-debugging-pipe",
      "--no-first-run",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--hide-scrollbars",
      `--user-data-dir=${this.folder}`,
      // The sandbox refuses to be begun by the superuser, as whom containers run.
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
    ];
    this.child = spawn(program, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.child.stdio[4].on("data", (bytes) => this.#hear(String(bytes)));
  }

  #hear(text) {
    const messages = (this.#rest + text).split("\0");
    this.#rest = messages.pop();
    for (const message of messages.map((one) => JSON.parse(one))) {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error) {
        waiting?.reject(new Error(message.error.message));
      } else if (message.id) {
        waiting?.resolve(message.result);
      } else {
        this.#listeners.forEach((listener) => listener(message));
      }
    }
  }

  /** Asks for `method`, of the page `session` if there is one. */
  ask(method, params = {}, session = undefined) {
    const id = this.#next++;
    const message = JSON.stringify({ id, method, params, sessionId: session });
    this.child.stdio[3].write(`${message}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** A new page that is at `url`. */
  async open(url) {
    const { targetId } = await this.ask("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.ask("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.#listeners.push((message) => message.sessionId === sessionId && page.hear(message));
    for (const domain of ["Page", "Runtime", "Log", "Network", "DOM"]) {
      await page.ask(`${domain}.enable`);
    }
    await page.size(1280, 900, false);
    await page.ask("Page.navigate", { url });
    return page;
  }

  async close() {
    const gone = new Promise((resolve) => this.child.once("exit", resolve));
    this.ask("Browser.close").catch(() => {});
    await Promise.race([gone, sleep(5000)]);
    this.child.kill("SIGKILL");
    await gone;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A page, with what its console said and what it asked of the network. */
export class Page {
  said = [];
  requests = [];

  constructor(browser, session, target) {
    Object.assign(this, { browser, session, target });
  }

  ask(method, params = {}) {
    return this.browser.ask(method, params, this.session);
  }

  hear({ method, params }) {
    if (method === "Runtime.exceptionThrown") {
      const { text, exception } = params.exceptionDetails;
      this.said.push(exception?.description ?? text);
    } else if (method === "Runtime.consoleAPICalled") {
      this.said.push(params.args.map((arg) => arg.value ?? arg.description).join(" "));
    } else if (method === "Log.entryAdded") {
      this.said.push(params.entry.text);
    } else if (method === "Network.requestWillBeSent") {
      this.requests.push(params.request.url);
    }
  }

  /** The value of `expression`, awaited, in the page. */
  async value(expression) {
    const params = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.ask("Runtime.evaluate", params);
    if (exceptionDetails) {
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    }
    return result.value;
  }

  /** What `work`, a function of the page without anything around it, returns for `args`. */
  call(work, ...args) {
    return this.value(`(${work})(...${JSON.stringify(args)})`);
  }

  /** Waits until `expression` is true. */
  async until(expression, what = expression) {
    // A machine that does much else is slow, and no reason to fail.
    const end = Date.now() + 300_000;
    while (!(await this.value(expression))) {
      if (Date.now() > end) {
        throw new Error(`waited five minutes for: ${what}`);
      }
      await sleep(20);
    }
  }

  /** Presses `key`, with shift if it is wanted. */
  async press(key, shift = false) {
    const codes = { Tab: 9, Enter: 13, Escape: 27, " ": 32, End: 35, Home: 36, ArrowLeft: 37 };
    Object.assign(codes, { ArrowUp: 38, ArrowRight: 39, ArrowDown: 40 });
    const printed = { Enter: "\r", " ": " " }[key] ?? (key.length === 1 ? key : "");
    const code = codes[key] ?? key.toUpperCase().charCodeAt(0);
    const event = { key, code: key === " " ? "Space" : key, windowsVirtualKeyCode: code };
    const modifiers = shift ? 8 : 0;
    const type = printed ? "keyDown" : "rawKeyDown";
    await this.ask("Input.dispatchKeyEvent", { type, ...event, modifiers, text: printed });
    await this.ask("Input.dispatchKeyEvent", { type: "keyUp", ...event, modifiers });
  }

  /** Drops the file at `path` on the middle of the page. */
  async drop(path) {
    const data = { items: [], files: [path], dragOperationsMask: 1 };
    // Twice over it: the page may have moved since it was entered.
    for (const type of ["dragEnter", "dragOver", "dragOver", "drop"]) {
      await this.ask("Input.dispatchDragEvent", { type, x: 200, y: 300, data });
    }
  }

  /** The page as it would be seen, from top to `height`, as bytes of a PNG file. */
  async picture(width, height) {
    const clip = { x: 0, y: 0, width, height, scale: 1 };
    const params = { format: "png", clip, captureBeyondViewport: true };
    const { data } = await this.ask("Page.captureScreenshot", params);
    return Buffer.from(data, "base64");
  }

  /** As if on a screen that is `width` wide. */
  size(width, height, mobile) {
    const params = { width, height, mobile, deviceScaleFactor: 1 };
    return this.ask("Emulation.setDeviceMetricsOverride", params);
  }

  close() {
    return this.browser.ask("Target.closeTarget", { targetId: this.target });
  }
}
