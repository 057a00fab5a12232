//! Puts the page together: one HTML file with style, script and program, which asks for nothing.
//!
//! ```text
//! src ─ cargo ─▶ WebAssembly ─ wasm-bindgen ─▶ program, packed ───┐
//!                                          └─▶ glue, js/worker.js ┤
//! js/main.js and what it imports ─▶ one script ───────────────────┼─▶ domio.html
//! index.html, page.css, the style of reports ─────────────────────┘
//! ```

mod bundle;

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use wasm_bindgen_cli_support::Bindgen;

const TARGET: &str = "wasm32-unknown-unknown";

/// Name of the program in the worker.
const GLOBAL: &str = "domio";

fn main() -> Result<()> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the crate has no parent")?;
    let to = match std::env::args_os().nth(1) {
        Some(path) => PathBuf::from(path),
        None => web.with_file_name("out").join("domio.html"),
    };
    let (glue, program) = program(web)?;
    let page = page(web, &glue, &program)?;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(&to, &page).with_context(|| format!("cannot write {}", to.display()))?;
    println!(
        "wrote {} ({} KiB, of which the program {})",
        to.display(),
        page.len() / 1024,
        { BASE64.encode(&program).len() / 1024 }
    );
    Ok(())
}

/// Compiles the program; returns what JavaScript calls it with, and itself, packed.
fn program(web: &Path) -> Result<(String, Vec<u8>)> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "build",
        "--release",
        "--locked",
        "--package",
        "domio-web",
        "--target",
        TARGET,
    ]);
    let done = cargo
        .current_dir(web)
        .status()
        .context("cannot start cargo")?;
    if !done.success() {
        bail!("the program does not build; `rustup target add {TARGET}` gets its libraries");
    }
    let target = web.join("target");
    let out = target.join("page");
    let mut bindgen = Bindgen::new();
    bindgen.input_path(target.join(TARGET).join("release/domio_web.wasm"));
    bindgen
        .no_modules(true)?
        .no_modules_global(GLOBAL)?
        .typescript(false);
    bindgen
        .generate(&out)
        .context("wasm-bindgen makes nothing of the program")?;
    let glue = read(&out.join("domio_web.js"))?;
    let bytes = fs::read(out.join("domio_web_bg.wasm")).context("there is no program")?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&bytes)?;
    Ok((glue, packed.finish()?))
}

/// The page.
fn page(web: &Path, glue: &str, program: &[u8]) -> Result<String> {
    let report = web.with_file_name("crates").join("domio-report/src");
    let style = [
        read(&report.join("html/style.css"))?,
        read(&report.join("svg/chart.css"))?,
        read(&web.join("page.css"))?,
    ];
    let style = style.concat();
    let script = bundle::bundle(&web.join("js"), "main.js")?;
    let worker = format!("{glue}\n{}", read(&web.join("js/worker.js"))?);
    for (what, text) in [("script", &script), ("worker", &worker), ("style", &style)] {
        let ends = ["</script", "</style", "<!--"]
            .into_iter()
            .find(|end| text.contains(end));
        ensure!(
            ends.is_none(),
            "{what} has {ends:?} in it, which would end it in a page"
        );
    }
    let policy = format!(
        "default-src 'none'; connect-src 'none'; script-src '{}' 'wasm-unsafe-eval'; \
         worker-src blob:; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(&style),
    );
    let parts = [
        ("{policy}", policy),
        ("{style}", style),
        ("{program}", BASE64.encode(program)),
        ("{worker}", worker),
        ("{script}", script),
    ];
    let mut rest = read(&web.join("index.html"))?;
    let mut page = String::new();
    // In the order of the page, so that nothing is looked for in what was put in.
    for (place, part) in parts {
        let Some((before, after)) = rest.split_once(place) else {
            bail!("index.html has no {place} where it is expected");
        };
        page += before;
        page += &part;
        rest = after.to_owned();
    }
    Ok(page + &rest)
}

/// What a policy calls an inline part: the browser takes no other.
fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(Sha256::digest(text.as_bytes())))
}

/// The text of the file at `path`.
fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
