//! Finds texts of a picture that leave it or that lie over one another, for tests.

use super::letters::{SMALL, TITLE, text_width};

/// A text and the rectangle that it takes, by an estimate of its width.
#[derive(Clone, Debug)]
struct Text {
    text: String,
    x: [f64; 2],
    y: [f64; 2],
}

/// What is wrong with the texts of the picture `svg`.
pub fn faults(svg: &str, width: f64, height: f64) -> Vec<String> {
    let texts = texts(svg);
    let mut faults = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        let inside = text.x[0] >= -0.5
            && text.x[1] <= width + 0.5
            && text.y[0] >= -2.0
            && text.y[1] <= height + 0.5;
        if !inside {
            faults.push(format!(
                "\"{}\" is outside, {:?} {:?}",
                text.text, text.x, text.y
            ));
        }
        let touches = |a: [f64; 2], b: [f64; 2]| a[0] < b[1] - 0.5 && b[0] < a[1] - 0.5;
        for other in &texts[i + 1..] {
            if touches(text.x, other.x) && touches(text.y, other.y) {
                faults.push(format!("\"{}\" is over \"{}\"", text.text, other.text));
            }
        }
    }
    faults
}

fn texts(svg: &str) -> Vec<Text> {
    let attribute = |tag: &str, name: &str| -> Option<String> {
        let rest = tag.split_once(&format!(" {name}=\""))?.1;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let mut texts = Vec::new();
    for part in svg.split("<text").skip(1) {
        let (tag, rest) = part.split_once('>').expect("a whole tag");
        let (content, _) = rest.split_once("</text>").expect("a whole text");
        // The tip is not shown.
        let shown = content
            .split_once("</title>")
            .map_or(content, |(_, shown)| shown);
        let shown = shown
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&");
        if shown.is_empty() {
            continue;
        }
        let number = |name: &str| -> f64 {
            let text = attribute(tag, name).expect("a place");
            text.parse().expect("a number")
        };
        let class = attribute(tag, "class").unwrap_or_default();
        let is = |word: &str| class.split(' ').any(|w| w == word);
        let large = is("title") || is("name") || is("heading");
        let size = if large { TITLE } else { SMALL };
        let (x, y) = (number("x"), number("y"));
        let width = text_width(&shown, size);
        let from = match () {
            () if is("end") => x - width,
            () if is("middle") => x - width / 2.0,
            () => x,
        };
        texts.push(Text {
            text: shown,
            x: [from, from + width],
            y: [y - size * 0.75, y + size * 0.22],
        });
    }
    texts
}

#[test]
fn faults_are_found() {
    let text = |class: &str, x: u32, text: &str| {
        format!("<text class=\"{class}\" x=\"{x}\" y=\"20\">{text}</text>")
    };
    assert!(faults(&text("start", 0, "ten"), 50.0, 30.0).is_empty());
    assert_eq!(faults(&text("end", 5, "ten"), 50.0, 30.0).len(), 1);
    assert_eq!(
        faults(&text("middle", 48, "<title>t</title>ten"), 50.0, 30.0).len(),
        1
    );
    assert_eq!(faults(&text("start", 0, "ten"), 50.0, 20.0).len(), 1);
    let two = text("start", 0, "ten") + &text("start", 10, "eleven");
    assert_eq!(faults(&two, 100.0, 30.0).len(), 1);
}
