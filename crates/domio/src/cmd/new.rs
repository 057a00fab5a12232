//! `domio new`: a crate with a new part, and domio with this part in it.
//!
//! The source file of the crate is the one of a part that ships, with other names in it, so that
//! whoever begins with the file begins with code that is tested. `templates/` has the rest, with
//! words between `@` for names.

use crate::args::{Global, New, PartKind};
use crate::out::{self, Status};
use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// What differs from one kind of part to another.
struct Template {
    /// The word for it, and the method of the laboratory.
    kind: &'static str,
    /// The same at the begin of a sentence.
    title: &'static str,
    /// The part that it begins as, for people.
    example: &'static str,
    /// The source file of the example.
    source: &'static str,
    /// A second source file: its name, and the text.
    beside: Option<(&'static str, &'static str)>,
    /// What becomes of words of the source files, each of which is in one of them.
    changes: &'static [(&'static str, &'static str)],
    /// The test.
    test: &'static str,
    /// What the test shows.
    tested: &'static str,
    /// The scenario.
    scenario: &'static str,
    /// A command that shows the part, and what is to be seen.
    listed: [&'static str; 2],
    /// Crates that the source file uses, then those that the test uses as well.
    crates: [&'static [&'static str]; 2],
}

/// A crate of the project has the macro `params!` as its own, and others from `domio-core`.
const PARAMS: [&str; 2] = [
    "use domio_core::params::{",
    "use domio_core::params;\nuse domio_core::params::{",
];

static POLICY: Template = Template {
    kind: "policy",
    title: "A scheduling policy",
    example: "round robin, the shortest policy that ships",
    source: include_str!("../../templates/shipped/policy.rs"),
    beside: None,
    changes: &[
        (
            "//! Round robin: the shortest whole policy, and the one to copy from.",
            "//! The policy `@name@`. It begins as round robin of domio.",
        ),
        ("\"round-robin\"", "\"@name@\""),
        (
            "\"one FIFO per pcpu, fixed slice; the shortest example of a policy\"",
            "\"one FIFO per pcpu, fixed slice\"",
        ),
        ("source: \"domio\"", "source: \"@name@\""),
        ("RoundRobin", "@Type@"),
        ("round-robin policy", "policy"),
        (PARAMS[0], PARAMS[1]),
        ("use alloc::boxed::Box;\n", ""),
        ("use alloc::vec::Vec;\n", ""),
        ("alloc::", "std::"),
    ],
    test: include_str!("../../templates/policy/conformance.rs.in"),
    tested: "the conformance suite of policies, which holds the policy to the contract and to what \
             it promises",
    scenario: include_str!("../../templates/policy/scenario.toml.in"),
    listed: [
        "policy show @name@",
        "what it needs, promises and lets you set",
    ],
    crates: [&["domio-contract", "domio-core"], &["domio-sched"]],
};

static CONTROLLER: Template = Template {
    kind: "controller",
    title: "A controller",
    example: "cap-follows-demand, the shortest controller that ships",
    source: include_str!("../../templates/shipped/controller.rs"),
    beside: None,
    changes: &[
        (
            "//! Cap follows demand: the shortest whole controller, and the one to copy from.",
            "//! The controller `@name@`. It begins as cap-follows-demand of domio.",
        ),
        ("\"cap-follows-demand\"", "\"@name@\""),
        (
            "\"caps each domain a little above its demand; the shortest example of a controller\"",
            "\"caps each domain a little above its demand\"",
        ),
        ("source: \"domio\"", "source: \"@name@\""),
        ("CapFollowsDemand", "@Type@"),
        ("\n#[cfg(test)]\nmod tests;\n", ""),
        ("use alloc::boxed::Box;\n", ""),
        ("use alloc::format;\n", ""),
        ("alloc::", "std::"),
        ("core::", "std::"),
        ("domio_std::", "domio_core::"),
        (PARAMS[0], PARAMS[1]),
    ],
    test: include_str!("../../templates/controller/conformance.rs.in"),
    tested: "the conformance suite of controllers, which holds the controller to the contract and \
             to what it promises",
    scenario: include_str!("../../templates/controller/scenario.toml.in"),
    listed: [
        "controller show @name@",
        "what it sets, promises and lets you set",
    ],
    crates: [&["domio-contract", "domio-core"], &["domio-control"]],
};

