/* tests/unit/plan/test_plan.c - plans: bytes and operations that follow from the published sizes of
 * models, limits against published rates, users, sharing and cost. */
#include <infer/plan.h>
#include "plan/shape.h"
#include "quant/mix.h"
#include "../nth.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void add(struct infer_shape *s, int times, int type, int64_t n, int64_t k, int out)
{
	s->work[s->n_work++] = (struct infer_work){
		.kind = INFER_WORK_MATRIX, .times = times, .out = out, .type = type, .n = n, .k = k
	};
}

/* A dense decoder by the numbers of its config.json. */
struct config {
	int layers, embd, heads, kv_heads, dk, ff, vocab;
};
static const struct config llama3_8b = { 32, 4096, 32, 8, 128, 14336, 128256 },
			   llama2_7b = { 32, 4096, 32, 32, 128, 11008, 32000 };

static struct infer_shape dense(const struct config *c, int type, int better)
{
	struct infer_shape s = { .layers = c->layers,
		                 .vocab = c->vocab,
		                 .embd = c->embd,
		                 .ctx_train = 8192,
		                 .regions = 4 * c->layers };
	int half = c->layers / 2;

	/* Q4_K_M: V and down are better in half of the layers, and the output in all */
	add(&s, c->layers, type, (int64_t)c->heads * c->dk, c->embd, 0);
	add(&s, c->layers, type, (int64_t)c->kv_heads * c->dk, c->embd, 0);
	add(&s, half, type, (int64_t)c->kv_heads * c->dk, c->embd, 0);
	add(&s, half, better, (int64_t)c->kv_heads * c->dk, c->embd, 0);
	add(&s, c->layers, type, c->embd, (int64_t)c->heads * c->dk, 0);
	add(&s, 2 * c->layers, type, c->ff, c->embd, 0);
	add(&s, half, type, c->embd, c->ff, 0);
	add(&s, half, better, c->embd, c->ff, 0);
	add(&s, 1, better, c->vocab, c->embd, 1);
	s.work[s.n_work++] = (struct infer_work){ .kind = INFER_WORK_ATTN,
		                                  .times = c->layers,
		                                  .heads = c->heads,
		                                  .kv_heads = c->kv_heads,
		                                  .dk = c->dk,
		                                  .dv = c->dk };
	const struct infer_type_info *t = infer_type_info(type);
	s.table_elements = (double)c->vocab * c->embd;
	s.table_bytes = s.table_elements * t->block_bytes / t->block;
	s.weight_bytes = s.table_bytes;
	for (int i = 0; i < s.n_work; i++) {
		t = infer_type_info(s.work[i].type);
		s.weight_bytes += (double)s.work[i].times * (double)s.work[i].n *
		                  (double)s.work[i].k * t->block_bytes / t->block;
	}
	return s;
}

static struct infer_machine machine(const char *name)
{
	struct infer_machine m;

	assert_int_equal(infer_machine_find(&m, name, NULL), INFER_OK);
	return m;
}

static const struct infer_setup on_gpu = {
	.k_type = INFER_F16, .v_type = INFER_F16, .gpu_part = 1, .gpus = 1
};
static const struct infer_setup on_host = { .k_type = INFER_F16, .v_type = INFER_F16 };

/* The sizes that the source of published.txt says: 14.96 GiB in F16, 4.58 GiB in Q4_K_M. */
static void test_bytes(void **state)
{
	struct infer_shape f16 = dense(&llama3_8b, INFER_F16, INFER_F16),
			   q4 = dense(&llama3_8b, INFER_Q4_K, INFER_Q6_K);

	(void)state;
	assert_true(fabs(f16.weight_bytes / (1 << 30) / 14.96 - 1) < 0.003);
	assert_true(fabs(q4.weight_bytes / (1 << 30) / 4.58 - 1) < 0.01);
	/* Llama 3 8B: 128 KiB a position */
	assert_true(infer_shape_kv(&f16, 1000, INFER_F16, INFER_F16) == 1000.0 * (128 << 10));
	assert_true(infer_shape_kv(&f16, 64, INFER_Q8_0, INFER_Q8_0) ==
	            64.0 * (128 << 10) * 34 / 64);
	infer_shape_retype(&f16, INFER_Q4_K);
	assert_true(fabs(f16.weight_bytes / q4.weight_bytes - 1) < 0.06);
	infer_shape_retype(&f16, INFER_Q8_0); /* 8.5 bits */
	assert_true(fabs(f16.weight_bytes / (8.03e9 * 8.5 / 8) - 1) < 0.001);
}

