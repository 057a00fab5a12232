//! What all pages of help have in common: groups of options, short options and the next step.
//!
//! The groups and the short letters are tables here, so that an option has the same place and the
//! same letter in every command.

use super::Cli;
use clap::{Arg, Command, CommandFactory};

/// Groups of options that decide the same thing, with the long names of their options.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "What to simulate or read",
        &[
            "policy",
            "set",
            "design",
            "seed",
            "replications",
            "label",
            "cpu-hz",
            "claims",
            "effort",
            "seconds",
            "machines",
            "duration",
            "jobs",
        ],
    ),
    (
        "Axes",
        &[
            "weight",
            "cap",
            "slice-ms",
            "vcpus",
            "pin",
            "full",
            "cap-range",
            "windows",
        ],
    ),
    (
        "Output",
        &[
            "json", "csv", "to", "output", "report", "figures", "window", "map", "trace",
            "perfetto", "plot", "trade", "find", "force",
        ],
    ),
    (
        "Results that are kept",
        &["results", "no-results", "against", "check"],
    ),
];

/// Options with a short form. A report is what a command writes where there is no other
/// file to name.
const LETTERS: [(&str, char); 6] = [
    ("output", 'o'),
    ("report", 'o'),
    ("replications", 'n'),
    ("set", 's'),
    ("quiet", 'q'),
    ("force", 'f'),
];

/// A command with at least this many options shows them under headings.
const MANY: usize = 6;

/// What a reader wants next, by command.
const NEXT: [(&str, &str); 20] = [
    (
        "domio",
        "domio run small-host simulates a host that ships with the program; \
         domio help COMMAND has the options of a command.",
    ),
    (
        "reproduce",
        "domio claim show ID shows what decides a claim and how to look at it.",
    ),
    (
        "claim",
        "domio reproduce PREFIX decides the claims whose ids start with PREFIX.",
    ),
    (
        "run",
        "domio explain SCENARIO shows what its guests waited for; \
         domio compare SCENARIO --set KEY=VALUE changes one thing.",
    ),
    (
        "compare",
        "domio explain SCENARIO --set KEY=VALUE shows where a change comes from.",
    ),
    (
        "sweep",
        "domio compare SCENARIO --set KEY=VALUE --set KEY=VALUE shows who gains and who pays \
         between two cells.",
    ),
    (
        "explain",
        "domio compare SCENARIO --set KEY=VALUE tries a cure; \
         domio scenario from-trace TRACE makes a scenario of a trace first.",
    ),
    (
        "mon",
        "domio explain SCENARIO|TRACE shows behind whom a domain waited, and why.",
    ),
    (
        "advise",
        "domio compare SCENARIO --set KEY=VALUE shows all that a setting changes.",
    ),
    (
        "calibrate",
        "domio mon SCENARIO charges driver domains' work by the measured weights.",
    ),
    (
        "alert",
        "domio trace summary FILE and domio explain FILE read the trace of --trace.",
    ),
    (
        "dom0-share",
        "domio compare SCENARIO --set domain.NAME.weight=NUMBER shows who pays for a setting.",
    ),
    (
        "results",
        "domio results diff shows which figures another version of the program changed.",
    ),
    (
        "trace",
        "domio explain TRACE shows behind whom vcpus waited; \
         domio scenario from-trace TRACE makes a scenario of the trace.",
    ),
    ("validate", "domio explain TRACE looks into one recording."),
    (
        "policy",
        "domio compare SCENARIO --policy NAME --policy OTHER compares two policies.",
    ),
    (
        "controller",
        "domio run debt-collector simulates a host with a controller.",
    ),
    (
        "elevator",
        "domio elevator replay SCRIPT --elevator NAME runs the requests under another elevator.",
    ),
    (
        "new",
        "domio compare scenario.toml --policy NAME --policy credit, with the new program, \
         compares the policy with another one.",
    ),
    ("scenario", "domio run FILE simulates a scenario."),
];

/// The whole flag table, with groups, letters and next steps.
pub fn command() -> Command {
    dressed(Cli::command(), &[])
}

