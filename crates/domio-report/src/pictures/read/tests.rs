//! What is read of files of figures, and how mistakes in them are told.

use super::*;

const HEAD: &str = "\
[[figure]]
id = \"a\"
number = \"Figure 1\"
title = \"t\"
caption = \"c\"
experiments = \"x.y\"
";

/// Asserts that a mistake in `line` of `text` says `part`.
#[track_caller]
fn told(text: &str, line: usize, part: &str) {
    let told = read("p", text).expect_err(text).to_string();
    let at = format!("papers/p/figures.toml:{line}:");
    let is = |told: &str| told.starts_with(&at) && told.contains(part);
    assert!(told.lines().any(is), "{line}: {part}\n{told}");
}

#[test]
fn patterns_stand_for_names() {
    let text = format!(
        "sets = {{ c = [\"orig\", \"tb\"], n = \"2..3\" }}\n{}{}",
        HEAD.replace("x.y", "o.{c}"),
        "kind = \"bars\"\nvalue = { name = \"v\" }\nvalues = [\"g{n}.v\", \"dom0.v\"]\n\
         sets = { n = \"1..2\" }\npublished = [{ at = [\"g1\", \"dom0\"], value = 3 }]\n"
    );
    let figures = read("p", &text).unwrap().figures;
    let keys = |list: &[Member]| -> Vec<(String, String)> {
        list.iter()
            .map(|m| (m.key.clone(), m.name.clone()))
            .collect()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let experiments = keys(&figures[0].experiments);
    assert_eq!(experiments, [pair("o.orig", "orig"), pair("o.tb", "tb")]);
    let Drawing::Bars(plot) = &figures[0].drawing else {
        panic!("no bars");
    };
    let values = keys(&plot.values);
    assert_eq!(
        values,
        [
            pair("g1.v", "g1"),
            pair("g2.v", "g2"),
            pair("dom0.v", "dom0")
        ]
    );
    assert_eq!(plot.published[0].text, "3");
    assert_eq!(plot.axis.log, None);
}

#[test]
fn mistakes_have_their_line_and_a_hint() {
    let bars = "kind = \"bars\"\nvalue = { name = \"v\" }\n";
    for (rest, line, part) in [
        (
            "kind = \"pie\"\n",
            7,
            "there is no kind `pie`; expected one of: panels",
        ),
        (
            "kind = \"bars\"\nvalue = { name = \"v\" }\n",
            7,
            "expected `values` of a figure of kind \"bars\"",
        ),
        (
            "kind = \"cdf\"\nlist = \"l\"\npanels = [\"p\"]\n",
            9,
            "has no `panels`; expected one of: value",
        ),
        (
            "kind = \"panels\"\npanels = [\"p\"]\n",
            8,
            "no panel is called \"p\"",
        ),
        (
            "colour = \"red\"\n",
            7,
            "unknown key `colour` in [[figure]]",
        ),
        (
            &format!("{bars}values = \"g{{m}}.v\"\n"),
            9,
            "no set is called \"m\"",
        ),
        (
            &format!("{bars}values = \"g{{7..1}}.v\"\n"),
            9,
            "not a range",
        ),
        (&format!("{bars}values = \"g{{m\"\n"), 9, "not closed"),
        (
            &format!("{bars}values = \"g.v\"\npublished = [{{ at = \"h\", value = 1 }}]\n"),
            10,
            "\"h\" is not in the figure; expected one of: g",
        ),
        (
            &format!("{bars}values = \"g.v\"\npublished = [{{ of = \"z\", value = 1 }}]\n"),
            10,
            "there is no bar \"z\"",
        ),
        (
            &format!("{bars}values = \"g.v\"\nnames = [\"a\", \"b\"]\n"),
            10,
            "2 names for 1 values",
        ),
        (
            "kind = \"lines\"\nvalue = { name = \"v\" }\nvalues = \"g{1..2}.v\"\n\
             along = { name = \"x\", at = [1] }\n",
            10,
            "1 places for 2 points",
        ),
    ] {
        told(&format!("{HEAD}{rest}"), line, part);
    }
    told("", 1, "there is no [[figure]]");
    told("[[figure]\n", 1, "");
    let twice = format!("{HEAD}{bars}values = \"g.v\"\n").repeat(2);
    told(&twice, 11, "two figures are called \"a\"");
    let id = HEAD.replace("\"a\"", "\"A b\"") + bars;
    told(&id, 2, "lower-case");
}

#[test]
fn panels_are_checked() {
    let panel = "[panels.p]\nname = \"n\"\nmean = { name = \"m\", value = \"v\" }\n";
    let text = |panel: &str, rest: &str| {
        format!("{panel}{HEAD}kind = \"panels\"\npanels = [\"p\"]\n{rest}")
    };
    assert!(read("p", &text(panel, "")).is_ok());
    let range = format!("{panel}range = {{ name = \"r\", low = \"l\" }}\n");
    told(&text(&range, ""), 4, "`low` and `high`");
    let published = "published = [{ at = \"y\", value = 1 }]\n";
    told(
        &text(panel, published),
        12,
        "expected `panel` with one of: p",
    );
    let alone = panel.replace("value = \"v\"", "value = \"v\", deviation = \"d\"");
    told(&text(&alone, ""), 3, "needs the `count`");
}
