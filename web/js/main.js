// The page: what was moved is simulated, and what was simulated is shown.

import { commandOf, showAnswer, showFault } from "./results.js";
import { LABELS, fill, showState } from "./controls.js";
import { byId, calm, element } from "./dom.js";
import { Engine, Outdated, Refused } from "./engine.js";
import { listen } from "./recorded.js";
import { begin, fromFragment, toFragment } from "./state.js";

/** @import { Choices, Described } from "./controls.js" */

/** What messages call a text of the visitor's own. */
const PASTED = "pasted.toml";

const status = byId("status", HTMLElement);
const progress = byId("progress", HTMLProgressElement);
const engine = new Engine((part) => {
  progress.value = part;
});

let state = begin();
/** @type {Choices} */
let choices;
/** @type {[Described, Described] | undefined} What the scenario says, once it has been read. */
let described;
/** The fragment that the page wrote itself. */
let written = "";

/** What messages call the scenario. */
function nameOf() {
  return state.scenario || PASTED;
}

/** The policy that B begins with: another one than that of A. */
function otherThan(/** @type {string} */ policy) {
  return policy === "credit2" ? "credit" : "credit2";
}

/** Reads the scenario under both policies, shows the controls, and simulates. */
async function open() {
  if (state.scenario) {
    state.text = (await engine.shipped(state.scenario)) ?? "";
    if (!state.text) {
      throw new Refused(`no shipped scenario is called "${state.scenario}"`);
    }
  }
  const own = await engine.describe(nameOf(), state.text, "");
  const [a, b] = state.policies;
  state.policies = [a || own.policy, b || otherThan(own.policy)];
  const of = (/** @type {string} */ policy) =>
    policy === own.policy ? own : engine.describe(nameOf(), state.text, policy);
  described = [await of(state.policies[0]), await of(state.policies[1])];
  ownPolicy = own.policy;
  showState(state, choices, described, moved);
  showMoment();
  await simulate();
}

/** The scenario's own policy. */
let ownPolicy = "";

/** As [`open`], and tells the visitor what is wrong with the scenario. */
async function tryOpen() {
  const mistakes = byId("mistakes", HTMLElement);
  try {
    await open();
    showFault(mistakes, "", "");
  } catch (error) {
    if (error instanceof Refused) {
      showFault(mistakes, error.message, "The scenario cannot be used:");
      byId("scenario", HTMLSelectElement).value = state.scenario;
      byId("text-details", HTMLDetailsElement).open = true;
      status.textContent = "The scenario has mistakes, which are shown above its text.";
    } else if (!(error instanceof Outdated)) {
      throw error;
    }
  }
}

function moved() {
  keep();
  void simulate();
}

const keep = calm(200, async () => {
  written = await toFragment(state);
  history.replaceState(null, "", `#${written}`);
});

let asked = 0;

async function simulate() {
  if (!described) {
    return;
  }
  const number = ++asked;
  const changes = LABELS.map((_, place) => {
    const policy = state.policies[place];
    const chosen = policy === ownPolicy ? [] : [["scheduler.policy", policy]];
    return [...chosen, ...Object.entries(allowed(place))];
  });
  const { window } = state;
  const variants = LABELS.map((label, place) => ({
    label,
    name: nameOf(),
    text: state.text,
    changes: changes[place],
    replications: state.replications,
    window: window && [window[0], window[0] + window[1]],
  }));
  const commands = LABELS.map((_, place) =>
    commandOf({ ...state, changes: [allowed(0), allowed(1)] }, place, ownPolicy),
  );
  const slow = setTimeout(() => {
    if (number === asked) {
      progress.value = 0;
      progress.hidden = false;
      status.textContent = "Simulating.";
    }
  }, 300);
  try {
    const answer = await engine.simulate(variants);
    const told = showAnswer(answer, commands);
    if (number === asked) {
      status.textContent = told;
      document.body.dataset.answered = String(number);
    }
  } catch (error) {
    if (error instanceof Refused) {
      showFault(byId("faults", HTMLElement), error.message, "The program stopped:");
      status.textContent = "The program stopped, and was started anew.";
    } else if (!(error instanceof Outdated)) {
      throw error;
    }
  } finally {
    clearTimeout(slow);
    progress.hidden = number === asked || progress.hidden;
  }
}

/**
 * The changes of a variant that its policy has parameters for.
 * @param {number} place
 */
function allowed(place) {
  if (!described) {
    return {};
  }
  const { params, domain_params } = described[place];
  const has = (/** @type {string} */ key) => {
    const name = key.slice(key.lastIndexOf(".") + 1);
    return key.startsWith("scheduler.")
      ? name in params
      : !key.startsWith("domain.") || domain_params.some((spec) => spec.name === name);
  };
  return Object.fromEntries(Object.entries(state.changes[place]).filter(([key]) => has(key)));
}

