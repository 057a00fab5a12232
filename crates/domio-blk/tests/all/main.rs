//! Loop-back disks on whole hosts: beside a network, with several processes, guests that go, files
//! that end, and the time that a read takes. Elevators against recordings and against slow twins,
//! scripts, `lease`, drives.

mod beside;
mod conformance;
mod disks;
mod drives;
mod files;
mod lease;
mod lone;
mod recordings;
mod scripts;
mod site;
mod split;
mod twins;