/// Dresses a command that is reached by way of `above`, and those below.
fn dressed(command: Command, above: &[String]) -> Command {
    let own = |arg: &&Arg| !arg.is_positional() && !arg.is_global_set();
    let grouped = command.get_arguments().filter(own).count() >= MANY;
    let has_output = command
        .get_arguments()
        .any(|arg| arg.get_long() == Some("output"));
    let mut path = above.to_vec();
    path.push(command.get_name().to_owned());
    let text = closing(&command, &path);
    let command = command
        .mut_args(|arg| lettered(arg, grouped, has_output))
        .mut_subcommands(|below| dressed(below, &path));
    match text {
        Some(text) => command.after_long_help(text),
        None => command,
    }
}

fn lettered(mut arg: Arg, grouped: bool, has_output: bool) -> Arg {
    let Some(long) = arg.get_long().map(str::to_owned) else {
        return arg;
    };
    let letter = LETTERS.iter().find(|(name, _)| *name == long);
    if let Some((_, letter)) = letter.filter(|(name, _)| *name != "report" || !has_output) {
        arg = arg.short(*letter);
    }
    let group = GROUPS.iter().find(|(_, names)| names.contains(&&*long));
    match group.filter(|_| grouped && !arg.is_global_set()) {
        Some((heading, _)) => arg.help_heading(*heading),
        None => arg,
    }
}

/// What stands below a page's options: the examples, the text and the next step.
fn closing(command: &Command, path: &[String]) -> Option<String> {
    let text = command.get_after_long_help()?.to_string();
    let named = |name: &&String| NEXT.iter().find(|(of, _)| of == *name);
    let next = path.iter().rev().find_map(|name| named(&name));
    // Completions, manual pages and schemas lead nowhere but to what they print.
    let next = next.filter(|(of, _)| *of != "domio" || path.len() == 1);
    let next = next.map_or(String::new(), |(_, step)| format!("\n\nNext: {step}"));
    Some(format!("{}{next}", paragraphs(&text)))
}

/// The text with each paragraph on a line of its own, which help wraps at the terminal's width.
/// Lines that are indented, and what leads to them, stay lines.
fn paragraphs(text: &str) -> String {
    let mut joined = String::new();
    let mut flows = false;
    for line in text.lines() {
        let runs = !line.is_empty() && !line.starts_with(' ');
        if !joined.is_empty() {
            joined.push(if flows && runs { ' ' } else { '\n' });
        }
        joined.push_str(line);
        flows = runs && !line.ends_with(':');
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::every_command;

    #[test]
    fn paragraphs_flow_and_examples_stand() {
        let text = "Examples:\n  domio a\n  domio b\n\nOne two\nthree.\n\nFour";
        let flowing = "Examples:\n  domio a\n  domio b\n\nOne two three.\n\nFour";
        assert_eq!(paragraphs(text), flowing);
    }

    /// A group or a letter whose option went is a line to remove.
    #[test]
    fn tables_name_options_that_there_are() {
        let mut longs = Vec::new();
        every_command(&command(), &mut |command| {
            let args = command.get_arguments().filter_map(Arg::get_long);
            longs.extend(args.map(str::to_owned));
        });
        let listed = GROUPS.iter().flat_map(|(_, names)| names.iter());
        for name in listed.chain(LETTERS.iter().map(|(name, _)| name)) {
            assert!(longs.iter().any(|long| long == name), "--{name}");
        }
    }

    /// Every page ends with a step that can be taken, but for what prints a file to keep.
    #[test]
    fn pages_name_the_next_step() {
        let root = command();
        let known = |name: &str| root.get_subcommands().any(|c| c.get_name() == name);
        every_command(&root, &mut |command| {
            let name = command.get_name();
            let text = command.get_after_long_help().map(ToString::to_string);
            let text = text.unwrap_or_default();
            if ["schema", "completions", "man"].contains(&name) && !text.contains("Next: ") {
                return;
            }
            let (_, next) = text.split_once("Next: ").expect(name);
            let mut steps = next.split("domio ").skip(1).peekable();
            assert!(steps.peek().is_some(), "{name}: {next}");
            for step in steps {
                let first = step.split(' ').next().unwrap_or_default();
                assert!(known(first) || first == "help", "{name}: {step}");
            }
        });
    }

    /// A terminal of 80 columns shows whole lines.
    #[test]
    fn pages_fit_a_terminal() {
        every_command(&command(), &mut |command| {
            let page = command
                .clone()
                .term_width(80)
                .render_long_help()
                .to_string();
            for line in page.lines().filter(|line| !line.contains("  domio ")) {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
        });
    }
}
