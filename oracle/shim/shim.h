/* What a scheduler of Xen 4.17 needs of its hypervisor, in userland, for one thread and virtual time.
 * Contains no code of Xen. The unit of time is the nanosecond, and nothing takes any. */
#ifndef ORACLE_SHIM_H
#define ORACLE_SHIM_H
#define _GNU_SOURCE
#include <stdint.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <limits.h>
#include <errno.h>
#include <inttypes.h>

#define __XEN__ 1
#define NDEBUG 1
#define CONFIG_X86 1
typedef int64_t s_time_t;
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
typedef int8_t s8; typedef int16_t s16; typedef int32_t s32; typedef int64_t s64;
typedef uint16_t domid_t;
typedef unsigned int nodeid_t;
typedef bool bool_t;
typedef int spinlock_t; typedef int rwlock_t;
struct rcu_head { int x; };
typedef int rcu_read_lock_t;
typedef struct { int counter; } atomic_t;

#define __init
#define __initdata
#define __read_mostly
#define __cacheline_aligned
#define __initcall(f) static int (*oracle_initcall)(void) __attribute__((used)) = f
#define presmp_initcall(f)
#define cf_check
#define noinline
#define __packed __attribute__((packed))
#define test_and_clear_bool(b) ({ bool _o = (b); (b) = false; _o; })
#define always_inline inline
#define __used_section(s) __attribute__((used))
#define likely(x) (x)
#define unlikely(x) (x)
#define prefetch(x) ((void)0)
#define barrier() ((void)0)
#define smp_mb() ((void)0)
#define smp_wmb() ((void)0)
#define smp_rmb() ((void)0)
#define cpu_relax() ((void)0)
#define ACCESS_ONCE(x) (x)
#define read_atomic(p) (*(p))
#define write_atomic(p, v) (*(p) = (v))
#define EXPORT_SYMBOL(x)
#define integer_param(a, b)
#define boolean_param(a, b)
#define string_param(a, b)
#define custom_param(a, b)
#define printk(...) ((void)0)
#define gdprintk(...) ((void)0)
#define dprintk(...) ((void)0)
#define panic(...) abort()
#define XENLOG_INFO ""
#define XENLOG_WARNING ""
#define XENLOG_ERR ""
#define KERN_ERR ""
#define BUG() do { fprintf(stderr, "BUG %s:%d\n", __FILE__, __LINE__); abort(); } while (0)
#define BUG_ON(x) do { if (x) { fprintf(stderr, "BUG_ON(%s) %s:%d\n", #x, __FILE__, __LINE__); abort(); } } while (0)
#define WARN() ((void)0)
#define WARN_ON(x) ((void)(x))
#ifdef ORACLE_ASSERTS                   /* Debian builds Xen without */
#define ASSERT(x) BUG_ON(!(x))
#define ASSERT_UNREACHABLE() BUG()
#else
#define ASSERT(x) ((void)sizeof(!(x)))
#define ASSERT_UNREACHABLE() ((void)0)
#endif
#define BUILD_BUG_ON(x)
#define container_of(p, t, m) ((t *)((char *)(p) - offsetof(t, m)))
#define max(a, b) ({ typeof(a) _a = (a); typeof(b) _b = (b); _a > _b ? _a : _b; })
#define min(a, b) ({ typeof(a) _a = (a); typeof(b) _b = (b); _a < _b ? _a : _b; })
#define MIN(a, b) min(a, b)
#define MAX(a, b) max(a, b)
#define max_t(t, a, b) max((t)(a), (t)(b))
#define min_t(t, a, b) min((t)(a), (t)(b))
#define ARRAY_SIZE(x) (sizeof(x) / sizeof((x)[0]))
#define do_div(n, base) ({ uint32_t _b = (base); uint64_t _r = (n) % _b; (n) = (n) / _b; (uint32_t)_r; })
#define STR(x) #x
#define SECONDS(s) ((s_time_t)((s) * 1000000000LL))
#define MILLISECS(ms) ((s_time_t)((ms) * 1000000LL))
#define MICROSECS(us) ((s_time_t)((us) * 1000LL))
#define STIME_MAX INT64_MAX
#define STIME_DELTA_MAX ((s_time_t)((uint64_t)~0ull >> 2))

