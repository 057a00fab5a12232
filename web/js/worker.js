// The other thread: the program and its two variants. It gets one message at a time, and answers
// with { id, result } or { id, error }; in between it tells { id, part } of what is done.
//
// The glue that wasm-bindgen makes comes before this text, and has the name `domio`.

/** @type {any} */
let laboratory;

/** Requests that the variants were simulated for, as text. */
const held = ["", ""];

/** @type {{ figures: any, error: string }[]} */
const answers = [];

/**
 * `html` without the pictures for wide places: those side by side have none, and the page is the
 * quicker for it.
 * @param {string} html
 */
function narrow(html) {
  return html.replace(/<svg class="chart wide".*?<\/svg>/gs, "");
}

/**
 * @param {number} id
 * @param {{ request: any }[]} variants
 */
function simulate(id, variants) {
  const begin = performance.now();
  variants.forEach((variant, place) => {
    const asked = JSON.stringify(variant);
    if (held[place] === asked) {
      return;
    }
    held[place] = "";
    const heard = (/** @type {number} */ thousandths) => {
      self.postMessage({ id, part: (place + thousandths / 1000) / variants.length });
    };
    try {
      const figures = JSON.parse(laboratory.simulate(place, asked, heard));
      answers[place] = { figures, error: "" };
      held[place] = asked;
    } catch (error) {
      if (typeof error !== "string") {
        throw error;
      }
      answers[place] = { figures: null, error };
    }
  });
  const compared = JSON.parse(laboratory.compare());
  compared.timelines = narrow(compared.timelines);
  compared.waits = narrow(compared.waits);
  return { variants: answers, compared, ms: performance.now() - begin };
}

/**
 * @param {{ id: number, call: string, args: any[] }} message
 */
async function answer({ id, call, args }) {
  try {
    let result;
    if (call === "begin") {
      await domio({ module_or_path: args[0] });
      laboratory = new domio.Laboratory();
      result = JSON.parse(domio.choices());
    } else if (call === "shipped") {
      result = domio.shipped(args[0]);
    } else if (call === "describe") {
      result = JSON.parse(domio.describe(args[0], args[1], args[2]));
    } else if (call === "simulate") {
      result = simulate(id, args[0]);
    } else if (call === "explain") {
      result = JSON.parse(domio.explain(args[0], args[1], args[2]));
    }
    self.postMessage({ id, result });
  } catch (error) {
    // Texts are mistakes of the visitor; anything else is one of the program, which is of no use then.
    const broken = typeof error !== "string";
    self.postMessage({ id, error: broken ? String(error) : error, broken });
  }
}

// One after the other: the first has to have begun the program before the second is answered.
let turn = Promise.resolve();
self.onmessage = (/** @type {MessageEvent} */ event) => {
  turn = turn.then(() => answer(event.data));
};
