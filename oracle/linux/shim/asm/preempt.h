// Nothing preempts the harness; what is counted is counted for all cpus together.
#pragma once
#define PREEMPT_ENABLED 0
extern int shim_preempt;
static inline int preempt_count(void) { return shim_preempt; }
static inline volatile int *preempt_count_ptr(void) { return &shim_preempt; }
static inline void preempt_count_set(int pc) { shim_preempt = pc; }
#define init_task_preempt_count(p) do { } while (0)
#define init_idle_preempt_count(p, cpu) do { } while (0)
static inline void set_preempt_need_resched(void) {}
static inline void clear_preempt_need_resched(void) {}
static inline bool test_preempt_need_resched(void) { return false; }
static inline void __preempt_count_add(int val) { shim_preempt += val; }
static inline void __preempt_count_sub(int val) { shim_preempt -= val; }
static inline bool __preempt_count_dec_and_test(void) { return !--shim_preempt && false; }
static inline bool should_resched(int offset) { return false; }
