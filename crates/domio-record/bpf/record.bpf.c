// SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0
//
// What `domio record` and `domio mon --live` run in the kernel: programs on the scheduler's and the
// interrupts' trace points, which write compact events to a ring buffer of their cpu.
//
// Checked in next to this file is record.bpf.o, made by `cargo xtask bpf`, so that users need no clang.
// The definitions of the kernel below have the fields that are read, and no others: the loader finds
// their places in the running kernel by name (CO-RE).

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;

enum bpf_map_type {
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_RB_NO_WAKEUP = 1 };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define READ __attribute__((preserve_access_index))

struct thread_info {
	u32 cpu;
} READ;

struct task_struct {
	struct thread_info thread_info;
	s32 pid;
	s32 tgid;
	s32 prio;
	u32 __state;
	char comm[16];
} READ;

// Before Linux 5.16 on x86.
struct task_struct___cpu {
	u32 cpu;
} READ;

// Before Linux 5.14.
struct task_struct___state {
	volatile long state;
} READ;

// What is written. `src/raw.rs` reads these layouts.

enum kind {
	SWITCH = 1,      // a: previous thread, b: next, word: previous state, flags: preempted
	WAKEUP = 2,      // a: thread, b: current, word: its cpu
	WAKEUP_NEW = 3,  // the same
	MIGRATE = 4,     // a: thread, b: to, word: from
	FORK = 5,        // struct named; a: child, b: parent
	EXIT = 6,        // a: thread
	NAME = 7,        // struct named; a: thread
	ATTACH = 8,      // struct attached; a: thread
	IRQ_ENTRY = 9,   // a: number, b: current
	IRQ_EXIT = 10,   // the same
	SOFTIRQ_ENTRY = 11,
	SOFTIRQ_EXIT = 12,
	LOST = 13,       // a: events that had no room before this one
};

struct event {
	u64 time;   // nanoseconds of CLOCK_MONOTONIC
	u16 cpu;
	u8 kind;
	u8 flags;
	u32 a;
	u32 b;
	u16 word;
	u8 prio_a;  // 1 more than the priority, so that -1 of deadline threads has a place
	u8 prio_b;
};

struct named {
	struct event event;
	u32 tgid;
	char comm[16];
};

#define PATH 232

struct attached {
	struct event event;
	char path[PATH];
};

// Of each cpu.
struct count {
	u64 events;   // written
	u64 lost;     // without room
	u64 pending;  // of these: not yet reported by an event of kind LOST
	u64 timed;    // events whose writing was timed
	u64 ns;       // nanoseconds that these took
};

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
};

// A ring buffer for each cpu: with one for all, cpus would wait for each other at every event.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct ring);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct count);
} counts SEC(".maps");

// One of so many events is timed.
#define TIMED 64

static __always_inline struct count *count(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

// Writes what was lost before, if there is room.
static __always_inline void report(struct count *count, void *ring, u64 time)
{
	struct event *event = bpf_ringbuf_reserve(ring, sizeof(*event), 0);

	if (!event)
		return;
	event->time = time;
	event->cpu = bpf_get_smp_processor_id();
	event->kind = LOST;
	event->flags = 0;
	event->a = count->pending > 0xffffffff ? 0xffffffff : count->pending;
	event->b = 0;
	event->word = 0;
	event->prio_a = 0;
	event->prio_b = 0;
	count->pending = 0;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

// Room for an event of `size` bytes, or none. Interrupts may write in between: counts are then a
// little wrong, and events are not.
static __always_inline void *room(struct count *count, u64 time, u64 size)
{
	u32 cpu = bpf_get_smp_processor_id();
	void *room, *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (!count || !ring)
		return 0;
	if (count->pending)
		report(count, ring, time);
	room = bpf_ringbuf_reserve(ring, size, 0);
	if (!room) {
		count->lost++;
		count->pending++;
	}
	return room;
}

static __always_inline void head(struct event *event, u64 time, u8 kind, u32 a, u32 b)
{
	event->time = time;
	event->cpu = bpf_get_smp_processor_id();
	event->kind = kind;
	event->flags = 0;
	event->a = a;
	event->b = b;
	event->word = 0;
	event->prio_a = 0;
	event->prio_b = 0;
}

static __always_inline void submit(struct count *count, void *event, u64 time)
{
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	if (count->events++ % TIMED == 0) {
		count->ns += bpf_ktime_get_ns() - time;
		count->timed++;
	}
}

static __always_inline u8 prio(struct task_struct *task)
{
	return task->prio + 1;
}

static __always_inline u16 cpu_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return ((struct task_struct___cpu *)task)->cpu;
}

static __always_inline int on_switch(struct task_struct *prev, struct task_struct *next, u32 state,
				     u8 preempt)
{
	u64 time = bpf_ktime_get_ns();
	struct count *c = count();
	struct event *event = room(c, time, sizeof(*event));

	if (!event)
		return 0;
	head(event, time, SWITCH, prev->pid, next->pid);
	event->flags = preempt;
	event->word = state;
	event->prio_a = prio(prev);
	event->prio_b = prio(next);
	submit(c, event, time);
	return 0;
}

// From Linux 5.18 on: the state is the one with which the thread called the scheduler.
SEC("tp_btf/sched_switch")
int do_switch_state(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];

	return on_switch(prev, next, ctx[3], ctx[0] != 0);
}

