// What the kernel's build computes of its own headers.
#pragma once
#define NR_PAGEFLAGS 24
#define MAX_NR_ZONES 4
#define NR_CPUS_BITS 4
#define SPINLOCK_SIZE 4
#define LRU_GEN_WIDTH 0
#define __LRU_REFS_WIDTH 0
