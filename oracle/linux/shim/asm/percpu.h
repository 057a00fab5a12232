// A cpu's own data are at an offset, which the harness sets up. No segment register is used.
#pragma once
#define PER_CPU_BASE_SECTION "percpu_data"
extern int shim_cpu;
#include <asm-generic/percpu.h>
#define this_cpu_read_stable(var) this_cpu_read(var)
#define this_cpu_read_const(var) this_cpu_read(var)
#define DECLARE_EARLY_PER_CPU(type, name) DECLARE_PER_CPU(type, name)
#define DECLARE_EARLY_PER_CPU_READ_MOSTLY(type, name) DECLARE_PER_CPU_READ_MOSTLY(type, name)
DECLARE_PER_CPU_READ_MOSTLY(unsigned long, this_cpu_off);
