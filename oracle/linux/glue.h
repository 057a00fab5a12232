// What differs between the releases that the harness knows.
#pragma once
#include "release.h"
#if RELEASE >= 612
#define GLUE_SM_IDLE SM_IDLE
#define glue_tick sched_tick
#define glue_new(p) ((p)->se.slice = sysctl_sched_base_slice)
#else
#define GLUE_SM_IDLE SM_NONE
#define glue_tick scheduler_tick
#define glue_new(p)
#endif
void glue_boot(void);
extern struct task_struct *k_tasks[];
extern struct task_group *k_groups[];
