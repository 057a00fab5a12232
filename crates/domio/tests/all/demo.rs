//! `domio demo` and `domio` alone: the first minutes of a new user.

use crate::common::{domio, folder};
use predicates::str::{contains, starts_with};

/// Lines that a small terminal shows.
const SCREEN: usize = 40;

#[test]
fn the_demo_is_one_screen_and_a_page() {
    let folder = folder();
    let shown = domio(&folder)
        .arg("demo")
        .env("COLUMNS", "100")
        .assert()
        .success()
        .stdout(starts_with("1. Another scheduler: who gains, who pays\n"))
        .stdout(contains("gains web: wake to run"))
        .stdout(contains("web.0 waited"))
        .stdout(contains("11 of 11 recordings agree"))
        .stdout(contains("The claim holds."))
        .stderr("wrote out/demo.html\n");
    let text = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
    assert!(text.lines().count() <= SCREEN, "{text}");
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{text}");
    let page = std::fs::read_to_string(folder.path().join("out/demo.html")).unwrap();
    assert!(page.contains("Why its web server waits") && page.ends_with("</html>"));
}

/// What the demo says can be repeated: each command that it shows is one.
#[test]
fn commands_of_the_demo_are_commands() {
    let folder = folder();
    let shown = domio(&folder).arg("demo").assert().success();
    let text = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
    let commands = text
        .lines()
        .filter_map(|line| line.strip_prefix("   $ domio "));
    let commands: Vec<&str> = commands.filter(|line| !line.contains("TRACE")).collect();
    assert_eq!(commands.len(), 4, "{text}");
    for command in commands {
        let words = command.split_whitespace();
        domio(&folder).args(words).assert().success();
    }
}

#[test]
fn domio_alone_says_where_to_start() {
    let folder = folder();
    let shown = domio(&folder).assert().success();
    let text = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
    assert!(text.contains("Start here: domio demo"), "{text}");
    assert!(text.lines().count() <= 15, "{text}");
}
