//! Every command has examples, and they are right.

use super::*;

#[test]
fn the_table_is_consistent() {
    command().debug_assert();
}

pub(super) fn every_command(command: &clap::Command, visit: &mut impl FnMut(&clap::Command)) {
    visit(command);
    command
        .get_subcommands()
        .for_each(|c| every_command(c, visit));
}

#[test]
pub(super) fn every_command_has_examples() {
    every_command(&command(), &mut |command| {
        let text = command.get_after_long_help().map(ToString::to_string);
        let text = text.unwrap_or_default();
        let examples = text.lines().filter(|l| l.starts_with("  domio ")).count();
        let name = command.get_name();
        assert!((2..=3).contains(&examples), "{name} has {examples}");
    });
}

#[test]
fn every_example_parses() {
    every_command(&command(), &mut |command| {
        let text = command.get_after_long_help().map(ToString::to_string);
        for line in text.unwrap_or_default().lines() {
            let Some(words) = line.strip_prefix("  domio ") else {
                continue;
            };
            let words = words_of(words);
            let words = words.iter().map(String::as_str);
            let words = words.take_while(|w| !["|", ">"].contains(w));
            let parsed =
                super::command().try_get_matches_from(std::iter::once("domio").chain(words));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    });
}

/// The words of a line, as a shell has them; a word in single quotes may have spaces.
fn words_of(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("a word").push(c),
        }
    }
    words
}
