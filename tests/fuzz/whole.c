/* tests/fuzz/whole.c - any bytes as a model file, up to answers: refused with one line, or
 * opened; then a text is tokenised, and an engine computes two requests, with the reference
 * kernels and again with a kernel set chosen by the last byte but one and in smaller steps,
 * which must give the same. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infer/engine.h>
#include <infer/token.h>
#include "base/cpu.h"
#include "base/err.h"
#include "base/rng.h"
#include "kern/kern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CTX = 48, STEPS = 32, SIZE_MOST = 100000 };

static void check_error(int rc, const infer_error *err)
{
	must(rc == err->code && *err->message && !strchr(err->message, '\n'));
	must(rc == INFER_EIO || rc == INFER_ENOMEM || rc == INFER_EFORMAT || rc == INFER_EUNSUP ||
	     rc == INFER_EINVAL);
}

/* One event is well formed, and becomes part of the hash. */
static uint64_t take(uint64_t hash, const struct infer_event *ev, int32_t n_vocab)
{
	must(ev->kind == INFER_EVENT_DONE ||
	     (ev->token >= 0 && ev->token < n_vocab && isfinite(ev->logprob)));
	must(ev->kind != INFER_EVENT_DONE || !ev->code || *ev->message);
	for (int i = 0; i < ev->n_top; i++) {
		must(ev->top[i].token >= 0 && ev->top[i].token < n_vocab &&
		     !isnan(ev->top[i].logprob));
		hash = rng_hash(hash, &ev->top[i], sizeof ev->top[i]);
	}
	const int32_t is[] = { ev->kind, ev->index, ev->token, ev->finish, ev->code };

	hash = rng_hash(hash, is, sizeof is);
	hash = rng_hash(hash, &ev->logprob, sizeof ev->logprob);
	return rng_hash(hash, ev->text, ev->text_bytes);
}

/* Everything that happens to two requests, in the order of each; 0 where there is no engine. */
static uint64_t run(const infer_model *m, const int32_t *ids, size_t n,
                    const struct infer_engine_opts *o)
{
	infer_engine *e = NULL;
	infer_error err = { 0 };
	struct infer_model_info info;
	struct infer_event ev;
	uint64_t hash[2] = { 1, 2 };
	uint32_t flags = infer_model_tokenizer(m) ? 0 : INFER_REQ_NO_TEXT;
	struct infer_request r = { .prompt = ids,
		                   .n_prompt = n,
		                   .max_tokens = 3,
		                   .top = 2,
		                   .flags = flags,
		                   .user = &hash[0] };
	int rc = infer_engine_open(&e, m, o, &err);

	infer_model_info(m, &info);
	if (rc) {
		check_error(rc, &err);
		return 0;
	}
	rc = infer_engine_submit(e, &r, NULL, &err);
	r.flags |= INFER_REQ_SCORE, r.sample.temp = 1, r.sample.top_k = 4, r.user = &hash[1];
	rc = rc ? rc : infer_engine_submit(e, &r, NULL, &err);
	if (rc)
		check_error(rc, &err);
	for (int i = 0; i < STEPS && infer_engine_busy(e); i++) {
		rc = infer_engine_step(e, &err);
		if (rc)
			check_error(rc, &err);
		while (infer_engine_next(e, &ev))
			*(uint64_t *)ev.user = take(*(uint64_t *)ev.user, &ev, info.n_vocab);
	}
	must(!infer_engine_busy(e));
	infer_engine_close(&e);
	return hash[0] ^ hash[1] * 3;
}

/* A kernel set by its place among all that are built in; NULL, all of them: for the first, which
 * the other run has, and where this processor lacks it. */
static const char *set_of(unsigned draw)
{
	uint64_t have = cpu_permit(cpu_features());
	unsigned n = 0;

	while (kern_name(n))
		n++;
	const char *name = kern_name(draw % n);

	return draw % n && !kern_limit(&have, name, NULL) ? name : NULL;
}

static void ask(const infer_model *m, unsigned way, unsigned set)
{
	static const char text[] = "The w\xc3\xb6rd <|im_start|> 12";
	const infer_tokenizer *t = infer_model_tokenizer(m);
	int32_t few[] = { 1, 0, 2, 3, 1 }, *ids = NULL;
	size_t n = 0;
	struct infer_model_info info;
	infer_error err = { 0 };
	struct infer_engine_opts plain = {
		.threads = 1, .ctx = CTX, .kv_bytes = 1 << 20, .max_seqs = 2, .isa = "ref"
	};

	if (t) {
		int rc = infer_encode(t, text, sizeof text - 1,
		                      INFER_ENCODE_ADD | INFER_ENCODE_SPECIAL, &ids, &n, &err);
		if (rc)
			check_error(rc, &err);
	}
	infer_model_info(m, &info);
	if ((int64_t)info.n_layers * info.n_embd < SIZE_MOST && info.n_vocab < SIZE_MOST) {
		int blocks = info.head_dim % 32 == 0; /* else a cache can only have plain numbers */
		if (way & 3)
			plain.kv_set = 1, plain.k_type = way & 1 && blocks ? INFER_Q8_0 : INFER_F32,
			plain.v_type = way & 2 && blocks ? INFER_Q4_0 : INFER_F16;
		struct infer_engine_opts other = plain;
		other.isa = set_of(set), other.prefill_chunk = 1 + 2 * (int32_t)(way >> 4);
		n = n < CTX / 2 ? n : CTX / 2;
		uint64_t one = run(m, n ? ids : few, n ? n : 5, &plain),
			 two = run(m, n ? ids : few, n ? n : 5, &other);
		must(one == two);
	}
	infer_ids_free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1; /* a file without a name, written anew each time */
	char path[64];
	infer_model *m = NULL;
	infer_error err = { 0 };

	if (fd < 0)
		fd = memfd_create("model", 0);
	must(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int rc = infer_model_open(&m, path, &(struct infer_model_opts){ .ctx = CTX }, &err);
	if (rc)
		check_error(rc, &err);
	else
		ask(m, size ? data[size - 1] : 0, size > 1 ? data[size - 2] : 0);
	infer_model_close(&m);
	return 0;
}
