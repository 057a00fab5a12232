//! Experiments, replications, the claims ledger and validation against recorded traces.
