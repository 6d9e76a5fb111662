/* tests/unit/plan/test_rehearse.c - decode steps with random weights: of a model of every family, whole and cut,
 * and what a plan does with their time. */
#include "plan/rehearse.h"
#include "../nth.h"
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FOLDER "tests/golden/logits/"
enum { MAX_NAMES = 128 };

static const struct infer_setup f32 = { .threads = 2, .k_type = INFER_F32, .v_type = INFER_F32 };
static const struct infer_machine any = { .memory_bytes = (uint64_t)1 << 40, .threads = 2 };

/* Steps were measured, or other programs prevent it. */
static void check_steps(const infer_model *m, int32_t layers, const char *name)
{
	struct rehearsal r = { .layers = layers, .steps = 1 };
	infer_error e = { 0 };
	int rc = rehearse_steps(&r, m, &any, &f32, &e);

	if (rc && rc != INFER_EAGAIN)
		fail_msg("%s, %d layers: %s", name, (int)layers, e.message);
	assert_true(rc || r.seconds > 0);
	assert_true(r.shape.layers >= layers);
}

static void check_family(void **state)
{
	const char *path = *state;
	struct infer_model_info info;
	infer_error e = { 0 };
	infer_model *m;

	if (infer_model_open(&m, path, NULL, &e))
		fail_msg("%s", e.message);
	infer_model_info(m, &info);
	if (!info.is_encoder && !info.n_ranks) {
		check_steps(m, info.n_layers, path);
		for (int32_t layers = 1; layers < info.n_layers; layers++)
			check_steps(m, layers, path);
	}
	infer_model_close(&m);
}

static int case_memory(void)
{
	struct rehearsal r = { .layers = 1, .steps = 1 };
	const struct infer_setup how = { .threads = 1, .k_type = INFER_F16, .v_type = INFER_F16 };
	infer_model *m = NULL;
	int rc;

	nth_ok(infer_model_open(&m, FOLDER "smollm3-hub.gguf", NULL, NULL));
	rc = rehearse_steps(&r, m, &any, &how, NULL);
	rc = rc == INFER_EAGAIN ? INFER_OK : rc;
	nth_ok(rc);
	assert_int_equal(r.shape.layers, 1);
out:
	infer_model_close(&m);
	return rc;
}

/* Random weights are not used on a machine with little memory. */
static void test_refused(void **state)
{
	struct infer_machine small = { .memory_bytes = 1 << 20, .threads = 1 };
	infer_model *m;
	double times = 1;

	(void)state;
	assert_int_equal(infer_model_open(&m, FOLDER "smollm3-hub.gguf", NULL, NULL), INFER_OK);
	assert_int_equal(infer_plan_rehearse(&times, m, &small, &f32, NULL), INFER_ENOMEM);
	assert_true(times == 0);
	infer_model_close(&m);
}

/* On a machine so slow that steps are cut, layers that share a cache are not. */
static void test_cut(void **state)
{
	struct infer_machine slow = any;
	infer_model *m;
	double times = 0;
	int rc;

	(void)state;
	slow.memory_gb_s = slow.f32_gflop_s = slow.i8_gop_s = 1e-6;
	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		for (int i = 0; i < 4; i++)
			slow.loops[t].rows[i] = slow.loops[t].cached[i] = 1e-6;
	for (int i = 0; i < INFER_MACHINE_HEADS; i++)
		slow.attn[INFER_F32].cached[i] = slow.attn[INFER_F32].prefill[i] = 1;
	for (int i = 0; i < INFER_MACHINE_SLOTS; i++)
		slow.slots[i] = 1;
	assert_int_equal(infer_model_open(&m, FOLDER "gemma3n-hub.gguf", NULL, NULL), INFER_OK);
	assert_int_equal(infer_plan_rehearse(&times, m, &slow, &f32, NULL), INFER_EUNSUP);
	infer_model_close(&m);
	assert_int_equal(infer_model_open(&m, FOLDER "smollm3-hub.gguf", NULL, NULL), INFER_OK);
	rc = infer_plan_rehearse(&times, m, &slow, &f32, NULL);
	assert_true(rc == INFER_EAGAIN || (!rc && times > 0 && times < 0.1));
	infer_model_close(&m);
}

/* The time of a rehearsal multiplies decode steps, not those of prompts, and a limit is never above a prediction. */
static void test_times(void **state)
{
	struct infer_shape s = { .n_work = 1, .weight_bytes = 4e9 };
	struct infer_machine m = {
		.threads = 2, .memory_gb_s = 10, .f32_gflop_s = 1e3, .i8_gop_s = 1e3
	};
	struct infer_setup how = { .k_type = INFER_F16, .v_type = INFER_F16 };
	const struct infer_load one = { 1, 1, 1, 1 }, many = { 8, 1, 1, 4 };
	struct infer_step_time t, u;

	(void)state;
	s.work[0] = (struct infer_work){
		.kind = INFER_WORK_MATRIX, .times = 1, .type = INFER_F32, .n = 1000, .k = 1000000
	};
	for (int i = 0; i < 4; i++)
		m.loops[INFER_F32].rows[i] = m.loops[INFER_F32].cached[i] = 2;
	infer_step_time(&t, &s, &m, &how, &one);
	how.decode_times = 1.25;
	infer_step_time(&u, &s, &m, &how, &one);
	assert_true(t.total > 0 && fabs(u.total / t.total - 1.25) < 1e-9 && u.limit == t.limit);
	how.decode_times = 0.25;
	infer_step_time(&u, &s, &m, &how, &one);
	assert_true(fabs(u.total / t.total - 0.25) < 1e-9);
	assert_true(u.limit < t.limit && u.limit <= u.total);
	infer_step_time(&u, &s, &m, &how, &many);
	how.decode_times = 0;
	infer_step_time(&t, &s, &m, &how, &many);
	assert_true(t.total > 0 && u.total == t.total && u.limit == t.limit);
}

int main(void)
{
	struct CMUnitTest tests[MAX_NAMES + 4] = { nth_case(case_memory),
		                                   cmocka_unit_test(test_refused),
		                                   cmocka_unit_test(test_cut),
		                                   cmocka_unit_test(test_times) };
	glob_t found;
	size_t n = 4;

	if (glob(FOLDER "*.gguf", 0, NULL, &found))
		fail_msg("no files in " FOLDER);
	for (size_t i = 0; i < found.gl_pathc && i < MAX_NAMES; i++)
		tests[n++] = (struct CMUnitTest){ found.gl_pathv[i], check_family, NULL, NULL,
			                          found.gl_pathv[i] };
	int rc = _cmocka_run_group_tests("rehearse", tests, n, NULL, NULL);

	globfree(&found);
	return rc;
}
