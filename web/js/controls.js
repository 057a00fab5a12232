// What can be moved: scenario, policies, parameters, guests.

import { byId, calm, element } from "./dom.js";
import { scaleOf } from "./scale.js";

/** @import { Spec } from "./scale.js" */
/** @import { State } from "./state.js" */

/**
 * What a scenario says under one policy.
 * @typedef {object} Described
 * @property {string} title
 * @property {string} description
 * @property {string} policy
 * @property {Record<string, any>} params
 * @property {number} seconds
 * @property {number} pcpus
 * @property {Spec[]} domain_params
 * @property {{ name: string, vcpus: number, params: Record<string, any> }[]} domains
 */

/**
 * @typedef {object} Choices
 * @property {string} version
 * @property {string} hatches
 * @property {{ name: string, title: string }[]} scenarios
 * @property {{ name: string, summary: string, params: Spec[] }[]} policies
 */

/** Names of the variants. */
export const LABELS = ["A", "B"];

/**
 * Fills the lists that do not depend on a scenario.
 * @param {Choices} choices
 */
export function fill(choices) {
  const scenario = byId("scenario", HTMLSelectElement);
  for (const { name, title } of choices.scenarios) {
    scenario.append(element("option", { value: name, title }, name));
  }
  scenario.append(element("option", { value: "" }, "a text of my own"));
  for (const place of LABELS) {
    const select = byId(`policy-${place}`, HTMLSelectElement);
    for (const { name, summary } of choices.policies) {
      select.append(element("option", { value: name, title: summary }, name));
    }
  }
}

/**
 * Shows `state` in the controls.
 * @param {State} state
 * @param {Choices} choices
 * @param {[Described, Described]} described By variant.
 * @param {() => void} changed Called when the visitor has moved something of policies or guests.
 */
export function showState(state, choices, described, changed) {
  byId("scenario", HTMLSelectElement).value = state.scenario;
  const text = byId("text", HTMLTextAreaElement);
  if (text.value !== state.text) {
    text.value = state.text;
  }
  byId("title", HTMLElement).textContent = described[0].title;
  byId("about", HTMLElement).textContent = paragraphs(described[0].description);
  byId("linked", HTMLInputElement).checked = state.linked;
  byId("replications", HTMLSelectElement).value = String(state.replications);
  LABELS.forEach((label, place) => {
    const { policy } = described[place];
    byId(`policy-${label}`, HTMLSelectElement).value = policy;
    const known = choices.policies.find(({ name }) => name === policy);
    byId(`summary-${label}`, HTMLElement).textContent = known?.summary ?? "";
    const params = byId(`params-${label}`, HTMLElement);
    const fields = (known?.params ?? []).map((spec) => {
      const key = `scheduler.${spec.name}`;
      const base = described[place].params[spec.name] ?? spec.min;
      const told = `${spec.name} of ${policy}, ${label}`;
      return setting({ spec, base, told, vcpus: 1, slider: false }, [
        { changes: state.changes[place], key, label: "" },
      ], changed);
    });
    params.replaceChildren(...fields);
    const details = byId(`more-${label}`, HTMLDetailsElement);
    details.hidden = fields.length === 0;
  });
  byId("guests", HTMLElement).replaceChildren(...guests(state, described, changed));
}

/**
 * `text` without the ends of its lines, except between paragraphs.
 * @param {string} text
 */
function paragraphs(text) {
  return text.trim().replace(/([^\n])\n(?=[^\n])/g, "$1 ");
}

/**
 * A block for each domain, with the parameters that it has under either policy.
 * @param {State} state
 * @param {[Described, Described]} described
 * @param {() => void} changed
 */
function guests(state, described, changed) {
  return described[0].domains.map((domain) => {
    /** @type {Map<string, Spec>} */
    const specs = new Map();
    for (const one of described) {
      for (const spec of one.domain_params) {
        specs.set(spec.name, specs.get(spec.name) ?? spec);
      }
    }
    const fields = [...specs.values()].flatMap((spec) => {
      const has = described.map((one) => baseOf(one, domain.name, spec.name) !== undefined);
      const key = `domain.${bare(domain.name)}.${spec.name}`;
      const targets = LABELS.map((label, place) => ({
        changes: state.changes[place],
        key,
        label,
      })).filter((_, place) => has[place]);
      if (targets.length === 0) {
        return [];
      }
      const first = has[0] ? described[0] : described[1];
      const base = baseOf(first, domain.name, spec.name);
      const make = (/** @type {Target[]} */ places) => {
        const of = state.linked && has[0] && has[1] ? "" : `, ${places[0].label}`;
        const told = `${spec.name} of ${domain.name}${of}`;
        return setting({ spec, base, told, vcpus: domain.vcpus, slider: true }, places, changed);
      };
      return state.linked ? [make(targets)] : targets.map((target) => make([target]));
    });
    const vcpus = domain.vcpus === 1 ? "1 vcpu" : `${domain.vcpus} vcpus`;
    const name = element("legend", {}, domain.name, element("small", {}, ` ${vcpus}`));
    const empty = fields.length === 0 ? [element("p", { class: "soft" }, "nothing to set")] : [];
    return element("fieldset", { class: "guest" }, name, ...fields, ...empty);
  });
}

