/* base/mem.h - all heap calls of libcore.  They are counted per module, and tests can make one
 * fail. The counters are atomic and the only mutable globals of libcore (scripts/symbols.allow). */
#ifndef BASE_MEM_H
#define BASE_MEM_H
#include <stddef.h>
#include <stdint.h>

/* the calling module, as named in libcore/FLOORS */
enum mem_module {
	MEM_BASE,
	MEM_TYPE,
	MEM_FILE,
	MEM_TEXT,
	MEM_TOK,
	MEM_JINJA,
	MEM_AUTOMATA,
	MEM_GRAMMAR,
	MEM_CHAT,
	MEM_REPLY,
	MEM_KERN,
	MEM_GRAPH,
	MEM_BACKEND,
	MEM_ARCH,
	MEM_KV,
	MEM_PLACE,
	MEM_SAMPLE,
	MEM_ENGINE,
	MEM_HUB,
	MEM_PLAN,
	MEM_QUANT,
	MEM_JOB,
	MEM_RECORD,
	MEM_MODULES
};

/* Allocate n * size bytes, 16-aligned.  NULL on failure or if the product overflows; 0 bytes give a
 * unique pointer.  Any thread. */
void *mem_alloc(enum mem_module who, size_t n, size_t size);
void *mem_zalloc(enum mem_module who, size_t n, size_t size); /* zeroed */
/* On failure p is unchanged. */
void *mem_realloc(enum mem_module who, void *p, size_t n, size_t size);
void *mem_aligned(enum mem_module who, size_t align, size_t bytes); /* align: a power of two */
char *mem_strndup(enum mem_module who, const char *s, size_t n);    /* NUL added */
void mem_free(void *p);                                             /* NULL is fine */

/* Return the number of allocation calls so far, including failed ones.  mem_calls is for tests. */
uint64_t mem_calls(enum mem_module who);
uint64_t mem_calls_all(void);
uint64_t mem_live(void); /* blocks allocated now; for tests */

/* For tests: make the nth allocation call from now fail once (1: the next; 0: none). */
void mem_fail_at(uint64_t nth);
#endif