/* bits; no flag word here is wider than a long */
#define set_bit(n, p) ((void)(*(p) |= (typeof(*(p)))1 << (n)))
#define clear_bit(n, p) ((void)(*(p) &= ~((typeof(*(p)))1 << (n))))
#define test_bit(n, p) (!!(*(p) & ((typeof(*(p)))1 << (n))))
#define __set_bit set_bit
#define __clear_bit clear_bit
#define test_and_clear_bit(n, p) ({ int _o = test_bit(n, p); clear_bit(n, p); _o; })
#define test_and_set_bit(n, p) ({ int _o = test_bit(n, p); set_bit(n, p); _o; })
#define __test_and_clear_bit test_and_clear_bit
#define __test_and_set_bit test_and_set_bit
#define atomic_read(a) ((a)->counter)
#define atomic_set(a, v) ((void)((a)->counter = (v)))
#define atomic_add(v, a) ((void)((a)->counter += (v)))
#define atomic_sub(v, a) ((void)((a)->counter -= (v)))
#define atomic_inc(a) ((void)((a)->counter++))
#define atomic_dec(a) ((void)((a)->counter--))
#define atomic_dec_and_test(a) (--(a)->counter == 0)

/* memory */
#define xmalloc(t) ((t *)calloc(1, sizeof(t)))
#define xzalloc(t) ((t *)calloc(1, sizeof(t)))
#define xmalloc_array(t, n) ((t *)calloc((n), sizeof(t)))
#define xzalloc_array(t, n) ((t *)calloc((n), sizeof(t)))
#define xmalloc_bytes(n) calloc(1, (n))
/* nothing is freed: an event may still point to a timer in what was */
#define xfree(p) ((void)(p))
#define ERR_PTR(e) ((void *)(intptr_t)(e))
#define PTR_ERR(p) ((long)(p))
#define IS_ERR(p) ((uintptr_t)(p) >= (uintptr_t)-4095)

/* locks: one thread; nobody ever holds one that somebody else wants, but a pass that of its own pcpu */
extern void *oracle_held;
#define spin_lock_init(l) ((void)(l))
#define spin_lock(l) ((void)(*(l) = 1))
#define spin_unlock(l) ((void)(*(l) = 0))
#define spin_lock_irq(l) ((void)(*(l) = 1))
#define spin_unlock_irq(l) ((void)(*(l) = 0))
#define spin_lock_irqsave(l, f) ((void)(*(l) = 1), (void)(f))
#define spin_unlock_irqrestore(l, f) ((void)(*(l) = 0), (void)(f))
#define spin_trylock(l) ((void *)(l) != oracle_held)
#define spin_is_locked(l) ((void)(l), 1)
#define rwlock_init(l) ((void)(l))
#define read_trylock(l) ((void)(l), 1)
#define write_lock(l) ((void)(l))
#define write_unlock(l) ((void)(l))
#define rw_is_write_locked(l) (1)
#define read_lock(l) ((void)(l))
#define read_unlock(l) ((void)(l))
#define read_lock_irqsave(l, f) ((void)(f))
#define read_unlock_irqrestore(l, f) ((void)(f))
#define write_lock_irqsave(l, f) ((void)(f))
#define write_unlock_irqrestore(l, f) ((void)(f))
#define _spin_lock(l) ((void)(*(l) = 1), 0)
#define _spin_lock_irq(l) ((void)(*(l) = 1), 0)
#define _spin_lock_irqsave(l) ((*(l) = 1), 0UL)
#define block_lock_speculation() ((void)0)
#define lock_evaluate_nospec(x) (x)
#define count_args_(dot, a1, a2, a3, a4, a5, a6, a7, a8, x, ...) x
#define count_args(args...) count_args_(., ## args, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define DEFINE_SPINLOCK(x) spinlock_t x
#define local_irq_save(f) ((void)(f))
#define local_irq_restore(f) ((void)(f))
#define local_irq_disable() ((void)0)
#define local_irq_enable() ((void)0)
#define local_irq_is_enabled() (0)
#define in_irq() (0)
#define rcu_read_lock(l) ((void)0)
#define rcu_read_unlock(l) ((void)0)
#define rcu_dereference(p) (p)
#define rcu_assign_pointer(a, b) ((a) = (b))
#define DEFINE_RCU_READ_LOCK(x) rcu_read_lock_t x

