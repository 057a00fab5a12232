// Which cpus are siblings is the harness's to say.
#pragma once
#include <linux/cpumask.h>
#include <asm-generic/topology.h>
extern struct cpumask shim_threads[], shim_cores[];
extern int shim_core_of[], shim_socket_of[];
#define topology_physical_package_id(cpu) (shim_socket_of[cpu])
#define topology_core_id(cpu) (shim_core_of[cpu])
#define topology_sibling_cpumask(cpu) (&shim_threads[cpu])
#define topology_core_cpumask(cpu) (&shim_cores[cpu])
extern const struct cpumask *cpu_coregroup_mask(int cpu);
static inline bool arch_match_cpu_phys_id(int cpu, u64 phys_id) { return false; }
