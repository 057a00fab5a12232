//! Lists of files that several processes share, with who uses which file: those of FFSB
//! (`filelist.c`).

use alloc::vec::Vec;

/// How often a process that finds its file in use draws another one.
const TRIES: u32 = 64;

/// No place in a list.
const OUT: u32 = u32::MAX;

/// A file of a list.
#[derive(Clone, Copy, Debug)]
struct Entry {
    file: u32,
    /// Processes that use it.
    users: u32,
}

/// A list. Its name is the number of its first prepared file.
#[derive(Clone, Debug)]
struct FileList {
    first: u32,
    entries: Vec<Entry>,
    /// Place of each file, by number.
    places: Vec<u32>,
}

/// The lists of a file system.
#[derive(Clone, Debug, Default)]
pub(super) struct FileLists {
    lists: Vec<FileList>,
}

impl FileLists {
    /// A list of `files` files from `first` on, which nobody uses.
    pub fn begin(&mut self, first: u32, files: u32) {
        let mut list = FileList {
            first,
            entries: Vec::with_capacity(files as usize),
            places: Vec::new(),
        };
        for file in first..first + files {
            list.add(file);
        }
        self.lists.push(list);
    }

    fn list(&mut self, first: u32) -> Option<&mut FileList> {
        self.lists.iter_mut().find(|list| list.first == first)
    }

    /// A file of the list `first` at random, by `draw`: for use together with others, or taken out
    /// of the list, which nobody may use then. `None` when none was found.
    pub fn choose(&mut self, first: u32, alone: bool, mut draw: u64) -> Option<u32> {
        let list = self.list(first)?;
        if list.entries.is_empty() {
            return None;
        }
        for _ in 0..TRIES {
            let at = (draw % list.entries.len() as u64) as usize;
            let entry = &mut list.entries[at];
            match alone {
                false => {
                    entry.users += 1;
                    return Some(entry.file);
                }
                true if entry.users == 0 => return Some(list.take(at)),
                true => draw = another(draw),
            }
        }
        None
    }

    /// A process uses `file` no more.
    pub fn release(&mut self, first: u32, file: u32) {
        let Some(list) = self.list(first) else { return };
        let place = list.places.get(file as usize).copied();
        if let Some(entry) = place.and_then(|at| list.entries.get_mut(at as usize)) {
            entry.users = entry.users.saturating_sub(1);
        }
    }

    /// `file` joins the list.
    pub fn add(&mut self, first: u32, file: u32) {
        if let Some(list) = self.list(first) {
            list.add(file);
        }
    }
}

impl FileList {
    fn add(&mut self, file: u32) {
        let number = file as usize;
        if self.places.len() <= number {
            self.places.resize(number + 1, OUT);
        }
        self.places[number] = self.entries.len() as u32;
        self.entries.push(Entry { file, users: 0 });
    }

    /// Takes out the file at a place.
    fn take(&mut self, at: usize) -> u32 {
        let file = self.entries.swap_remove(at).file;
        self.places[file as usize] = OUT;
        if let Some(moved) = self.entries.get(at) {
            self.places[moved.file as usize] = at as u32;
        }
        file
    }
}

/// Another draw, by the finalizer of MurmurHash.
fn another(draw: u64) -> u64 {
    let x = (draw ^ (draw >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (x ^ (x >> 33)).wrapping_add(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::FileLists;
    use alloc::vec::Vec;

    #[test]
    fn a_file_in_use_is_not_taken_out() {
        let mut lists = FileLists::default();
        lists.begin(7, 2);
        let used = lists.choose(7, false, 0).unwrap();
        for draw in 0..100 {
            let mut other = lists.clone();
            assert_ne!(other.choose(7, true, draw), Some(used));
        }
        lists.release(7, used);
        let all: Vec<_> = (0..3)
            .filter_map(|draw| lists.choose(7, true, draw))
            .collect();
        assert_eq!(all.len(), 2, "each once: {all:?}");
        assert_eq!(lists.choose(7, false, 5), None, "the list is empty");
    }

    #[test]
    fn a_new_file_may_be_chosen() {
        let mut lists = FileLists::default();
        lists.begin(1, 1);
        lists.add(1, 9);
        let seen: Vec<_> = (0..2).map(|draw| lists.choose(1, false, draw)).collect();
        assert_eq!(seen, [Some(1), Some(9)]);
        assert_eq!(lists.choose(2, false, 0), None, "no such list");
    }
}
