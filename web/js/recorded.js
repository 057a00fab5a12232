// A trace that was dropped on the page.

import { byId, download, element, show } from "./dom.js";
import { Outdated } from "./engine.js";
import { showFault, showNotices } from "./results.js";

/** @import { Engine } from "./engine.js" */

/**
 * @typedef {object} Told
 * @property {[string, string][]} facts
 * @property {string[]} notices
 * @property {string} summary
 * @property {string} explanation
 * @property {[string, string, string][]} sections Title, text, pictures.
 */

/**
 * Listens for traces.
 * @param {Engine} engine
 * @param {() => void} open Called before a trace is read: shows the panel.
 */
export function listen(engine, open) {
  const input = byId("file", HTMLInputElement);
  const hz = byId("hz", HTMLInputElement);
  /** @type {File | null} */
  let last = null;
  const read = async () => {
    if (!last) {
      return;
    }
    open();
    const ghz = hz.value && hz.checkValidity() ? hz.valueAsNumber : 0;
    await readTrace(engine, last, ghz > 0 ? Math.round(ghz * 1e9) : undefined);
  };
  input.onchange = () => {
    last = input.files?.[0] ?? null;
    void read();
  };
  hz.onchange = () => void read();
  const drop = byId("drop", HTMLElement);
  const carries = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (carries(event)) {
      event.preventDefault();
      open();
      drop.classList.add("over");
    }
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) {
      drop.classList.remove("over");
    }
  });
  document.addEventListener("drop", (event) => {
    drop.classList.remove("over");
    const file = event.dataTransfer?.files[0];
    if (file) {
      event.preventDefault();
      last = file;
      input.value = "";
      void read();
    }
  });
}

/**
 * Reads `file` and shows what it tells.
 * @param {Engine} engine
 * @param {File} file
 * @param {number | undefined} hz
 */
async function readTrace(engine, file, hz) {
  const status = byId("trace-status", HTMLElement);
  const faults = byId("trace-faults", HTMLElement);
  const place = byId("trace-told", HTMLElement);
  status.textContent = `Reading ${file.name}.`;
  faults.replaceChildren();
  showNotices(byId("trace-notices", HTMLElement), []);
  try {
    const told = await engine.explain(await unpacked(file), file.name, hz);
    showNotices(byId("trace-notices", HTMLElement), told.notices);
    showTold(place, told);
    status.textContent = `${file.name} is explained below.`;
  } catch (error) {
    if (error instanceof Outdated) {
      return;
    }
    place.replaceChildren();
    status.textContent = `${file.name} was not explained.`;
    const why = error instanceof Error ? error.message : String(error);
    showFault(faults, why, "The file cannot be used:");
  }
}

/**
 * The bytes of `file`, of which gzip is taken off.
 * @param {File} file
 */
async function unpacked(file) {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (head[0] !== 0x1f || head[1] !== 0x8b) {
    return file.arrayBuffer();
  }
  const stream = file.stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/**
 * @param {HTMLElement} place
 * @param {Told} told
 */
function showTold(place, told) {
  const facts = told.facts.flatMap(([name, fact]) => [
    element("dt", {}, name),
    element("dd", {}, fact),
  ]);
  const sections = told.sections.map(([title, text, pictures]) => {
    const drawn = element("div", { class: "pair" });
    show(drawn, pictures);
    const words = text ? [element("p", {}, ...prose(text))] : [];
    return element("section", {}, element("h2", {}, title), ...words, drawn);
  });
  const printed = [
    exact("trace summary", "summary-json", told.summary),
    exact("explain", "explain-json", told.explanation),
  ];
  place.replaceChildren(element("dl", {}, ...facts), ...sections, ...printed);
}

/**
 * Text in which words between backticks are code.
 * @param {string} text
 */
function prose(text) {
  return text.split("`").map((part, at) => (at % 2 ? element("code", {}, part) : part));
}

/**
 * @param {string} command
 * @param {string} id
 * @param {string} json
 */
function exact(command, id, json) {
  const all = element("pre", { class: "json", tabIndex: 0, role: "region", id }, json);
  all.setAttribute("aria-label", `What domio ${command} prints`);
  const save = element("button", { type: "button" }, "Save as a file");
  save.onclick = () => download(`domio-${command.replace(" ", "-")}.json`, json);
  const title = `As domio ${command} --json prints it`;
  return element("details", { class: "exact" }, element("summary", {}, title), save, all);
}
