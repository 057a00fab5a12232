//! The page that is printed where no command is given.

/// What `domio` alone prints.
pub(super) const FIRST_PAGE: &str = "\
domio, a laboratory for the scheduling of virtual machines

Start here: domio demo

A slow guest         explain, mon            which guests wait, behind whom, and the cure
                     scenario from-lists     your host as a scenario, from what `xl` prints
                     scenario import         the same, from libvirt, xl.cfg, cgroups, QEMU
Another setting      run, compare, sweep     who gains and who pays, before you touch a host
                     advise                  which setting helps, and the commands for it
                     dom0-share, alert       how much dom0 needs, what allocations are worth
Traces               trace, validate         read, convert and check; compare the model with them
Research             reproduce, claim        what papers state, decided by simulation
                     new, policy, elevator   write a new scheduler, elevator or device

domio COMMAND --help has examples; domio help lists all commands and options.
";
