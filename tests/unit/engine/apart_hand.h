/* tests/unit/engine/apart_hand.h - steps by hand; part of apart_run.h */
#ifndef TESTS_ENGINE_APART_HAND_H
#define TESTS_ENGINE_APART_HAND_H

/* One sequence by hand, without an engine: a beginning, a fork that both go on from, a way back. */
struct hand {
	struct host host;
	struct stages stages;
	struct place_plan place;
	struct kv *kv;
	float *logits; /* of all rows that ran */
	size_t n_logits, n_vocab;
};

static void compute(struct hand *d, struct kv_seq *s, uint64_t *ids, int32_t from, int32_t to,
                    uint64_t salt)
{
	int32_t tokens[64], out[64], n = to - from;
	struct backend_run run = { .n = n, .pos = from, .pages = kv_seq_pages(s) };
	struct backend_step step = {
		.n = n, .n_out = n, .n_runs = 1, .ids = tokens, .runs = &run, .out = out
	};
	struct backend_result res;
	infer_error err;

	assert_int_equal(kv_seq_len(s), from);
	run_ids(tokens, n, salt, 260, 740);
	for (int32_t i = 0; i < n; i++) {
		out[i] = i;
		ids[from + i] = (uint64_t)tokens[i];
	}
	assert_int_equal(kv_seq_grow(d->kv, s, to), INFER_OK);
	if (stages_run(&d->stages, &step, &res, &err))
		fail_msg("%s", err.message);
	memcpy(d->logits + d->n_logits, res.logits, (size_t)n * d->n_vocab * sizeof(float));
	d->n_logits += (size_t)n * d->n_vocab;
	kv_seq_commit(d->kv, s, ids, to);
}

static void hand_open(struct hand *d, const infer_model *m, const struct how *h,
                      const struct stages_device *devices, int n)
{
	struct backend_size size = { 64, 64, CTX };
	struct place_ask ask = { CTX, h->k_type, h->v_type, 8 << 20, 3, 64, 64, 0, UINT64_MAX, n };
	struct kv_opts o = { .n_layers = m->h.n_layers, .ctx = CTX, .max_seqs = 3 };

	d->n_vocab = (size_t)m->h.n_vocab;
	assert_non_null(d->logits = calloc(1024 * d->n_vocab, sizeof *d->logits));
	assert_int_equal(host_open(&d->host, 2, NULL, NULL), INFER_OK);
	assert_int_equal(stages_open(&d->stages, devices, n, &d->host, NULL, NULL), INFER_OK);
	for (int i = 0; i < n; i++)
		ask.devices[i] = (struct place_device){ d->stages.at[i].on, (uint64_t)1 << 32,
			                                devices[i].layers };
	assert_int_equal(place_solve(&d->place, m, &ask, NULL), INFER_OK);
	o.groups = d->place.groups;
	o.n_groups = d->place.n_groups;
	for (int i = 0; i < n; i++)
		o.bytes[i] = d->place.parts[i].kv;
	assert_int_equal(kv_open(&d->kv, &o, NULL), INFER_OK);
	assert_int_equal(stages_make(&d->stages, &d->place, d->kv, &size, NULL), INFER_OK);
}

__attribute__((unused)) static void by_hand(struct hand *d, const infer_model *m,
                                            const struct how *h,
                                            const struct stages_device *devices, int n)
{
	uint64_t a_ids[CTX], b_ids[CTX];
	int32_t cached;

	hand_open(d, m, h, devices, n);
	if (all_apart(h, devices, n))
		let_file(m, PROT_NONE);
	struct kv_seq *b, *a = kv_seq_open(d->kv, 1, a_ids, 0, &cached);
	compute(d, a, a_ids, 0, 64, 1);
	compute(d, a, a_ids, 64, 109, 2);
	memcpy(b_ids, a_ids, sizeof b_ids);
	b = kv_seq_fork(d->kv, a); /* inside a page: it is copied for the first that writes */
	compute(d, b, b_ids, 109, 140, 3);
	compute(d, a, a_ids, 109, 150, 4);
	compute(d, b, b_ids, 140, 141, 5);
	assert_int_equal(kv_seq_trim(d->kv, a, 147), INFER_OK);
	compute(d, a, a_ids, 147, 170, 6);
	assert_int_equal(kv_seq_share(d->kv, b, a, 165), INFER_OK);
	memcpy(b_ids, a_ids, sizeof b_ids);
	compute(d, b, b_ids, 165, 200, 7);
	kv_seq_close(d->kv, a, NULL);
	kv_seq_close(d->kv, b, NULL);
	kv_close(&d->kv);
	if (all_apart(h, devices, n))
		let_file(m, PROT_READ);
	stages_close(&d->stages);
	place_fini(&d->place);
	host_close(&d->host);
}
#endif
