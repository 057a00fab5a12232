// A bug ends the harness, and a warning is counted.
#pragma once
extern void shim_bug(const char *file, int line);
extern void shim_warn(const char *file, int line);
#define HAVE_ARCH_BUG
#define BUG() do { shim_bug(__FILE__, __LINE__); __builtin_unreachable(); } while (0)
#define __WARN_FLAGS(flags) shim_warn(__FILE__, __LINE__)
#include <asm-generic/bug.h>
