// Interrupts come when the harness says so.
#pragma once
#define __cpuidle __section(".cpuidle.text")
extern unsigned long shim_irqs_off;
static inline unsigned long arch_local_save_flags(void) { return shim_irqs_off; }
static inline void arch_local_irq_disable(void) { shim_irqs_off = 1; }
static inline void arch_local_irq_enable(void) { shim_irqs_off = 0; }
static inline unsigned long arch_local_irq_save(void)
{
	unsigned long flags = shim_irqs_off;
	shim_irqs_off = 1;
	return flags;
}
static inline int arch_irqs_disabled_flags(unsigned long flags) { return flags; }
static inline int arch_irqs_disabled(void) { return shim_irqs_off; }
static inline void arch_local_irq_restore(unsigned long flags) { shim_irqs_off = flags; }
static inline void arch_safe_halt(void) {}
static inline void halt(void) {}
