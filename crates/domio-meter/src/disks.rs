//! What a trace reports of a host's disks: requests, their times, and who asked for them.

use std::collections::BTreeMap;

use domio_answer::{Inner, rows};
use domio_core::{Declared, PcpuId, Record, Says, VcpuName};

use crate::account::Window;
use crate::distribution::{Distribution, Quantiles};

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// Bits of a disk's number within its driver's, as Linux has them.
const MINOR_BITS: u32 = 20;

/// Most pairs of a disk and a vcpu that are told apart; no host has as many.
const USERS_MAX: usize = 1 << 16;

rows! {
    /// Requests of a disk that were done.
    #[derive(Clone, PartialEq, Debug)]
    pub struct DiskSummary {
        /// Numbers of its driver and its own, as in `/proc/diskstats`: "8,0".
        pub disk: String = key("disk");
        /// How many.
        pub requests: u64 = count("requests");
        /// Part of them: those that wrote.
        pub writes: u64 = count("writes");
        /// Their bytes.
        pub bytes: u64 = sum("bytes", "B");
        /// From their queueing to their issue to the disk, in nanoseconds: of requests whose
        /// queueing is recorded.
        pub queue: Inner<Quantiles> = fact("queue_ns");
        /// From their issue to their end, in nanoseconds.
        pub device: Inner<Quantiles> = fact("device_ns");
        /// Who asked for them, by name.
        pub users: Vec<DiskUser> = parts("users", []);
    }

    /// Requests of one vcpu or thread.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct DiskUser {
        /// Which; the idle domain where that is not known.
        pub name: VcpuName = key("");
        /// How many.
        pub requests: u64 = count("requests");
        /// Their bytes.
        pub bytes: u64 = sum("bytes", "B");
    }
}

/// What one asked for.
#[derive(Clone, Copy, Debug, Default)]
struct User {
    requests: u64,
    sectors: u64,
}

#[derive(Debug, Default)]
struct DiskBook {
    requests: u64,
    writes: u64,
    sectors: u64,
    queue: Distribution,
    device: Distribution,
    users: BTreeMap<VcpuName, User>,
}

/// Sums and samples of all disks.
#[derive(Debug, Default)]
pub(crate) struct DiskBooks {
    /// By number.
    disks: BTreeMap<u32, DiskBook>,
    users: usize,
}

impl DiskBooks {
    /// Takes what `record` of `actor`, declared as `declared`, says of a disk. Returns how many
    /// samples took memory of their own.
    pub fn hear(
        &mut self,
        declared: &Declared,
        record: &Record,
        actor: Option<VcpuName>,
        window: Window,
    ) -> usize {
        let value = |field| declared.value(record, field);
        if !window.ends_in(record.at.as_nanos()) {
            return 0;
        }
        match declared.says {
            Says::DiskQueued { disk, time } => {
                let book = self.disks.entry(value(disk) as u32).or_default();
                usize::from(book.queue.add(value(time)))
            }
            Says::DiskDone {
                disk,
                time,
                sectors,
                writes,
            } => {
                let book = self.disks.entry(value(disk) as u32).or_default();
                book.requests += 1;
                book.writes += u64::from(value(writes) != 0);
                book.sectors += value(sectors);
                // Idle tasks of all cpus stand for nobody.
                let nobody = VcpuName::idle(PcpuId(0));
                let name = actor.filter(|name| !name.is_idle()).unwrap_or(nobody);
                if self.users < USERS_MAX || book.users.contains_key(&name) {
                    let user = book.users.entry(name).or_insert_with(|| {
                        self.users += 1;
                        User::default()
                    });
                    user.requests += 1;
                    user.sectors += value(sectors);
                }
                usize::from(book.device.add(value(time)))
            }
            _ => 0,
        }
    }

    /// The distributions, to save memory on.
    pub fn distributions(&mut self) -> impl Iterator<Item = &mut Distribution> {
        self.disks
            .values_mut()
            .flat_map(|book| [&mut book.queue, &mut book.device])
    }

    /// The disks whose requests were done, by number.
    pub fn finish(self) -> Vec<DiskSummary> {
        let done = self.disks.into_iter().filter(|(_, book)| book.requests > 0);
        let disks = done.map(|(number, mut book)| {
            let users = book.users.iter();
            let users = users.map(|(name, user)| DiskUser {
                name: *name,
                requests: user.requests,
                bytes: user.sectors * SECTOR,
            });
            let users = users.collect();
            let minor = number & ((1 << MINOR_BITS) - 1);
            DiskSummary {
                disk: format!("{},{minor}", number >> MINOR_BITS),
                requests: book.requests,
                writes: book.writes,
                bytes: book.sectors * SECTOR,
                queue: Inner(book.queue.quantiles()),
                device: Inner(book.device.quantiles()),
                users,
            }
        });
        disks.collect()
    }
}
