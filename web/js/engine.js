// The program in its own thread, so that the page never stands still.

import { byId } from "./dom.js";

/** A mistake that the visitor can mend, in the program's words. */
export class Refused extends Error {}

/** A request that a later one took the place of. */
export class Outdated extends Error {}

/** From this time on (ms) a simulation that nobody waits for any more is ended. */
const PATIENCE = 400;

/**
 * @typedef {object} Waiting Who waits for an answer.
 * @property {any} [message] What was asked.
 * @property {(value: any) => void} resolve
 * @property {(error: Error) => void} reject
 */

export class Engine {
  /** @type {Map<number, Waiting>} */
  #waiting = new Map();
  #next = 1;
  /** @type {Worker | null} */
  #worker = null;
  /** @type {WebAssembly.Module | null} */
  #module = null;
  /** @type {Promise<any>} */
  #ready = Promise.resolve();
  /** @type {{ id: number, since: number } | null} The simulation under way. */
  #running = null;
  /** @type {{ variants: any[], waiting: Waiting } | null} The one that comes after it. */
  #later = null;

  /** @param {(part: number) => void} told Hears how much of a simulation is done, from 0 to 1. */
  constructor(told) {
    this.told = told;
  }

  /**
   * Unpacks and starts the program.
   * @returns {Promise<any>} What can be chosen.
   */
  async begin() {
    const packed = byId("program", HTMLElement).textContent ?? "";
    const bytes = Uint8Array.from(atob(packed.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    this.#module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
    return this.#start();
  }

  #start() {
    const text = byId("worker", HTMLElement).textContent ?? "";
    const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const worker = new Worker(url);
    worker.onmessage = ({ data }) => this.#hear(data);
    this.#worker = worker;
    this.#ready = this.#ask("begin", [this.#module]);
    const done = () => URL.revokeObjectURL(url);
    this.#ready.then(done, done);
    return this.#ready;
  }

  /** Ends the simulation under way, of which nobody wants to know any more, if it takes long. */
  #interrupt() {
    const running = this.#running;
    if (running) {
      const left = Math.max(running.since + PATIENCE - performance.now(), 0);
      setTimeout(() => this.#running === running && this.#restart(), left);
    }
  }

  /** Ends the simulation under way, and starts anew with what waits behind it. */
  #restart() {
    this.#worker?.terminate();
    const behind = [...this.#waiting];
    this.#waiting.clear();
    const ended = this.#running?.id;
    this.#running = null;
    // It started once, and the same program starts again.
    void this.#start();
    for (const [id, waiting] of behind) {
      if (id === ended || waiting.message.call === "begin") {
        waiting.reject(new Outdated());
      } else {
        this.#waiting.set(id, waiting);
        this.#worker?.postMessage(waiting.message);
      }
    }
    this.#goOn();
  }

  /** @param {{ id: number, part?: number, result?: any, error?: string, broken?: boolean }} data */
  #hear(data) {
    if (data.part !== undefined) {
      this.told(data.part);
      return;
    }
    const waiting = this.#waiting.get(data.id);
    this.#waiting.delete(data.id);
    const simulated = this.#running?.id === data.id;
    if (simulated) {
      this.#running = null;
    }
    if (data.error === undefined) {
      waiting?.resolve(data.result);
    } else {
      waiting?.reject(new Refused(data.error));
    }
    if (data.broken) {
      this.#restart();
    } else if (simulated) {
      this.#goOn();
    }
  }

  /**
   * @param {string} call
   * @param {any[]} args
   * @returns {Promise<any>}
   */
  #ask(call, args) {
    const id = this.#next++;
    const message = { id, call, args };
    this.#worker?.postMessage(message);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { message, resolve, reject });
    });
  }

  /** @param {string} name */
  shipped(name) {
    this.#interrupt();
    return this.#ask("shipped", [name]);
  }

  /**
   * @param {string} name
   * @param {string} text
   * @param {string} policy Empty for the scenario's own.
   */
  describe(name, text, policy) {
    this.#interrupt();
    return this.#ask("describe", [name, text, policy || undefined]);
  }

  /**
   * @param {ArrayBuffer} bytes
   * @param {string} name
   * @param {number | undefined} hz
   */
  explain(bytes, name, hz) {
    return this.#ask("explain", [new Uint8Array(bytes), name, hz]);
  }

  /**
   * Simulates the variants. Of requests that come while one is under way only the last counts.
   * @param {any[]} variants
   * @returns {Promise<any>}
   */
  simulate(variants) {
    this.#later?.waiting.reject(new Outdated());
    return new Promise((resolve, reject) => {
      this.#later = { variants, waiting: { resolve, reject } };
      this.#interrupt();
      this.#goOn();
    });
  }

  #goOn() {
    if (this.#running || !this.#later) {
      return;
    }
    const { variants, waiting } = this.#later;
    this.#later = null;
    this.#running = { id: this.#next, since: performance.now() };
    this.#ask("simulate", [variants]).then(waiting.resolve, waiting.reject);
  }
}