/* cpus */
#define NR_CPUS 64
#define MAX_VIRT_CPUS 64
#define MAX_NUMNODES 64
typedef struct cpumask { unsigned long bits[1]; } cpumask_t;
typedef cpumask_t cpumask_var_t[1];
extern unsigned int nr_cpu_ids;
extern int oracle_cpu;                 /* who executes hypervisor code */
extern cpumask_t cpu_online_map;
#define num_online_cpus() cpumask_weight(&cpu_online_map)
#define cpu_online(c) cpumask_test_cpu(c, &cpu_online_map)
#define smp_processor_id() (oracle_cpu)
#define cpumask_bits(m) ((m)->bits)
static inline int cpumask_weight(const cpumask_t *m) { return __builtin_popcountl(m->bits[0]); }
static inline bool cpumask_empty(const cpumask_t *m) { return m->bits[0] == 0; }
static inline void cpumask_clear(cpumask_t *m) { m->bits[0] = 0; }
static inline void cpumask_setall(cpumask_t *m) { m->bits[0] = ~0UL; }
static inline void cpumask_set_cpu(int c, cpumask_t *m) { m->bits[0] |= 1UL << c; }
static inline void cpumask_clear_cpu(int c, cpumask_t *m) { m->bits[0] &= ~(1UL << c); }
static inline bool cpumask_test_cpu(int c, const cpumask_t *m) { return (m->bits[0] >> c) & 1; }
static inline bool cpumask_test_and_clear_cpu(int c, cpumask_t *m) { bool o = cpumask_test_cpu(c, m); cpumask_clear_cpu(c, m); return o; }
static inline bool cpumask_test_and_set_cpu(int c, cpumask_t *m) { bool o = cpumask_test_cpu(c, m); cpumask_set_cpu(c, m); return o; }
#define __cpumask_set_cpu cpumask_set_cpu
#define __cpumask_clear_cpu cpumask_clear_cpu
#define __cpumask_test_and_clear_cpu cpumask_test_and_clear_cpu
#define __cpumask_test_and_set_cpu cpumask_test_and_set_cpu
static inline void cpumask_and(cpumask_t *d, const cpumask_t *a, const cpumask_t *b) { d->bits[0] = a->bits[0] & b->bits[0]; }
static inline void cpumask_or(cpumask_t *d, const cpumask_t *a, const cpumask_t *b) { d->bits[0] = a->bits[0] | b->bits[0]; }
static inline void cpumask_andnot(cpumask_t *d, const cpumask_t *a, const cpumask_t *b) { d->bits[0] = a->bits[0] & ~b->bits[0]; }
static inline void cpumask_copy(cpumask_t *d, const cpumask_t *a) { *d = *a; }
static inline bool cpumask_equal(const cpumask_t *a, const cpumask_t *b) { return a->bits[0] == b->bits[0]; }
static inline bool cpumask_subset(const cpumask_t *a, const cpumask_t *b) { return !(a->bits[0] & ~b->bits[0]); }
static inline bool cpumask_intersects(const cpumask_t *a, const cpumask_t *b) { return a->bits[0] & b->bits[0]; }
static inline bool cpumask_full(const cpumask_t *m) { return m->bits[0] == ~0UL; }
static inline int cpumask_next(int c, const cpumask_t *m)
{
    unsigned long w = c >= 63 ? 0 : m->bits[0] & (~0UL << (c + 1));
    return w ? __builtin_ctzl(w) : (int)nr_cpu_ids;
}
static inline int cpumask_first(const cpumask_t *m) { return cpumask_next(-1, m); }
static inline int cpumask_last(const cpumask_t *m) { return m->bits[0] ? 63 - __builtin_clzl(m->bits[0]) : (int)nr_cpu_ids; }
static inline int cpumask_cycle(int c, const cpumask_t *m)
{
    int n = cpumask_next(c, m);
    return n == (int)nr_cpu_ids ? cpumask_first(m) : n;
}
static inline int cpumask_test_or_cycle(int c, const cpumask_t *m) { return cpumask_test_cpu(c, m) ? c : cpumask_cycle(c, m); }
static inline int cpumask_any(const cpumask_t *m) { return cpumask_first(m); }
extern cpumask_t oracle_single[NR_CPUS];
#define cpumask_of(c) ((const cpumask_t *)&oracle_single[c])
#define cpumask_of_cpu(c) (oracle_single[c])
#define for_each_cpu(c, m) for ((c) = cpumask_first(m); (c) < nr_cpu_ids; (c) = cpumask_next(c, m))
#define alloc_cpumask_var(p) (true)
#define zalloc_cpumask_var(p) (true)
#define free_cpumask_var(p) ((void)0)
#define for_each_online_cpu(c) for_each_cpu(c, &cpu_online_map)
#define for_each_possible_cpu(c) for_each_cpu(c, &cpu_online_map)
extern cpumask_t oracle_node_mask[NR_CPUS];
extern int oracle_node_of[NR_CPUS], oracle_nodes;
extern cpumask_t *per_cpu__cpu_sibling_mask[NR_CPUS], *per_cpu__cpu_core_mask[NR_CPUS];