/* A state does not grow with the context, but a sequence holds those of several page ends. */
static void test_states(void **state)
{
	struct infer_shape s = dense(&llama3_8b, INFER_F16, INFER_F16);

	(void)state;
	s.state_bytes = 1 << 20;
	assert_true(infer_shape_kv(&s, 0, INFER_F16, INFER_F16) == 0);
	assert_true(infer_shape_kv(&s, 32, INFER_F16, INFER_F16) == 32.0 * (128 << 10) + (1 << 20));
	assert_true(infer_shape_kv(&s, 4096, INFER_F16, INFER_F16) ==
	            4096.0 * (128 << 10) + (4 << 20));
}

static void test_window(void **state)
{
	struct infer_shape s = dense(&llama3_8b, INFER_F16, INFER_F16);

	(void)state;
	s.work[s.n_work - 1].window = 512;
	assert_true(infer_shape_kv(&s, 4096, INFER_F16, INFER_F16) == 512.0 * (128 << 10));
	assert_true(infer_shape_kv(&s, 100, INFER_F16, INFER_F16) == 100.0 * (128 << 10));
}

/* Of 8 experts one row takes 2; of many rows all are taken; E (1 - (1 - u/E)^n) between. */
static void test_experts(void **state)
{
	(void)state;
	assert_true(fabs(infer_experts_touched(8, 2, 1) - 2) < 1e-12);
	assert_true(fabs(infer_experts_touched(8, 2, 2) - 3.5) < 1e-12);
	assert_true(fabs(infer_experts_touched(128, 8, 16) - 128 * (1 - pow(0.9375, 16))) < 1e-9);
	assert_true(fabs(infer_experts_touched(64, 8, 512) - 64) < 1e-9);
	assert_true(infer_experts_touched(64, 8, 0) == 0);
}

