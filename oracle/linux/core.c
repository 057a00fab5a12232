// The kernel's core.c, and what the harness has it do.
#include "kernel/sched/core.c"
#include "kernel.h"
#include "glue.h"

struct task_struct *shim_current[MAX_CPUS];
struct task_struct *k_tasks[MAX_VCPUS];
struct task_group *k_groups[MAX_GROUPS];
static struct task_struct *idlers[MAX_CPUS];

void *shim_alloc(unsigned long size);

struct task_struct *shim_switch(struct task_struct *prev, struct task_struct *next)
{
	shim_current[shim_cpu] = next;
	return prev;
}

static struct cgroup everybodys_cgroup;
static struct css_set everybodys_set = { .dfl_cgrp = &everybodys_cgroup };
DEFINE_STATIC_KEY_TRUE(cpu_cgrp_subsys_on_dfl_key);

static struct task_struct *new_task(void)
{
	struct task_struct *p = shim_alloc(sizeof(*p));

	p->cgroups = &everybodys_set;
	p->stack = shim_alloc(16384);
	refcount_set(&p->usage, 1000000);
	p->prio = p->static_prio = p->normal_prio = DEFAULT_PRIO;
	p->policy = SCHED_NORMAL;
	p->cpus_ptr = &p->cpus_mask;
	p->user_cpus_ptr = NULL;
	p->cpus_mask = *cpu_possible_mask;
	p->nr_cpus_allowed = nr_cpu_ids;
	p->active_mm = &init_mm;
	p->sched_class = &fair_sched_class;
	p->sched_task_group = &root_task_group;
	set_load_weight(p, false);
	INIT_LIST_HEAD(&p->tasks);
	raw_spin_lock_init(&p->pi_lock);
	return p;
}

void k_boot(int cpus)
{
	int cpu;

	for (cpu = 0; cpu < cpus; cpu++) {
		cpumask_set_cpu(cpu, (struct cpumask *)cpu_possible_mask);
		cpumask_set_cpu(cpu, (struct cpumask *)cpu_present_mask);
		cpumask_set_cpu(cpu, (struct cpumask *)cpu_online_mask);
		cpumask_set_cpu(cpu, (struct cpumask *)cpu_active_mask);
	}
	for (cpu = 0; cpu < cpus; cpu++)
		idlers[cpu] = new_task();
	shim_current[0] = idlers[0];
	sched_clock_init();
	sched_init();
	for (cpu = 0; cpu < cpus; cpu++) {
		shim_cpu = cpu;
		shim_current[cpu] = idlers[cpu];
		init_idle(idlers[cpu], cpu);
		cpu_rq(cpu)->balance_callback = NULL;
		set_rq_online(cpu_rq(cpu));
		update_rq_clock(cpu_rq(cpu));
	}
	shim_cpu = 0;
	k_groups[0] = &root_task_group;
	glue_boot();
}

void k_at(i64 now, int here)
{
	shim_now = now;
	shim_cpu = here;
	jiffies_64 = now / (NSEC_PER_SEC / HZ);
	*(volatile unsigned long *)&jiffies = jiffies_64;
}

void k_group(int group, int parent)
{
	k_groups[group] = sched_create_group(k_groups[parent]);
	sched_online_group(k_groups[group], k_groups[parent]);
}

void k_group_set(int group, i64 shares, int idle, i64 quota, i64 period, i64 burst, i64 phase)
{
	struct task_group *tg = k_groups[group];
	struct cfs_bandwidth *b = &tg->cfs_bandwidth;
	static char phased[MAX_GROUPS];
	u64 limit = quota ? quota : RUNTIME_INF;

	if (tg->idle != idle)
		sched_group_set_idle(tg, idle);
	if (!idle)
		sched_group_set_shares(tg, shares);
	if (!phased[group]++)
		hrtimer_set_expires(&b->period_timer, EPOCH + phase);
	if (b->quota != limit || b->period != period || b->burst != burst)
		if (tg_set_cfs_bandwidth(tg, period, limit, burst))
			shim_bug("a quota is refused", group);
}

void k_thread(int vcpu, int group, int cpu)
{
	struct task_struct *p = k_tasks[vcpu] = new_task();

	shim_cpu = cpu;
	p->pid = p->tgid = vcpu + 1000;
	sched_fork(0, p);
	p->prio = p->normal_prio = DEFAULT_PRIO;
	glue_new(p);
	p->sched_task_group = k_groups[group];
	__set_task_cpu(p, cpu);
}

void k_move(int vcpu, int cpu)
{
	struct task_struct *p = k_tasks[vcpu];

	p->cpus_mask = *cpumask_of(cpu);
	p->nr_cpus_allowed = 1;
	if (task_cpu(p) != cpu)
		__set_task_cpu(p, cpu);
}