/* topology: a node for each socket */
#define XEN_INVALID_SOCKET_ID (~0U)
extern int oracle_socket_of[NR_CPUS], oracle_core_of[NR_CPUS], oracle_threads;
#define cpu_to_socket(c) ((unsigned int)oracle_socket_of[c])
#define cpu_to_core(c) (oracle_core_of[c])
#define cpu_nr_siblings(c) ((unsigned int)oracle_threads)

typedef cpumask_t nodemask_t;
extern nodemask_t node_online_map;
#define cpu_to_node(c) (oracle_node_of[c])
#define node_to_cpumask(n) (oracle_node_mask[n])
#define nodes_weight(m) cpumask_weight(&(m))
#define num_online_nodes() (oracle_nodes)
#define cycle_node(n, m) (((n) + 1) % oracle_nodes)
#define node_set(n, m) cpumask_set_cpu(n, &(m))
#define node_isset(n, m) cpumask_test_cpu(n, &(m))
#define for_each_node_mask(n, m) for ((n) = 0; (n) < oracle_nodes; (n)++) if (cpumask_test_cpu(n, &(m)))

#define DEFINE_PER_CPU(t, n) typeof(t) per_cpu__##n[NR_CPUS]
#define DEFINE_PER_CPU_READ_MOSTLY(t, n) typeof(t) per_cpu__##n[NR_CPUS]
#define DECLARE_PER_CPU(t, n) extern typeof(t) per_cpu__##n[NR_CPUS]
#define per_cpu(n, c) (per_cpu__##n[c])
#define this_cpu(n) (per_cpu__##n[oracle_cpu])

/* time, timers, softirqs */
extern s_time_t oracle_now;
#define NOW() (oracle_now)
struct timer {
    s_time_t expires;
    void (*function)(void *);
    void *data;
    int cpu;
    bool active;
    int status;                         /* invalid until init_timer() */
    unsigned int gen;
};
enum { TIMER_STATUS_invalid, TIMER_STATUS_inactive, TIMER_STATUS_killed };
void init_timer(struct timer *t, void (*f)(void *), void *data, unsigned int cpu);
void set_timer(struct timer *t, s_time_t expires);
void stop_timer(struct timer *t);
void kill_timer(struct timer *t);
void migrate_timer(struct timer *t, unsigned int cpu);
#define active_timer(t) ((t)->active)
enum { TIMER_SOFTIRQ, SCHEDULE_SOFTIRQ };
void cpu_raise_softirq(unsigned int cpu, unsigned int nr);
#define raise_softirq(nr) cpu_raise_softirq(oracle_cpu, nr)
void oracle_raise_mask(const cpumask_t *m, unsigned int nr);
#define cpumask_raise_softirq(m, nr) oracle_raise_mask(m, nr)

