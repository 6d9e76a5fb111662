/* emu.cpp - the emulated machine: runs a grid block by block, the threads of a block as fibres.
 *
 * Early start: if the stream already has the next kernel, one block of it runs up to
 * gpu_wait, in another struct machine, before this kernel runs.  It resumes with the next kernel.
 *
 *   ready[n_ready]   threads that can run; orders up and down pop the last one
 *   shared           | dynamic | red | array | red | array | red |   RED bytes each, NaN bytes
 *
 * A waiting thread is IN_WARP or IN_BLOCK and not in ready; the last one to arrive wakes the
 * others.  If none is ready and some are not DONE, the block is deadlocked. */
#include "emu.h"
#include "machine.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef EMU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

enum {
	/* 17 pages; a power of two would put all stacks into the same cache sets */
	STACK = 68 << 10,
	SHARED_MOST = 227 << 10,
	SHARED_SPACE = 256 << 10,
	STATIC_MOST = 48 << 10,
	THREADS = 1024,
	SITES = 32,
	MACHINES = 3,
	PAGE = 4 << 10,
	/* bytes of a stack that hold the frames of run_thread and the scheduler */
	USED_TOP = 16 << 10,
	RED = 128,
};
enum { READY, IN_WARP, LEAVING, IN_BLOCK, PARKED, DONE };

struct site {
	const void *key;
	int at;
	size_t size;
};
struct machine { /* the state of one running block, or of one parked at its gpu_wait */
	emu_thread t[THREADS];
	emu_thread *ready[THREADS];
	emu_kernel k;
	uint3 block_id;
	const char *barrier; /* that n_block threads wait in */
	int n, n_ready, n_done, n_block, n_sites, used, ahead, votes[2], early, parked;
	size_t dynamic, statics, stacks_size;
	unsigned char *shared;
	char *stacks;
	char sync[2], sync_warp[THREADS / EMU_WARP][2];
	unsigned in_warp[THREADS / EMU_WARP]; /* lanes that wait */
	unsigned gone[THREADS / EMU_WARP];    /* lanes that have ended */
	uint64_t at, step; /* number of the block; distance to the next one, modulo the grid */
	site sites[SITES];
};
static machine machines[MACHINES], *m = machines;
static struct {
	emu_thread main;
	char end, ended; /* TSan sync objects: released by each thread; by each kernel */
	const void *main_stack;
	size_t main_size;
	uint64_t rng;
	int from_main, order, cut, set_up;
	long long count[EMU_COUNTERS];
} emu;
emu_thread *emu_current = &emu.main;
uint3 emu_block_id;
dim3 emu_block_dim, emu_grid_dim;
unsigned char *emu_shared;
char emu_fence;

MACHINE void emu_die(const char *s)
{
	emu_thread *t = emu_current;

	fprintf(stderr, "emu: %s, block %u %u %u, thread %d, in %s\n", s, emu_block_id.x,
	        emu_block_id.y, emu_block_id.z, t == &emu.main ? -1 : t->rank,
	        t->what ? t->what : "-");
	abort();
}
MACHINE static uint64_t next_random(void)
{
	emu.rng = emu.rng * 6364136223846793005u + 1442695040888963407u;
	return emu.rng >> 33;
}
MACHINE static void read_settings(void)
{
	const char *order = getenv("EMU_ORDER"), *seed = getenv("EMU_SEED"),
		   *mma = getenv("EMU_MMA");

	if (emu.set_up)
		return;
	emu.set_up = 1;
	emu.order = order && !strcmp(order, "down") ? EMU_DOWN : seed ? EMU_RANDOM : EMU_UP;
	emu.rng = seed ? strtoull(seed, NULL, 10) * 2 + 1 : 1;
	emu.cut = mma && !strcmp(mma, "trunc");
}
void emu_set_order(enum emu_order order, uint64_t seed)
{
	read_settings();
	emu.order = order;
	emu.rng = seed * 2 + 1;
}
void emu_set_mma(int cut)
{
	read_settings();
	emu.cut = cut;
}
MACHINE long long emu_counter(enum emu_counter c) { return emu.count[c]; }
int emu_mma_cuts(void) { return emu.cut; }
void emu_clear_counters(void) { memset(emu.count, 0, sizeof emu.count); }
MACHINE void emu_tick(int kind, long long n) { emu.count[kind] += n; }