/**
 * What the scenario says of a parameter of a domain.
 * @param {Described} described
 * @param {string} domain
 * @param {string} param
 */
function baseOf(described, domain, param) {
  return described.domains.find(({ name }) => name === domain)?.params[param];
}

/**
 * `name` as a part of a key: in quotes where it has other letters than keys have.
 * @param {string} name
 */
function bare(name) {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name);
}

/**
 * Where a value goes.
 * @typedef {{ changes: Record<string, string>, key: string, label: string }} Target
 */

let numbered = 0;

/**
 * A parameter with its value, which `targets` have in common.
 * @param {{ spec: Spec, base: any, told: string, vcpus: number, slider: boolean }} what
 * @param {Target[]} targets
 * @param {() => void} changed
 */
function setting({ spec, base, told, vcpus, slider }, targets, changed) {
  const value = targets[0].changes[targets[0].key] ?? String(base);
  const id = `setting-${++numbered}`;
  const row = element("div", { class: "setting" });
  const set = (/** @type {string} */ next) => {
    for (const { changes, key } of targets) {
      if (next === String(base)) {
        delete changes[key];
      } else {
        changes[key] = next;
      }
    }
    row.classList.toggle("changed", next !== String(base));
    changed();
  };
  row.classList.toggle("changed", value !== String(base));
  const of = targets.length === 1 && targets[0].label && slider ? ` ${targets[0].label}` : "";
  const unit = spec.unit ? ` [${spec.unit}]` : "";
  const name = spec.name.replace(/_(us|ms)$/, "").replace(/_/g, " ");
  const label = element("label", { for: id, title: `${spec.meaning} ${spec.range}` });
  label.append(name, element("small", {}, unit), of && element("b", {}, of));
  const controls = field({ spec, base, told, vcpus, slider, value, id }, set);
  // What the title of the label says to those who point at it.
  controls.at(-1)?.setAttribute("aria-description", label.title);
  row.append(label, ...controls);
  return row;
}

/**
 * The controls of a parameter.
 * @param {{ spec: Spec, base: any, told: string, vcpus: number, slider: boolean, value: string, id: string }} what
 * @param {(next: string) => void} set
 * @returns {HTMLElement[]}
 */
function field({ spec, base, told, vcpus, slider, value, id }, set) {
  if (spec.kind === "flag") {
    const box = element("input", { type: "checkbox", id, checked: value === "true" });
    box.setAttribute("aria-label", told);
    box.onchange = () => set(String(box.checked));
    return [box];
  }
  if (spec.kind === "choice") {
    const words = spec.words.map((word) => element("option", { value: word }, word));
    const select = element("select", { id, "aria-label": told }, ...words);
    select.value = value;
    select.onchange = () => set(select.value);
    return [select];
  }
  const least = spec.or_zero ? Math.min(0, spec.min) : spec.min;
  const number = element("input", { type: "number", id, min: String(least), value });
  number.max = String(spec.max);
  number.required = true;
  number.setAttribute("aria-label", told);
  if (!slider) {
    number.oninput = calm(150, () => number.checkValidity() && set(number.value));
    return [number];
  }
  const scale = scaleOf(spec, vcpus, Number(base));
  const range = element("input", { type: "range", min: "0", max: String(scale.steps) });
  range.value = String(scale.position(Number(value)));
  range.setAttribute("aria-label", `${told}, slider`);
  const tell = () => {
    range.setAttribute("aria-valuetext", `${number.value} ${spec.unit}`.trim());
  };
  tell();
  range.oninput = () => {
    number.value = String(scale.value(range.valueAsNumber));
    tell();
    set(number.value);
  };
  number.oninput = calm(150, () => {
    if (number.checkValidity()) {
      range.value = String(scale.position(number.valueAsNumber));
      tell();
      set(number.value);
    }
  });
  return [range, number];
}
