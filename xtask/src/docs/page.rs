//! The commands of one page of documentation.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

/// A page's commands, in order.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// Those that are to be run.
    pub commands: Vec<Command>,
}

/// One command.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    /// Line of the page on which it starts, from 1.
    pub line: usize,
    /// What to give to the shell.
    pub text: String,
    /// Lines of output that the page shows.
    pub expected: Vec<String>,
    /// Line of the page on which that output starts, from 1.
    pub output_line: usize,
}

impl Page {
    /// Finds the commands in a page's text.
    ///
    /// # Errors
    /// Lines and what is wrong there: output before any command, or a block that is left out
    /// without a reason.
    pub fn parse(text: &str) -> Result<Page, Vec<(usize, String)>> {
        let lines: Vec<&str> = text.lines().collect();
        let mut page = Page {
            commands: Vec::new(),
        };
        let mut problems = Vec::new();
        for (event, range) in Parser::new(text).into_offset_iter() {
            let Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) = event else {
                continue;
            };
            let fence = text[..range.start].matches('\n').count();
            let mut words = info.split_whitespace();
            let language = words.next().unwrap_or_default();
            if !["console", "sh", "bash", "shell"].contains(&language) {
                continue;
            }
            let end = fence + text[range].trim_end().lines().count() - 1;
            let body = &lines[fence + 1..end.max(fence + 1)];
            if words.next() == Some("no-run") {
                if !has_reason(&lines[..fence]) {
                    let problem = "say why on the line above: <!-- no-run: reason -->";
                    problems.push((fence + 1, problem.to_string()));
                }
            } else if language == "console" {
                page.console(fence + 2, body, &mut problems);
            } else {
                page.commands.push(Command {
                    line: fence + 2,
                    text: body.join("\n"),
                    expected: Vec::new(),
                    output_line: end + 1,
                });
            }
        }
        if problems.is_empty() {
            Ok(page)
        } else {
            Err(problems)
        }
    }

    /// Takes the commands of a `console` block whose body starts on line `first`.
    fn console(&mut self, first: usize, body: &[&str], problems: &mut Vec<(usize, String)>) {
        let before = self.commands.len();
        for (line, text) in (first..).zip(body) {
            if let Some(command) = text.strip_prefix("$ ") {
                self.commands.push(Command {
                    line,
                    text: command.to_string(),
                    expected: Vec::new(),
                    output_line: line + 1,
                });
                continue;
            }
            match self.commands[before..].last_mut() {
                None => {
                    let problem = "a console block starts with a command after \"$ \"";
                    problems.push((line, problem.to_string()));
                    return;
                }
                Some(command) => match text.strip_prefix("> ") {
                    Some(more) if command.expected.is_empty() => {
                        command.text += "\n";
                        command.text += more;
                        command.output_line = line + 1;
                    }
                    _ => command.expected.push(text.to_string()),
                },
            }
        }
        // An empty line before the next command only sets it apart.
        for command in &mut self.commands[before..] {
            while command.expected.last().is_some_and(String::is_empty) {
                command.expected.pop();
            }
        }
    }
}

/// Whether the last line with text gives the reason for leaving the next block out.
fn has_reason(above: &[&str]) -> bool {
    let last = above.iter().rev().find(|line| !line.trim().is_empty());
    let reason = last.and_then(|line| {
        line.trim()
            .strip_prefix("<!-- no-run: ")?
            .strip_suffix("-->")
    });
    reason.is_some_and(|reason| !reason.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_come_with_their_place_and_output() {
        let text = "# T\n\n```console\n$ a \\\n> b\nx\n\ny\n\n$ c\n```\n\n```toml\n$ no\n```\n\
                    \n```sh\nd\ne\n```\n";
        let page = Page::parse(text).unwrap();
        let found: Vec<_> = page
            .commands
            .iter()
            .map(|c| (c.line, &*c.text, c.expected.join("|"), c.output_line))
            .collect();
        assert_eq!(
            found,
            [
                (4, "a \\\nb", "x||y".to_string(), 6),
                (10, "c", String::new(), 11),
                (18, "d\ne", String::new(), 20),
            ]
        );
    }

    #[test]
    fn a_block_is_left_out_only_with_a_reason() {
        let block = "```console no-run\n$ xentrace\n```\n";
        let with = format!("<!-- no-run: needs Xen -->\n{block}");
        assert_eq!(Page::parse(&with).unwrap().commands, []);
        for above in ["", "<!-- no-run: -->\n", "Text.\n"] {
            assert!(Page::parse(&format!("{above}{block}")).is_err(), "{above}");
        }
    }

    #[test]
    fn output_without_a_command_is_a_problem() {
        assert_eq!(Page::parse("```console\nx\n```\n").unwrap_err()[0].0, 2);
    }
}
