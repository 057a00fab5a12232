// A switch changes who is current. Tasks have no stacks: what follows a switch is done on behalf of the next task.
#pragma once
struct task_struct;
struct task_struct *shim_switch(struct task_struct *prev, struct task_struct *next);
#define switch_to(prev, next, last) ((last) = shim_switch(prev, next))
