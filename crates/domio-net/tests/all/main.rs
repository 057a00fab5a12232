//! The network's parts put together: two TCP ends over links, and hosts with cards on a bridge.

mod books;
mod cards;
mod chain;
mod dispatching;
mod ears;
mod ends;
mod guests;
mod heard;
mod host;
mod loss;
mod offload;
mod owner;
mod pages;
mod path;
mod pools;
mod programs;
mod queues;
mod rate;
mod roaming;
mod site;
mod stream;
mod told;
mod traffic;
mod vcpus;
mod web;
mod writers;
