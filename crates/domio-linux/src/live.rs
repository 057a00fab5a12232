//! Pages of a ring buffer of this machine's kernel (`per_cpu/cpuN/trace_pipe_raw`), as they come.

use crate::bytes::Endian;
use crate::known::Known;
use crate::tracefs::Decoder;
use crate::tracefs::format::{EventFormat, fields};
use crate::tracefs::page::{PageCursor, PageLayout, Step};
use crate::{LinuxEvent, LinuxWhat, Tasks};

/// Decodes pages of tracefs, described by the kernel that wrote them.
///
/// The order of pages of different cpus is the caller's to make.
pub struct LivePages {
    decoder: Decoder,
    layout: PageLayout,
    cursor: PageCursor,
    known: Known,
    refused: u64,
}

/// Bytes of a page that is not described, and most that are believed.
const PAGE_SIZE: u32 = 4096;
const PAGE_MAX: u32 = 64 << 20;

impl LivePages {
    /// Of pages that `header_page` describes, the text of `events/header_page`.
    pub fn new(header_page: &str) -> Self {
        let endian = match cfg!(target_endian = "little") {
            true => Endian::Little,
            false => Endian::Big,
        };
        let long = size_of::<usize>() as u8;
        let head = fields(header_page);
        let data = head.iter().find(|field| field.name == "data");
        let size = data.map_or(PAGE_SIZE, |data| data.offset.saturating_add(data.size));
        LivePages {
            decoder: Decoder::new(endian),
            layout: PageLayout::new(endian, size.clamp(64, PAGE_MAX) as usize, long, &head),
            cursor: PageCursor::default(),
            known: Known::default(),
            refused: 0,
        }
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> usize {
        self.layout.size
    }

    /// Takes up the text of `events/SYSTEM/NAME/format`; false if the text is no description.
    pub fn describe(&mut self, system: &str, format: &str) -> bool {
        match EventFormat::parse(format) {
            Some(format) => {
                self.decoder.add(system, &format);
                true
            }
            None => false,
        }
    }

    /// Decodes a page of `cpu`. Times are those of the buffer's clock.
    pub fn page(&mut self, cpu: u32, page: &[u8], each: &mut dyn FnMut(LinuxEvent)) {
        let Some(lost) = self.cursor.start(page, 0, &self.layout) else {
            self.refused += 1;
            return;
        };
        let mut event = |time, current, what| {
            each(LinuxEvent {
                time,
                cpu,
                current,
                what,
            });
        };
        if let Some(events) = lost {
            event(self.cursor.time, None, LinuxWhat::Lost { events });
        }
        loop {
            match self.cursor.step(page, self.layout.endian) {
                Step::Event(place) => {
                    let time = self.cursor.time;
                    match self.decoder.decode(&page[place], time, &mut self.known) {
                        Some((current, what)) => event(time, current, what),
                        None => self.refused += 1,
                    }
                }
                Step::End => return,
                Step::Damaged => {
                    self.refused += 1;
                    return;
                }
            }
        }
    }

    /// Pages and events that could not be decoded.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// What is known of threads.
    pub fn tasks(&self) -> &Tasks {
        &self.known.tasks
    }

    /// The same, to add what the system says beside its events.
    pub fn tasks_mut(&mut self) -> &mut Tasks {
        &mut self.known.tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Left, Tid};

    const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    const SWITCH: &str = "name: sched_switch\nID: 7\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
        \tfield:pid_t prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:int prev_prio;\toffset:12;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:16;\tsize:8;\tsigned:1;\n\
        \tfield:pid_t next_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:int next_prio;\toffset:28;\tsize:4;\tsigned:1;\n";

    fn page(used: u64) -> Vec<u8> {
        let mut page = Vec::new();
        page.extend(1_000u64.to_ne_bytes());
        page.extend(used.to_ne_bytes());
        // 32 bytes of data, 5 ns later.
        page.extend((8u32 | 5 << 5).to_ne_bytes());
        page.extend(7u16.to_ne_bytes());
        page.extend([0; 2]);
        for word in [11u32, 11, 120] {
            page.extend(word.to_ne_bytes());
        }
        page.extend(1u64.to_ne_bytes());
        for word in [12u32, 110] {
            page.extend(word.to_ne_bytes());
        }
        page.resize(4096, 0);
        page
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn a_page_of_the_kernel_is_decoded() {
        let mut pages = LivePages::new(PAGE);
        assert_eq!(pages.page_size(), 4096);
        assert!(pages.describe("sched", SWITCH));
        assert!(!pages.describe("sched", "nothing"));
        let mut events = Vec::new();
        pages.page(3, &page(36 | 1 << 31), &mut |event| events.push(event));
        let lost = LinuxWhat::Lost { events: 0 };
        assert_eq!((events[0].time, events[0].what), (1_000, lost));
        let switch = LinuxWhat::Switch {
            prev: Tid(11),
            prev_prio: 120,
            left: Left::Sleeping,
            next: Tid(12),
            next_prio: 110,
        };
        let expected = LinuxEvent {
            time: 1_005,
            cpu: 3,
            current: Some(Tid(11)),
            what: switch,
        };
        assert_eq!(events[1..], [expected]);
        // More data than a page has room for, and no page.
        pages.page(3, &page(5_000), &mut |event| events.push(event));
        pages.page(3, &[1, 2], &mut |event| events.push(event));
        assert_eq!((events.len(), pages.refused()), (2, 2));
    }
}
