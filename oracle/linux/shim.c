// What the scheduler asks of the rest of a kernel: time, timers, interrupts between cpus, memory. Locks are always free.
#include <linux/sched.h>
#include <linux/hrtimer.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/kernel_stat.h>
#include <linux/mm_types.h>
#include <linux/llist.h>
#include <linux/sched/clock.h>
#include <asm/topology.h>
#include "kernel.h"
#include "release.h"

void shim_fatal(const char *what, const char *file, int line) __attribute__((noreturn));
void *shim_alloc(unsigned long size);

void shim_bug(const char *file, int line) { shim_fatal("a bug of the kernel's", file, line); }
void shim_warn(const char *file, int line) { shim_fatal("a warning of the kernel's", file, line); }
void __warn_printk(const char *fmt, ...) {}
void refcount_warn_saturate(refcount_t *r, enum refcount_saturation_type t) { shim_bug("a reference count", 0); }

// ---- cpus ----

int shim_cpu, shim_preempt;
unsigned long shim_irqs_off;
i64 shim_now;
struct cpumask shim_threads[MAX_CPUS], shim_cores[MAX_CPUS];
int shim_core_of[MAX_CPUS], shim_socket_of[MAX_CPUS];
unsigned long __per_cpu_offset[NR_CPUS];
DEFINE_PER_CPU(unsigned long, this_cpu_off);
DEFINE_PER_CPU(struct pcpu_hot, pcpu_hot);
unsigned int nr_cpu_ids;
struct cpumask __cpu_possible_mask, __cpu_online_mask, __cpu_present_mask, __cpu_active_mask, __cpu_dying_mask;
atomic_t __num_online_cpus;
const struct cpumask *cpu_coregroup_mask(int cpu) { return &shim_cores[cpu]; }
bool static_key_initialized = true;
int system_state_shim;
enum system_states system_state = SYSTEM_RUNNING;
u64 jiffies_64;
unsigned long volatile jiffies;
struct mm_struct init_mm;
struct task_struct init_task;

// One bit set of a mask, by row: masks of single cpus point into this.
const unsigned long cpu_bit_bitmap[BITS_PER_LONG + 1][BITS_TO_LONGS(NR_CPUS)] = {
#define ROW(n) [n + 1][0] = 1UL << n
	ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7),
	ROW(8), ROW(9), ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15),
};

extern char shim_percpu_start[], shim_percpu_end[];

void shim_cpus(int cpus)
{
	unsigned long size = shim_percpu_end - shim_percpu_start;
	int cpu;

	nr_cpu_ids = cpus;
	atomic_set(&__num_online_cpus, cpus);
	for (cpu = 0; cpu < cpus; cpu++) {
		char *own = (char *)(((unsigned long)shim_alloc(size + 4096) + 4095) & ~4095UL);

		memcpy(own, shim_percpu_start, size);
		__per_cpu_offset[cpu] = own - shim_percpu_start;
	}
}

// ---- locks ----

void __lockfunc _raw_spin_lock(raw_spinlock_t *lock) {}
void __lockfunc _raw_spin_lock_nested(raw_spinlock_t *lock, int n) {}
unsigned long __lockfunc _raw_spin_lock_irqsave(raw_spinlock_t *lock) { return arch_local_irq_save(); }
void __lockfunc _raw_spin_lock_irq(raw_spinlock_t *lock) { arch_local_irq_disable(); }
void __lockfunc _raw_spin_lock_bh(raw_spinlock_t *lock) {}
#ifndef _raw_spin_unlock
void __lockfunc _raw_spin_unlock(raw_spinlock_t *lock) {}
#endif
void __lockfunc _raw_spin_unlock_irqrestore(raw_spinlock_t *lock, unsigned long flags) { arch_local_irq_restore(flags); }
#ifndef _raw_spin_unlock_irq
void __lockfunc _raw_spin_unlock_irq(raw_spinlock_t *lock) { arch_local_irq_enable(); }
#endif
void __lockfunc _raw_spin_unlock_bh(raw_spinlock_t *lock) {}
int __lockfunc _raw_spin_trylock(raw_spinlock_t *lock) { return 1; }
void mutex_lock(struct mutex *lock) {}
void mutex_unlock(struct mutex *lock) {}
void cpus_read_lock(void) {}
void cpus_read_unlock(void) {}
void call_rcu(struct rcu_head *head, rcu_callback_t func) {}
void synchronize_rcu(void) {}
void rcu_note_context_switch(bool preempt) {}
void rcu_all_qs(void) {}

// ---- memory ----

struct kmem_cache *shim_cache(unsigned long size)
{
	unsigned long *cache = shim_alloc(sizeof(*cache));