/* Seconds of weights, then of attention, at ceilings of round numbers. */
static void test_phases(void **state)
{
	const struct infer_ceilings top = { .mapped.median = 10,
		                            .fma.median = 100,
		                            .dot.median = 1000 };
	static const struct {
		struct infer_cost c;
		double seconds;
		int limit;
	} rows[] = {
		{ { .weight_bytes = 20e9, .fma_ops = 100e9 }, 2, INFER_LIMIT_MEMORY },
		{ { .weight_bytes = 20e9, .fma_ops = 200e9, .dot_ops = 1000e9 },
		  3,
		  INFER_LIMIT_COMPUTE },
		/* what attention computes does not hide what weights read */
		{ { .weight_bytes = 20e9, .kv_bytes = 5e9, .attn_ops = 100e9 },
		  3,
		  INFER_LIMIT_MEMORY },
		{ { .weight_bytes = 20e9, .kv_bytes = 30e9, .attn_ops = 100e9 },
		  5,
		  INFER_LIMIT_KV },
		{ { .weight_bytes = 20e9, .kv_bytes = 30e9, .attn_ops = 400e9 },
		  6,
		  INFER_LIMIT_COMPUTE },
		{ { .bf16_ops = 500e9, .attn_ops = 100e9 }, 6, INFER_LIMIT_COMPUTE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int limit = -1;

		assert_true(fabs(infer_cost_seconds(&rows[i].c, &top, &limit) - rows[i].seconds) <
		            1e-9);
		assert_int_equal(limit, rows[i].limit);
	}
}

/* A step of an F16 model on a machine of round numbers. */
static void test_limits(void **state)
{
	const struct infer_shape s = dense(&llama2_7b, INFER_F16, INFER_F16);
	const struct infer_machine m = { .gpu = { .count = 2,
		                                  .memory_bytes = (uint64_t)1 << 40,
		                                  .memory_gb_s = 1000,
		                                  .f16_tflop_s = 100,
		                                  .link_gb_s = 10,
		                                  .link_us = 5,
		                                  .decode_part = 0.5,
		                                  .prefill_part = 0.25 } };
	struct infer_setup how = on_gpu;
	struct infer_step_time t;

	(void)state;
	infer_step_time(&t, &s, &m, &how, &(struct infer_load){ 1, 1, 1, 1 });
	assert_true(fabs(t.limit / (2 * 6.607e9 / 1000e9) - 1) < 0.001);
	assert_true(fabs(t.total - 2 * t.limit) < 1e-9);
	assert_int_equal(t.limit_by, INFER_BOUND_MEMORY);
	infer_step_time(&t, &s, &m, &how, &(struct infer_load){ 512, 1, 1, 1 });
	assert_int_equal(t.limit_by, INFER_BOUND_COMPUTE);
	/* the output multiplies one row */
	assert_true(fabs(t.limit / (2 * 512 * (6.607e9 - 0.131e9) / 100e12) - 1) < 0.002);
	assert_true(fabs(t.total - 4 * t.limit) < 1e-9);
	/* a long context reads more cache than weights */
	infer_step_time(&t, &s, &m, &how, &(struct infer_load){ 16, 16, 16, 8192 });
	assert_int_equal(t.limit_by, INFER_BOUND_KV);
	assert_true(fabs(t.kv_bytes - 16 * infer_shape_kv(&s, 8192, INFER_F16, INFER_F16)) < 1);
	/* halves of each layer on two: twice as fast, and 2 sums a layer of 2 * 4096 * 2 bytes / 2, each with the latency of
	 * the link */
	how.gpus = 2;
	how.split = INFER_SPLIT_TENSOR;
	infer_step_time(&t, &s, &m, &how, &(struct infer_load){ 1, 1, 1, 1 });
	assert_true(fabs(t.limit / (6.607e9 / 1000e9) - 1) < 0.001);
	assert_true(fabs(t.part[INFER_BOUND_LINK] / (2 * 32 * (4096 * 2 / 10e9 + 5e-6)) - 1) <
	            1e-9);
	infer_step_time(&t, &s, &m, &how, &(struct infer_load){ 4096, 1, 1, 1 });
	assert_int_equal(t.limit_by, INFER_BOUND_COMPUTE);
	how.split = INFER_SPLIT_PIPELINE;
	infer_step_time(&t, &s, &m, &how, &(struct infer_load){ 1, 1, 1, 1 });
	assert_true(fabs(t.limit / (2 * 6.607e9 / 1000e9) - 1) < 0.001);
	assert_true(fabs(t.part[INFER_BOUND_LINK] / (4096 * 2 / 10e9 + 5e-6) - 1) < 1e-9);
}

/* Without arithmetic nothing is said about prompts. */
static void test_partial(void **state)
{
	const struct infer_shape s = dense(&llama3_8b, INFER_F16, INFER_F16);
	struct infer_machine m = machine("m4-pro"), host = machine("epyc-9654");
	struct infer_step_time t;

	(void)state;
	m.gpu.f16_tflop_s = host.f32_gflop_s = 0;
	infer_step_time(&t, &s, &m, &on_gpu, &(struct infer_load){ 512, 1, 1, 256 });
	assert_true(t.partial && t.total == 0);
	infer_step_time(&t, &s, &m, &on_gpu, &(struct infer_load){ 1, 1, 1, 256 });
	assert_true(!t.partial && t.limit > 0);
	infer_step_time(&t, &s, &host, &on_host, &(struct infer_load){ 512, 1, 1, 256 });
	assert_true(t.partial && t.total == 0);
}

/* The cost of cutting layers: over PCIe the exchanges of a small model take longer than they save, over NVLink a large one
 * gains.  Nothing is predicted over a link that is not known. */
static void test_links(void **state)
{
	const struct infer_shape small = dense(&(struct config){ 16, 1024, 16, 8, 64, 4096, 32000 },
	                                       INFER_Q4_K, INFER_Q4_K),
				 large = dense(
					 &(struct config){ 80, 8192, 64, 8, 128, 28672, 128256 },
					 INFER_F16, INFER_F16);
	struct infer_machine pcie = machine("rtx-4090*2"), nvlink = machine("h100*8");
	struct infer_setup one = on_gpu, cut = on_gpu;
	struct infer_step_time a, b;

	(void)state;
	cut.gpus = 2;
	cut.split = INFER_SPLIT_TENSOR;
	infer_step_time(&a, &small, &pcie, &one, &(struct infer_load){ 1, 1, 1, 1 });
	infer_step_time(&b, &small, &pcie, &cut, &(struct infer_load){ 1, 1, 1, 1 });
	/* 2 exchanges a layer of at least 40 us */
	assert_true(b.part[INFER_BOUND_LINK] >= 2 * 16 * 40e-6 && b.total > 0.95 * a.total);
	cut.gpus = 8;
	infer_step_time(&a, &large, &nvlink, &one, &(struct infer_load){ 1, 1, 1, 1 });
	infer_step_time(&b, &large, &nvlink, &cut, &(struct infer_load){ 1, 1, 1, 1 });
	assert_true(b.part[INFER_BOUND_LINK] > 2 * 80 * 12e-6 && b.total < a.total / 3);
	pcie.gpu.host_gb_s = 0;
	cut.gpus = 2;
	infer_step_time(&b, &small, &pcie, &cut, &(struct infer_load){ 1, 1, 1, 1 });
	assert_true(b.limit > 0 && !(b.total > 0));
	cut.split = INFER_SPLIT_PIPELINE;
	infer_step_time(&b, &small, &pcie, &cut, &(struct infer_load){ 1, 1, 1, 1 });
	assert_true(b.total > 0);
}

/* A machine of round numbers, two threads: attention of one row goes by cache and by one thread where it
 * is little; prompts by blocks, which end with their last row; each at its rate and its fixed time. */
static void test_measured(void **state)
{
	struct infer_machine m = { .threads = 2,
		                   .memory_gb_s = 10,
		                   .f32_gflop_s = 100,
		                   .i8_gop_s = 1000,
		                   .l3_bytes = (uint64_t)1 << 40,
		                   .barrier_ns = 300,
		                   .node_ns = 1000,
		                   .seq_ns = 500,
		                   .row_ns = 10,
		                   .slots[0] = 1 };
	struct infer_shape s = { .nodes = 4, .regions = 4, .n_work = 1 };
	struct infer_step_time t;

	(void)state;
	m.loops[INFER_F32].rows[0] = m.loops[INFER_F32].cached[0] = 1;
	for (int i = 0; i < INFER_MACHINE_HEADS; i++) {
		m.attn[INFER_F16].cached[i] = 50 * (i + 1);
		m.attn[INFER_F16].prefill[i] = 100 * (i + 1);
		m.attn[INFER_F16].one_ns[i] = 200;
		m.attn[INFER_F16].block_ns[i] = 40;
	}
	m.attn[INFER_F16].put = 2;
	s.work[0] = (struct infer_work){ .kind = INFER_WORK_ATTN,
		                         .times = 3,
		                         .heads = 8,
		                         .kv_heads = 8,
		                         .dk = 64,
		                         .dv = 64,
		                         .starts = 1 };
	/* 3 layers of 8 heads: 2 * 100 * 128 operations at 100 GOP/s, 200 ns each of two threads, all by
	 * one; a merge of 64 */
	infer_step_time(&t, &s, &m, &on_host, &(struct infer_load){ 1, 1, 1, 100 });
	assert_true(fabs(t.part[INFER_BOUND_KV] * 1e9 - 24 * (2 * (256 + 100) + 64)) < 1e-6);
	assert_true(fabs(t.part[INFER_BOUND_RUNTIME] * 1e9 - 4 * 1000) < 1e-6);
	/* by two threads from 65536 on, in two splits */
	infer_step_time(&t, &s, &m, &on_host, &(struct infer_load){ 1, 1, 1, 400 });
	assert_true(fabs(t.part[INFER_BOUND_KV] * 1e9 - 24 * (1024 + 2 * 100 + 2 * 64)) < 1e-6);
	assert_true(fabs(t.part[INFER_BOUND_RUNTIME] * 1e9 - (4 * 1000 + 3 * 300)) < 1e-6);
	/* four sequences: three more of them */
	infer_step_time(&t, &s, &m, &on_host, &(struct infer_load){ 4, 4, 4, 400 });
	assert_true(fabs(t.part[INFER_BOUND_RUNTIME] * 1e9 - (4 * 1000 + 3 * 300 + 3 * 500)) <
	            1e-6);
	/* 64 rows that see 128, and half of a block of 32 */
	infer_step_time(&t, &s, &m, &on_host, &(struct infer_load){ 64, 1, 1, 128 });
	assert_true(fabs(t.part[INFER_BOUND_KV] * 1e9 -
	                 64 * 24 * (2 * 144 * 128 / 200.0 + 40 / 2 + 64 / 2)) < 1e-3);
	assert_true(fabs(t.part[INFER_BOUND_RUNTIME] * 1e9 - (4 * (1000 + 63 * 10) + 3 * 300)) <
	            1e-6);
	/* K and V of 64 rows, by two threads */
	s.work[0] = (struct infer_work){ .kind = INFER_WORK_PUT, .times = 3, .k = 1024 };
	infer_step_time(&t, &s, &m, &on_host, &(struct infer_load){ 64, 1, 1, 128 });
	assert_true(fabs(t.part[INFER_BOUND_RUNTIME] * 1e9 -
	                 (4 * (1000 + 63 * 10) + 64 * 3 * 1024 / 4.0)) < 1e-3);
}

/* Whether the source of a row is named with its address, among the lines before. */
static int has_source(FILE *f, const char *key)
{
	long back = ftell(f);
	char line[512], name[32], from[16];
	int found = 0;

	rewind(f);
	while (!found && fgets(line, sizeof line, f))
		found = sscanf(line, "#= %31s %15s", name, from) == 2 && !strcmp(name, key) &&
		        !strncmp(from, "https://", 8);
	fseek(f, back, SEEK_SET);
	return found;
}

/* Every published rate lies below the limit, but close enough to it to be of the same machine.  It is also
 * close to the prediction, which assumes the part of the limit that one engine reaches there. */
static void test_published(void **state)
{
	FILE *f = fopen("tests/golden/plans/published.txt", "r");
	char line[512], name[32], model[32], type[16], what[8], from[32], last[32] = "";
	int users, tokens, n = 0, sources = 0, at;
	double rate;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		struct infer_step_time t;
		if (*line == '#')
			continue;
		assert_int_equal(sscanf(line, "%31[^|]|%31[^|]|%15[^|]|%7[^|]|%d|%d|%lf|%31[^|]|%n",
		                        name, model, type, what, &users, &tokens, &rate, from, &at),
		                 8);
		assert_true(has_source(f, from) && strlen(line + at) > 10);
		sources += strcmp(from, last) != 0;
		strcpy(last, from);
		int is = !strcmp(type, "F16")    ? INFER_F16
		         : !strcmp(type, "Q4_0") ? INFER_Q4_0
		                                 : INFER_Q4_K,
		    prompt = !strcmp(what, "pp");
		const struct infer_shape s =
			dense(!strcmp(model, "llama-2-7b") ? &llama2_7b : &llama3_8b, is,
		              is == INFER_F16 ? INFER_F16 : INFER_Q6_K);
		const struct infer_machine m = machine(name);
		const struct infer_load l = { prompt ? tokens : users, users, users,
			                      prompt ? tokens / 2 : tokens };
		infer_step_time(&t, &s, &m, &on_gpu, &l);
		double part = rate * t.limit / (double)l.rows,
		       times = t.total > 0 ? rate * t.total / (double)l.rows : 1;
		if (!(part > 0.25 && part < 1 && times > 1 / 3. && times < 3))
			fail_msg("%s %s %s %s: %.1f is %.3f of the limit, %.2f times what is "
			         "predicted",
			         name, model, type, what, rate, part, times);
		print_message("%s %s %s %s of %s: %.1f, limit %.1f, %.2f of it\n", name, model,
		              type, what, from, rate, rate / part, part);
		n++;
	}
	fclose(f);
	assert_true(n >= 15 && sources >= 7);
}

