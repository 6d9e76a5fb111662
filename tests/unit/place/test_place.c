/* tests/unit/place/test_place.c - placement: what fits is accepted, and what does not is refused
 * with a setting that would fit. */
#include "../nth.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/os.h"
#include "kern/kern.h"
#include "place/place.h"

struct rig {
	infer_model *m;
	struct host host;
	struct backend_device on;
	struct place_ask ask;
};

static int rig_open(struct rig *r, const char *path, infer_error *e)
{
	int rc;

	memset(r, 0, sizeof *r);
	r->on.kind = backend_find("cpu");
	rc = infer_model_open(&r->m, path, NULL, e);
	if (!rc)
		rc = host_open(&r->host, 1, NULL, e);
	if (!rc)
		rc = r->on.kind->open(&r->on.b, &r->host, &(struct backend_opts){ 0 }, e);
	r->ask = (struct place_ask){ .k_type = INFER_F16,
		                     .v_type = INFER_F16,
		                     .max_seqs = 1,
		                     .rows = 16,
		                     .out = 4,
		                     .address_bytes = UINT64_MAX,
		                     .n_devices = 1,
		                     .devices = { { r->on, UINT64_C(1) << 40 } } };
	return rc;
}

static void rig_close(struct rig *r)
{
	r->on.kind->close(r->on.b);
	host_close(&r->host);
	infer_model_close(&r->m);
}

static int case_plenty(void)
{
	char said[64], want[64];
	struct place_plan p = { 0 };
	struct rig r;
	infer_error e;
	int rc;

	nth_ok(rig_open(&r, "tests/golden/logits/llama-gqa.gguf", &e));
	nth_ok(place_solve(&p, r.m, &r.ask, &e));
	assert_int_equal(p.ctx, r.m->h.ctx_train);
	assert_int_equal(p.n_groups, 1);
	assert_int_equal(p.groups[0].kind, KV_FULL);
	assert_int_equal(p.groups[0].shape.n_layers, r.m->h.n_layers);
	assert_int_equal(p.groups[0].page_bytes,
	                 num_round_up((size_t)(r.m->h.n_layers * r.m->h.n_head_kv * 2 * r.m->h.dk *
	                                       2 * KERN_PAGE),
	                              os_page()));
	assert_int_equal(p.n_parts, 1);
	assert_int_equal(p.parts[0].from, 0);
	assert_int_equal(p.parts[0].to, r.m->h.n_layers);
	assert_int_equal(p.parts[0].kv, p.kv_bytes);
	assert_int_equal(p.parts[0].weights + p.parts[0].host,
	                 0); /* they are used where they lie */
	place_say(&p, said, sizeof said);
	snprintf(want, sizeof want, "cpu:0-%d", (int)r.m->h.n_layers - 1);
	assert_string_equal(said, want);
	assert_int_equal(p.kv_bytes, kv_seq_bytes(p.groups, p.n_groups, p.ctx, r.ask.rows));
	place_fini(&p);
	r.ask.max_seqs = 3;
	r.ask.ctx = 40;
	nth_ok(place_solve(&p, r.m, &r.ask, &e));
	assert_int_equal(p.ctx, 40);
	assert_int_equal(p.kv_bytes, 3 * kv_seq_bytes(p.groups, p.n_groups, 40, r.ask.rows));
	place_fini(&p);
	r.ask.kv_bytes = 1 << 20;
	nth_ok(place_solve(&p, r.m, &r.ask, &e));
	assert_int_equal(p.kv_bytes, 1 << 20);
out:
	place_fini(&p);
	rig_close(&r);
	return rc;
}

/* Layers that slide are a group of their own. */
static int case_groups(void)
{
	struct place_plan p = { 0 };
	struct rig r;
	infer_error e;
	int rc;

	nth_ok(rig_open(&r, "tests/golden/logits/gemma3.gguf", &e));
	nth_ok(place_solve(&p, r.m, &r.ask, &e));
	assert_int_equal(p.n_groups, 2);
	assert_int_equal(p.groups[0].kind, KV_FULL);
	assert_int_equal(p.groups[1].kind, KV_WINDOW);
	assert_int_equal(p.groups[1].window, r.m->h.window);
	assert_int_equal(p.groups[0].shape.n_layers + p.groups[1].shape.n_layers, r.m->h.n_layers);
	for (int g = 0; g < 2; g++)
		for (int i = 0; i < p.groups[g].shape.n_layers; i++)
			assert_int_equal(r.m->h.windowed[p.groups[g].shape.layers[i]], g);
out:
	place_fini(&p);
	rig_close(&r);
	return rc;
}

