/* tests/unit/backend/test_layout.c - the workspace: its parts do not overlap, and under the
 * address sanitizer a write past the end of any part is reported, whoever writes. */
#include "../nth.h"
#include "step.h"
#include "backend/cpu/cpu.h"
#include "base/num.h"
#include "base/redzone.h"
#include "toy.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_byte(unsigned char *at) { *(volatile unsigned char *)at = 1; }

/* Whether writing a byte at `at` is reported; tried in a child. */
static int reported(unsigned char *at)
{
	char text[4096] = "";
	int ends[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(ends[1], 2);
		write_byte(at);
		_exit(0);
	}
	close(ends[1]);
	while ((got = read(ends[0], text + n, sizeof text - 1 - n)) > 0)
		n += (size_t)got;
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status && strstr(text, "use-after-poison");
}

/* The last byte is a part's own, the next is nobody's. */
static void ends_at(unsigned char *at, size_t bytes)
{
	assert_false(reported(at + bytes - 1));
	assert_int_equal(reported(at + bytes), REDZONE > 0);
}

static void test_parts(void **state)
{
	struct cpu_space s = { .base = mem_aligned(MEM_BACKEND, 64, 4096) };
	const size_t bytes[] = { 64, 1, 100, 8 };
	unsigned char *at[4];

	(void)state;
	assert_non_null(s.base);
	for (int i = 0; i < 4; i++) {
		at[i] = cpu_space_take(&s, bytes[i], 1);
		assert_int_equal((uintptr_t)at[i] % 64, 0);
		if (i)
			assert_int_equal(at[i] - at[i - 1],
			                 num_round_up(bytes[i - 1], 64) + REDZONE);
	}
	for (int i = 0; i < 4; i++)
		ends_at(at[i], bytes[i]);
	assert_null(cpu_space_take(&s, SIZE_MAX / 2, 1));
	assert_true(s.bad);
	redzone_clear(s.base, 4096);
	mem_free(s.base);
}

/* Values, acts and scratch of a plan that has run: each ends where its rows do. */
static void test_plan(void **state)
{
	struct toy_shape k = { .type = INFER_Q8_0,
		               .embd = 64,
		               .dk = 32,
		               .dv = 32,
		               .rot = 32,
		               .ff = 96,
		               .window = 40 };
	struct step_shape cache = { TOY_LAYERS, TOY_KV, k.dk, k.dv, INFER_F16, toy_state(&k) };
	const int32_t ids[5] = { 1, 2, 3, 4, 5 }, *of[STEP_SEQS] = { ids };
	const float *logits;
	infer_error e = { 0 };
	struct step s;
	struct toy t;

	(void)state;
	assert_int_equal(toy_make(&t, &k, -1), INFER_OK);
	assert_int_equal(step_open(&s, &t.m, &cache, 2, NULL, 16, &e), INFER_OK);
	assert_int_equal(step_run(&s, of, (int[STEP_SEQS]){ 5 }, &logits, &e), INFER_OK);
	const struct backend_plan *p = s.o.plan;
	ends_at((unsigned char *)(void *)cpu_value(p, t.g.output, 0),
	        5 * TOY_VOCAB * sizeof(float));
	assert_true(p->n_acts > 0);
	for (int i = 0; i < 2; i++)
		ends_at(p->scratch + (size_t)i * p->scratch_bytes, p->scratch_bytes - REDZONE);
	ends_at((unsigned char *)p->pos, 16 * sizeof *p->pos);
	ends_at((unsigned char *)p->moe.up, 16 * TOY_USED * 96 * sizeof(float));
	/* a plan's memory goes back without its zones */
	step_close(&s);
	toy_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_parts),
		                            cmocka_unit_test(test_plan) };
	return nth_group(tests);
}
