// The task that runs on the cpu that does something.
#pragma once
#include <linux/compiler.h>
#include <asm/percpu.h>
struct task_struct;
extern struct task_struct *shim_current[];
#define current (shim_current[shim_cpu])
#define get_current() current
// What headers of 6.2 and later want to see, which nothing here reads.
struct pcpu_hot {
	unsigned long top_of_stack;
};
DECLARE_PER_CPU(struct pcpu_hot, pcpu_hot);
DECLARE_PER_CPU(struct pcpu_hot, const_pcpu_hot);