#if RELEASE >= 612
#define GIVEN_SLICE(p) ((p)->se.custom_slice ? (i64)(p)->se.slice : 0)
#else
#define GIVEN_SLICE(p) 0
#endif

// What a thread is given before it first wakes is what it is born with: it has no part in any queue yet.
static void give_new(struct task_struct *p, int policy, int nice, i64 slice)
{
	if (p->policy != policy || p->static_prio != NICE_TO_PRIO(nice) || GIVEN_SLICE(p) != slice)
		update_rq_clock(task_rq(p));
	p->policy = policy;
	p->prio = p->normal_prio = p->static_prio = NICE_TO_PRIO(nice);
	set_load_weight(p, false);
#if RELEASE >= 612
	p->se.custom_slice = slice != 0;
	p->se.slice = slice ? clamp_t(u64, slice, NSEC_PER_MSEC / 10, NSEC_PER_MSEC * 100) : sysctl_sched_base_slice;
#endif
	init_entity_runnable_average(&p->se);
}

void k_thread_set(int vcpu, int class, int nice, i64 slice)
{
	static const int policies[] = { SCHED_NORMAL, SCHED_BATCH, SCHED_IDLE };
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = policies[class],
		.sched_nice = nice,
		.sched_runtime = slice,
	};

	static i64 slices[MAX_VCPUS];

	if (READ_ONCE(k_tasks[vcpu]->__state) == TASK_NEW)
		give_new(k_tasks[vcpu], policies[class], nice, slice);
	// As renice does, and as chrt does.
	else if (k_tasks[vcpu]->policy == attr.sched_policy && slices[vcpu] == slice)
		set_user_nice(k_tasks[vcpu], nice);
	else if (sched_setattr_nocheck(k_tasks[vcpu], &attr))
		shim_bug("an attribute is refused", vcpu);
	slices[vcpu] = slice;
	deliver();
}

void k_wake(int vcpu, int is_new)
{
	if (is_new) {
		k_place_new(vcpu);
		wake_up_new_task(k_tasks[vcpu]);
	} else {
		wake_up_state(k_tasks[vcpu], TASK_NORMAL);
	}
	deliver();
}

void k_yield(int cpu)
{
	struct rq *rq;
	struct rq_flags rf;

	shim_cpu = cpu;
	rq = this_rq_lock_irq(&rf);
	current->sched_class->yield_task(rq);
	rq_unlock_irq(rq, &rf);
}

void k_pass(int cpu, int state)
{
	shim_cpu = cpu;
	if (state)
		WRITE_ONCE(current->__state, state == 1 ? TASK_INTERRUPTIBLE : __TASK_STOPPED);
	__schedule(current == cpu_rq(cpu)->idle ? GLUE_SM_IDLE : SM_NONE);
	deliver();
}

void k_tick(int cpu)
{
	shim_cpu = cpu;
	glue_tick();
	deliver();
}

bool shim_fire(struct hrtimer *timer);

void k_quota_timers(int group)
{
	struct cfs_bandwidth *b = &k_groups[group]->cfs_bandwidth;

	// The earlier one is first.
	if (hrtimer_get_expires(&b->slack_timer) < hrtimer_get_expires(&b->period_timer))
		shim_fire(&b->slack_timer);
	shim_fire(&b->period_timer);
	shim_fire(&b->slack_timer);
	deliver();
}

// Features that are on at boot are turned off.
void k_features(const i64 *on)
{
#define FEATURE(n, name) if (!on[n]) sysctl_sched_features &= ~(1UL << __SCHED_FEAT_##name)
	FEATURE(0, WAKEUP_PREEMPTION);
	FEATURE(1, NI_RANDOM);
#if RELEASE >= 612
	FEATURE(2, RUN_TO_PARITY);
	FEATURE(3, PREEMPT_SHORT);
	FEATURE(4, PLACE_LAG);
	FEATURE(5, DELAY_DEQUEUE);
#else
	FEATURE(2, GENTLE_FAIR_SLEEPERS);
	FEATURE(3, START_DEBIT);
#endif
}

int k_cpu(int cpu, i64 *out)
{
	struct rq *rq = cpu_rq(cpu);
	int n = 0;

	out[n++] = rq->clock - EPOCH;
	out[n++] = rq->curr == rq->idle ? NOBODY : rq->curr->pid - 1000;
	out[n++] = test_tsk_need_resched(rq->curr);
	out[n++] = !!(rq->clock_update_flags & RQCF_REQ_SKIP);
	return n;
}