/* ---- fibres ---- */
extern "C" void emu_switch(void **save, void *to);
#if defined __x86_64__
enum { FRAME = 8, FRAME_RETURN = 6 }; /* words on a new stack; index of the return address */
asm(".text\n.globl emu_switch\n.type emu_switch,@function\nemu_switch:\n"
    " push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
    " mov %rsp,(%rdi)\n mov %rsi,%rsp\n"
    " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n"
    ".size emu_switch,.-emu_switch\n");
#elif defined __aarch64__
enum { FRAME = 20, FRAME_RETURN = 11 };
asm(".text\n.globl emu_switch\n.type emu_switch,%function\nemu_switch:\n"
    " sub sp,sp,#160\n"
    " stp x19,x20,[sp]\n stp x21,x22,[sp,#16]\n stp x23,x24,[sp,#32]\n stp x25,x26,[sp,#48]\n"
    " stp x27,x28,[sp,#64]\n stp x29,x30,[sp,#80]\n"
    " stp d8,d9,[sp,#96]\n stp d10,d11,[sp,#112]\n stp d12,d13,[sp,#128]\n stp d14,d15,[sp,#144]\n"
    " mov x9,sp\n str x9,[x0]\n mov sp,x1\n"
    " ldp x19,x20,[sp]\n ldp x21,x22,[sp,#16]\n ldp x23,x24,[sp,#32]\n ldp x25,x26,[sp,#48]\n"
    " ldp x27,x28,[sp,#64]\n ldp x29,x30,[sp,#80]\n"
    " ldp d8,d9,[sp,#96]\n ldp d10,d11,[sp,#112]\n ldp d12,d13,[sp,#128]\n ldp d14,d15,[sp,#144]\n"
    " add sp,sp,#160\n ret\n.size emu_switch,.-emu_switch\n");
