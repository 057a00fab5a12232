//! What keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// End the program.
    Quit,
    /// Show or hide the keys.
    Help,
    /// Hide the keys, if they are shown.
    Close,
    /// Between the host and one pcpu.
    Scope,
    /// By so many pcpus.
    Pcpu(i32),
    /// Stand still, or go with the time.
    Pause,
    /// By so many samples, into the past if negative.
    Step(i64),
    /// To the oldest sample that is kept.
    Oldest,
    /// To the latest one, and go with the time.
    Latest,
    /// By so many columns.
    Sort(i32),
    /// The other way round.
    Reverse,
    /// By so many rows.
    Select(i32),
    /// Show or hide the vcpus of the selected domain.
    Open,
    /// Show or hide the vcpus of all domains.
    OpenAll,
}

/// What the help says: keys, and what they do. xenmon's are the first ones.
pub const KEYS: [(&str, &str); 14] = [
    ("q", "quit"),
    ("c", "the host, or one pcpu after the other"),
    ("n p", "next, previous pcpu"),
    ("h ?", "show or hide this"),
    ("space", "pause, or continue"),
    ("left right", "one sample back, forth"),
    ("PgUp PgDn", "ten samples back, forth"),
    ("Home End", "the oldest sample that is kept, the latest"),
    ("s S", "sort by the next, previous column"),
    ("r", "the other way round"),
    ("up down", "select a domain"),
    ("Enter", "its vcpus"),
    ("e", "the vcpus of all domains"),
    ("Ctrl-C", "quit"),
];

/// What `key` asks for.
pub fn action(key: &KeyEvent) -> Option<Action> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Action::Quit);
    }
    Some(match key.code {
        KeyCode::Char('q') => Action::Quit,
        KeyCode::Char('h' | '?') => Action::Help,
        KeyCode::Esc => Action::Close,
        KeyCode::Char('c') => Action::Scope,
        KeyCode::Char('n') => Action::Pcpu(1),
        KeyCode::Char('p') => Action::Pcpu(-1),
        KeyCode::Char(' ') => Action::Pause,
        KeyCode::Left => Action::Step(-1),
        KeyCode::Right => Action::Step(1),
        KeyCode::PageUp => Action::Step(-10),
        KeyCode::PageDown => Action::Step(10),
        KeyCode::Home => Action::Oldest,
        KeyCode::End => Action::Latest,
        KeyCode::Char('s') => Action::Sort(1),
        KeyCode::Char('S') => Action::Sort(-1),
        KeyCode::Char('r') => Action::Reverse,
        KeyCode::Up => Action::Select(-1),
        KeyCode::Down => Action::Select(1),
        KeyCode::Enter => Action::Open,
        KeyCode::Char('e') => Action::OpenAll,
        _ => return None,
    })
}
