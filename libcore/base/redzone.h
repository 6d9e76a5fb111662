/* base/redzone.h - guard bytes between the parts of one block.  The address sanitizer reports
 * accesses to them; other builds have none, and the calls do nothing. */
#ifndef BASE_REDZONE_H
#define BASE_REDZONE_H
#include <stddef.h>

#if defined __SANITIZE_ADDRESS__
#define REDZONE_ON 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define REDZONE_ON 1
#endif
#endif

#ifdef REDZONE_ON
#include <sanitizer/asan_interface.h>
enum { REDZONE = 128 }; /* bytes after each part */
static inline void redzone_set(const void *at, size_t n) { __asan_poison_memory_region(at, n); }
static inline void redzone_clear(const void *at, size_t n) { __asan_unpoison_memory_region(at, n); }
#else
enum { REDZONE = 0 };
static inline void redzone_set(const void *at, size_t n) { (void)at, (void)n; }
static inline void redzone_clear(const void *at, size_t n) { (void)at, (void)n; }
#endif
#endif