#else
#error "no switch of fibres for this processor: its kept registers and the stack pointer"
#endif
MACHINE static char *stack_of(const emu_thread *t) { return m->stacks + (size_t)STACK * t->rank; }
#ifdef EMU_ASAN
static void finish_switch(void *fake)
{
	const void *bottom;
	size_t size;

	__sanitizer_finish_switch_fiber(fake, &bottom, &size);
	if (emu.from_main) {
		emu.main_stack = bottom;
		emu.main_size = size;
		emu.from_main = 0;
	}
}
#endif
MACHINE static void switch_to(emu_thread *to)
{
	emu_thread *from = emu_current;

	if (to == from)
		return;
	emu_current = to;
	emu.count[EMU_SWITCHES]++;
#ifdef EMU_TSAN
	__tsan_switch_to_fiber(to->tsan, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef EMU_ASAN
	emu.from_main = from == &emu.main;
	__sanitizer_start_switch_fiber(from->state == DONE ? NULL : &from->fake,
	                               to == &emu.main ? emu.main_stack : stack_of(to),
	                               to == &emu.main ? emu.main_size : (size_t)STACK);
#endif
	emu_switch(&from->sp, to->sp);
#ifdef EMU_ASAN
	finish_switch(from->fake);
#endif
}
/* Returns the index in ready of the thread to run next. */
MACHINE static int choose_ready(void)
{
	int n = m->n_ready, i = n - 1;

	if (emu.order == EMU_RANDOM) { /* prefer the same warp, so that the others lag */
		int start = i = (int)(next_random() % (unsigned)n);

		for (int j = 0; j < n && m->ready[i]->rank / EMU_WARP != m->ahead; j++)
			i = (start + j) % n;
		m->ahead = m->ready[i]->rank / EMU_WARP;
	}
	return i;
}
MACHINE static void run_next(void) /* after the running thread has to wait or is done */
{
	int i;
	emu_thread *t;

	if (!m->n_ready) {
		switch_to(&emu.main);
		return;
	}
	i = choose_ready();
	t = m->ready[i];
	m->ready[i] = m->ready[--m->n_ready];
	switch_to(t);
}
/* Make those of n threads ready that are in this state. */
MACHINE static void wake(emu_thread *first, int n, int state)
{
	for (int i = 0; i < n; i++) {
		emu_thread *t =
			&first[emu.order == EMU_DOWN ? i : n - 1 - i]; /* popped in reverse */

		if (t->state != state)
			continue;
		t->state = READY;
		m->ready[m->n_ready++] = t;
	}
}
MACHINE static void release_block(void)
{
	m->n_block = 0;
	wake(m->t, m->n, IN_BLOCK);
}
MACHINE static void run_thread(void)
{
	emu_thread *t = emu_current;

#ifdef EMU_ASAN
	finish_switch(NULL);
#endif
	m->k.call(m->k.user);
	t->what = "return";
	if (t->copy_first != t->copy_next)
		emu_die("a thread ended before its cp.async");
	if (!t->waited)
		emu_die("kernel did not wait");
	EMU_RELEASE(&emu.end);
	t->state = DONE;
	m->gone[t->rank / EMU_WARP] |= 1u << t->rank % EMU_WARP;
	m->n_done++;
	if (m->n_block && m->n_done + m->n_block == m->n)
		release_block(); /* barriers do not count ended threads */
	run_next();
	abort();
}

/* ---- a block ---- */
MACHINE static void poison(const void *p, size_t n, int on)
{
#ifdef EMU_ASAN
	if (on)
		__asan_poison_memory_region(p, n);
	else
		__asan_unpoison_memory_region(p, n);
#else
	(void)p;
	(void)n;
	(void)on;
#endif
}
MACHINE void *emu_array(const void *key, size_t size)
{
	site *s = m->sites;
	int at;

	for (int i = 0; i < m->n_sites; i++)
		if (s[i].key == key)
			return emu_shared + s[i].at;
	at = (m->used + RED - 1) / RED * RED;
	m->statics += size;
	if (m->statics > STATIC_MOST || m->statics + m->dynamic > SHARED_MOST)
		emu_die("too much shared memory");
	if (m->n_sites == SITES || at + size + RED > SHARED_SPACE)
		emu_die("too many shared arrays");
	s[m->n_sites++] = site{ key, at, size };
	m->used = at + (int)size + RED;
	poison(emu_shared + at, size, 0);
	return emu_shared + at;
}
MACHINE int emu_is_shared(const void *p, size_t n)
{
	return (const unsigned char *)p >= emu_shared &&
	       (const unsigned char *)p + n <= emu_shared + m->used;
}
MACHINE static void check_red(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (emu_shared[i] != 0xff)
			emu_die("a write outside of a shared array");
}
MACHINE static void check_reds(void)
{
	size_t at = m->dynamic;

	poison(emu_shared, SHARED_SPACE, 0);
	for (int i = 0; i < m->n_sites; i++) {
		check_red(at, (size_t)m->sites[i].at);
		at = (size_t)m->sites[i].at + m->sites[i].size;
	}
	check_red(at, (size_t)m->used);
}
/* Map n bytes of zeros. */
MACHINE static void *map_fresh(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	               -1, 0);

	if (p == MAP_FAILED)
		emu_die("no memory for threads");
	return p;
}
/* Map the stacks, each with a guard page, and shared memory.  Under TSan each block gets new ones,
 * so that accesses of earlier blocks are forgotten.  Returns 1 if they are new. */
