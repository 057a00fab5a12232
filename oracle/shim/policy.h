/* What differs between the schedulers of Xen 4.17, for the harness: the parameters of the policy and of a
 * domain. POLICY is credit, credit2, rtds, null or arinc653; boot parameters are static variables of the
 * scheduler's file, which is included before this one. */
#define NPARAMS 3
static int opt_tslice_ms = 30, opt_ratelimit_us = 1000, opt_migr_us, opt_runqueue_kind = -1, opt_max_cpus,
    opt_resist_us = -1, opt_window, opt_precision, opt_under = INT_MIN, opt_over = INT_MIN, opt_cap_ms, opt_major_us;
static struct { const char *key; int *value; } options[] = {
    { "tslice_ms", &opt_tslice_ms }, { "ratelimit_us", &opt_ratelimit_us }, { "migr_us", &opt_migr_us },
    { "runqueue", &opt_runqueue_kind }, { "max_cpus", &opt_max_cpus }, { "resist_us", &opt_resist_us },
    { "window", &opt_window }, { "precision", &opt_precision }, { "under", &opt_under }, { "over", &opt_over },
    { "cap_ms", &opt_cap_ms }, { "major_us", &opt_major_us }, { "smt", &sched_smt_power_savings },
};
int sched_ratelimit_us = 1000;

/* Boot parameters, before the scheduler begins. */
static void policy_boot(void)
{
    sched_ratelimit_us = opt_ratelimit_us;
#if defined(POLICY_credit)
    sched_credit_tslice_ms = opt_tslice_ms;
    vcpu_migration_delay_us = opt_migr_us;
#elif defined(POLICY_credit2)
    if (opt_runqueue_kind >= 0) opt_runqueue = opt_runqueue_kind;
    if (opt_max_cpus) opt_max_cpus_runqueue = opt_max_cpus;
    if (opt_resist_us >= 0) opt_migrate_resist = opt_resist_us;
    if (opt_window) opt_load_window_shift = opt_window;
    if (opt_precision) opt_load_precision_shift = opt_precision;
    if (opt_under != INT_MIN) opt_underload_balance_tolerance = opt_under;
    if (opt_over != INT_MIN) opt_overload_balance_tolerance = opt_over;
    if (opt_cap_ms) opt_cap_period = opt_cap_ms;
#endif
}
#if defined(POLICY_arinc653)
/* The table that domio makes of the domains' entries, `runtime_us` for each vcpu of `d`: by id, those of domains
 * that are gone included. */
static void arinc653_table(struct scheduler *ops, struct domain *d, long runtime_us)
{
    static struct { int vcpus; long runtime_us; } all[256];
    struct xen_sysctl_arinc653_schedule table;
    struct xen_sysctl_scheduler_op op;
    uint64_t sum = 0;
    int i, k;
    memset(&table, 0, sizeof(table));
    memset(&op, 0, sizeof(op));
    all[d->domain_id].vcpus = d->max_vcpus;
    all[d->domain_id].runtime_us = runtime_us;
    for (i = 0; i < 256; i++)
        for (k = 0; k < all[i].vcpus && all[i].runtime_us; k++) {
            int n = table.num_sched_entries++;
            if (n == ARINC653_MAX_DOMAINS_PER_SCHEDULE) return;
            table.sched_entries[n].dom_handle[0] = i;
            table.sched_entries[n].vcpu_id = k;
            table.sched_entries[n].runtime = all[i].runtime_us * 1000;
            sum += all[i].runtime_us * 1000;
        }
    table.major_frame = opt_major_us ? (uint64_t)opt_major_us * 1000 : sum;
    op.cmd = XEN_SYSCTL_SCHEDOP_putinfo;
    op.u.sched_arinc653.schedule = &table;
    if (table.num_sched_entries && ops->adjust_global(ops, &op)) { fprintf(stderr, "Xen refuses the table\n"); exit(2); }
}
#endif
/* What `xl` sets for a domain: weight and cap, or period and budget in us and extra time. */
static void policy_adjust(struct scheduler *ops, struct domain *d, const long *p)
{
    struct xen_domctl_scheduler_op op;
    memset(&op, 0, sizeof(op));
    op.sched_id = ops->sched_id;
    op.cmd = XEN_DOMCTL_SCHEDOP_putinfo;
#if defined(POLICY_credit)
    op.u.credit.weight = p[0]; op.u.credit.cap = p[1];
#elif defined(POLICY_credit2)
    op.u.credit2.weight = p[0]; op.u.credit2.cap = p[1];
#elif defined(POLICY_rtds)
    struct xen_domctl_schedparam_vcpu all[MAX_VIRT_CPUS];
    unsigned int i;
    memset(all, 0, sizeof(all));
    for (i = 0; i < d->max_vcpus; i++) {
        all[i].vcpuid = i;
        all[i].u.rtds.period = p[0]; all[i].u.rtds.budget = p[1];
        all[i].u.rtds.flags = p[2] ? XEN_DOMCTL_SCHEDRT_extra : 0;
    }
    op.cmd = XEN_DOMCTL_SCHEDOP_putvcpuinfo;
    op.u.v.vcpus = all; op.u.v.nr_vcpus = d->max_vcpus;
#endif
#if defined(POLICY_arinc653)
    arinc653_table(ops, d, p[0]);
#endif
    if (ops->adjust) ops->adjust(ops, d, &op);
}
/* What `xl` sets for the policy: slice in ms, rate limit and migration delay in us. */
static void policy_adjust_global(struct scheduler *ops, const long *p)
{
    struct xen_sysctl_scheduler_op op;
    memset(&op, 0, sizeof(op));
    op.cmd = XEN_SYSCTL_SCHEDOP_putinfo;
#if defined(POLICY_credit)
    op.u.sched_credit.tslice_ms = p[0]; op.u.sched_credit.ratelimit_us = p[1];
    op.u.sched_credit.vcpu_migr_delay_us = p[2];
#elif defined(POLICY_credit2)
    op.u.sched_credit2.ratelimit_us = p[1];
#endif
    if (ops->adjust_global) ops->adjust_global(ops, &op);
}
