/* tests/fault/fault.h - what the preloaded library and its drivers agree on. */
#ifndef TESTS_FAULT_H
#define TESTS_FAULT_H
#include <stdint.h>

/* Calls that may fail.  SAY: a write to standard error; WRITE: to anything else. */
enum fault_kind {
	FAULT_MALLOC,
	FAULT_MMAP,
	FAULT_MUNMAP,
	FAULT_MADVISE,
	FAULT_THREAD,
	FAULT_OPEN,
	FAULT_READ,
	FAULT_WRITE,
	FAULT_SAY,
	FAULT_STAT,
	FAULT_SYNC,
	FAULT_RENAME,
	FAULT_TRUNCATE,
	FAULT_CLOSE,
	FAULT_POLL,
	FAULT_LOCK,
	FAULT_KINDS
};
/* How a program ends where the library itself could not do what it was asked. */
enum { FAULT_EXIT = 97 };

/* A file of this size is mapped by the library: it outlives whatever ends the program. */
struct fault_report {
	_Atomic uint64_t calls[FAULT_KINDS], failed;
};
#endif
