//! Configurations of `xl` (xl.cfg(5)): one guest a file.

use super::cpus::cpus;
use super::{Guest, ImportError, ImportFiles, ImportPlace, Kind, Told, at, vcpus};
use std::collections::BTreeMap;

/// Keys that such a file has, of which two tell.
const KEYS: [&str; 22] = [
    "name",
    "vcpus",
    "maxvcpus",
    "cpus",
    "cpus_soft",
    "cpu_weight",
    "cap",
    "memory",
    "maxmem",
    "vif",
    "disk",
    "kernel",
    "ramdisk",
    "builder",
    "type",
    "bootloader",
    "extra",
    "root",
    "uuid",
    "pool",
    "on_crash",
    "vnc",
];

/// Keys for which the scenario has a place that the file does not fill.
const NEAREST: [(&str, &str); 3] = [
    ("vif", "`vif` of the domain"),
    ("disk", "`disk` of the domain"),
    ("pool", "a [[pool]]"),
];

/// Lists in lists that are read.
const DEPTH: usize = 8;

/// A value of such a file.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Value {
    /// A string or a number, as it is written without quotes.
    Word(String),
    List(Vec<Value>),
}

/// Whether `text` is such a file.
pub(super) fn is_config(text: &str) -> bool {
    let keys = text.lines().filter_map(|line| line.split_once('='));
    let known = keys.filter(|(key, value)| {
        KEYS.contains(&key.trim_end_matches('+').trim()) && !value.starts_with('=')
    });
    known.count() >= 2
}

pub(super) fn read(files: &mut ImportFiles, text: &str, file: &str) -> Result<(), ImportError> {
    let mut reader = Reader {
        rest: text,
        line: 1,
        file,
    };
    let mut entries: BTreeMap<String, (Value, ImportPlace)> = BTreeMap::new();
    let mut unread = Vec::new();
    while let Some(entry) = reader.entry()? {
        match entry {
            Entry::Assigned {
                key,
                value,
                place,
                adds,
            } => {
                let value = match (entries.remove(&key), value) {
                    (Some((Value::List(mut all), _)), Value::List(more)) if adds => {
                        all.extend(more);
                        Value::List(all)
                    }
                    (_, value) => value,
                };
                entries.insert(key, (value, place));
            }
            Entry::Other(place) => unread.push(place),
        }
    }
    if let Some(place) = unread.first() {
        let what = format!("{} lines that are no `key = value`", unread.len());
        files.leave_out(what, place);
    }
    let mut take = |key: &str| entries.remove(key);
    let (name, place) = match take("name") {
        Some((Value::Word(name), place)) if !name.is_empty() => (name, place),
        Some((_, place)) => {
            return Err(ImportError::wrong(
                &place,
                "name",
                "the name of a guest in quotes",
            ));
        }
        None => {
            let first = text.lines().next().unwrap_or_default();
            return Err(ImportError::wrong(
                &at(file, 1),
                first,
                "`name = \"...\"` in the file",
            ));
        }
    };
    files.is_of(Kind::Xen, &place)?;
    let mut guest = files.guest(&name, &place).clone();
    if let Some((value, place)) = take("vcpus") {
        guest.vcpus = Some(vcpus(&word(&value, &place)?, &place)?);
    }
    for (theirs, ours, range) in [
        ("cpu_weight", "weight", (1, 65_535)),
        ("cap", "cap", (0, 25_600)),
    ] {
        if let Some((value, place)) = take(theirs) {
            let n = super::number(&word(&value, &place)?, range, theirs, &place)?;
            guest.set(ours, n, &place);
        }
    }
    if let Some((value, place)) = take("maxvcpus") {
        let most = vcpus(&word(&value, &place)?, &place)?;
        match &guest.vcpus {
            None => guest.vcpus = Some(most),
            Some(now) if now.value != most.value => {
                let what = format!("maxvcpus of {name}: vcpus stay as many as `vcpus` has");
                files.leave_out(what, &place);
            }
            Some(_) => {}
        }
    }
    for key in ["cpus", "cpus_soft"] {
        if let Some((value, place)) = take(key) {
            affinity(files, &mut guest, key == "cpus", &value, &place)?;
        }
    }
    *files.guest(&name, &place) = guest;
    left_out(files, &name, entries);
    Ok(())
}

/// What the scenario has no place for.
fn left_out(files: &mut ImportFiles, name: &str, entries: BTreeMap<String, (Value, ImportPlace)>) {
    let mut others: Vec<(String, ImportPlace)> = Vec::new();
    for (key, (value, place)) in entries {
        let nearest = NEAREST.iter().find(|(theirs, _)| *theirs == key);
        match (nearest, &value) {
            (Some((_, ours)), Value::List(all)) => {
                files.leave_out(format!("{key} of {name}, {}: {ours}", all.len()), &place);
            }
            (Some((_, ours)), Value::Word(_)) => {
                files.leave_out(format!("{key} of {name}: {ours}"), &place);
            }
            (None, _) => others.push((key, place)),
        }
    }
    others.sort_by(|a, b| a.1.cmp(&b.1));
    if let Some((_, place)) = others.first() {
        let keys: Vec<&str> = others.iter().map(|(key, _)| key.as_str()).collect();
        let what = format!("{} of {name}: no matter of processors", keys.join(", "));
        files.leave_out(what, &place.clone());
    }
}