static ELEVATOR: Template = Template {
    kind: "elevator",
    title: "An elevator",
    example: "noop, the shortest elevator that ships",
    source: include_str!("../../templates/shipped/elevator.rs"),
    beside: None,
    changes: &[
        (
            "//! Noop: first come, first served, with merging (Linux 2.6.24, \
             `block/noop-iosched.c`).",
            "//! The elevator `@name@`. It begins as noop of domio: first come, first served.",
        ),
        ("\"noop\"", "\"@name@\""),
        ("\"Linux 2.6.24, block/noop-iosched.c\"", "\"@name@\""),
        ("INFO", "ENTRY"),
        ("Noop", "@Type@"),
        ("super::", "domio_blk::elevator::"),
        ("use alloc::boxed::Box;\n", ""),
    ],
    test: include_str!("../../templates/elevator/conformance.rs.in"),
    tested: "the conformance suite of elevators: no request is lost, and none waits longer than \
             promised",
    scenario: include_str!("../../templates/elevator/scenario.toml.in"),
    listed: ["elevator show @name@", "what it lets you set"],
    crates: [&["domio-blk"], &[]],
};

static WORKLOAD: Template = Template {
    kind: "workload",
    title: "A workload",
    example: "a program that sleeps, computes and reports",
    source: include_str!("../../templates/workload/lib.rs"),
    beside: None,
    changes: &[
        ("\"example\"", "\"@name@\""),
        ("`example`", "`@name@`"),
        ("Example", "@Type@"),
    ],
    test: include_str!("../../templates/workload/conformance.rs.in"),
    tested: "the program, step by step",
    scenario: include_str!("../../templates/workload/scenario.toml.in"),
    listed: [
        "scenario schema",
        "the keys that scenarios have for it, among all others",
    ],
    crates: [&["domio-core", "domio-scenario", "domio-vmm"], &[]],
};

static DEVICE: Template = Template {
    kind: "device",
    title: "A device",
    example: "a tape, which is neither a network nor a disk",
    source: include_str!("../../templates/shipped/device.rs"),
    beside: Some((
        "src/keys.rs",
        include_str!("../../templates/shipped/device_keys.rs"),
    )),
    changes: &[
        ("mod keys;\nmod test;\n", "mod keys;\n"),
        ("\"tapes\"", "\"@name@\""),
        ("tapes", "@crate@s"),
        ("tape", "@crate@"),
        ("Tape", "@Type@"),
        (
            "//! A device that is neither a network nor a disk, and does not ship: all that it \
             takes is this\n//! folder, and the program that adds the device to the parts.",
            "//! The device `@name@`. It begins as a tape, which is neither a network nor a disk.",
        ),
    ],
    test: include_str!("../../templates/device/conformance.rs.in"),
    tested: "the device in a host: who is served, and how long that takes",
    scenario: include_str!("../../templates/device/scenario.toml.in"),
    listed: [
        "scenario schema",
        "the tables that scenarios have for it, among all others",
    ],
    crates: [
        &["domio-core", "domio-scenario", "domio-vmm"],
        &["domio-sched"],
    ],
};

impl Template {
    fn of(kind: PartKind) -> &'static Template {
        match kind {
            PartKind::Policy => &POLICY,
            PartKind::Controller => &CONTROLLER,
            PartKind::Elevator => &ELEVATOR,
            PartKind::Workload => &WORKLOAD,
            PartKind::Device => &DEVICE,
        }
    }

    /// The files of the crate called `name`, with their texts. `checkout` is where domio is.
    fn files(&self, name: &str, checkout: Option<&Path>) -> Vec<(&'static str, String)> {
        let mut sources = vec![("src/lib.rs", self.source.to_owned())];
        sources.extend(self.beside.map(|(file, text)| (file, text.to_owned())));
        for (word, instead) in self.changes {
            let has = sources.iter().any(|(_, text)| text.contains(word));
            assert!(has, "{}: no {word:?}", self.kind);
            for (_, text) in &mut sources {
                *text = text.replace(word, instead);
            }
        }
        let filled = |text: &str| {
            let words = [
                ("@dependencies@", self.dependencies(checkout)),
                ("@rust@", env!("CARGO_PKG_RUST_VERSION").to_owned()),
                ("@kind@", self.kind.to_owned()),
                ("@Kind@", self.title.to_owned()),
                ("@example@", self.example.to_owned()),
                ("@tested@", self.tested.to_owned()),
                ("@listed@", self.listed[0].to_owned()),
                ("@shown@", self.listed[1].to_owned()),
                ("@name@", name.to_owned()),
                ("@crate@", name.replace('-', "_")),
                ("@Type@", type_name(name)),
            ];
            let mut text = text.to_owned();
            for (word, instead) in words {
                text = text.replace(word, &instead);
            }
            text
        };
        let manifest = include_str!("../../templates/Cargo.toml.in");
        let main = include_str!("../../templates/main.rs.in");
        let readme = include_str!("../../templates/README.md.in");
        let others = [
            ("Cargo.toml", manifest),
            ("src/main.rs", main),
            ("tests/conformance.rs", self.test),
            ("scenario.toml", self.scenario),
            ("README.md", readme),
            (".gitignore", "/target\n/out\n"),
        ];
        let sources = sources.iter().map(|(file, text)| (*file, text.as_str()));
        let all = sources.chain(others);
        all.map(|(file, text)| (file, filled(text))).collect()
    }

    /// The tables of dependencies.
    fn dependencies(&self, checkout: Option<&Path>) -> String {
        let line = |name: &&str| {
            let version = env!("CARGO_PKG_VERSION");
            match checkout {
                None => format!("{name} = \"{version}\"\n"),
                Some(folder) => {
                    let path = folder.join("crates").join(name).display().to_string();
                    format!("{name} = {{ version = \"{version}\", path = {path:?} }}\n")
                }
            }
        };
        let [own, of_test] = self.crates;
        let mut text: String = ["domio"].iter().chain(own).map(line).collect();
        if !of_test.is_empty() {
            text += "\n[dev-dependencies]\n";
            text.extend(of_test.iter().map(line));
        }
        text
    }
}