/** Shows which moment the timelines have. */
function showMoment() {
  const select = byId("window", HTMLSelectElement);
  const from = byId("from", HTMLInputElement);
  const { window } = state;
  const length = window ? String(window[1]) : "";
  if (![...select.options].some(({ value }) => value === length)) {
    select.append(element("option", { value: length }, `${length} ms of my choice`));
  }
  select.value = length;
  byId("from-field", HTMLElement).hidden = window === null;
  const seconds = described?.[0].seconds ?? 0;
  from.max = String(Math.max(seconds * 1000 - (window?.[1] ?? 0), 0));
  from.step = String(Math.max(Number(length) / 4, 1));
  from.value = String(window?.[0] ?? 0);
  const told = `${(from.valueAsNumber / 1000).toFixed(3)} s`;
  byId("from-told", HTMLOutputElement).value = told;
  from.setAttribute("aria-valuetext", told);
}

function attend() {
  const text = byId("text", HTMLTextAreaElement);
  const scenario = byId("scenario", HTMLSelectElement);
  scenario.onchange = () => {
    const own = scenario.value === "";
    state = { ...begin(), scenario: scenario.value, text: state.text };
    if (own) {
      byId("text-details", HTMLDetailsElement).open = true;
      text.focus();
      text.select();
    }
    keep();
    void tryOpen();
  };
  text.oninput = calm(400, () => {
    state.scenario = "";
    state.text = text.value;
    keep();
    void tryOpen();
  });
  LABELS.forEach((label, place) => {
    const policy = byId(`policy-${label}`, HTMLSelectElement);
    policy.onchange = () => {
      state.policies[place] = policy.value;
      for (const key of Object.keys(state.changes[place])) {
        if (key.startsWith("scheduler.")) {
          delete state.changes[place][key];
        }
      }
      keep();
      void tryOpen();
    };
  });
  const linked = byId("linked", HTMLInputElement);
  linked.onchange = () => {
    state.linked = linked.checked;
    if (state.linked) {
      const [a, b] = state.changes.map((all) => Object.entries(all));
      const guests = a.filter(([key]) => key.startsWith("domain."));
      const others = b.filter(([key]) => !key.startsWith("domain."));
      state.changes[1] = Object.fromEntries([...others, ...guests]);
    }
    keep();
    void tryOpen();
  };
  const replications = byId("replications", HTMLSelectElement);
  replications.onchange = () => {
    state.replications = Number(replications.value);
    moved();
  };
  const select = byId("window", HTMLSelectElement);
  const from = byId("from", HTMLInputElement);
  const moment = () => {
    if (!described) {
      return;
    }
    state.window = select.value ? [from.valueAsNumber, Number(select.value)] : null;
    showMoment();
    moved();
  };
  select.onchange = moment;
  from.oninput = moment;
  byId("reset", HTMLButtonElement).onclick = () => {
    state = { ...begin(), scenario: state.scenario, text: state.text };
    keep();
    void tryOpen();
  };
  const link = byId("link", HTMLButtonElement);
  link.onclick = async () => {
    written = await toFragment(state);
    history.replaceState(null, "", `#${written}`);
    try {
      await navigator.clipboard.writeText(location.href);
      status.textContent = "The link is in the clipboard.";
    } catch {
      status.textContent = "The link is in the address bar.";
    }
  };
  byId("controls", HTMLFormElement).onsubmit = (event) => event.preventDefault();
  window.addEventListener("hashchange", async () => {
    const fragment = location.hash.slice(1);
    if (fragment === written) {
      return;
    }
    const linkedTo = await fromFragment(fragment);
    if (linkedTo) {
      state = linkedTo;
      await tryOpen();
    }
  });
  const skip = document.querySelector("a.skip");
  skip?.addEventListener("click", (event) => {
    event.preventDefault();
    byId("results", HTMLElement).focus();
  });
}

/** Two tabs, as the keyboard expects them. */
function tabs() {
  const all = ["host", "trace"].map((name) => ({
    tab: byId(`tab-${name}`, HTMLButtonElement),
    panel: byId(`panel-${name}`, HTMLElement),
  }));
  const choose = (/** @type {number} */ chosen) => {
    all.forEach(({ tab, panel }, index) => {
      tab.setAttribute("aria-selected", String(index === chosen));
      tab.tabIndex = index === chosen ? 0 : -1;
      panel.hidden = index !== chosen;
    });
  };
  all.forEach(({ tab }, index) => {
    tab.onclick = () => choose(index);
    tab.onkeydown = ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key] ?? 0;
      if (step) {
        const next = (index + step + all.length) % all.length;
        choose(next);
        all[next].tab.focus();
      }
    };
  });
  return choose;
}

async function main() {
  const choose = tabs();
  listen(engine, () => choose(1));
  choices = await engine.begin();
  byId("version", HTMLElement).textContent = choices.version;
  byId("hatches", HTMLElement).innerHTML = choices.hatches;
  fill(choices);
  let linkedTo = null;
  try {
    linkedTo = await fromFragment(location.hash);
  } catch {
    // Half a link: the visitor sees the first scenario.
  }
  state = linkedTo ?? state;
  attend();
  await tryOpen();
}

main().catch((error) => {
  const why = error instanceof Error ? error.message : String(error);
  status.textContent = "The page cannot work in this browser.";
  showFault(byId("faults", HTMLElement), why, "The program was not started:");
});