	*cache = size;
	return (struct kmem_cache *)cache;
}
#if RELEASE >= 612
struct kmem_cache *__kmem_cache_create_args(const char *name, unsigned int size, struct kmem_cache_args *args, slab_flags_t f)
{
	return shim_cache(size);
}
void *__kmalloc_cache_noprof(struct kmem_cache *s, gfp_t flags, size_t size) { return shim_alloc(size); }
void *__kmalloc_noprof(size_t size, gfp_t flags) { return shim_alloc(size); }
void *__kmalloc_node_noprof(size_t size, gfp_t flags, int node) { return shim_alloc(size); }
void *__kmalloc_cache_node_noprof(struct kmem_cache *s, gfp_t flags, int node, size_t size) { return shim_alloc(size); }
void *kmem_cache_alloc_noprof(struct kmem_cache *s, gfp_t flags) { return shim_alloc(*(unsigned long *)s); }
#else
struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align, slab_flags_t f, void (*c)(void *))
{
	return shim_cache(size);
}
void *__kmalloc(size_t size, gfp_t flags) { return shim_alloc(size); }
void *__kmalloc_node(size_t size, gfp_t flags, int node) { return shim_alloc(size); }
void *kmalloc_trace(struct kmem_cache *s, gfp_t flags, size_t size) { return shim_alloc(size); }
void *kmalloc_node_trace(struct kmem_cache *s, gfp_t flags, int node, size_t size) { return shim_alloc(size); }
void *kmem_cache_alloc(struct kmem_cache *s, gfp_t flags) { return shim_alloc(*(unsigned long *)s); }
#endif
struct kmem_cache *kmalloc_caches[NR_KMALLOC_TYPES][KMALLOC_SHIFT_HIGH + 1];
DEFINE_PER_CPU(char [65536], shim_room);
static unsigned long room_used;
static void __percpu *of_each_cpu(size_t size)
{
	void *at = (char *)&shim_room + room_used;

	room_used += (size + 63) & ~63UL;
	return room_used > sizeof(shim_room) ? NULL : at;
}
#if RELEASE >= 612
void __percpu *pcpu_alloc_noprof(size_t size, size_t align, bool reserved, gfp_t gfp) { return of_each_cpu(size); }
#else
void __percpu *__alloc_percpu(size_t size, size_t align) { return of_each_cpu(size); }
#endif
void free_percpu(void __percpu *p) {}
void kfree(const void *p) {}
void kmem_cache_free(struct kmem_cache *s, void *p) {}

// ---- time and timers ----

unsigned long long sched_clock(void) { return shim_now; }
static ktime_t get_time(void) { return shim_now; }
ktime_t ktime_get(void) { return shim_now; }
static struct hrtimer_clock_base base = { .get_time = get_time };
static struct hrtimer *running[4096];
static int running_count;

void hrtimer_init(struct hrtimer *timer, clockid_t clock, enum hrtimer_mode mode)
{
	memset(timer, 0, sizeof(*timer));
	timer->base = &base;
}

bool hrtimer_active(const struct hrtimer *timer) { return timer->state & HRTIMER_STATE_ENQUEUED || timer == base.running; }

static void forget(struct hrtimer *timer)
{
	int i, n = 0;

	for (i = 0; i < running_count; i++)
		if (running[i] != timer)
			running[n++] = running[i];
	running_count = n;
	timer->state &= ~HRTIMER_STATE_ENQUEUED;
}

void hrtimer_start_range_ns(struct hrtimer *timer, ktime_t at, u64 delta, const enum hrtimer_mode mode)
{
	forget(timer);
	if (mode & HRTIMER_MODE_REL)
		at += shim_now;
	hrtimer_set_expires_range_ns(timer, at, delta);
	timer->state |= HRTIMER_STATE_ENQUEUED;
	running[running_count++] = timer;
}

int hrtimer_try_to_cancel(struct hrtimer *timer)
{
	int was = !!(timer->state & HRTIMER_STATE_ENQUEUED);

	forget(timer);
	return was;
}

int hrtimer_cancel(struct hrtimer *timer) { return hrtimer_try_to_cancel(timer); }

ktime_t __hrtimer_get_remaining(const struct hrtimer *timer, bool adjust)
{
	return hrtimer_get_expires(timer) - shim_now;
}

ktime_t ktime_add_safe(const ktime_t a, const ktime_t b) { return a + b; }

u64 hrtimer_forward(struct hrtimer *timer, ktime_t now, ktime_t interval)
{
	i64 late = now - hrtimer_get_expires(timer);
	u64 periods;

	if (late < 0)
		return 0;
	periods = late / interval + 1;
	hrtimer_add_expires_ns(timer, periods * interval);
	return periods;
}