/* trace: kept when asked for */
extern int tb_init_done;
void oracle_note(unsigned int event, int n, unsigned int a, unsigned int b, unsigned int c);
#define TRC_SCHED_CLASS_EVT(k, e) (e)
#define TRACE_0D(e) ((void)0)
#define TRACE_1D(e, a) oracle_note(e, 1, a, 0, 0)
#define TRACE_2D(e, a, b) oracle_note(e, 2, a, b, 0)
#define TRACE_3D(e, a, b, c) oracle_note(e, 3, a, b, c)
#define TRACE_4D(e, a, b, c, d) ((void)0)
#define TRACE_5D(e, a, b, c, d, f) ((void)0)
#define TRACE_6D(e, a, b, c, d, f, g) ((void)0)
static inline void oracle_var(unsigned int event, unsigned int bytes, const void *p)
{
    unsigned int w[3] = {0, 0, 0};
    memcpy(w, p, bytes < 12 ? bytes : 12);
    oracle_note(event, (bytes + 3) / 4, w[0], w[1], w[2]);
}
#define __trace_var(e, cyc, bytes, p) oracle_var(e, bytes, p)
#define trace_var(e, cyc, bytes, p) oracle_var(e, bytes, p)
#define perfc_incr(x) ((void)0)
#define SCHED_STAT_CRANK(x) ((void)0)
#define perf_incrc(x) ((void)0)
#define register_keyhandler(...) ((void)0)
#define keyhandler_scratch oracle_scratch
static char oracle_scratch[1024];
#define cpumask_scnprintf(b, n, m) ((void)(b))
#define cpulist_scnprintf(b, n, m) ((void)(b))
#define smp_call_function(...) ((void)0)
extern int sched_smt_power_savings;

/* domains and vcpus: the fields that some release's scheduler looks at */
#define RUNSTATE_running 0
#define RUNSTATE_runnable 1
#define RUNSTATE_blocked 2
#define RUNSTATE_offline 3
#define _VPF_blocked 0
#define VPF_blocked (1UL << _VPF_blocked)
#define _VPF_down 1
#define VPF_down (1UL << _VPF_down)
#define _VPF_migrating 3
#define VPF_migrating (1UL << _VPF_migrating)
#define _VPF_parked 8
#define VPF_parked (1UL << _VPF_parked)
#define DOMID_IDLE 0x7FFF
#define DOMID_FIRST_RESERVED 0x7FF0
struct vcpu;
struct sched_unit;
struct cpupool;
struct domain {
    domid_t domain_id;
    unsigned int max_vcpus;
    struct vcpu *vcpu[MAX_VIRT_CPUS];
    struct domain *next_in_list;
    void *sched_priv;
    struct cpupool *cpupool;
    struct sched_unit *sched_unit_list;
    nodemask_t node_affinity;
    atomic_t pause_count;
    int controller_pause_count;
    uint8_t handle[16];
};
struct vcpu_runstate_info { int state; uint64_t state_entry_time; uint64_t time[4]; };
struct vcpu {
    int vcpu_id;
    int processor;
    struct domain *domain;
    struct vcpu *next_in_list;
    void *sched_priv;
    struct vcpu_runstate_info runstate;
    unsigned long pause_flags;
    atomic_t pause_count;
    bool is_running, is_urgent, soft_aff_effective, affinity_broken, is_polling;
    int new_state;
    uint64_t last_run_time;
    struct sched_unit *sched_unit;
    struct guest *guest;                /* the harness's, as is the next one */
    bool hides;
};
struct sched_resource;
struct sched_unit {
    struct domain *domain;
    struct vcpu *vcpu_list;
    void *priv;
    struct sched_unit *next_in_list;
    struct sched_resource *res;
    unsigned int unit_id;
    bool is_running, soft_aff_effective, migrated;
    uint64_t last_run_time, state_entry_time;
    unsigned int runstate_cnt[4];
    cpumask_var_t cpu_hard_affinity, cpu_soft_affinity;
    struct sched_unit *next_task;
    s_time_t next_time;
    unsigned int rendezvous_in_cnt;
};
extern struct domain *domain_list;
extern struct vcpu *oracle_current[NR_CPUS], *idle_vcpu[NR_CPUS];
#define current (oracle_current[oracle_cpu])
#define is_idle_domain(d) ((d)->domain_id == DOMID_IDLE)
#define is_idle_vcpu(v) (is_idle_domain((v)->domain))
#define for_each_domain(d) for ((d) = domain_list; (d); (d) = (d)->next_in_list)
#define for_each_domain_in_cpupool(d, c) for_each_domain(d)
#define for_each_vcpu(d, v) for ((v) = (d)->vcpu[0]; (v); (v) = (v)->next_in_list)
#define for_each_sched_unit_vcpu(u, v) for ((v) = (u)->vcpu_list; (v); (v) = NULL)
#define for_each_sched_unit(d, u) for ((u) = (d)->sched_unit_list; (u); (u) = (u)->next_in_list)
#define is_vcpu_online(v) (!test_bit(_VPF_down, &(v)->pause_flags))
#define vcpu_runnable(v) (!((v)->pause_flags | (unsigned)atomic_read(&(v)->pause_count) | \
                            (unsigned)atomic_read(&(v)->domain->pause_count)))
