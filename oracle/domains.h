/* Pcpus that come and go, domains, and what an operator does. */
static int toolstack_cpu(void) { return cpumask_first(&cpu_online_map); }

/* ---- pcpus ---- */
static void find_siblings(void)
{
    int i, j;
    for (i = 0; i < npcpus; i++) {
        cpumask_clear(&sibling_mask[i]);
        cpumask_clear(&core_mask[i]);
        for (j = 0; j < npcpus && cpu_online(i); j++) {
            if (!cpu_online(j)) continue;
            if (oracle_core_of[i] == oracle_core_of[j]) cpumask_set_cpu(j, &sibling_mask[i]);
            if (oracle_socket_of[i] == oracle_socket_of[j]) cpumask_set_cpu(j, &core_mask[i]);
        }
    }
}
/* As schedule_cpu_add(), without the raised softirq. */
static void add_pcpu(int c)
{
    struct sched_resource *sr = get_sched_res(c);
    struct sched_unit *u = idle_vcpu[c]->sched_unit;
    oracle_cpu = c;
    u->priv = sched_alloc_udata(&ops, u, NULL);
    void *pdata = sched_alloc_pdata(&ops, c);
    spinlock_t *lock = sched_switch_sched(&ops, c, pdata, u->priv);
    sr->scheduler = &ops;
    sr->sched_priv = pdata;
    sr->cpupool = &pool;
    sr->schedule_lock = lock;
}
/* As schedule_cpu_rm(). */
static void pcpu_gone(int c)
{
    struct sched_resource *sr = get_sched_res(c);
    void *pdata = sr->sched_priv;
    leaving[c] = false;
    gone[c] = true;
    sr->schedule_lock = &sr->_lock;
    stop_timer(&sr->s_timer);
    sched_deinit_pdata(&ops, pdata, c);
    sched_free_pdata(&ops, pdata, c);
}
/* As cpu_disable_scheduler(); a vcpu that runs there moves at the pass that was asked for. */
static void pcpu_off(int c)
{
    struct domain *d;
    struct vcpu *v;
    cpumask_t all = {{ ~0UL }};
    if (!cpu_online(c) || num_online_cpus() == 1) return;
    raise_pass(c);
    cpumask_clear_cpu(c, &cpu_online_map);
    cpumask_clear_cpu(c, pool.cpu_valid);
    cpumask_clear_cpu(c, pool.res_valid);
    find_siblings();
    leaving[c] = true;
    for_each_domain(d)
        for_each_vcpu(d, v) {
            struct sched_unit *u = v->sched_unit;
            oracle_cpu = v->processor;
            if (!cpumask_intersects(u->cpu_hard_affinity, pool.cpu_valid) && cpumask_test_cpu(c, u->cpu_hard_affinity))
                set_affinity(v, &all, NULL);
            if (u->res != get_sched_res(c)) continue;
            migrate_start(v);
            migrate_finish(v);
        }
    if (is_idle_vcpu(oracle_current[c])) pcpu_gone(c);
#ifdef HAS_MOVE_TIMERS
    if (ops.move_timers) ops.move_timers(&ops, get_sched_res(c));
#endif
}
static void pcpu_on(int c)
{
    if (cpu_online(c) || leaving[c]) return;
    cpumask_set_cpu(c, &cpu_online_map);
    find_siblings();
    gone[c] = false;
    add_pcpu(c);
    cpumask_set_cpu(c, pool.cpu_valid);
    cpumask_set_cpu(c, pool.res_valid);
    raise_pass(c);
}

