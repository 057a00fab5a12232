// What the visitor has chosen, and the link that holds it.

/**
 * Values that differ from what the scenario says, by key, as `--set` takes them.
 * @typedef {Record<string, string>} Changes
 */

/**
 * @typedef {object} State
 * @property {string} scenario Name of the shipped scenario; empty for a text of the visitor's own.
 * @property {string} text Text of the scenario.
 * @property {[string, string]} policies Policies of A and B; empty for the scenario's own.
 * @property {[Changes, Changes]} changes Changes of A and B.
 * @property {boolean} linked Whether guests have the same settings in A and B.
 * @property {number} replications
 * @property {[number, number] | null} window Begin and length of the timeline in milliseconds; null
 *   for what is around the longest wait.
 */

/** @type {string} */
export const FIRST = "small-host";

/**
 * The state of a page that was opened without a link.
 * @returns {State}
 */
export function begin() {
  return {
    scenario: FIRST,
    text: "",
    policies: ["", ""],
    changes: [{}, {}],
    linked: true,
    replications: 1,
    window: null,
  };
}

/**
 * The fragment of a link to `state`, without "#".
 * @param {State} state
 * @returns {Promise<string>}
 */
export async function toFragment(state) {
  const words = new URLSearchParams();
  if (state.scenario) {
    words.append("scenario", state.scenario);
  } else {
    words.append("text", await pack(state.text));
  }
  words.append("a", state.policies[0]);
  words.append("b", state.policies[1]);
  const [a, b] = state.changes;
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (a[key] === b[key]) {
      words.append(`both.${key}`, a[key]);
      continue;
    }
    if (key in a) {
      words.append(`a.${key}`, a[key]);
    }
    if (key in b) {
      words.append(`b.${key}`, b[key]);
    }
  }
  if (!state.linked) {
    words.append("guests", "apart");
  }
  if (state.replications > 1) {
    words.append("replications", String(state.replications));
  }
  if (state.window) {
    words.append("window", state.window.join(","));
  }
  return words.toString();
}

/**
 * The state that the fragment of a link holds; null when it holds none.
 * @param {string} fragment
 * @returns {Promise<State | null>}
 */
export async function fromFragment(fragment) {
  const words = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = begin();
  const packed = words.get("text");
  if (packed !== null) {
    state.scenario = "";
    state.text = await unpack(packed);
  } else if (words.has("scenario")) {
    state.scenario = words.get("scenario") ?? FIRST;
  } else {
    return null;
  }
  state.policies = [words.get("a") ?? "", words.get("b") ?? ""];
  for (const [word, value] of words) {
    const [, place, key] = /^(both|a|b)\.(.+)$/.exec(word) ?? [];
    if (place === "a" || place === "both") {
      state.changes[0][key] = value;
    }
    if (place === "b" || place === "both") {
      state.changes[1][key] = value;
    }
  }
  state.linked = words.get("guests") !== "apart";
  state.replications = whole(words.get("replications"), 1, 20) ?? 1;
  const [from, length] = (words.get("window") ?? "").split(",").map(Number);
  if (Number.isFinite(from) && length > 0) {
    state.window = [from, length];
  }
  return state;
}

/**
 * The whole number that `text` is, if it is one from `least` to `most`.
 * @param {string | null} text
 * @param {number} least
 * @param {number} most
 */
function whole(text, least, most) {
  const number = Number(text ?? Number.NaN);
  return Number.isInteger(number) && number >= least && number <= most ? number : null;
}

/**
 * `text`, packed, in letters that links may have.
 * @param {string} text
 */
async function pack(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** @param {string} packed */
async function unpack(packed) {
  const letters = atob(packed.replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}