MACHINE static int map_block(void)
{
	size_t threads = THREADS;

#ifdef EMU_TSAN
	threads = (size_t)m->n;
	if (m->stacks) {
		munmap(m->stacks, m->stacks_size);
		munmap(m->shared, SHARED_SPACE);
		m->stacks = NULL;
	}
#endif
	if (m->stacks)
		return 0;
	m->stacks_size = threads * STACK;
	m->stacks = (char *)map_fresh(m->stacks_size);
	m->shared = (unsigned char *)map_fresh(SHARED_SPACE);
	for (size_t i = 0; i < threads; i++)
		mprotect(m->stacks + i * STACK, PAGE, PROT_NONE);
	return 1;
}
MACHINE static void start_thread(int i)
{
	emu_thread *t = &m->t[i];
	char *stack;
	void **sp;

	t->rank = i;
	stack = stack_of(t);
	/* run_thread never returns, so its frames stay poisoned */
	poison(stack + STACK - USED_TOP, USED_TOP, 0);
	sp = (void **)(stack + STACK - i % 16 * 256) - FRAME; /* spread over cache sets */
	memset(sp, 0, FRAME * sizeof *sp);
	sp[FRAME_RETURN] = (void *)run_thread;
	t->sp = sp;
	t->copy_first = t->copy_next = t->group = t->turn = t->turn_warp = t->waited = 0;
	t->what = NULL;
	t->tid.x = (unsigned)i % emu_block_dim.x;
	t->tid.y = (unsigned)i / emu_block_dim.x % emu_block_dim.y;
	t->tid.z = (unsigned)i / emu_block_dim.x / emu_block_dim.y;
#ifdef EMU_TSAN
	t->tsan = __tsan_create_fiber(0);
#endif
	t->state = PARKED;
	m->gone[i / EMU_WARP] &= ~(1u << i % EMU_WARP);
}
MACHINE static void use_machine(machine *x)
{
	m = x;
	emu_block_id = m->block_id;
	emu_grid_dim = m->k.grid;
	emu_block_dim = m->k.block;
	emu_shared = m->shared;
}
/* Start the threads of block m->at and run until none is ready. */
MACHINE static void start_block(void)
{
	uint64_t n = (uint64_t)m->k.grid.x * m->k.grid.y * m->k.grid.z;
	uint64_t j = emu.order == EMU_DOWN ? n - 1 - m->at : m->at;
	int fresh;

	m->block_id.x = (unsigned)(j % m->k.grid.x);
	m->block_id.y = (unsigned)(j / m->k.grid.x % m->k.grid.y);
	m->block_id.z = (unsigned)(j / m->k.grid.x / m->k.grid.y);
	fresh = map_block();
	use_machine(m);
	poison(m->shared, SHARED_SPACE, 0);
	memset(m->shared, 0xff, fresh ? (size_t)SHARED_SPACE : (size_t)m->used);
	poison(m->shared, SHARED_SPACE, 1);
	poison(m->shared, m->dynamic, 0);
	m->n_sites = 0;
	m->statics = 0;
	m->used = (int)m->dynamic + RED;
	m->n_ready = m->n_done = m->n_block = 0;
	memset(m->in_warp, 0, sizeof m->in_warp);
	memset(m->gone, 0xff, sizeof m->gone);
	for (int i = 0; i < m->n; i++)
		start_thread(i);
	wake(m->t, m->n, PARKED);
	emu.count[EMU_STARTED] += m->n;
	run_next();
}
MACHINE static void check_block(void)
{
	for (int i = 0; i < m->n; i++) {
		if (m->t[i].state != DONE) {
			emu_current = &m->t[i];
			emu_die("not all threads reach this operation");
		}
#ifdef EMU_TSAN
		__tsan_destroy_fiber(m->t[i].tsan);
#endif
	}
	check_reds();
}
/* Returns a step through n blocks that is coprime to n. */
MACHINE static uint64_t choose_step(uint64_t n)
{
	uint64_t x = 0, y, z, step = 1;

	while (emu.order == EMU_RANDOM && n > 1 && x != 1) {
		step = next_random() % n + 1;
		for (x = step, y = n; y; x = y, y = z)
			z = x % y;
	}
	return step;
}
MACHINE static void set_kernel(machine *x, const emu_kernel *k)
{
	uint64_t n = (uint64_t)k->grid.x * k->grid.y * k->grid.z;

	x->k = *k;
	x->n = (int)(k->block.x * k->block.y * k->block.z);
	x->dynamic = k->bytes;
	x->step = choose_step(n);
	x->at = emu.order == EMU_RANDOM ? next_random() % n : 0;
	use_machine(x);
}
/* Returns the machine in which the kernel is parked; otherwise an unused one, or NULL if `most` or
 * more are parked. */
