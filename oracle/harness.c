/* Runs one of Xen 4.17's own schedulers in virtual time on a scenario, and prints what it decides.
 *
 *   oracle [-n] SCENARIO      -n: private trace records too
 *
 * Output, one decision a line:
 *   s TIME PCPU PREV NEXT STATE SLICE    switch; PREV, NEXT are DOM.VCPU or i.PCPU, SLICE -1 for none
 *   c TIME PCPU VCPU SLICE               the same vcpu goes on
 *   n TIME PCPU EVENT WORDS...           private record
 *   e TIME DOM.VCPU RAN                  at the end: processor time
 *
 * `host.h` is the rest of the hypervisor, `guest.h` who executes, `domains.h` what an operator does.
 */
#include "shim.h"

unsigned int nr_cpu_ids = 1;
int sched_smt_power_savings, oracle_cpu, tb_init_done, oracle_nodes = 1, oracle_threads = 1;
int oracle_node_of[NR_CPUS], oracle_socket_of[NR_CPUS], oracle_core_of[NR_CPUS];
s_time_t oracle_now;
cpumask_t cpu_online_map, oracle_single[NR_CPUS], oracle_node_mask[NR_CPUS], node_online_map;
static cpumask_t sibling_mask[NR_CPUS], core_mask[NR_CPUS];
cpumask_t *per_cpu__cpu_sibling_mask[NR_CPUS], *per_cpu__cpu_core_mask[NR_CPUS];
struct domain *domain_list;
struct vcpu *oracle_current[NR_CPUS], *idle_vcpu[NR_CPUS];

#include <xen/list.h>
#include "policy.c"                     /* Xen's, with `private.h` */
#include "policy.h"

static FILE *out;
static s_time_t duration = 1000000000;
static int npcpus = 1, sockets = 1, cores = 1;

#include "guest.h"
#include "host.h"
#include "domains.h"

