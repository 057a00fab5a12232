//! Scripts that are wrong are refused with the line, and none ends in a panic.

use domio_blk::elevator::elevators;
use domio_blk::replay::{IoScript, replay};
use std::fs;
use std::path::Path;

fn refused(text: &str) -> String {
    IoScript::read(text, elevators(), None)
        .unwrap_err()
        .to_string()
}

#[test]
fn what_is_wrong_is_told_with_the_line() {
    let head = "set elevator cfq\n";
    for (line, told) in [
        (
            "set elevator lift",
            "line 2: no elevator `lift`; there are noop, deadline, anticipatory, cfq, none, \
             mq-deadline, kyber, bfq, lease",
        ),
        (
            "set hz 300",
            "line 2: hz is `300`; expected 100, 250 or 1000",
        ),
        (
            "set depth 0",
            "line 2: `0` is no whole number from 1 to 1000000",
        ),
        ("set depth", "line 2: expected `set NAME VALUE`"),
        (
            "set speed 3",
            "line 2: there is nothing called `speed` to set",
        ),
        (
            "set iosched.quantum 0",
            "line 2: cfq: `quantum`: quantum must be 1 to 1000000",
        ),
        (
            "set iosched.antic_expire 1",
            "line 2: cfq: `antic_expire`: no parameter of that name",
        ),
        ("proc 1 be 8", "line 2: `8` is no whole number from 0 to 7"),
        ("proc 1 none 20", "line 2: nice is `20`; expected -20 to 19"),
        ("0 1 Q sync 0 8", "line 2: `Q` is neither R, W nor X"),
        (
            "0 1 R later 0 8",
            "line 2: `later` is neither sync nor async",
        ),
        (
            "0 1 R sync 0 0",
            "line 2: `0` is no whole number from 1 to 65536",
        ),
        (
            "0 1 R sync 0 8 big",
            "line 2: only `meta` can follow the sectors",
        ),
        (
            "-1 1 R sync 0 8",
            "line 2: `-1` is no whole number from 0 to 10000000000",
        ),
        (
            "0 1 R",
            "line 2: expected `TIME PID R|W sync|async SECTOR NR [meta]` or `TIME PID X`",
        ),
    ] {
        assert_eq!(refused(&format!("{head}{line}\n")), told, "{line}");
    }
    assert_eq!(refused("0 1 R sync 0 8\n"), "no `set elevator NAME`");
}

#[test]
fn a_process_number_is_used_again_after_an_exit() {
    let text = "set elevator cfq\n0 1 R sync 0 8\n+5 1 X\n+5 1 R sync 800 8\n";
    let mut answer = String::new();
    replay(
        &IoScript::read(text, elevators(), None).unwrap(),
        &mut answer,
    )
    .unwrap();
    let expected = "0 submit 1 1 RS 0 8\n0 dispatch 1 RS 0 8 1\n0 complete 1\n5 exit 1\n\
                    10 submit 3 1 RS 800 8\n10 dispatch 3 RS 800 8 3\n10 complete 3\n";
    assert_eq!(answer, expected);
}

/// Words of one recording in the places of words of another.
#[test]
fn damaged_scripts_are_refused_or_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/elevators");
    let mut texts = Vec::new();
    for case in [
        "cfq/21-idle-class",
        "anticipatory/14-exits",
        "cfq/10-merges",
        "noop/13-full-queue",
    ] {
        texts.push(fs::read_to_string(root.join(case).with_extension("in")).unwrap());
    }
    let words: Vec<&str> = texts.iter().flat_map(|t| t.split_whitespace()).collect();
    let mut state = 1u64;
    let mut chance = move |of: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % of
    };
    let elevators = elevators();
    let (mut ran, mut refused) = (0, 0);
    for round in 0..400 {
        let mut lines: Vec<Vec<&str>> = texts[round % texts.len()]
            .lines()
            .filter(|line| !line.contains("iosched"))
            .map(|line| line.split_whitespace().collect())
            .collect();
        for _ in 0..1 + chance(4) {
            let at = chance(lines.len());
            let place = chance(lines[at].len());
            lines[at][place] = words[chance(words.len())];
        }
        // Sectors of one line again in another: starts that are the same, pieces that touch.
        for _ in 0..200 {
            let (from, to) = (chance(lines.len()), chance(lines.len()));
            if let (Some(sector), true) = (lines[from].get(4).copied(), lines[to].len() > 4) {
                lines[to][4] = sector;
            }
        }
        let text: Vec<String> = lines.iter().map(|words| words.join(" ")).collect();
        match IoScript::read(
            &text.join("\n"),
            elevators,
            Some(elevators[chance(elevators.len())]),
        ) {
            Ok(script) => {
                let mut answer = String::new();
                replay(&script, &mut answer).unwrap();
                ran += 1;
            }
            Err(error) => {
                assert!(error.line > 0, "{error}");
                refused += 1;
            }
        }
    }
    assert!(
        ran > 50 && refused > 50,
        "{ran} ran, {refused} were refused"
    );
}
