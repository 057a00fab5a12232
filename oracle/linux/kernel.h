// What the harness asks of the kernel's scheduler. Times are nanoseconds; vcpus, groups and cpus are numbers; group 0 is
// the root.
#pragma once

typedef long long i64;
enum { MAX_CPUS = 16, MAX_VCPUS = 256, MAX_GROUPS = 64, NOBODY = -1, GROUP_IDS = 1000 };

// Zero on domio's side. The kernel takes an average of time zero for one that has not been attached yet, as no host that
// has booted has one. A multiple of ticks, of 2^20 ns, and of all periods of the scenarios.
#define EPOCH 13653196800000000LL

// shim.c
extern i64 shim_now;
extern int shim_cpu;
extern int shim_averages;
void deliver(void);

// core.c
void k_boot(int cpus);
void k_features(const i64 *on);
void k_at(i64 now, int here);
void k_group(int group, int parent);
void k_group_set(int group, i64 shares, int idle, i64 quota, i64 period, i64 burst, i64 phase);
void k_thread(int vcpu, int group, int cpu);
void k_thread_set(int vcpu, int class, int nice, i64 slice);
void k_move(int vcpu, int cpu);
void k_wake(int vcpu, int is_new);
void k_yield(int cpu);
void k_pass(int cpu, int state);
void k_tick(int cpu);
void k_quota_timers(int group);
int k_cpu(int cpu, i64 *out);

// fair.c
// Latency, shortest slice, granularity of wake-ups, shortest slice of idlers, base slice, bandwidth slice, threads in a
// latency.
void k_tunables(const i64 *t);
void k_place_new(int vcpu);
// The state of a cpu, a queue, a group, an entity, word by word. Returns how many.
int k_queue(int group, int cpu, i64 *out);
int k_bandwidth(int group, i64 *out);
int k_entity(int id, int cpu, i64 *out);
int k_entity_words(void);