static struct infer_plan_ask ask(int users, int prompt, int output)
{
	return (struct infer_plan_ask){ .ctx = prompt + output,
		                        .users = users,
		                        .prompt = prompt,
		                        .output = output,
		                        .how = on_gpu };
}

/* Memory: 8B in F16 and 640 tokens of cache for each user in 24 GiB. */
static void test_users(void **state)
{
	const struct infer_shape s = dense(&llama3_8b, INFER_F16, INFER_F16);
	const struct infer_machine m = machine("rtx-4090");
	struct infer_plan_ask a = ask(4, 512, 128);
	struct infer_plan p, q;

	(void)state;
	infer_plan_make(&p, &s, &m, &a, NULL);
	assert_true(p.need.fits);
	assert_true(p.need.kv == 4 * 640.0 * (128 << 10));
	/* as many as there is room for, and no more */
	a.users = p.users_memory;
	infer_plan_make(&q, &s, &m, &a, NULL);
	assert_true(q.need.fits);
	a.users++;
	infer_plan_make(&q, &s, &m, &a, NULL);
	assert_false(q.need.fits);
	assert_true(p.decode_tok_s > 0 && p.decode_tok_s < p.limit_decode_tok_s);
	assert_true(p.prefill_tok_s < p.limit_prefill_tok_s && p.slower);
	/* between a user's tokens stand those of a step and the prompts of the three others */
	assert_true(fabs(p.tpot_prompts_ms - 3 * 512 / p.prefill_tok_s * 1e3 / 128) <
	            1e-6 * p.tpot_ms);
	assert_int_equal(p.tpot_by, p.decode.total_by);
	a = ask(64, 2048, 16);
	infer_plan_make(&q, &s, &m, &a, NULL);
	assert_int_equal(q.tpot_by, INFER_BOUND_SCHEDULER);
	a = ask(1, 512, 128);
	infer_plan_make(&q, &s, &m, &a, NULL);
	assert_true(!(q.tpot_prompts_ms > 0) && q.tpot_by == q.decode.total_by);
	/* fewer users where a token may take no longer */
	a = ask(4, 512, 128);
	a.tpot_ms = p.tpot_ms;
	infer_plan_make(&q, &s, &m, &a, NULL);
	assert_in_range(q.users_latency, 4, p.users_latency);
	a.tpot_ms = p.tpot_ms * 0.99;
	infer_plan_make(&q, &s, &m, &a, NULL);
	assert_in_range(q.users_latency, 1, 3);
	a.tpot_ms = 1e-6;
	infer_plan_make(&q, &s, &m, &a, NULL);
	assert_int_equal(q.users_latency, 0);
	/* a budget of memory */
	a = ask(1, 512, 128);
	a.budget_bytes = (uint64_t)1 << 30;
	infer_plan_make(&q, &s, &m, &a, NULL);
	assert_false(q.need.fits);
	assert_int_equal(q.users_memory, 0);
}

