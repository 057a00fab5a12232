// SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0
//
// What `domio record` and `domio mon --live` run in the kernel: programs on trace points of the
// scheduler, of interrupts and of block devices, which write compact events. These are collected in
// a lot of their cpu, and a full lot goes to the ring buffer of the cpu. The reader looks at lots
// that are not full by itself (`src/bpf.rs`), so that nothing in the kernel has to wake up for them.
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

struct gendisk {
	s32 major;
	s32 first_minor;
} READ;

struct request_queue {
	struct gendisk *disk;
} READ;

struct request {
	struct request_queue *q;
	u32 cmd_flags;
	u32 __data_len;
	u64 __sector;
} READ;

// Before Linux 5.17.
struct request___disk {
	struct gendisk *rq_disk;
} READ;

struct block_device {
	u32 bd_dev;
} READ;

struct bvec_iter {
	u64 bi_sector;
	u32 bi_size;
} READ;

struct bio {
	struct block_device *bi_bdev;
	u32 bi_opf;
	struct bvec_iter bi_iter;
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
	BIO = 13,        // struct disk; a: device, b: current, flags: data go to the device
	INSERT = 14,     // the same
	ISSUE = 15,
	COMPLETE = 16,
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

struct disk {
	struct event event;
	u64 sector;
	u32 sectors;
	u32 none;
};

// Events of a lot.
#define LOT 64

// Events of one cpu that are handed over together.
struct lot {
	u32 number;   // how many lots of this cpu were handed over or lost before
	u32 used;     // events
	u32 lost;     // events that had no room since the lot before
	u32 none;
	struct event events[LOT];
};

// Of each cpu.
struct cpu {
	u64 events;   // written, or lost with their lot
	u64 lost;     // without room
	u64 timed;    // events whose writing was timed
	u64 ns;       // nanoseconds that these took
	u32 busy;     // a program writes to the lot
	u32 untimed;  // events until the next one is timed
	struct lot lot;
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
	__type(value, struct cpu);
} cpus SEC(".maps");

// One of so many events is timed: no divisor of a lot, so that events of all places are. Known to
// `src/bpf.rs`.
#define TIMED 61

#define barrier() asm volatile("" ::: "memory")

static __always_inline struct cpu *own(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline void *own_ring(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

static __always_inline void wrote(struct cpu *cpu, u64 time)
{
	cpu->events++;
	if (cpu->untimed-- == 0) {
		cpu->untimed = TIMED - 1;
		cpu->ns += bpf_ktime_get_ns() - time;
		cpu->timed++;
	}
}

static __always_inline void lose(struct cpu *cpu, u32 events)
{
	cpu->lost += events;
	cpu->lot.lost += events;
}

static __always_inline void hand_over(struct cpu *cpu)
{
	void *ring = own_ring();

	if (ring && !bpf_ringbuf_output(ring, &cpu->lot, sizeof(cpu->lot), BPF_RB_NO_WAKEUP))
		cpu->lot.lost = 0;
	else
		lose(cpu, LOT);
	// A reader who sees the new number does not see the old events.
	cpu->lot.used = 0;
	barrier();
	cpu->lot.number++;
}

static __always_inline void fill(struct event *event, u64 time, u8 kind, u8 flags, u32 a, u32 b,
				 u16 word, u8 prio_a, u8 prio_b)
{
	event->time = time;
	event->cpu = bpf_get_smp_processor_id();
	event->kind = kind;
	event->flags = flags;
	event->a = a;
	event->b = b;
	event->word = word;
	event->prio_a = prio_a;
	event->prio_b = prio_b;
}

// Room of its own in the ring buffer, or none.
static __always_inline void *room(struct cpu *cpu, u64 size)
{
	void *room, *ring = own_ring();

	if (!cpu || !ring)
		return 0;
	room = bpf_ringbuf_reserve(ring, size, 0);
	if (!room)
		lose(cpu, 1);
	return room;
}

static __always_inline void submit(struct cpu *cpu, void *event, u64 time)
{
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	wrote(cpu, time);
}

// Writes an event. An interrupt may come anywhere in between, whose programs write and end before
// this one goes on: where they find the lot in use, their events go to the ring buffer by
// themselves. Counts may then be a little wrong, and events are not.
static __always_inline int put(u64 time, u8 kind, u8 flags, u32 a, u32 b, u16 word, u8 prio_a,
			       u8 prio_b)
{
	struct cpu *cpu = own();
	struct event *event;
	u32 used;

	if (!cpu)
		return 0;
	if (cpu->busy) {
		event = room(cpu, sizeof(*event));
		if (!event)
			return 0;
		fill(event, time, kind, flags, a, b, word, prio_a, prio_b);
		submit(cpu, event, time);
		return 0;
	}
	cpu->busy = 1;
	barrier();
	used = cpu->lot.used;
	barrier();
	if (used < LOT) {
		fill(&cpu->lot.events[used], time, kind, flags, a, b, word, prio_a, prio_b);
		barrier();
		cpu->lot.used = ++used;
	}
	if (used >= LOT)
		hand_over(cpu);
	barrier();
	cpu->busy = 0;
	wrote(cpu, time);
	return 0;
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
	return put(bpf_ktime_get_ns(), SWITCH, preempt, prev->pid, next->pid, state, prio(prev),
		   prio(next));
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
	return put(bpf_ktime_get_ns(), kind, 0, task->pid, bpf_get_current_pid_tgid(), cpu_of(task),
		   prio(task), 0);
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

	return put(bpf_ktime_get_ns(), MIGRATE, 0, task->pid, ctx[1], cpu_of(task), 0, 0);
}

static __always_inline int on_name(u8 kind, struct task_struct *task, struct task_struct *parent,
				   const char *comm)
{
	u64 time = bpf_ktime_get_ns();
	struct cpu *cpu = own();
	struct named *named = room(cpu, sizeof(*named));

	if (!named)
		return 0;
	fill(&named->event, time, kind, 0, task->pid, parent->pid, 0, 0, 0);
	named->tgid = task->tgid;
	if (bpf_probe_read_kernel(named->comm, sizeof(named->comm), comm))
		named->comm[0] = 0;
	submit(cpu, named, time);
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
	return put(bpf_ktime_get_ns(), kind, 0, a, bpf_get_current_pid_tgid(), 0, 0, 0);
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
	struct cpu *cpu = own();
	struct attached *attached = room(cpu, sizeof(*attached));

	if (!attached)
		return 0;
	fill(&attached->event, time, ATTACH, 0, task->pid, bpf_get_current_pid_tgid(), 0, 0, 0);
	if (bpf_probe_read_kernel_str(attached->path, PATH, path) < 0)
		attached->path[0] = 0;
	submit(cpu, attached, time);
	return 0;
}

// Operations of a request that write, and the first of those that are no read or write of sectors
// but commands of a driver (`enum req_op`).
#define OP_MASK 0xff
#define OP_WRITE 1
#define OP_DRIVER 32

static __always_inline int on_disk(u8 kind, u32 dev, u32 op, u64 sector, u32 bytes)
{
	u64 time = bpf_ktime_get_ns();
	struct cpu *cpu = own();
	struct disk *disk = room(cpu, sizeof(*disk));

	if (!disk)
		return 0;
	op &= OP_MASK;
	fill(&disk->event, time, kind, op == OP_WRITE, dev, bpf_get_current_pid_tgid(), 0, 0, 0);
	disk->sector = op >= OP_DRIVER ? 0 : sector;
	disk->sectors = op >= OP_DRIVER ? 0 : bytes >> 9;
	disk->none = 0;
	submit(cpu, disk, time);
	return 0;
}

static __always_inline int on_request(u8 kind, struct request *request, u32 bytes)
{
	struct gendisk *disk;
	u32 dev = 0;

	if (bpf_core_field_exists(((struct request___disk *)request)->rq_disk))
		disk = ((struct request___disk *)request)->rq_disk;
	else
		disk = request->q->disk;
	if (disk)
		dev = disk->major << 20 | disk->first_minor;
	return on_disk(kind, dev, request->cmd_flags, request->__sector, bytes);
}

// From Linux 5.12 on: trace points of block devices had another first argument before.
SEC("tp_btf/block_bio_queue")
int do_bio(u64 *ctx)
{
	struct bio *bio = (void *)ctx[0];

	return on_disk(BIO, bio->bi_bdev->bd_dev, bio->bi_opf, bio->bi_iter.bi_sector,
		       bio->bi_iter.bi_size);
}

SEC("tp_btf/block_rq_insert")
int do_insert(u64 *ctx)
{
	struct request *request = (void *)ctx[0];

	return on_request(INSERT, request, request->__data_len);
}

SEC("tp_btf/block_rq_issue")
int do_issue(u64 *ctx)
{
	struct request *request = (void *)ctx[0];

	return on_request(ISSUE, request, request->__data_len);
}

SEC("tp_btf/block_rq_complete")
int do_complete(u64 *ctx)
{
	return on_request(COMPLETE, (void *)ctx[0], ctx[2]);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
