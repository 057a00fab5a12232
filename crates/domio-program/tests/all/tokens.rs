//! Comments are told from literals, and tests from code.

use domio_program::code::SourceCode;

fn tokens(text: &str) -> String {
    SourceCode::of(text).tokens.join(" ")
}

#[test]
fn comments_and_spaces_are_no_tokens() {
    let code =
        "/// Doc.\n//! Inner.\nfn /* a /* nested */ one */ f(x: &'a u8)->u8{ x+/* */1 }//end";
    assert_eq!(tokens(code), "fn f ( x : & 'a u8 ) -> u8 { x + 1 }");
    assert_eq!(tokens("a && b"), "a && b");
    assert_ne!(tokens("a && b"), tokens("a & &b"));
    assert_ne!(tokens("ab"), tokens("a b"));
}

#[test]
fn literals_are_whole() {
    for literal in [
        r#""a // no comment""#,
        r#""\" /* none */ \\""#,
        r###"r#"one " // two"#"###,
        r##"br#"x"#"##,
        r#"r"\""#,
        "b'\\''",
        "b'x'",
        "'\"'",
        "'\\''",
        "'/'",
        "'\u{e9}'",
        "\"\u{e9} // \"",
        "c\"x\"",
        "0x1F_u8",
    ] {
        let text = format!("f({literal}, 'a, x) // end");
        let expected = ["f", "(", literal, ",", "'a", ",", "x", ")"];
        assert_eq!(SourceCode::of(&text).tokens, expected);
    }
    assert_eq!(tokens("r#type + r"), "r # type + r");
}

#[test]
fn items_of_tests_are_left_out() {
    for test in [
        "mod tests { fn f() { \"}\"; } }",
        "mod tests;",
        "use a::{b, c};",
        "pub(crate) const X: [u8; 2] = { [1, 2] };",
        "const fn f() {}",
        "#[derive(Debug)] struct S { x: u8 }",
        "fn f<T, U>(x: [u8; 3]) -> u8 { 1 }",
    ] {
        let text = format!("fn a() {{}} #[cfg(test)]\n{test}\nfn b() {{}}");
        assert_eq!(tokens(&text), "fn a ( ) { } fn b ( ) { }", "{test}");
    }
    let text = "#[cfg(test)] mod tests; #[cfg(test)] mod inside {} #[cfg(test)] mod more;";
    assert_eq!(SourceCode::of(text).test_modules, ["tests", "more"]);
}

#[test]
fn what_is_not_seen_through_counts() {
    let all = [
        "#[cfg(not(test))] fn f() {}",
        "#[cfg(any(test, unix))] fn f() {}",
        "struct S { #[cfg(test)] x: u8 }",
        "#[cfg(test)]",
        "\"open",
        "/ 'x",
    ];
    for text in all {
        let written: String = text.split_whitespace().collect();
        assert_eq!(SourceCode::of(text).tokens.concat(), written, "{text}");
    }
    assert_eq!(tokens("/* open"), "");
}