/* ---- domains ---- */
static struct domain *new_domain(int id)
{
    struct domain *d = calloc(1, sizeof(*d));
    d->domain_id = id;
    d->handle[0] = id;
    cpumask_setall(&d->node_affinity);
    return d;
}
static struct vcpu *new_vcpu(struct domain *d, int i)
{
    struct vcpu *v = calloc(1, sizeof(*v));
    struct sched_unit *u = calloc(1, sizeof(*u));
    v->domain = d; v->vcpu_id = i;
    v->runstate.state_entry_time = oracle_now;
    v->runstate.state = is_idle_domain(d) ? RUNSTATE_running : RUNSTATE_offline;
    if (!is_idle_domain(d)) set_bit(_VPF_down, &v->pause_flags);
    u->domain = d; u->unit_id = i; u->vcpu_list = v; v->sched_unit = u;
    cpumask_setall(u->cpu_hard_affinity);
    cpumask_setall(u->cpu_soft_affinity);
    u->runstate_cnt[v->runstate.state]++;
    return v;
}
/* All pcpus are up before the first of them joins the pool. */
static void host_up(void)
{
    struct domain *idle = new_domain(DOMID_IDLE);
    int c;
    ops = POLICY_DEF;
    ops.cpupool = &pool;
    policy_boot();
    if (ops.global_init) ops.global_init();
    pool.cpu_valid[0] = pool.res_valid[0] = cpu_online_map;
    pool.sched = &ops;
    sched_init(&ops);
    find_siblings();
    for (c = 0; c < npcpus; c++) {
        struct vcpu *v = new_vcpu(idle, c);
        struct sched_resource *sr = calloc(1, sizeof(*sr));
        oracle_current[c] = idle_vcpu[c] = v;
        exec_from[c] = -1;
        sr->scheduler = &ops; sr->cpupool = &pool; sr->schedule_lock = &sr->_lock;
        sr->master_cpu = c; sr->granularity = 1; cpumask_set_cpu(c, sr->cpus);
        set_sched_res(c, sr);
        sched_set_res(v->sched_unit, sr);
        sr->curr = sr->sched_unit_idle = v->sched_unit;
        v->is_running = v->sched_unit->is_running = true;
        cpumask_copy(v->sched_unit->cpu_hard_affinity, cpumask_of(c));
        init_timer(&sr->s_timer, s_timer_fn, (void *)(intptr_t)c, c);
    }
    for (c = 0; c < npcpus; c++) add_pcpu(c);
}
/* The pcpu that a new vcpu is created on: the lowest one, or the one after the vcpu before. */
static int first_pcpu(struct dspec *s, int i)
{
    int c = i == 0 ? cpumask_first(pool.cpu_valid) : cpumask_cycle(s->d->vcpu[i - 1]->processor, pool.cpu_valid);
    cpumask_t hard;
    /* domio knows the affinity of a vcpu when it is created; Xen's tools set it afterwards */
    cpumask_and(&hard, &s->v[i].hard, pool.cpu_valid);
    return cpumask_test_or_cycle(c, &hard);
}
static void start_domain(struct dspec *s)
{
    struct domain *d = s->d = new_domain(s->id), **at = &domain_list;
    struct vcpu *v, *last = NULL;
    oracle_cpu = toolstack_cpu();
    d->cpupool = &pool;
    d->sched_priv = sched_alloc_domdata(&ops, d);
    while (*at && (*at)->domain_id < d->domain_id) at = &(*at)->next_in_list;
    d->next_in_list = *at;
    *at = d;
    for (int i = 0; i < s->nvcpus; i++) {
        v = new_vcpu(d, i);
        s->v[i].g.v = v;
        v->guest = &s->v[i].g;
        sched_set_res(v->sched_unit, get_sched_res(first_pcpu(s, i)));
        v->sched_unit->priv = sched_alloc_udata(&ops, v->sched_unit, d->sched_priv);
        set_affinity(v, &s->v[i].hard, &s->v[i].soft);
        d->vcpu[i] = v; d->max_vcpus++;
        if (last) { last->next_in_list = v; last->sched_unit->next_in_list = v->sched_unit; }
        else d->sched_unit_list = v->sched_unit;
        last = v;
        sched_insert_unit(&ops, v->sched_unit);
    }
    policy_adjust(&ops, d, s->params);
    for (int i = 0; i < s->nvcpus; i++) guest_begins(&s->v[i].g);
    for_each_vcpu(d, v) { clear_bit(_VPF_down, &v->pause_flags); vcpu_wake(v); }
}
/* Like domio: pause, and destroy once nobody runs; that is a nanosecond later if somebody does. */
static void destroy_domain(struct dspec *s)
{
    struct domain *d = s->d, **at = &domain_list;
    struct vcpu *v;
    bool held = false;
    if (!d) return;
    for_each_vcpu(d, v) {
        oracle_cpu = v->processor;
        if (!test_bit(_VPF_down, &v->pause_flags)) { set_bit(_VPF_down, &v->pause_flags); vcpu_sleep_nosync(v); }
        held |= v->is_running;
    }
    if (held) { post(oracle_now + 1, EV_DESTROY, s, 0); return; }
    for_each_vcpu(d, v) {
        oracle_cpu = v->processor;
        v->guest->gen++;
        sched_remove_unit(&ops, v->sched_unit);
        sched_free_udata(&ops, v->sched_unit->priv);
    }
    sched_free_domdata(&ops, d->sched_priv);
    while (*at != d) at = &(*at)->next_in_list;
    *at = d->next_in_list;
    s->d = NULL;
}

/* ---- the operator ---- */
static void pin(struct vcpu *v, unsigned long hard, unsigned long soft)
{
    cpumask_t h = {{ hard }}, s = {{ soft }};
    if (hard) { oracle_cpu = v->processor; set_affinity(v, &h, NULL); migrate_start(v); migrate_finish(v); }
    if (soft) { oracle_cpu = v->processor; set_affinity(v, NULL, &s); migrate_start(v); migrate_finish(v); }
}
static void act(struct action *a)
{
    struct dspec *s;
    struct vcpu *v;
    oracle_cpu = toolstack_cpu();
    if (!strcmp(a->what, "off")) { pcpu_off(a->dom); return; }
    if (!strcmp(a->what, "on")) { pcpu_on(a->dom); return; }
    if (!strcmp(a->what, "global")) { policy_adjust_global(&ops, a->params); return; }
    s = dom(a->dom);
    if (!s->d) return;
    if (!strcmp(a->what, "pause")) {
        if (s->d->controller_pause_count++) return;
        atomic_inc(&s->d->pause_count);
        for_each_vcpu(s->d, v) { oracle_cpu = v->processor; vcpu_sleep_nosync(v); }
    } else if (!strcmp(a->what, "unpause")) {
        if (!s->d->controller_pause_count || --s->d->controller_pause_count) return;
        atomic_dec(&s->d->pause_count);
        for_each_vcpu(s->d, v) { oracle_cpu = v->processor; vcpu_wake(v); }
    } else if (!strcmp(a->what, "set")) {
        policy_adjust(&ops, s->d, a->params);
    } else if (!strcmp(a->what, "stop")) {
        destroy_domain(s);
    } else if (!strcmp(a->what, "pin")) {
        pin(s->d->vcpu[a->vcpu], a->hard, a->soft);
    } else { fprintf(stderr, "unknown action %s\n", a->what); exit(2); }
}