/// Writes the folder, and prints what to do next.
pub fn run(args: &New, global: &Global) -> anyhow::Result<Status> {
    let template = Template::of(args.kind);
    let name = args.name.as_str();
    is_good(name)?;
    if global.parts.has(template.kind, name) {
        bail!(
            "there is a {} called \"{name}\" already, which the new program would have as well; \
             choose another name",
            template.kind
        );
    }
    let checkout = args.domio.as_deref().map(checkout).transpose()?;
    let folder = args.path.clone().unwrap_or_else(|| PathBuf::from(name));
    let shown = folder.display();
    if folder.exists() {
        bail!("{shown} is there already, and is left as it is; choose another folder with --path");
    }
    let cannot = || format!("cannot write into {shown}; choose another folder with --path");
    for (file, text) in template.files(name, checkout.as_deref()) {
        let file = folder.join(file);
        let parent = file.parent().unwrap_or(&folder);
        fs::create_dir_all(parent).with_context(cannot)?;
        fs::write(&file, text).with_context(cannot)?;
    }
    if let Some(checkout) = &checkout {
        // Other versions of libraries could give other figures.
        let lock = "Cargo.lock";
        fs::copy(checkout.join(lock), folder.join(lock)).with_context(cannot)?;
    }
    out::text(&format!(
        "wrote {shown}: the {} is {shown}/src/lib.rs, which begins as {}\n\n  cd {shown}\n  \
         cargo test\n  cargo run --release -- run scenario.toml\n",
        template.kind, template.example
    ))?;
    if let (None, Some(built)) = (&checkout, own_checkout()) {
        let built = built.display();
        out::notice(&format!(
            "{shown}/Cargo.toml asks for the released domio {}; this program was built from \
             {built}: with --domio {built} the crate is built from there, too",
            env!("CARGO_PKG_VERSION")
        ));
    }
    Ok(Status::Success)
}

/// Refuses a name that cannot be one of a crate, or of a type in it.
fn is_good(name: &str) -> anyhow::Result<()> {
    /// Words that are a crate or a keyword where the name would be used.
    const TAKEN: [&str; 12] = [
        "alloc",
        "build",
        "core",
        "crate",
        "deps",
        "domio",
        "examples",
        "proc-macro",
        "self",
        "std",
        "super",
        "test",
    ];
    let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let first = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !first || !name.chars().all(small) || name.ends_with('-') || name.contains("--") {
        bail!(
            "\"{name}\" is no name of a part: expected small letters, digits and single dashes, a \
             letter first, as in my-policy"
        );
    }
    if TAKEN.contains(&name) || name.starts_with("domio-") || is_keyword(name) {
        bail!("\"{name}\" means something else to Rust or domio; choose another name");
    }
    Ok(())
}

/// Whether a crate cannot have the name because Rust keeps the word for itself.
fn is_keyword(name: &str) -> bool {
    const KEYWORDS: [&str; 45] = [
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do",
        "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in",
        "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
        "return", "static", "struct", "trait", "true", "try", "type", "unsafe", "use", "virtual",
        "where", "while",
    ];
    KEYWORDS.contains(&name)
}

/// The name of the type that is the part.
fn type_name(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}

/// The checkout of domio in `folder`, with its whole path.
fn checkout(folder: &Path) -> anyhow::Result<PathBuf> {
    let shown = folder.display();
    if !is_checkout(folder) {
        bail!("{shown} is no checkout of domio: there is no {shown}/crates/domio/Cargo.toml");
    }
    folder
        .canonicalize()
        .with_context(|| format!("cannot find {shown}"))
}

fn is_checkout(folder: &Path) -> bool {
    folder.join("crates/domio/Cargo.toml").is_file()
}

/// The checkout that this program was built from, if it is still there. Files of a release do not
/// know any.
fn own_checkout() -> Option<PathBuf> {
    let own = Path::new(option_env!("DOMIO_CHECKOUT")?);
    is_checkout(own).then(|| own.canonicalize().ok())?
}
