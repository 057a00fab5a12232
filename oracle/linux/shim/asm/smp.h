// Which cpu does something is the harness's to say. An IPI is noted there.
#pragma once
#include <linux/cpumask.h>
extern int shim_cpu;
#define raw_smp_processor_id() shim_cpu
#define safe_smp_processor_id() shim_cpu
#define __smp_processor_id() shim_cpu
extern void arch_smp_send_reschedule(int cpu);
extern void smp_send_reschedule(int cpu);
extern void arch_send_call_function_single_ipi(int cpu);
extern void arch_send_call_function_ipi_mask(const struct cpumask *mask);
