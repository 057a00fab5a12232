/* Events, guests and who executes. Order at one instant is that of domio's ideal host: events first in,
 * first out, all of them before the passes. */
enum { EV_TIMER, EV_RELEASE, EV_DONE, EV_START, EV_ACTION, EV_DESTROY };
struct event { s_time_t at; uint64_t seq; int kind; void *p; unsigned int gen; };
static struct event *heap;
static size_t heap_n, heap_max;
static uint64_t next_seq;
/* Which of two kinds comes first at one instant: 1, 2 wake-ups and ends of turns; 3, 4 ends of turns
 * and timers; 5, 6 wake-ups and timers. 0: whichever was posted first. */
static int tie;
/* Instants at which events come in another order than that of posting, drawn by a number each. */
static struct { s_time_t at; uint64_t draw; } orders[256];
static int norders;
static uint64_t rank(const struct event *e)
{
    for (int i = 0; i < norders; i++)
        if (orders[i].at == e->at) {
            uint64_t x = (e->seq + 1) * 0x9e3779b97f4a7c15u * (2 * orders[i].draw + 1);
            return x ^ x >> 29;
        }
    return e->seq;
}
static bool before(const struct event *a, const struct event *b)
{
    static const int first[] = { -1, EV_RELEASE, EV_DONE, EV_DONE, EV_TIMER, EV_RELEASE, EV_TIMER };
    static const int other[] = { -1, EV_DONE, EV_RELEASE, EV_TIMER, EV_DONE, EV_TIMER, EV_RELEASE };
    if (a->at != b->at) return a->at < b->at;
    if (tie && a->kind == first[tie] && b->kind == other[tie]) return true;
    if (tie && b->kind == first[tie] && a->kind == other[tie]) return false;
    return norders ? rank(a) < rank(b) : a->seq < b->seq;
}
static void post(s_time_t at, int kind, void *p, unsigned int gen)
{
    if (heap_n == heap_max) heap = realloc(heap, (heap_max = heap_max * 2 + 64) * sizeof(*heap));
    struct event e = { at, next_seq++, kind, p, gen };
    size_t i = heap_n++;
    while (i && before(&e, &heap[(i - 1) / 2])) { heap[i] = heap[(i - 1) / 2]; i = (i - 1) / 2; }
    heap[i] = e;
}
static struct event take(void)
{
    struct event top = heap[0], last = heap[--heap_n];
    size_t i = 0;
    for (;;) {
        size_t k = 2 * i + 1;
        if (k >= heap_n) break;
        if (k + 1 < heap_n && before(&heap[k + 1], &heap[k])) k++;
        if (!before(&heap[k], &last)) break;
        heap[i] = heap[k]; i = k;
    }
    if (heap_n) heap[i] = last;
    return top;
}

/* A guest sets one timer, when it executes: for the first of its tasks that sleep. What expires while
 * it does not execute is found when it does. As in domio, one that first executes after the first
 * release of a task blocks and is woken at once. */
struct task { int kind; s_time_t a, b, c, wake; bool busy; };   /* kind: 'b', 'p', 'o', 'w', 'y' */
struct guest {
    struct vcpu *v;
    bool burns, pending;
    s_time_t backlog, job, ran, timer, yields_after;    /* job: of the backlog, what the present job still needs */
    unsigned int gen;
    int ntasks;
    struct task task[8];
};
struct vspec { cpumask_t hard, soft; struct guest g; };
struct dspec {
    int id, nvcpus;
    long params[NPARAMS];
    s_time_t start;
    struct vspec *v;
    struct domain *d;
};
struct action { s_time_t at; char what[16]; int dom, vcpu; long params[NPARAMS]; unsigned long hard, soft; };
static struct dspec dspec[128];
static int ndoms, nactions;
static struct action actions[4096];
static struct dspec *dom(int id)
{
    for (int i = 0; i < ndoms; i++) if (dspec[i].id == id) return &dspec[i];
    abort();
}

static s_time_t exec_from[NR_CPUS];     /* since when the guest there executes, -1 for not */
static unsigned int done_gen[NR_CPUS];
static struct guest *guest_of(struct vcpu *v) { return v->guest; }
static void raise_pass(int c);
static void yield(struct vcpu *v);

static void halt(int c)
{
    struct guest *g = guest_of(oracle_current[c]);
    if (exec_from[c] < 0) return;
    if (g) {
        if (!g->burns) g->backlog -= oracle_now - exec_from[c];
        if (g->job) g->job -= oracle_now - exec_from[c];
        g->ran += oracle_now - exec_from[c];
    }
    exec_from[c] = -1;
    done_gen[c]++;
}
static void step(int c, struct vcpu *v, struct guest *g)
{
    s_time_t first = INT64_MAX;
    int i;
    if (g->burns) return;
    if (g->yields_after) {
        if (g->backlog == 0) {
            g->backlog = g->yields_after;
            yield(v);
            raise_pass(c);
        } else post(oracle_now + g->backlog, EV_DONE, (void *)(intptr_t)c, done_gen[c]);
        return;
    }
    for (i = 0; i < g->ntasks && g->pending; i++)
        for (struct task *t = &g->task[i]; t->wake <= oracle_now; t->busy = true) {
            g->backlog += t->kind == 'p' ? t->c : t->a;
            t->wake = t->kind == 'p' ? t->wake + t->a : INT64_MAX;
        }
    g->pending = false;
    for (i = 0; i < g->ntasks && g->backlog == 0; i++) {
        struct task *t = &g->task[i];
        if (t->kind == 'o' && t->busy) t->wake = oracle_now + t->b;
        t->busy = false;
    }
    for (i = 0; i < g->ntasks; i++) if (g->task[i].wake < first) first = g->task[i].wake;
    if (first != g->timer) {
        g->timer = first;
        g->gen++;
        if (first != INT64_MAX) post(first < oracle_now ? oracle_now : first, EV_RELEASE, g, g->gen);
    }
    if (g->backlog > 0) {
        /* As in domio, the end of each job is an event: the next one's is posted there, not before. */
        if (g->ntasks == 1 && g->task[0].kind == 'p' && g->job == 0) g->job = g->task[0].c;
        post(oracle_now + (g->job ? g->job : g->backlog), EV_DONE, (void *)(intptr_t)c, done_gen[c]);
    } else {
        set_bit(_VPF_blocked, &v->pause_flags);
        raise_pass(c);
    }
}
static void go(int c)
{
    struct vcpu *v = oracle_current[c];
    if (!guest_of(v)) return;
    exec_from[c] = oracle_now;
    step(c, v, guest_of(v));
}
/* The guest's time begins: `now` is when its domain was created. */
static void guest_begins(struct guest *g)
{
    g->timer = INT64_MAX;
    for (int k = 0; k < g->ntasks; k++) {
        struct task *t = &g->task[k];
        t->wake = INT64_MAX;
        switch (t->kind) {
        case 'b': g->burns = true; break;
        case 'p': t->wake = oracle_now + t->b; break;
        case 'y': g->yields_after = g->backlog = t->a; break;
        case 'o': case 'w': g->backlog += t->a; t->busy = true; break;
        }
    }
}