// Fires `timer` if it is due. Returns whether it was.
bool shim_fire(struct hrtimer *timer)
{
	if (!(timer->state & HRTIMER_STATE_ENQUEUED) || hrtimer_get_expires(timer) > shim_now)
		return false;
	forget(timer);
	base.running = timer;
	if (timer->function(timer) == HRTIMER_RESTART) {
		timer->state |= HRTIMER_STATE_ENQUEUED;
		running[running_count++] = timer;
	}
	base.running = NULL;
	return true;
}

// ---- from cpu to cpu ----

static struct {
	int cpu;
	struct llist_node *node;
} calls[256];
static int calls_count;

void __smp_call_single_queue(int cpu, struct llist_node *node)
{
	calls[calls_count].cpu = cpu;
	calls[calls_count++].node = node;
}

int smp_call_function_single_async(int cpu, call_single_data_t *csd)
{
	__smp_call_single_queue(cpu, &csd->node.llist);
	return 0;
}

extern void sched_ttwu_pending(void *arg);

// What cpus were asked for is done, on each.
void deliver(void)
{
	int i, here = shim_cpu;

	for (i = 0; i < calls_count; i++) {
		struct llist_node *node = calls[i].node;
		call_single_data_t *csd = llist_entry(node, call_single_data_t, node.llist);

		shim_cpu = calls[i].cpu;
		node->next = NULL;
		arch_local_irq_disable();
		if ((csd->node.u_flags & CSD_FLAG_TYPE_MASK) == CSD_TYPE_TTWU)
			sched_ttwu_pending(node);
		else
			csd->func(csd->info);
		arch_local_irq_enable();
	}
	calls_count = 0;
	shim_cpu = here;
}

#ifndef smp_send_reschedule
void smp_send_reschedule(int cpu) {}
#endif
void arch_smp_send_reschedule(int cpu) {}
void raise_softirq(unsigned int nr) {}
void __raise_softirq_irqoff(unsigned int nr) {}

// ---- numbers ----

unsigned long __msecs_to_jiffies(const unsigned int ms) { return ms / (1000 / HZ); }

static unsigned long rest(unsigned int bits) { return bits % BITS_PER_LONG ? ~0UL >> (BITS_PER_LONG - bits % BITS_PER_LONG) : ~0UL; }

bool __bitmap_and(unsigned long *to, const unsigned long *a, const unsigned long *b, unsigned int bits)
{
	return !!(*to = *a & *b & rest(bits));
}
bool __bitmap_andnot(unsigned long *to, const unsigned long *a, const unsigned long *b, unsigned int bits)
{
	return !!(*to = *a & ~*b & rest(bits));
}
void __bitmap_or(unsigned long *to, const unsigned long *a, const unsigned long *b, unsigned int bits) { *to = *a | *b; }
bool __bitmap_subset(const unsigned long *a, const unsigned long *b, unsigned int bits) { return !(*a & ~*b & rest(bits)); }
bool __bitmap_intersects(const unsigned long *a, const unsigned long *b, unsigned int bits) { return !!(*a & *b & rest(bits)); }
bool __bitmap_equal(const unsigned long *a, const unsigned long *b, unsigned int bits) { return !((*a ^ *b) & rest(bits)); }
unsigned int __bitmap_weight(const unsigned long *a, unsigned int bits) { return __builtin_popcountl(*a & rest(bits)); }

// ---- tasks ----

bool kthread_is_per_cpu(struct task_struct *p) { return p->flags & PF_KTHREAD; }
void kthread_set_per_cpu(struct task_struct *p, int cpu) {}
bool set_kthread_struct(struct task_struct *p) { return true; }
void __cgroup_account_cputime(struct cgroup *cgrp, u64 delta) {}
void __cgroup_account_cputime_field(struct cgroup *cgrp, enum cpu_usage_stat index, u64 delta) {}
void enter_lazy_tlb(struct mm_struct *mm, struct task_struct *p) {}
void __put_task_struct(struct task_struct *p) {}
void __mmdrop(struct mm_struct *mm) {}
int cap_task_setscheduler(struct task_struct *p) { return 0; }
void idle_thread_set_boot_cpu(void) {}
void flush_smp_call_function_queue(void) {}
struct ctl_table;
void __register_sysctl_init(const char *path, struct ctl_table *table, const char *name) {}
#if RELEASE >= 612
void open_softirq(int nr, void (*action)(void)) {}
#else
void open_softirq(int nr, void (*action)(struct softirq_action *)) {}
#endif
u32 get_random_u32(void) { return 0; }
u32 __get_random_u32_below(u32 ceil) { return 0; }
void generic_sched_clock_init(void) {}
void put_task_stack(struct task_struct *p) {}
void put_task_struct_rcu_user(struct task_struct *p) {}
