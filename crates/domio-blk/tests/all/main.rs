//! Loop-back disks on whole hosts: beside a network, with several processes, guests that go, files
//! that end, and the time that a read takes. Elevators against recordings, scripts, and `lease`.

mod beside;
mod disks;
mod lease;
mod lone;
mod recordings;
mod scripts;
mod site;
mod split;
