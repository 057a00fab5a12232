// The kernel's fair.c, and a view of its state.
#include <linux/rbtree_augmented.h>
#ifdef MEND_SLICES
// The kernel's tree of entities forgets the shortest slice of a part of the tree when that part is turned. With this it
// does not.
#undef RB_DECLARE_CALLBACKS
#define RB_DECLARE_CALLBACKS(scope, name, type, field, key, compute)                            \
	static void name##_propagate(struct rb_node *rb, struct rb_node *stop)                  \
	{                                                                                       \
		for (; rb != stop; rb = rb_parent(rb))                                          \
			compute(rb_entry(rb, type, field), false);                              \
	}                                                                                       \
	static void name##_copy(struct rb_node *from, struct rb_node *to)                       \
	{                                                                                       \
		rb_entry(to, type, field)->key = rb_entry(from, type, field)->key;              \
		rb_entry(to, type, field)->min_slice = rb_entry(from, type, field)->min_slice;  \
	}                                                                                       \
	static void name##_rotate(struct rb_node *from, struct rb_node *to)                     \
	{                                                                                       \
		name##_copy(from, to);                                                          \
		compute(rb_entry(from, type, field), false);                                    \
	}                                                                                       \
	scope const struct rb_augment_callbacks name = { name##_propagate, name##_copy, name##_rotate }
#endif
#include "kernel/sched/fair.c"
#include "kernel.h"
#include "glue.h"

static int id_of(struct sched_entity *se)
{
	int group;

	if (!se)
		return NOBODY;
	if (entity_is_task(se))
		return task_of(se)->pid - 1000;
	for (group = 1; group < MAX_GROUPS; group++)
		if (k_groups[group] && group_cfs_rq(se)->tg == k_groups[group])
			return GROUP_IDS + group;
	return -2;
}

void glue_boot(void)
{
#if RELEASE >= 612
	update_sysctl();
#else
	sched_init_granularity();
#endif
}

void k_tunables(const i64 *t)
{
	sysctl_sched_cfs_bandwidth_slice = t[5] / NSEC_PER_USEC;
#if RELEASE >= 612
	sysctl_sched_base_slice = t[4];
#else
	sysctl_sched_latency = t[0];
	sysctl_sched_min_granularity = t[1];
	sysctl_sched_wakeup_granularity = t[2];
	sysctl_sched_idle_min_granularity = t[3];
	sched_nr_latency = t[6];
#endif
}

int k_entity_words(void) { return RELEASE >= 612 ? 10 : 6; }

// A new thread's parent is in the same group, and asleep: groups that are empty have the weight that they have with it.
void k_place_new(int vcpu)
{
#if RELEASE < 612
	struct sched_entity *se = &k_tasks[vcpu]->se;
	struct cfs_rq *cfs_rq = cfs_rq_of(se);
	struct sched_entity *above;

	for (above = se->parent; above; above = above->parent)
		if (!above->on_rq && num_online_cpus() == 1)
			update_load_set(&above->load, group_cfs_rq(above)->tg->shares);
	update_rq_clock(rq_of(cfs_rq));
	se->vruntime = cfs_rq->min_vruntime;
	place_entity(cfs_rq, se, 1);
	se->vruntime -= cfs_rq->min_vruntime;
#endif
}

static int average(struct sched_avg *avg, i64 *out)
{
	int n = 0;

	if (num_online_cpus() == 1 || !shim_averages)
		return 0;
	out[n++] = avg->load_sum;
	out[n++] = avg->runnable_sum;
	out[n++] = avg->util_sum;
	out[n++] = avg->load_avg;
	out[n++] = avg->runnable_avg;
	out[n++] = avg->util_avg;
	return n;
}

int k_queue(int group, int cpu, i64 *out)
{
	struct cfs_rq *q = k_groups[group]->cfs_rq[cpu];
	int n = 0;

	out[n++] = q->nr_running;
	out[n++] = q->load.weight;
	out[n++] = id_of(q->curr);
	out[n++] = id_of(q->next);
#if RELEASE >= 612
	out[n++] = q->h_nr_queued;
	out[n++] = q->nr_running ? avg_vruntime(q) : 0;
	out[n++] = NOBODY;
	out[n++] = NOBODY;
#else
	out[n++] = q->h_nr_running;
	out[n++] = q->min_vruntime;
	out[n++] = id_of(q->last);
	out[n++] = id_of(q->skip);
#endif
	out[n++] = q->idle_h_nr_running;
	out[n++] = q->runtime_enabled ? q->runtime_remaining : 0;
	out[n++] = q->throttled;
	out[n++] = q->throttle_count;
	n += average(&q->avg, out + n);
	return n;
}

int k_bandwidth(int group, i64 *out)
{
	struct task_group *tg = k_groups[group];
	struct cfs_bandwidth *b = &tg->cfs_bandwidth;
	int n = 0;

	out[n++] = tg->shares;
	out[n++] = b->runtime;
	out[n++] = b->period_active ? hrtimer_get_expires_ns(&b->period_timer) - EPOCH : -1;
	out[n++] = hrtimer_is_queued(&b->slack_timer) ? hrtimer_get_expires_ns(&b->slack_timer) - EPOCH : -1;
	return n;
}

int k_entity(int id, int cpu, i64 *out)
{
	struct sched_entity *se = id < GROUP_IDS ? &k_tasks[id]->se : k_groups[id - GROUP_IDS]->se[cpu];
	// Releases differ in the weight and the slice of an empty group, which nothing reads.
	int weighs = se->on_rq || entity_is_task(se);
	int n = 0;

	out[n++] = weighs ? se->load.weight : 0;
	out[n++] = se->on_rq;
	out[n++] = se->vruntime;
	out[n++] = se->sum_exec_runtime;
	out[n++] = se->prev_sum_exec_runtime;
	out[n++] = se->exec_start ? se->exec_start - EPOCH : 0;
#if RELEASE >= 612
	out[n++] = se->deadline;
	out[n++] = se->on_rq ? 0 : se->vlag;
	out[n++] = weighs ? se->slice : 0;
	out[n++] = se->sched_delayed;
#endif
	static struct sched_avg none;
	int is_new = entity_is_task(se) && READ_ONCE(task_of(se)->__state) == TASK_NEW;
	n += average(is_new ? &none : &se->avg, out + n);
	return n;
}