static void test_sharing_and_cost(void **state)
{
	const struct infer_shape s = dense(&llama3_8b, INFER_F16, INFER_F16);
	const struct infer_machine m = machine("rtx-4090");
	struct infer_plan_ask a = ask(8, 2048, 256), b;
	struct infer_plan p, q;

	(void)state;
	infer_plan_make(&p, &s, &m, &a, NULL);
	assert_true(p.prefix_ms == 0 && p.cost == 0);
	b = a;
	b.shared = 1536;
	b.price = 0.36;
	infer_plan_make(&q, &s, &m, &b, NULL);
	assert_true(q.prefix_bytes == 7 * 1536.0 * (128 << 10));
	assert_true(p.need.kv - q.need.kv == q.prefix_bytes);
	/* three quarters of the prompt, and a little less than that of the time */
	assert_true(q.prefix_ms > 0.6 * p.ttft_alone_ms && q.prefix_ms < 0.8 * p.ttft_alone_ms);
	assert_true(q.all_tok_s > p.all_tok_s);
	/* 0.36 an hour are 1e-4 a second */
	assert_true(fabs(q.cost - 1e-4 / q.all_tok_s * 1e6) < 1e-9);
}

/* What the engine says about memory is what a plan of the host says. */
static void test_engine(void **state)
{
	struct infer_plan_ask a = ask(2, 64, 32);
	struct infer_engine_need need;
	struct infer_shape s;
	infer_model *model;
	struct infer_plan p;
	const infer_file *file;
	const struct infer_tensor *t;
	double matrices = 0;
	const struct infer_machine m = { .memory_bytes = (uint64_t)1 << 34, .memory_gb_s = 50 };

	(void)state;
	a.how = on_host;
	assert_int_equal(infer_model_open(&model, "demo", NULL, NULL), INFER_OK);
	assert_int_equal(infer_shape_of(&s, model, NULL), INFER_OK);
	file = infer_model_file(model);
	for (uint64_t i = 0; (t = infer_file_tensor_at(file, i)); i++)
		if (t->n_dims == 2 && strncmp(t->name.at, "token_embd", 10) != 0)
			matrices += (double)t->ne[0] * (double)t->ne[1];
		else if (t->n_dims == 2)
			matrices += infer_file_tensor(file, "output.weight")
			                    ? 0
			                    : (double)t->ne[0] * (double)t->ne[1];
	assert_true(s.active_params == matrices);
	assert_int_equal(infer_plan_engine(&need, model, &a, 4, NULL), INFER_OK);
	infer_plan_make(&p, &s, &m, &a, &need);
	assert_true(p.need.weights == (double)need.weight_bytes);
	assert_true(p.need.workspace == (double)need.workspace_bytes);
	assert_true(p.need.kv == (double)need.kv_bytes && p.need.fits);
	double alone = p.need.workspace;
	assert_int_equal(infer_plan_engine(&need, model, &a, 1, NULL), INFER_OK);
	assert_true(need.thread_bytes > 0);
	assert_true(alone == (double)(need.workspace_bytes + 3 * need.thread_bytes));
	infer_model_close(&model);
}