MACHINE static machine *find_machine(const emu_kernel *k, int most)
{
	machine *unused = NULL;
	int parked = 0;

	for (int i = 0; i < MACHINES; i++) {
		if (machines[i].parked && machines[i].k.user == k->user)
			return &machines[i];
		parked += machines[i].parked;
		if (!machines[i].parked)
			unused = &machines[i];
	}
	return parked < most ? unused : NULL;
}
/* Run one block of the kernel up to its gpu_wait. */
MACHINE static void park(const emu_kernel *k)
{
	machine *x = find_machine(k, MACHINES - 1);

	if (!x || x->parked)
		return;
	set_kernel(x, k);
	m->early = m->parked = 1;
	start_block();
	m->early = 0;
}
MACHINE static void resume(void)
{
	m->parked = 0;
	wake(m->t, m->n, PARKED);
	run_next();
}
MACHINE void emu_run(const emu_kernel *k, const emu_kernel *next)
{
	uint64_t n = (uint64_t)k->grid.x * k->grid.y * k->grid.z;
	machine *own;
	int parked;

	read_settings();
	emu_current = &emu.main;
#ifdef EMU_TSAN
	emu.main.tsan = __tsan_get_current_fiber();
#endif
	own = find_machine(k, MACHINES);
	parked = own->parked;
	own->parked = 1; /* not for the next kernel */
	if (next)
		park(next);
	own->parked = 0;
	if (parked)
		use_machine(own);
	else
		set_kernel(own, k);
	for (uint64_t i = 0; i < n; i++, m->at = (m->at + m->step) % n) {
		if (parked)
			resume();
		else
			start_block();
		parked = 0;
		check_block();
	}
	EMU_ACQUIRE(&emu.end);
	EMU_RELEASE(&emu.ended);
}

/* ---- barriers and warps ---- */
MACHINE void emu_wait_grid(void)
{
	emu_thread *t = emu_current;

	t->waited = 1;
	if (m->early) {
		t->what = "gpu_wait";
		t->state = PARKED;
		run_next();
	}
	EMU_ACQUIRE(&emu.ended);
}
MACHINE int emu_barrier(const char *what, int vote)
{
	emu_thread *t = emu_current;
	int turn = t->turn++ & 1;

	EMU_RELEASE(&m->sync[turn]);
	if (!m->n_block)
		m->votes[turn] = 0;
	if (m->n_block && m->barrier != what && strcmp(m->barrier, what))
		emu_die("threads of a block are in different barriers");
	m->barrier = what;
	m->votes[turn] += vote != 0;
	t->what = what;
	t->state = IN_BLOCK;
	emu.count[EMU_BARRIERS]++;
	if (++m->n_block + m->n_done == m->n)
		release_block();
	run_next();
	EMU_ACQUIRE(&m->sync[turn]);
	return m->votes[turn];
}
/* Wait for the lanes of the mask.  Returns the warp to the last lane, which does the work of all
 * and calls emu_leave; NULL to the others, after that. */
MACHINE emu_thread *emu_meet(const char *what, unsigned mask, const void *in, void *out)
{
	emu_thread *t = emu_current;
	int w = t->rank / EMU_WARP;
	emu_thread *warp = m->t + w * EMU_WARP;

	t->what = what;
	t->state = IN_WARP;
	t->mask = mask;
	t->in = in;
	t->out = out;
	m->in_warp[w] |= 1u << t->rank % EMU_WARP;
	if (!(mask >> t->rank % EMU_WARP & 1))
		emu_die("the mask does not contain the calling lane");
	if (mask & m->gone[w])
		emu_die("the mask contains a lane that has ended");
	if (mask & ~m->in_warp[w]) {
		run_next();
		return NULL;
	}
	for (int i = 0; i < EMU_WARP; i++)
		if (mask >> i & 1 &&
		    (warp[i].mask != mask || (warp[i].what != what && strcmp(warp[i].what, what))))
			emu_die("lanes of a warp are in different operations");
	return warp;
}
MACHINE void emu_leave(unsigned mask)
{
	int w = emu_current->rank / EMU_WARP;
	emu_thread *warp = m->t + w * EMU_WARP;

	m->in_warp[w] &= ~mask;
	for (int i = 0; i < EMU_WARP; i++)
		if (mask >> i & 1)
			warp[i].state = LEAVING;
	wake(warp, EMU_WARP, LEAVING);
	run_next();
}
MACHINE char *emu_warp_sync(void)
{
	return &m->sync_warp[emu_current->rank / EMU_WARP][emu_current->turn_warp++ & 1];
}
