//! Words that a key takes, what is said of others, and what a name looks like.

use crate::amount::MAX_TIME;
use crate::parts::Parts;
use domio_core::Duration;
use domio_core::keys::Words;

/// The words, in the order in which lists show them.
pub(crate) fn all(words: Words, parts: &Parts) -> Vec<&'static str> {
    parts.words(words).iter().map(|v| v.word).collect()
}

/// What one of the words is called, unless the key says so.
pub(crate) const fn noun(words: Words) -> Option<&'static str> {
    match words {
        Words::Policies => Some("policy"),
        Words::Profiles => Some("hardware profile"),
        Words::Releases => Some("release of Xen"),
        Words::Controllers => Some("controller"),
        Words::Elevators => Some("elevator"),
        Words::Workloads | Words::Of(_) => None,
    }
}

/// What to say of a word that exists elsewhere, but is not modelled.
pub(crate) fn not_there(words: Words, word: &str) -> Option<String> {
    match words {
        Words::Policies => crate::suggest::unmodelled_policy(word),
        Words::Releases => {
            let release = word.rsplit_once('.').map_or(word, |(major, _)| major);
            let number = |text: &str| text.parse::<u32>().is_ok();
            (number(release) && release.len() == 1 || word.starts_with("4."))
                .then(|| "releases from 2.0 to 4.20 are modelled; take the nearest".to_owned())
        }
        Words::Profiles
        | Words::Controllers
        | Words::Elevators
        | Words::Workloads
        | Words::Of(_) => None,
    }
}

/// Where to find out what the words mean, if there is such a place.
pub(crate) fn hint(words: Words) -> Option<String> {
    let place = match words {
        Words::Policies => "policy",
        Words::Controllers => "controller",
        Words::Elevators => "elevator",
        Words::Profiles | Words::Releases | Words::Workloads | Words::Of(_) => return None,
    };
    Some(format!("`domio {place} list` says what each of them is"))
}

/// Longest name, in characters.
pub(crate) const MAX_NAME: usize = 64;

/// What a name looks like, for people.
pub(crate) const NAME_RULE: &str = "1 to 64 letters, digits, `_`, `-`, `.` or `+`";

/// The rule of names as a regular expression.
pub(crate) const NAME_PATTERN: &str = "^[A-Za-z0-9_.+-]{1,64}$";

/// Whether `text` is a name.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-.+".contains(&b))
}

/// The range of a time that is at least `min_ns` nanoseconds, for people.
pub(crate) fn time_range(min_ns: u64) -> String {
    match min_ns {
        0 => format!("0 to {MAX_TIME}"),
        1 => format!("over 0, up to {MAX_TIME}"),
        _ => format!("{} to {MAX_TIME}", Duration::from_nanos(min_ns)),
    }
}
