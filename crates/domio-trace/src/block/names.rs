//! Whose requests a trace reports.

use std::collections::HashMap;

/// What those are called that come when the table of names is full.
pub const OTHERS: &str = "others";

/// Most names of a kind, so that a trace of nonsense takes no more memory than a good one.
const MOST: usize = 1 << 16;

/// Longest name that is kept whole (bytes); longer ones are cut.
const LONGEST: usize = 256;

/// Names in the order in which they were met. Names are never removed or changed.
#[derive(Clone, Default, Debug)]
struct Table {
    names: Vec<String>,
    found: HashMap<Box<[u8]>, u32>,
    /// The name that was asked for last: most often the next one, too.
    last: (Vec<u8>, u32),
}

impl Table {
    /// The number of a name, and whether the name is new.
    #[inline]
    fn index(&mut self, name: &[u8]) -> (u32, bool) {
        let name = &name[..name.len().min(LONGEST)];
        if !self.names.is_empty() && self.last.0 == name {
            return (self.last.1, false);
        }
        let (index, is_new) = match self.found.get(name) {
            Some(index) => (*index, false),
            None => self.add(name),
        };
        self.last.0.clear();
        self.last.0.extend_from_slice(name);
        self.last.1 = index;
        (index, is_new)
    }

    fn add(&mut self, name: &[u8]) -> (u32, bool) {
        if self.names.len() > MOST {
            return (MOST as u32, false);
        }
        let index = self.names.len() as u32;
        if self.names.len() == MOST {
            self.names.push(OTHERS.to_owned());
            return (index, true);
        }
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.found.insert(name.into(), index);
        (index, true)
    }
}

/// Names of the processes and devices of a trace, as far as the trace was read.
#[derive(Clone, Default, Debug)]
pub struct BlockNames {
    actors: Table,
    /// For each actor the length of the command's name, without the number of the process.
    commands: Vec<usize>,
    devices: Table,
    /// The name that is being put together.
    name: Vec<u8>,
}

impl BlockNames {
    /// Processes; volumes where the trace has no processes.
    pub fn actors(&self) -> &[String] {
        &self.actors.names
    }

    /// Devices, volumes or files.
    pub fn devices(&self) -> &[String] {
        &self.devices.names
    }

    /// The name of an actor.
    pub fn actor(&self, index: u32) -> &str {
        let name = self.actors().get(index as usize);
        name.map_or(OTHERS, String::as_str)
    }

    /// The name of the command that an actor runs: its own without the number of the process.
    pub fn command(&self, index: u32) -> &str {
        let name = self.actor(index);
        let length = self.commands.get(index as usize);
        length
            .and_then(|length| name.get(..*length))
            .unwrap_or(name)
    }

    /// Number of the actor with that name.
    #[inline]
    pub fn who(&mut self, name: &[u8]) -> u32 {
        let (index, is_new) = self.actors.index(name);
        if is_new {
            self.commands.push(usize::MAX);
        }
        index
    }

    /// Number of a process: its command's name, and the digits of its own number.
    #[inline]
    pub fn process(&mut self, command: &[u8], pid: &[u8]) -> u32 {
        self.name.clear();
        self.name.extend_from_slice(command);
        self.name.push(b'-');
        self.name.extend_from_slice(pid);
        let (index, is_new) = self.actors.index(&self.name);
        if is_new {
            self.commands.push(command.len());
        }
        index
    }

    /// Number of the device with that name.
    #[inline]
    pub fn device(&mut self, name: &[u8]) -> u32 {
        self.devices.index(name).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_numbers_and_a_full_table_has_others() {
        let mut names = BlockNames::default();
        assert_eq!(
            [names.who(b"a"), names.who(b"b"), names.who(b"a")],
            [0, 1, 0]
        );
        assert_eq!(names.device(b"a"), 0, "tables of their own");
        assert_eq!(names.process(b"dd", b"7"), 2);
        assert_eq!((names.actor(2), names.command(2)), ("dd-7", "dd"));
        assert_eq!(names.command(0), "a");
        for i in 0..MOST + 5 {
            names.who(i.to_string().as_bytes());
        }
        assert_eq!(names.actors().len(), MOST + 1);
        assert_eq!(names.actor(MOST as u32), OTHERS);
        assert_eq!(names.who(b"unheard of"), MOST as u32);
        assert_eq!(names.who(b"b"), 1);
    }

    #[test]
    fn a_name_may_be_empty_or_no_text() {
        let mut names = BlockNames::default();
        assert_eq!([names.who(b""), names.who(b"\xff")], [0, 1]);
        assert_eq!((names.actor(0), names.actor(1)), ("", "\u{fffd}"));
    }
}
