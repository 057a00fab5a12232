// Sliders for ranges of any size.

/**
 * @typedef {object} Spec A declared parameter.
 * @property {string} name
 * @property {string} unit
 * @property {"int" | "flag" | "choice"} kind
 * @property {number} min
 * @property {number} max
 * @property {boolean} or_zero
 * @property {string[]} words
 * @property {string} range
 * @property {string} meaning
 */

/** Positions of a slider with equal ratios. */
const STEPS = 300;

/** A range as wide as this has equal ratios: from 1 to 65535 every doubling is as long as another. */
const WIDE = 400;

/**
 * A slider's range and the values at its positions.
 * @typedef {object} Scale
 * @property {number} steps Positions are 0 to this.
 * @property {(position: number) => number} value
 * @property {(value: number) => number} position
 */

/**
 * @param {Spec} spec
 * @param {number} vcpus Of the domain: it cannot use more than a pcpu with each.
 * @param {number} base What the scenario says, which has a position of its own.
 * @returns {Scale}
 */
export function scaleOf(spec, vcpus, base) {
  const least = spec.or_zero ? Math.min(0, spec.min) : spec.min;
  const most = spec.unit === "% of one pcpu" ? Math.min(spec.max, 100 * vcpus) : spec.max;
  const fits = (/** @type {number} */ value) => {
    const bounded = Math.min(Math.max(Math.round(value), least), spec.max);
    return spec.or_zero && bounded !== 0 && bounded < spec.min ? spec.min : bounded;
  };
  if (most - least <= WIDE) {
    return {
      steps: most - least,
      value: (position) => fits(least + position),
      position: (value) => Math.min(Math.max(value, least), most) - least,
    };
  }
  // One more than the distance, so that it may be nothing.
  const whole = Math.log1p(most - least);
  const position = (/** @type {number} */ value) =>
    Math.round((STEPS * Math.log1p(Math.max(value - least, 0))) / whole);
  return {
    steps: STEPS,
    value: (at) =>
      at === position(base)
        ? base
        : fits(round(least + Math.expm1((whole * at) / STEPS))),
    position,
  };
}

/**
 * `value` with two digits that count: nobody looks for 1023.
 * @param {number} value
 */
function round(value) {
  const unit = 10 ** Math.max(Math.floor(Math.log10(Math.max(Math.abs(value), 1))) - 1, 0);
  return Math.round(value / unit) * unit;
}