static void parse(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[1024], key[32];
    int a, b, i;
    long long x, y, z;
    if (!f) { perror(path); exit(2); }
    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%31s", key) != 1 || key[0] == '#') continue;
        const char *rest = line + strlen(key);
        if (!strcmp(key, "topology")) sscanf(rest, "%d %d %d", &sockets, &cores, &oracle_threads);
        else if (!strcmp(key, "duration")) { sscanf(rest, "%lld", &x); duration = x; }
        else if (!strcmp(key, "tie")) sscanf(rest, "%d", &tie);
        else if (!strcmp(key, "order")) {
            sscanf(rest, "%lld %lld", &x, &y);
            orders[norders].at = x; orders[norders++].draw = y;
        } else if (!strcmp(key, "domain")) {
            struct dspec *s = &dspec[ndoms++];
            sscanf(rest, "%d %lld %d %ld %ld %ld", &s->id, &x, &s->nvcpus, &s->params[0], &s->params[1], &s->params[2]);
            s->start = x;
            s->v = calloc(s->nvcpus, sizeof(*s->v));
            for (i = 0; i < s->nvcpus; i++) { cpumask_setall(&s->v[i].hard); cpumask_setall(&s->v[i].soft); }
        } else if (!strcmp(key, "affinity")) {
            unsigned long h, s;
            sscanf(rest, "%d %d %lx %lx", &a, &b, &h, &s);
            dom(a)->v[b].hard.bits[0] = h; dom(a)->v[b].soft.bits[0] = s;
        } else if (!strcmp(key, "task")) {
            char kind[16];
            x = y = z = 0;
            sscanf(rest, "%d %d %15s %lld %lld %lld", &a, &b, kind, &x, &y, &z);
            struct guest *g = &dom(a)->v[b].g;
            g->task[g->ntasks++] = (struct task){ kind[0], x, y, z };
        } else if (!strcmp(key, "action")) {
            struct action *t = &actions[nactions++];
            sscanf(rest, "%lld %15s", &x, t->what);
            t->at = x;
            rest = strstr(rest, t->what) + strlen(t->what);
            if (!strcmp(t->what, "pin")) sscanf(rest, "%d %d %lx %lx", &t->dom, &t->vcpu, &t->hard, &t->soft);
            else if (!strcmp(t->what, "global")) sscanf(rest, "%ld %ld %ld", &t->params[0], &t->params[1], &t->params[2]);
            else sscanf(rest, "%d %ld %ld %ld", &t->dom, &t->params[0], &t->params[1], &t->params[2]);
        } else {
            for (i = 0; i < (int)ARRAY_SIZE(options) && strcmp(key, options[i].key); i++) ;
            if (i == ARRAY_SIZE(options)) { fprintf(stderr, "unknown key %s\n", key); exit(2); }
            sscanf(rest, "%d", options[i].value);
        }
    }
    fclose(f);
}
static void deliver(struct event e)
{
    switch (e.kind) {
    case EV_TIMER: {
        struct timer *t = e.p;
        if (t->gen != e.gen || !t->active) break;
        t->active = false;
        oracle_cpu = t->cpu;
        t->function(t->data);
        break;
    }
    case EV_RELEASE: if (e.gen == ((struct guest *)e.p)->gen) release(e.p); break;
    case EV_DONE: {
        int c = (int)(intptr_t)e.p;
        if (e.gen != done_gen[c]) break;
        halt(c);
        go(c);
        break;
    }
    case EV_START: start_domain(e.p); break;
    case EV_ACTION: act(e.p); break;
    case EV_DESTROY: destroy_domain(e.p); break;
    }
}
/* Whether an event is of no effect any more; such a one does not hold a pass back. */
static bool stale(const struct event *e)
{
    return (e->kind == EV_TIMER && ((struct timer *)e->p)->gen != e->gen)
        || (e->kind == EV_DONE && e->gen != done_gen[(int)(intptr_t)e->p])
        || (e->kind == EV_RELEASE && e->gen != ((struct guest *)e->p)->gen);
}
int main(int argc, char **argv)
{
    int arg = 1, i, j;
    static char buf[1 << 20];
    out = stdout;
    setvbuf(out, buf, _IOFBF, sizeof(buf));
    if (arg < argc && !strcmp(argv[arg], "-n")) { tb_init_done = 1; arg++; }
    if (arg >= argc) { fprintf(stderr, "usage: oracle [-n] SCENARIO\n"); return 2; }
    parse(argv[arg]);
    npcpus = sockets * cores * oracle_threads;
    nr_cpu_ids = npcpus;
    oracle_nodes = sockets;
    for (i = 0; i < NR_CPUS; i++) cpumask_set_cpu(i, &oracle_single[i]);
    for (i = 0; i < npcpus; i++) {
        cpumask_set_cpu(i, &cpu_online_map);
        oracle_node_of[i] = oracle_socket_of[i] = i / (cores * oracle_threads);
        oracle_core_of[i] = i / oracle_threads;
        cpumask_set_cpu(i, &oracle_node_mask[oracle_node_of[i]]);
        cpumask_set_cpu(oracle_node_of[i], &node_online_map);
        per_cpu__cpu_sibling_mask[i] = &sibling_mask[i];
        per_cpu__cpu_core_mask[i] = &core_mask[i];
    }
    host_up();
    for (i = 0; i < ndoms; i++) post(dspec[i].start, EV_START, &dspec[i], 0);
    for (i = 0; i < nactions; i++) post(actions[i].at, EV_ACTION, &actions[i], 0);
    while (heap_n && heap[0].at <= duration) {
        struct event e = take();
        oracle_now = e.at;
        deliver(e);
        while (due_at < due_n) {
            if (heap_n && heap[0].at == oracle_now) {
                if (!stale(&heap[0])) break;
                take();
                continue;
            }
            pass(due[due_at++]);
        }
        if (due_at == due_n) due_at = due_n = 0;
    }
    oracle_now = duration;
    for (i = 0; i < ndoms; i++)
        for (j = 0; j < dspec[i].nvcpus && dspec[i].d; j++) {
            struct guest *g = &dspec[i].v[j].g;
            if (!g->v) continue;
            if (oracle_current[g->v->processor] == g->v && exec_from[g->v->processor] >= 0) halt(g->v->processor);
            fprintf(out, "e %" PRId64 " %d.%d %" PRId64 "\n", duration, dspec[i].id, j, g->ran);
        }
    return 0;
}
