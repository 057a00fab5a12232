/* The rest of the hypervisor, in as much as a scheduler sees it: softirqs, timers, waking, sleeping,
 * migrating, the pass; as in Xen's core.c. Passes come in the order in which they were asked for. */
DEFINE_PER_CPU(struct sched_resource *, sched_res);
cpumask_t per_cpu__cpumask_scratch[NR_CPUS];
cpumask_t sched_res_mask, cpupool_free_cpus;
rcu_read_lock_t sched_res_rculock;
void *oracle_held;
static struct cpupool pool;
static struct scheduler ops;

/* ---- softirqs ---- */
enum { GUEST, ENTERING, SWITCHING };
static int phase[NR_CPUS];
static bool again[NR_CPUS], leaving[NR_CPUS], gone[NR_CPUS];
static int *due, due_n, due_at, due_max;
static void raise_pass(int c)
{
    switch (phase[c]) {
    case GUEST:
        phase[c] = ENTERING;
        halt(c);
        if (due_n == due_max) due = realloc(due, (due_max = due_max * 2 + 64) * sizeof(int));
        due[due_n++] = c;
        break;
    case SWITCHING: again[c] = true; break;
    }
}
void cpu_raise_softirq(unsigned int c, unsigned int nr) { if (nr == SCHEDULE_SOFTIRQ) raise_pass(c); }
void oracle_raise_mask(const cpumask_t *m, unsigned int nr)
{
    unsigned int c;
    for_each_cpu(c, m) cpu_raise_softirq(c, nr);
}

/* ---- timers ---- */
void init_timer(struct timer *t, void (*f)(void *), void *data, unsigned int cpu)
{
    t->function = f; t->data = data; t->cpu = cpu; t->status = TIMER_STATUS_inactive; t->active = false;
    t->gen++;
}
void set_timer(struct timer *t, s_time_t at)
{
    t->gen++; t->active = true; t->expires = at;
    post(at < oracle_now ? oracle_now : at, EV_TIMER, t, t->gen);
}
void stop_timer(struct timer *t) { t->gen++; t->active = false; }
void kill_timer(struct timer *t) { stop_timer(t); t->status = TIMER_STATUS_killed; }
void migrate_timer(struct timer *t, unsigned int c)
{
    /* Xen takes it off one heap and adds it to the other: of timers of one instant there it is the last. */
    bool was_active = t->active;
    if (t->cpu == (int)c) return;
    stop_timer(t);
    t->cpu = c;
    if (was_active) set_timer(t, t->expires);
}

void oracle_note(unsigned int e, int n, unsigned int a, unsigned int b, unsigned int c)
{
    if (!tb_init_done) return;
    fprintf(out, "n %" PRId64 " %d %u", oracle_now, oracle_cpu, e);
    if (n > 0) fprintf(out, " %u", a);
    if (n > 1) fprintf(out, " %u", b);
    if (n > 2) fprintf(out, " %u", c);
    fputc('\n', out);
}

/* ---- vcpus ---- */
static void runstate(struct vcpu *v, int state)
{
    v->runstate.time[v->runstate.state] += oracle_now - v->runstate.state_entry_time;
    v->runstate.state_entry_time = oracle_now;
    v->sched_unit->runstate_cnt[v->runstate.state]--;
    v->sched_unit->runstate_cnt[state]++;
    v->runstate.state = state;
}
void vcpu_sleep_nosync(struct vcpu *v)
{
    if (vcpu_runnable(v)) return;
    if (v->runstate.state == RUNSTATE_runnable) runstate(v, RUNSTATE_offline);
    sched_sleep(&ops, v->sched_unit);
}
void vcpu_wake(struct vcpu *v)
{
    if (vcpu_runnable(v)) {
        if (v->runstate.state >= RUNSTATE_blocked) runstate(v, RUNSTATE_runnable);
        sched_wake(&ops, v->sched_unit);
    } else if (!test_bit(_VPF_blocked, &v->pause_flags)) {
        if (v->runstate.state == RUNSTATE_blocked) runstate(v, RUNSTATE_offline);
    }
}
void vcpu_pause_nosync(struct vcpu *v) { atomic_inc(&v->pause_count); vcpu_sleep_nosync(v); }
void vcpu_pause(struct vcpu *v) { vcpu_pause_nosync(v); }
void vcpu_unpause(struct vcpu *v) { if (atomic_dec_and_test(&v->pause_count)) vcpu_wake(v); }
static void yield(struct vcpu *v)
{
    oracle_cpu = v->processor;
    sched_yield(&ops, v->sched_unit);
}
static void migrate_start(struct vcpu *v)
{
    set_bit(_VPF_migrating, &v->pause_flags);
    vcpu_sleep_nosync(v);
}
static void migrate_finish(struct vcpu *v)
{
    if (v->is_running || !test_bit(_VPF_migrating, &v->pause_flags)) return;
    int c = sched_pick_resource(&ops, v->sched_unit)->master_cpu;
    clear_bit(_VPF_migrating, &v->pause_flags);
    sched_migrate(&ops, v->sched_unit, c);
    vcpu_wake(v);
}
/* Either may be missing. */
static void set_affinity(struct vcpu *v, const cpumask_t *hard, const cpumask_t *soft)
{
    struct sched_unit *u = v->sched_unit;
    sched_adjust_affinity(&ops, u, hard, soft);
    if (hard) cpumask_copy(u->cpu_hard_affinity, hard);
    if (soft) cpumask_copy(u->cpu_soft_affinity, soft);
    u->soft_aff_effective = !cpumask_subset(u->cpu_hard_affinity, u->cpu_soft_affinity)
        && cpumask_intersects(u->cpu_soft_affinity, u->cpu_hard_affinity);
}
static void release(struct guest *g)
{
    struct vcpu *v = g->v;
    int c = v->processor;
    oracle_cpu = c;
    g->timer = INT64_MAX;
    g->pending = true;
    if (test_and_clear_bit(_VPF_blocked, &v->pause_flags)) vcpu_wake(v);
    else if (oracle_current[c] == v && exec_from[c] >= 0) { halt(c); go(c); }
}

