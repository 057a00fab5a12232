//! What a page in a browser asks of domio.
//!
//! ```text
//! choices, describe ─▶ what can be chosen, and what a scenario says
//! Laboratory ─ simulate ─▶ figures of one variant, as `domio run --json` prints them
//!            └ compare ──▶ pictures of both, side by side
//! explain ─▶ what a trace tells, as `domio trace summary` and `domio explain` do
//! ```
//!
//! Answers are JSON, with pictures as HTML in it. What the visitor got wrong comes back as the
//! text of an exception. The page's own part is in `js`, and `page` puts both into one file.

mod choices;
mod pictures;
mod printed;
mod recorded;
mod variant;

use printed::json;
use variant::{Request, Variant};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsValue, throw_str};

#[wasm_bindgen]
extern "C" {
    /// A function of the page.
    pub type Listener;

    /// Calls it as a function of nobody.
    #[wasm_bindgen(method)]
    fn call(this: &Listener, nobody: &JsValue, thousandths: f64);
}

/// Has panics thrown as exceptions, with their text. The program is of no use after one.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| throw_str(&panic.to_string())));
}

/// The shipped scenarios and the policies with their parameters.
#[wasm_bindgen]
pub fn choices() -> String {
    json(&choices::all())
}

/// The text of the shipped scenario called `name`.
#[wasm_bindgen]
pub fn shipped(name: &str) -> Option<String> {
    domio_scenario::example(name).map(str::to_owned)
}

/// What the scenario `text`, which messages call `name`, says under the policy called `policy`, or
/// under its own.
///
/// # Errors
/// All mistakes in it.
#[wasm_bindgen]
pub fn describe(name: &str, text: &str, policy: Option<String>) -> Result<String, String> {
    choices::describe(name, text, policy.as_deref()).map(|described| json(&described))
}

/// What the trace in `bytes`, which messages call `name`, tells. `cpu_hz` is how fast the clock of
/// a xentrace file counts, where the visitor knows it.
///
/// # Errors
/// When it is no trace, or its begin is damaged.
#[wasm_bindgen]
pub fn explain(bytes: &[u8], name: &str, cpu_hz: Option<f64>) -> Result<String, String> {
    recorded::explain(bytes, name, cpu_hz.map(|hz| hz as u64)).map(|told| json(&told))
}

/// The two variants of a page.
#[wasm_bindgen]
#[derive(Default)]
pub struct Laboratory {
    variants: [Option<Variant>; 2],
}

#[wasm_bindgen]
impl Laboratory {
    /// One without variants.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Laboratory::default()
    }

    /// Simulates what `request` ([`Request`], as JSON) asks for as variant `place` (0 or 1), and
    /// returns its figures. `heard` is called with the thousandths that are done.
    ///
    /// # Errors
    /// What is wrong with the scenario or a change of it, or why the run ended early.
    pub fn simulate(
        &mut self,
        place: usize,
        request: &str,
        heard: &Listener,
    ) -> Result<String, String> {
        let slot = self
            .variants
            .get_mut(place)
            .ok_or("there are two variants")?;
        *slot = None;
        let request: Request = serde_json::from_str(request).map_err(|e| e.to_string())?;
        let tell = |thousandths: u64| heard.call(&JsValue::NULL, thousandths as f64);
        let variant = Variant::simulate(&request, &tell)?;
        let figures = json(&variant.figures());
        *slot = Some(variant);
        Ok(figures)
    }

    /// Pictures of the variants that there are, side by side.
    pub fn compare(&self) -> String {
        let variants: Vec<&Variant> = self.variants.iter().flatten().collect();
        json(&pictures::compare(&variants))
    }
}
