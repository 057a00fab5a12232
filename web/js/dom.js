// Small helpers for the document.

/**
 * An element with these properties and children. A property that begins with "aria-" or "data-", or
 * is called "for", "role" or "class", is an attribute.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} properties
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (/^(aria-|data-|for$|role$|class$|list$)/.test(name)) {
      made.setAttribute(name, String(value));
    } else {
      Object.assign(made, { [name]: value });
    }
  }
  made.append(...children);
  return made;
}

/**
 * The element with this id, which the page has.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) {
    throw new Error(`the page has no ${kind.name} with the id ${id}`);
  }
  return found;
}

/**
 * Shows `html`, which the program drew and escaped, in `place`. What was open stays open, and an
 * unchanged part stays as it is.
 * @param {HTMLElement} place
 * @param {string} html
 */
export function show(place, html) {
  if (drawn.get(place) === html) {
    return;
  }
  const open = [...place.querySelectorAll("details")].map((details) => details.open);
  place.innerHTML = html;
  drawn.set(place, html);
  place.querySelectorAll("details").forEach((details, index) => {
    details.open = open[index] ?? details.open;
  });
}

/** @type {WeakMap<HTMLElement, string>} */
const drawn = new WeakMap();

/**
 * Calls `work` when nobody has called for `ms` milliseconds.
 * @param {number} ms
 * @param {() => void} work
 */
export function calm(ms, work) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(work, ms);
  };
}

/**
 * Hands `text` to the visitor as a file.
 * @param {string} name
 * @param {string} text
 */
export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = element("a", { href: url, download: name });
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
