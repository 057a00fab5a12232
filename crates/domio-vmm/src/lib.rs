//! The simulated host: pcpus, vcpus, domains, guests and their workloads.
