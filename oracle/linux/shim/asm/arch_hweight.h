// Bits that are set, counted by the compiler's own functions.
#pragma once
static inline unsigned int __arch_hweight32(unsigned int w) { return __builtin_popcount(w); }
static inline unsigned int __arch_hweight16(unsigned int w) { return __builtin_popcount(w & 0xffff); }
static inline unsigned int __arch_hweight8(unsigned int w) { return __builtin_popcount(w & 0xff); }
static inline unsigned long __arch_hweight64(unsigned long w) { return __builtin_popcountl(w); }