/* ---- the pass ---- */
static void print_name(struct vcpu *v)
{
    if (is_idle_vcpu(v)) fprintf(out, " i.%d", v->processor);
    else fprintf(out, " %d.%d", v->domain->domain_id, v->vcpu_id);
}
static void s_timer_fn(void *data) { raise_pass((int)(intptr_t)data); }
static void pcpu_gone(int c);
/* The scheduler decides on `c`. One that leaves takes nobody any more: what runs there when Xen asks again
 * whether all have moved is a matter of time, and nothing takes any here. */
static struct vcpu *decide(int c, struct vcpu *prev, s_time_t *slice)
{
    struct domain *d;
    struct vcpu *v;
    if (gone[c]) { *slice = -1; return idle_vcpu[c]; }
    if (leaving[c]) for_each_domain(d) for_each_vcpu(d, v) v->hides = cpumask_test_and_clear_cpu(c, v->sched_unit->cpu_hard_affinity);
    oracle_held = get_sched_res(c)->schedule_lock;
    ops.do_schedule(&ops, prev->sched_unit, oracle_now, false);
    oracle_held = NULL;
    if (leaving[c]) for_each_domain(d) for_each_vcpu(d, v) if (v->hides) cpumask_set_cpu(c, v->sched_unit->cpu_hard_affinity);
    *slice = prev->sched_unit->next_time;
    return prev->sched_unit->next_task->vcpu_list;
}
static int idle_passes[NR_CPUS];
static s_time_t idle_at[NR_CPUS];
static void pass(int c)
{
    struct vcpu *prev = oracle_current[c], *next;
    s_time_t now = oracle_now, slice;
    struct sched_resource *sr = get_sched_res(c);
    phase[c] = SWITCHING;
    oracle_cpu = c;
    stop_timer(&sr->s_timer);
    next = decide(c, prev, &slice);
    sr->curr = next->sched_unit;
    if (slice == 0) slice = 1;          /* domio's choice where Xen sets a timer that has expired */
    if (slice >= 0) set_timer(&sr->s_timer, now + slice);
    else slice = -1;
    if (prev == next) {
        if (!is_idle_vcpu(next)) {
            fprintf(out, "c %" PRId64 " %d", now, c); print_name(next);
            fprintf(out, " %" PRId64 "\n", slice);
        }
    } else {
        int state = test_bit(_VPF_blocked, &prev->pause_flags) ? RUNSTATE_blocked
            : vcpu_runnable(prev) ? RUNSTATE_runnable : RUNSTATE_offline;
        fprintf(out, "s %" PRId64 " %d", now, c); print_name(prev); print_name(next);
        fprintf(out, " %d %" PRId64 "\n", is_idle_vcpu(prev) ? 1 : state, slice);
        if (next->is_running) { fprintf(stderr, "picked a vcpu that runs\n"); abort(); }
        runstate(prev, state);
        runstate(next, RUNSTATE_running);
        next->is_running = next->sched_unit->is_running = true;
        next->sched_unit->state_entry_time = now;
        oracle_current[c] = next;
        /* the context is saved */
        prev->is_running = prev->sched_unit->is_running = false;
        prev->sched_unit->state_entry_time = now;
        if (!gone[c]) sched_context_saved(&ops, prev->sched_unit);
        if (!is_idle_vcpu(prev)) migrate_finish(prev);
    }
    if (is_idle_vcpu(next) && leaving[c]) pcpu_gone(c);
    phase[c] = GUEST;
    /* Xen's null scheduler may ask for passes for ever, while it waits for the lock that it has. */
    idle_passes[c] = prev == next && is_idle_vcpu(next) && idle_at[c] == now ? idle_passes[c] + 1 : 0;
    idle_at[c] = now;
    if (idle_passes[c] > 100) again[c] = false;
    if (again[c]) { again[c] = false; raise_pass(c); }
    else go(c);
}