/* Memory for less than the model's own context: the largest that fits, a page more does not. */
static int case_tight(void)
{
	struct place_plan p = { 0 };
	uint64_t more;
	struct rig r;
	infer_error e;
	int rc, near;

	nth_ok(rig_open(&r, "tests/golden/logits/llama-gqa.gguf", &e));
	r.m->h.ctx_train = 1 << 16;
	nth_ok(place_solve(&p, r.m, &r.ask, &e));
	assert_int_equal(p.ctx, 1 << 16);
	r.ask.devices[0].memory_bytes = p.parts[0].workspace + p.kv_bytes / 2;
	place_fini(&p);
	nth_ok(place_solve(&p, r.m, &r.ask, &e));
	assert_true(p.ctx > 1 << 14 && p.ctx < 3 << 14 && p.ctx % KERN_PAGE == 0);
	assert_true(p.parts[0].workspace + p.kv_bytes <= r.ask.devices[0].memory_bytes);
	more = kv_seq_bytes(p.groups, p.n_groups, p.ctx + KERN_PAGE, r.ask.rows);
	assert_true(p.parts[0].workspace + more + more / 49 > r.ask.devices[0].memory_bytes);
	int32_t fits = p.ctx;
	place_fini(&p);
	r.ask.ctx = 1 << 16; /* asked for by name: refused, with the nearest */
	nth_fails(place_solve(&p, r.m, &r.ask, &e), INFER_ENOMEM);
	nth_need(strstr(e.message, "a context of") !=
	         NULL); /* else memory of the solver itself failed */
	assert_int_equal(
		sscanf(strstr(e.message, ": a context of"), ": a context of %d fits", &near), 1);
	assert_int_equal(near, fits);
	assert_null(p.layers);
	r.ask.address_bytes = r.ask.devices[0].memory_bytes / 2; /* the tighter of the two counts */
	r.ask.ctx = fits;
	nth_fails(place_solve(&p, r.m, &r.ask, &e), INFER_ENOMEM);
	r.ask.devices[0].memory_bytes = 1000;
	r.ask.ctx = 0;
	nth_fails(place_solve(&p, r.m, &r.ask, &e), INFER_ENOMEM);
	if (strstr(e.message, "a context of"))
		assert_non_null(strstr(e.message, "no context fits"));
out:
	place_fini(&p);
	rig_close(&r);
	return rc;
}

/* bytes of 32 numbers: 128, 64, 34, 18 */
static int case_types(void)
{
	const int types[] = { INFER_F32, INFER_F16, INFER_Q8_0, INFER_Q4_0 },
		  bytes[] = { 128, 64, 34, 18 };
	struct place_plan p = { 0 };
	struct rig r;
	infer_error e;
	int rc;

	nth_ok(rig_open(&r, "demo", &e));
	assert_int_equal(r.m->h.dk, 64);
	for (int i = 0; i < 16; i++) {
		r.ask.k_type = types[i / 4];
		r.ask.v_type = types[i % 4];
		nth_ok(place_solve(&p, r.m, &r.ask, &e));
		assert_int_equal(p.kv_bytes, (uint64_t)p.ctx / KERN_PAGE * p.groups[0].page_bytes);
		assert_int_equal(p.groups[0].page_bytes,
		                 num_round_up((size_t)(r.m->h.n_layers * r.m->h.n_head_kv * 2 *
		                                       (bytes[i / 4] + bytes[i % 4]) * KERN_PAGE),
		                              os_page()));
		place_fini(&p);
	}
out:
	place_fini(&p);
	rig_close(&r);
	return rc;
}