// Before: a thread that is woken at the same time may have another state already.
SEC("tp_btf/sched_switch")
int do_switch_plain(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 state;

	if (bpf_core_field_exists(prev->__state))
		state = prev->__state;
	else
		state = ((struct task_struct___state *)prev)->state;
	return on_switch(prev, next, state, ctx[0] != 0);
}

static __always_inline int on_wakeup(struct task_struct *task, u8 kind)
{
	u64 time = bpf_ktime_get_ns();
	struct count *c = count();
	struct event *event = room(c, time, sizeof(*event));

	if (!event)
		return 0;
	head(event, time, kind, task->pid, bpf_get_current_pid_tgid());
	event->word = cpu_of(task);
	event->prio_a = prio(task);
	submit(c, event, time);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int do_wakeup(u64 *ctx)
{
	return on_wakeup((void *)ctx[0], WAKEUP);
}

SEC("tp_btf/sched_wakeup_new")
int do_wakeup_new(u64 *ctx)
{
	return on_wakeup((void *)ctx[0], WAKEUP_NEW);
}

SEC("tp_btf/sched_migrate_task")
int do_migrate(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u64 time = bpf_ktime_get_ns();
	struct count *c = count();
	struct event *event = room(c, time, sizeof(*event));

	if (!event)
		return 0;
	head(event, time, MIGRATE, task->pid, ctx[1]);
	event->word = cpu_of(task);
	submit(c, event, time);
	return 0;
}

static __always_inline int on_name(u8 kind, struct task_struct *task, struct task_struct *parent,
				   const char *comm)
{
	u64 time = bpf_ktime_get_ns();
	struct count *c = count();
	struct named *named = room(c, time, sizeof(*named));

	if (!named)
		return 0;
	head(&named->event, time, kind, task->pid, parent->pid);
	named->tgid = task->tgid;
	if (bpf_probe_read_kernel(named->comm, sizeof(named->comm), comm))
		named->comm[0] = 0;
	submit(c, named, time);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int do_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];

	return on_name(FORK, child, parent, child->comm);
}

SEC("tp_btf/task_rename")
int do_rename(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	return on_name(NAME, task, task, (const char *)ctx[1]);
}

static __always_inline int simple(u8 kind, u32 a)
{
	u64 time = bpf_ktime_get_ns();
	struct count *c = count();
	struct event *event = room(c, time, sizeof(*event));

	if (!event)
		return 0;
	head(event, time, kind, a, bpf_get_current_pid_tgid());
	submit(c, event, time);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int do_exit(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	return simple(EXIT, task->pid);
}

SEC("tp_btf/irq_handler_entry")
int do_irq_entry(u64 *ctx)
{
	return simple(IRQ_ENTRY, ctx[0]);
}

SEC("tp_btf/irq_handler_exit")
int do_irq_exit(u64 *ctx)
{
	return simple(IRQ_EXIT, ctx[0]);
}

SEC("tp_btf/softirq_entry")
int do_softirq_entry(u64 *ctx)
{
	return simple(SOFTIRQ_ENTRY, ctx[0]);
}

SEC("tp_btf/softirq_exit")
int do_softirq_exit(u64 *ctx)
{
	return simple(SOFTIRQ_EXIT, ctx[0]);
}

SEC("tp_btf/cgroup_attach_task")
int do_attach(u64 *ctx)
{
	const char *path = (const char *)ctx[1];
	struct task_struct *task = (void *)ctx[2];
	u64 time = bpf_ktime_get_ns();
	struct count *c = count();
	struct attached *attached = room(c, time, sizeof(*attached));

	if (!attached)
		return 0;
	head(&attached->event, time, ATTACH, task->pid, bpf_get_current_pid_tgid());
	if (bpf_probe_read_kernel_str(attached->path, PATH, path) < 0)
		attached->path[0] = 0;
	submit(c, attached, time);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
