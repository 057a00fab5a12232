// What a simulation gave.

import { LABELS } from "./controls.js";
import { byId, download, element, show } from "./dom.js";

/** @import { State } from "./state.js" */

/**
 * @typedef {object} Answer
 * @property {{ figures: { label: string, json: string, notices: string[] } | null, error: string }[]} variants
 * @property {{ title: string, gains: [boolean | null, string][], timelines: string, shares: string,
 *   waits: string, tables: string }} compared
 * @property {number} ms
 */

/** @typedef {import("./engine.js").Engine} Engine */

/**
 * Shows `answer`.
 * @param {Answer} answer
 * @param {string[]} commands By variant: what gives the same figures on a terminal.
 */
export function showAnswer(answer, commands) {
  const { variants, compared } = answer;
  const faults = variants.flatMap(({ error }, place) => (error ? [fault(LABELS[place], error)] : []));
  byId("faults", HTMLElement).replaceChildren(...faults);
  const shown = variants.filter(({ figures }) => figures);
  showNotices(byId("notices", HTMLElement), notices(variants));
  byId("pictures", HTMLElement).hidden = shown.length === 0;
  byId("gained", HTMLElement).hidden = compared.title === "";
  byId("gained-what", HTMLElement).textContent = compared.title;
  byId("gains", HTMLElement).replaceChildren(...compared.gains.map(gain));
  show(byId("timelines", HTMLElement), compared.timelines);
  show(byId("shares", HTMLElement), compared.shares);
  show(byId("waited", HTMLElement), compared.waits);
  show(byId("tables", HTMLElement), compared.tables);
  const exact = byId("exact", HTMLElement);
  const open = [...exact.querySelectorAll("details")].map((details) => details.open);
  exact.replaceChildren(
    ...variants.flatMap(({ figures }, place) => {
      if (!figures) {
        return [];
      }
      const details = asPrinted(figures, commands[place], LABELS[place]);
      details.open = open[place] ?? false;
      return [details];
    }),
  );
  const names = shown.map(({ figures }) => figures?.label).join(" and ");
  const time = `${(answer.ms / 1000).toFixed(2)} s`;
  const failed = faults.length > 0 ? " What went wrong is below." : "";
  return names ? `Simulated ${names} in ${time}.${failed}` : `Nothing was simulated.${failed}`;
}

/**
 * @param {[boolean | null, string]} line
 */
function gain([gains, text]) {
  if (gains === null) {
    return element("li", { class: "soft" }, text);
  }
  const word = gains ? "gains" : "pays";
  const shown = text.replace("->", "\u2192");
  return element("li", { class: word }, element("b", {}, word), ` ${shown}`);
}

/**
 * @param {string} label
 * @param {string} error
 */
function fault(label, error) {
  const title = label ? `${label} was not simulated:` : "This was not possible:";
  return element("div", { class: "fault" }, element("p", {}, title), element("pre", {}, error));
}

/**
 * Shows in `place` what went wrong.
 * @param {HTMLElement} place
 * @param {string} error Empty for nothing.
 * @param {string} title
 */
export function showFault(place, error, title) {
  const told = element("div", { class: "fault" }, element("p", {}, title), element("pre", {}, error));
  place.replaceChildren(...(error ? [told] : []));
}

/**
 * Notices of all variants; what both say is said once.
 * @param {Answer["variants"]} variants
 */
function notices(variants) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  variants.forEach(({ figures }, place) => {
    for (const notice of figures?.notices ?? []) {
      found.set(notice, [...(found.get(notice) ?? []), LABELS[place]]);
    }
  });
  return [...found].map(([notice, labels]) => `${labels.join(" and ")}: ${notice}`);
}

/**
 * @param {HTMLElement} place
 * @param {string[]} notices
 */
export function showNotices(place, notices) {
  place.replaceChildren(...notices.map((text) => element("p", { class: "notice" }, text)));
}

/**
 * What the command line prints, with the command.
 * @param {{ label: string, json: string }} figures
 * @param {string} command
 * @param {string} name
 */
function asPrinted({ label, json }, command, name) {
  const all = element("pre", { class: "json", tabIndex: 0, role: "region" }, json);
  all.setAttribute("aria-label", `All figures of ${label} as JSON`);
  all.id = `json-${name}`;
  const save = element("button", { type: "button" }, "Save as a file");
  save.onclick = () => download(`domio-run-${name}.json`, json);
  return element(
    "details",
    { class: "exact" },
    element("summary", {}, `${label}, every figure to the last digit`),
    element("p", { class: "soft" }, "The same on a terminal:"),
    element("pre", { class: "command" }, command),
    save,
    all,
  );
}

/**
 * The command that gives the figures of a variant on a terminal.
 * @param {State} state
 * @param {number} place
 * @param {string} own The scenario's own policy.
 */
export function commandOf(state, place, own) {
  const words = ["domio run", quoted(state.scenario || "pasted.toml")];
  const policy = state.policies[place];
  if (policy && policy !== own) {
    words.push("--policy", policy);
  }
  for (const [key, value] of Object.entries(state.changes[place])) {
    words.push("--set", quoted(`${key}=${value}`));
  }
  if (state.replications > 1) {
    words.push("--replications", String(state.replications));
  }
  return [...words, "--json"].join(" ");
}

/** @param {string} word */
function quoted(word) {
  return /^[A-Za-z0-9._\-=+:,@%/]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}