/// Pcpus of all vcpus, or a set for each of them.
fn affinity(
    files: &mut ImportFiles,
    guest: &mut Guest,
    is_hard: bool,
    value: &Value,
    place: &ImportPlace,
) -> Result<(), ImportError> {
    let told = |value: Vec<u16>| Told {
        value,
        at: place.clone(),
    };
    let relative = |text: &str| text.contains("node") || text.starts_with("all,");
    match value {
        Value::Word(text) if relative(text) => {
            files.leave_out(format!("pcpus `{text}`: nodes are not known"), place);
        }
        Value::Word(text) => {
            let set = cpus(text, place)?.map(told);
            match is_hard {
                true => guest.pin = set,
                false => guest.soft = set,
            }
        }
        Value::List(all) => {
            for (vcpu, value) in all.iter().enumerate() {
                let text = word(value, place)?;
                let sets = match is_hard {
                    true => &mut guest.pins,
                    false => &mut guest.softs,
                };
                if relative(&text) {
                    files.leave_out(format!("pcpus `{text}`: nodes are not known"), place);
                } else if let Some(set) = cpus(&text, place)? {
                    sets.insert(u16::try_from(vcpu).unwrap_or(u16::MAX), told(set));
                }
            }
        }
    }
    Ok(())
}

fn word(value: &Value, place: &ImportPlace) -> Result<String, ImportError> {
    match value {
        Value::Word(word) => Ok(word.clone()),
        Value::List(_) => Err(ImportError::wrong(place, "[...]", "one value, and no list")),
    }
}

enum Entry {
    Assigned {
        key: String,
        value: Value,
        place: ImportPlace,
        /// `+=`.
        adds: bool,
    },
    /// Something else: xm took whole programs in Python.
    Other(ImportPlace),
}

struct Reader<'t> {
    rest: &'t str,
    line: usize,
    file: &'t str,
}

impl Reader<'_> {
    fn place(&self) -> ImportPlace {
        at(self.file, self.line)
    }

    /// Goes on by so many bytes.
    fn skip(&mut self, bytes: usize) {
        let (gone, rest) = self.rest.split_at(bytes);
        self.line += gone.matches('\n').count();
        self.rest = rest;
    }

    /// Skips white space and comments, and `separators`.
    fn space(&mut self, separators: &[char]) {
        loop {
            let space = |c: char| c.is_whitespace() || separators.contains(&c);
            let length = self.rest.len() - self.rest.trim_start_matches(space).len();
            self.skip(length);
            if !self.rest.starts_with('#') {
                return;
            }
            self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
        }
    }

    /// The next assignment; `None` at the end.
    fn entry(&mut self) -> Result<Option<Entry>, ImportError> {
        self.space(&[';']);
        if self.rest.is_empty() {
            return Ok(None);
        }
        let place = self.place();
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let key: String = self.rest.chars().take_while(|c| is_key(*c)).collect();
        let behind = self.rest[key.len()..].trim_start_matches([' ', '\t']);
        let (adds, behind) = match behind.strip_prefix('+') {
            Some(behind) => (true, behind),
            None => (false, behind),
        };
        let is_assigned = !key.is_empty() && behind.starts_with('=') && !behind.starts_with("==");
        if !is_assigned {
            self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            return Ok(Some(Entry::Other(place)));
        }
        self.skip(self.rest.len() - behind.len() + 1);
        let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        self.skip(blanks);
        let value = self.value(0)?;
        Ok(Some(Entry::Assigned {
            key,
            value,
            place,
            adds,
        }))
    }

    fn value(&mut self, depth: usize) -> Result<Value, ImportError> {
        let place = self.place();
        let shown = self.rest.lines().next().unwrap_or_default().to_owned();
        let wrong = |expected: &str| Err(ImportError::wrong(&place, &shown, expected));
        match self.rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let end = self.rest[1..].find([quote, '\n']);
                let Some(end) = end.filter(|end| !self.rest[1 + end..].starts_with('\n')) else {
                    return wrong("the closing quote in the same line");
                };
                let word = self.rest[1..=end].to_owned();
                self.skip(end + 2);
                Ok(Value::Word(word))
            }
            Some('[') if depth >= DEPTH => wrong("fewer lists in lists"),
            Some('[') => {
                self.skip(1);
                let mut all = Vec::new();
                loop {
                    self.space(&[',']);
                    match self.rest.chars().next() {
                        None => return wrong("the `]` that ends the list"),
                        Some(']') => {
                            self.skip(1);
                            return Ok(Value::List(all));
                        }
                        Some(_) => all.push(self.value(depth + 1)?),
                    }
                }
            }
            Some(_) => {
                let ends = |c: char| c.is_whitespace() || ",;]#".contains(c);
                let end = self.rest.find(ends).unwrap_or(self.rest.len());
                if end == 0 {
                    return wrong("a string in quotes, a number or a list in brackets");
                }
                let word = self.rest[..end].to_owned();
                self.skip(end);
                Ok(Value::Word(word))
            }
            None => wrong("a value behind the `=`"),
        }
    }
}
