//! Loop-back disks on whole hosts: beside a network, with several processes, guests that go, files
//! that end, and the time that a read takes. Elevators against recordings and against slow twins,
//! scripts, `lease`, drives. The request layer, requests of traces, and what file systems and
//! drives are made of.

mod beside;
mod conformance;
mod disks;
mod drives;
mod files;
mod history;
mod jobs;
mod lease;
mod lone;
mod queue;
mod recordings;
mod scripts;
mod site;
mod split;
mod trace;
mod twins;