static int case_refusals(void)
{
	struct place_plan p = { 0 };
	struct rig r;
	infer_error e;
	int rc;

	nth_ok(rig_open(&r, "tests/golden/logits/llama-gqa.gguf", &e));
	r.ask.k_type = INFER_Q5_0;
	nth_fails(place_solve(&p, r.m, &r.ask, &e), INFER_EUNSUP);
	assert_non_null(strstr(e.message, "Q5_0"));
	r.ask.k_type = INFER_F16;
	r.ask.v_type = INFER_Q4_0;
	nth_fails(place_solve(&p, r.m, &r.ask, &e), INFER_EUNSUP);
	assert_non_null(
		strstr(e.message, "Q4_0 needs heads of a multiple of 32; this model's have 8"));
	r.ask.v_type = INFER_F32;
	r.ask.rows = 0;
	assert_int_equal(place_solve(&p, r.m, &r.ask, &e), INFER_EINVAL);
	r.ask.rows = 8;
	r.ask.ctx = -1;
	assert_int_equal(place_solve(&p, r.m, &r.ask, &e), INFER_EINVAL);
out:
	place_fini(&p);
	rig_close(&r);
	return rc;
}

/* Layers of three devices: each needs what it would need alone, with its own part of the model; one
 * with little memory decides, and is named. */
static int case_parts(void)
{
	struct place_plan p = { 0 }, one = { 0 };
	uint64_t kv = 0;
	char said[64];
	struct rig r;
	infer_error e;
	int rc;

	nth_ok(rig_open(&r, "tests/golden/logits/gemma3.gguf", &e));
	int layers = r.m->h.n_layers;
	nth_ok(place_solve(&one, r.m, &r.ask, &e));
	r.ask.n_devices = 3;
	r.ask.devices[1] = r.ask.devices[2] = r.ask.devices[0];
	r.ask.devices[1].layers = layers - 1;
	strcpy(r.ask.devices[1].on.name, "two");
	nth_ok(place_solve(&p, r.m, &r.ask, &e));
	place_say(&p, said, sizeof said);
	assert_int_equal(strncmp(said, "cpu:embedding,two:0-", 20), 0);
	assert_int_equal(p.n_parts, 3);
	assert_int_equal(p.ctx, one.ctx);
	assert_int_equal(p.parts[0].kv, 0);
	for (int i = 0; i < 3; i++) {
		kv += p.parts[i].kv;
		assert_true(p.parts[i].workspace <= one.parts[0].workspace);
		assert_true(p.parts[i].model.n_weights < r.m->n_weights);
	}
	assert_int_equal(p.kv_bytes, kv);
	assert_true(p.edge_bytes >= 2 * sizeof(float) * 16 * (size_t)r.m->h.n_embd);
	for (int g = 0; g < p.n_groups; g++)
		assert_in_range(p.groups[g].shape.layers[0], p.parts[p.groups[g].device].from,
		                p.parts[p.groups[g].device].to - 1);
	r.ask.kv_bytes = 3 * kv;
	uint64_t was = p.parts[1].kv;
	place_fini(&p);
	nth_ok(place_solve(&p, r.m, &r.ask, &e));
	assert_in_range(p.parts[1].kv, 3 * was - 1, 3 * was);
	assert_in_range(p.kv_bytes, 3 * kv - 2, 3 * kv);
	r.ask.kv_bytes = 0;
	r.ask.devices[1].memory_bytes = p.parts[1].workspace + was / 2;
	place_fini(&p);
	r.ask.ctx = one.ctx;
	nth_fails(place_solve(&p, r.m, &r.ask, &e), INFER_ENOMEM);
	nth_need(strstr(e.message, "a context of") != NULL);
	assert_int_equal(strncmp(e.message, "two: a context of", 17), 0);
	r.ask.devices[1].layers = 0;
	nth_fails(place_solve(&p, r.m, &r.ask, &e), INFER_EINVAL);
	assert_string_equal(e.message, "two: must have at least one layer");
	r.ask.devices[1].layers = layers;
	r.ask.devices[0].layers = 1;
	nth_fails(place_solve(&p, r.m, &r.ask, &e), INFER_EINVAL);
	r.ask.devices[0].layers = -1;
	nth_fails(place_solve(&p, r.m, &r.ask, &e), INFER_EINVAL);
	assert_null(p.weights);
out:
	place_fini(&p);
	place_fini(&one);
	rig_close(&r);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_plenty),   nth_case(case_groups),
		                            nth_case(case_tight),    nth_case(case_types),
		                            nth_case(case_refusals), nth_case(case_parts) };
	return nth_group(tests);
}