#define domain_vcpu(d, i) ((d)->vcpu[i])
#define domlist_read_lock 0
void vcpu_wake(struct vcpu *v);
void vcpu_sleep_nosync(struct vcpu *v);
void vcpu_pause_nosync(struct vcpu *v);
void vcpu_pause(struct vcpu *v);
void vcpu_unpause(struct vcpu *v);
#define domain_pause(d) ((void)0)
#define domain_unpause(d) ((void)0)

/* control operations: the unions have what the schedulers read */
enum { XEN_SCHEDULER_SEDF = 4, XEN_SCHEDULER_CREDIT = 5, XEN_SCHEDULER_CREDIT2 = 6,
       XEN_SCHEDULER_ARINC653 = 7, XEN_SCHEDULER_RTDS = 8, XEN_SCHEDULER_NULL = 9 };
enum { XEN_DOMCTL_SCHEDOP_putinfo, XEN_DOMCTL_SCHEDOP_getinfo,
       XEN_DOMCTL_SCHEDOP_putvcpuinfo, XEN_DOMCTL_SCHEDOP_getvcpuinfo };
enum { XEN_SYSCTL_SCHEDOP_putinfo, XEN_SYSCTL_SCHEDOP_getinfo };
#define XEN_SYSCTL_CSCHED_TSLICE_MAX 1000
#define XEN_SYSCTL_CSCHED_TSLICE_MIN 1
#define XEN_SYSCTL_CSCHED_MGR_DLY_MAX_US (100 * 1000)
#define XEN_SYSCTL_SCHED_RATELIMIT_MAX 500000
#define XEN_SYSCTL_SCHED_RATELIMIT_MIN 100
typedef uint8_t xen_domain_handle_t[16];
struct xen_domctl_sched_credit { uint16_t weight, cap; };
struct xen_domctl_sched_credit2 { uint16_t weight, cap; };
struct xen_domctl_sched_rtds { uint32_t period, budget, flags; };
#define XEN_DOMCTL_SCHEDRT_extra 1U
struct xen_domctl_schedparam_vcpu {
    union { struct xen_domctl_sched_credit credit; struct xen_domctl_sched_credit2 credit2;
            struct xen_domctl_sched_rtds rtds; } u;
    uint32_t vcpuid;
};
struct xen_domctl_scheduler_op {
    uint32_t sched_id, cmd;
    union {
        struct xen_domctl_sched_credit credit;
        struct xen_domctl_sched_credit2 credit2;
        struct xen_domctl_sched_rtds rtds;
        struct { struct xen_domctl_schedparam_vcpu *vcpus; uint32_t nr_vcpus; } v;
    } u;
};
typedef struct xen_sysctl_credit_schedule { unsigned tslice_ms, ratelimit_us, vcpu_migr_delay_us; } xen_sysctl_credit_schedule_t;
struct xen_sysctl_credit2_schedule { unsigned ratelimit_us; };
#define ARINC653_MAX_DOMAINS_PER_SCHEDULE 64
struct xen_sysctl_arinc653_schedule {
    uint64_t major_frame;
    uint8_t num_sched_entries;
    struct { xen_domain_handle_t dom_handle; uint32_t vcpu_id; uint64_t runtime; }
        sched_entries[ARINC653_MAX_DOMAINS_PER_SCHEDULE];
};
struct xen_sysctl_scheduler_op {
    uint32_t cmd;
    union {
        struct xen_sysctl_credit_schedule sched_credit;
        struct xen_sysctl_credit2_schedule sched_credit2;
        struct { struct xen_sysctl_arinc653_schedule *schedule; } sched_arinc653;
    } u;
};
#define copy_from_guest(to, from, n) (memcpy((to), (from), (n) * sizeof(*(to))), 0)
#define copy_to_guest(to, from, n) (memcpy((to), (from), (n) * sizeof(*(to))), 0)
#define copy_from_guest_offset(to, from, off, n) (memcpy((to), (from) + (off), (n) * sizeof(*(to))), 0)
#define copy_to_guest_offset(to, off, from, n) (memcpy((to) + (off), (from), (n) * sizeof(*(to))), 0)
#define hypercall_preempt_check() (0)
#endif