/* Rows that are not whole blocks get the type that infer-quant writes. */
static void test_fit(void **state)
{
	static const int types[] = { INFER_F16,  INFER_BF16,    INFER_Q8_0,  INFER_Q6_K,
		                     INFER_Q5_K, INFER_Q4_K,    INFER_MXFP4, INFER_IQ4_XS,
		                     INFER_Q3_K, INFER_IQ3_XXS, INFER_Q2_K,  INFER_IQ2_XXS,
		                     INFER_IQ1_S };
	static const int rows[] = { 16, 32, 256, 896, 2880, 4096, 4864, 100 };

	(void)state;
	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			assert_int_equal(shape_fit(types[t], rows[i]), mix_fit(types[t], rows[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),    cmocka_unit_test(test_states),
		cmocka_unit_test(test_window),   cmocka_unit_test(test_experts),
		cmocka_unit_test(test_phases),   cmocka_unit_test(test_limits),
		cmocka_unit_test(test_partial),  cmocka_unit_test(test_links),
		cmocka_unit_test(test_measured), cmocka_unit_test(test_published),
		cmocka_unit_test(test_users),    cmocka_unit_test(test_sharing_and_cost),
		cmocka_unit_test(test_engine),   cmocka_unit_test(test_fit),
	};
	return nth_group(tests);
}
