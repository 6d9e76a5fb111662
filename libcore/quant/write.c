/* quant/write.c - decode, encode and write tensors, piece by piece, on all threads.
 *
 * Tensors are divided at multiples of WRITE_PIECE elements, which are whole blocks of every type.
 * Each worker writes its pieces at their offsets in the file; the bytes do not depend on the number
 * of workers. */
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "base/pool.h"
#include "base/sha256.h"
#include "file/file.h"
#include "quant/adapt.h"
#include "quant/pack.h"
#include "quant/write.h"
#include "type/type.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* MARK_NS: time between two records of the progress. */
enum { SAMPLE = 256 };
#define MARK_NS INT64_C(1000000000)

static void atomic_min(_Atomic uint64_t *least, uint64_t v)
{
	uint64_t was = atomic_load(least);

	while (v < was && !atomic_compare_exchange_weak(least, &was, v))
		;
}

size_t write_bytes(int type, uint64_t elements)
{
	const struct infer_type_info *info = infer_type_info(type);

	return (size_t)(elements / (uint64_t)info->block * (uint64_t)info->block_bytes);
}

static int not_finite(float x) { return (num_bits(x) & 0x7f800000u) == 0x7f800000u; }

int write_finite(struct work *k, const float *x, uint64_t from, size_t n)
{
	size_t i = 0;

	for (int bad = 0; i + 16 <= n; i += 16) { /* the compiler vectorises this */
		for (int j = 0; j < 16; j++)
			bad |= not_finite(x[i + (size_t)j]);
		if (bad)
			break;
	}
	for (; i < n; i++)
		if (not_finite(x[i])) {
			atomic_min(&k->bad, from + i);
			return 0;
		}
	return 1;
}

/* Copy the importances of elements [from, from + n) to w. */
static void copy_importance(float *w, const struct quant_tensor *t, uint64_t from, size_t n)
{
	uint64_t ne0 = (uint64_t)t->in->ne[0], matrix = ne0 * (uint64_t)t->in->ne[1];

	for (size_t i = 0; i < n;) {
		uint64_t at = from + i, column = at % ne0;
		size_t left = (size_t)num_min((int64_t)(ne0 - column), (int64_t)(n - i));
		const float *of = t->importance;

		if (t->n_importance > ne0)
			of += at / matrix * ne0;
		memcpy(w + i, of + column, left * sizeof *w);
		i += left;
	}
}

/* Return elements [from, from + n) of the input, as stored. */
static const void *read_source(const struct work *k, struct scratch *s, uint64_t from, size_t n)
{
	const struct infer_tensor *in = k->t->in;

	return file_span(k->q->in, in, write_bytes(in->type, from), write_bytes(in->type, n),
	                 s->in);
}

/* Decode elements [from, from + n) of the input to s->x, with the adapters added.  Returns 0 if there is
 * no memory. */
static int read_values(struct work *k, struct scratch *s, uint64_t from, size_t n)
{
	const struct type *in = type_get(k->t->in->type);
	infer_error err;

	if (!adapt_changes(k->t)) {
		in->decode(s->x, read_source(k, s, from, n), n / (size_t)in->info.block);
		return 1;
	}
	if (!adapt_decode(k->q, k->t, from, n, s->x, s->row, &err))
		return 1;
	atomic_store(&k->errnum, ENOMEM);
	return 0;
}

/* Encode elements [from, from + n).  Returns the bytes to write; NULL: an element is not finite, or
 * there is no memory. */
static const void *encode_piece(struct work *k, struct scratch *s, uint64_t from, size_t n)
{
	const struct quant_tensor *t = k->t;
	const struct type *in = type_get(t->in->type), *out = type_get(t->type);
	const float *importance = NULL;

	if (t->type == t->in->type && !adapt_changes(t)) {
		const void *src = read_source(k, s, from, n);
		size_t at = k->q->name ? type_find_bad(t->type, src, n) : SIZE_MAX;

		if (at != SIZE_MAX)
			atomic_min(&k->bad, from + at / (size_t)in->info.block_bytes *
			                                    (size_t)in->info.block);
		return at == SIZE_MAX ? src : NULL;
	}
	if (!read_values(k, s, from, n) || !write_finite(k, s->x, from, n))
		return NULL;
	if (t->importance) {
		copy_importance(s->w, t, from, n);
		importance_weigh(s->w, t->type, s->x, s->w, n);
		importance = s->w;
	} else if (importance_alone(s->w, t->type, s->x, n)) {
		importance = s->w;
	}
	type_encode(t->type, s->out, s->x, importance, n / (size_t)out->info.block,
	            t->plain | k->q->how);
	return s->out;
}

/* Return the sum of squared errors of the encoded values, and that of squares of the input. */
static struct error_sum measure_loss(struct work *k, struct scratch *s, uint64_t from, size_t n)
{
	const struct type *out = type_get(k->t->type);
	struct error_sum sum = { 0 };

	if (k->t->type == k->t->in->type && !adapt_changes(k->t))
		return sum;
	if (!read_values(k, s, from, n))
		return sum;
	out->decode(s->w, s->back, n / (size_t)out->info.block);
	for (size_t i = 0; i < n; i++) {
		double x = (double)s->x[i], e = (double)s->w[i] - x;

		sum.error += e * e;
		sum.square += x * x;
	}
	return sum;
}

void write_put(struct work *k, int worker, int64_t item, uint64_t from, size_t n, const void *out)
{
	struct scratch *s = &k->scratch[worker];
	size_t bytes = write_bytes(k->t->type, n);
	uint64_t offset = k->t->at + write_bytes(k->t->type, from);
	int fd = k->part.fds[k->t->shard];
	int errnum =
		partial_io(k->verify, fd, k->verify ? s->back : (void *)(size_t)out, bytes, offset);

	if (errnum)
		atomic_store(&k->errnum, errnum);
	if (errnum || !k->verify)
		return;
	if (memcmp(s->back, out, bytes))
		atomic_min(&k->differs, from);
	struct error_sum sum = measure_loss(k, s, from, n);

	k->sums[item].error += sum.error;
	k->sums[item].square += sum.square;
}

/* Drop the pages of elements [from, to) of the input, and prefetch those after the current step. */
static void advance_input(const struct work *k, uint64_t from, uint64_t to)
{
	const struct infer_tensor *in = k->t->in;
	const struct file_shard *s = &k->q->in->shards[in->shard];
	size_t page = os_page(), a = write_bytes(in->type, from), b = write_bytes(in->type, to);
	size_t at = (size_t)(in->offset + a), end = (size_t)(in->offset + b);

	if (!s->map.at || !in->data || file_is_copy(k->q->in, in))
		return;
	at = num_round_up(at, page);
	end = end / page * page;
	if (at < end)
		(void)madvise((void *)(size_t)(s->map.at + at), end - at, MADV_DONTNEED);
	os_file_want(&s->map, (size_t)in->offset + b + (b - a), b - a);
}

/* Start to sync the output of the previous step, and drop its input pages. */
static void finish_previous(struct work *k)
{
	if (k->tidy_from == k->tidy_to)
		return;
	advance_input(k, k->tidy_from, k->tidy_to);
	if (!k->verify)
		partial_want(&k->part, k->t, k->tidy_from, k->tidy_to);
	k->tidy_from = k->tidy_to;
}

/* Pool item: item 0 finishes the previous step, the others encode pieces. */
static void write_piece(void *user, int64_t item, int worker)
{
	struct work *k = user;
	int64_t i = item - 1;

	if (!item) {
		finish_previous(k);
		return;
	}
	uint64_t from = k->from + (uint64_t)i * WRITE_PIECE;
	size_t n = (size_t)num_min(WRITE_PIECE, (int64_t)(k->to - from));

	if (atomic_load(&k->bad) < from || atomic_load(&k->errnum))
		return;
	const void *out = encode_piece(k, &k->scratch[worker], from, n);

	if (out)
		write_put(k, worker, item, from, n, out);
}

/* ---- tensors in order ---- */

static int fail_element(const struct work *k, uint64_t from, const char *what, infer_error *err)
{
	return err_set(err, INFER_EIO, "tensor %.*s: element %llu: %s", (int)k->t->in->name.len,
	               k->t->in->name.at, (unsigned long long)from, what);
}

static int check_step(const struct work *k, infer_error *err)
{
	const struct infer_tensor *in = k->t->in;
	uint64_t bad = k->bad;

	if (k->errnum)
		return err_errno(err, k->errnum, "%s" PARTIAL_SUFFIX ": %s",
		                 file_label(k->part.path),
		                 k->verify ? "reading it again" : "writing");
	if (bad != UINT64_MAX)
		return err_set(err, INFER_ENAN, "tensor %.*s: element %llu is not finite",
		               (int)in->name.len, in->name.at, (unsigned long long)bad);
	if (k->differs != UINT64_MAX)
		return fail_element(k, k->differs, "the file differs from what was written to it",
		                    err);
	return INFER_OK;
}

int write_run(struct work *k, int64_t n, pool_fn *fn, struct error_sum *sum, infer_error *err)
{
	memset(k->sums, 0, (size_t)n * sizeof *k->sums);
	pool_run(k->pool, n, fn, k);
	TRY(check_step(k, err));
	for (int64_t i = 0; i < n; i++) {
		sum->error += k->sums[i].error;
		sum->square += k->sums[i].square;
	}
	return INFER_OK;
}

int write_step(struct work *k, struct error_sum *sum, infer_error *err)
{
	return write_run(k, 1 + (int64_t)((k->to - k->from + WRITE_PIECE - 1) / WRITE_PIECE),
	                 write_piece, sum, err);
}

void write_tell(struct work *k, uint64_t done)
{
	k->done = done;
	if (k->watch && k->watch->fn)
		k->watch->fn(k->watch->user, k->done, k->all);
}

/* Write the tensor from element `from` on, step by step. */
static int write_steps(struct work *k, uint64_t i, uint64_t from, struct error_sum *sum,
                       infer_error *err)
{
	const struct quant_tensor *t = k->t;
	uint64_t all = quant_elements(t->in), start = k->done,
		 step = (uint64_t)pool_threads(k->pool) * WRITE_STEP * WRITE_PIECE;

	for (; from < all; from = k->to) {
		k->from = from;
		k->to = (uint64_t)num_min((int64_t)all, (int64_t)(from + step));
		TRY(write_step(k, sum, err));
		k->tidy_from = from;
		k->tidy_to = k->to;
		write_tell(k, start + write_bytes(t->in->type, k->to));
		if (k->verify || clock_now_ns() - k->marked_ns < MARK_NS)
			continue;
		TRY(partial_mark(&k->part, i, k->to, err));
		k->marked_ns = clock_now_ns();
	}
	finish_previous(k);
	return INFER_OK;
}

static int write_tensor(struct work *k, uint64_t i, uint64_t from, infer_error *err)
{
	struct quant_tensor *t = &k->q->tensors[i];
	uint64_t all = quant_elements(t->in);
	struct error_sum sum = { 0 };

	k->t = t;
	if (!t->gptq) {
		TRY(write_steps(k, i, from, &sum, err));
	} else if (from < all) {
		TRY(write_gptq(k, i, k->done, &sum, err));
		advance_input(k, 0, all);
		if (!k->verify)
			TRY(partial_mark(&k->part, i, all, err));
		k->marked_ns = clock_now_ns();
	}
	if (k->verify)
		t->error = sum.square > 0 ? sqrt(sum.error / sum.square) : 0;
	return INFER_OK;
}

/* Read the output again from the disk, and compare it with what was written. */
static int verify_all(struct work *k, infer_error *err)
{
	TRY(partial_sync(&k->part, err));
	for (int i = 0; i < k->q->n_shards; i++)
		(void)posix_fadvise(k->part.fds[i], 0, 0, POSIX_FADV_DONTNEED);
	k->verify = 1;
	TRY(write_gptq_begin(k, 0, err));
	for (uint64_t i = 0; i < k->q->n; i++)
		TRY(write_tensor(k, i, 0, err));
	return INFER_OK;
}

static int write_all(struct work *k, struct infer_quant_result *result, infer_error *err)
{
	uint64_t first = k->part.tensor, elements = k->part.elements;

	for (uint64_t i = 0; i < first; i++)
		k->done += k->q->tensors[i].in->bytes;
	result->resumed_bytes = k->done + write_bytes(k->q->tensors[first].in->type, elements);
	TRY(write_gptq_begin(k, first, err));
	for (uint64_t i = first; i < k->q->n; i++)
		TRY(write_tensor(k, i, i == first ? elements : 0, err));
	if (k->q->verify)
		TRY(verify_all(k, err));
	if (k->q->zstd)
		TRY(partial_mark(&k->part, k->q->n - 1,
		                 quant_elements(k->q->tensors[k->q->n - 1].in), err));
	const struct pack_opts o = { k->q->zstd, k->q->verify, k->watch, k->done, k->all };

	return o.level ? pack_files(&k->part, k->pool, &o, &result->packed_bytes, err) : INFER_OK;
}

/* ---- the fingerprint: a stopped run is continued only with the same fingerprint ---- */

static void add_encoders(struct sha256 *s, const infer_quant *q)
{
	unsigned char out[SAMPLE * sizeof(float)];
	uint8_t seen[INFER_TYPE_COUNT] = { 0 };
	float x[SAMPLE], ones[SAMPLE], w[SAMPLE];

	for (int i = 0; i < SAMPLE; i++) {
		x[i] = (float)((i * 37 + 11) % 255 - 127) / 64 * (float)(1 + i / 64);
		ones[i] = 1;
	}
	for (uint64_t i = 0; i < q->n; i++) {
		const struct type *t = type_get(q->tensors[i].type);
		uint8_t types[3] = { q->tensors[i].type, (uint8_t)q->tensors[i].in->type,
			             (uint8_t)(q->tensors[i].plain | (q->tensors[i].gptq != NULL)
			                                                     << 1) };

		sha256_add(s, types, sizeof types);
		if (types[0] == types[1] || seen[types[0]])
			continue;
		seen[types[0]] = 1;
		/* 0: without a search; 1: without importances; 2: with importances */
		for (int way = 0; way < 3; way++) {
			int alone = way == 1 && importance_alone(w, types[0], x, SAMPLE);

			if (way == 2)
				importance_weigh(w, types[0], x, ones, SAMPLE);
			type_encode(types[0], out, x, alone || way == 2 ? w : NULL,
			            (size_t)(SAMPLE / t->info.block),
			            q->how | (way ? 0 : ENCODE_PLAIN));
			sha256_add(s, out, write_bytes(types[0], SAMPLE));
		}
	}
}

/* Hash the identity of the input files, the planned output, and a sample of encoded values. */
static void fingerprint(char hex[65], const infer_quant *q)
{
	struct sha256 s;
	uint8_t sum[32];
	struct stat st;

	sha256_init(&s);
	sha256_add(&s, INFER_VERSION, sizeof INFER_VERSION);
	infer_file_id(q->in, hex);
	sha256_add(&s, hex, 64);
	for (int i = 0; i < q->in->n_shards; i++)
		if (q->in->shards[i].path && !stat(q->in->shards[i].path, &st)) {
			uint64_t id[5] = { st.st_dev, st.st_ino, (uint64_t)st.st_size,
				           (uint64_t)st.st_mtim.tv_sec,
				           (uint64_t)st.st_mtim.tv_nsec };

			sha256_add(&s, id, sizeof id);
		}
	for (int i = 0; i < q->n_shards; i++)
		sha256_add(&s, q->shards[i].head.at, q->shards[i].head.len);
	add_encoders(&s, q);
	if (q->importance) {
		importance_sha256(q->importance, hex);
		sha256_add(&s, hex, 64);
	}
	if (q->gptq)
		sha256_add(&s, q->gptq->id, 64);
	adapt_hash(&s, q);
	sha256_end(&s, sum);
	sha256_hex(sum, hex);
}

static int open_work(struct work *k, int threads, infer_error *err)
{
	TRY(pool_new(&k->pool, threads, err));
	size_t n = (size_t)pool_threads(k->pool), columns = adapt_columns(k->q);

	k->scratch = mem_alloc(MEM_QUANT, n, sizeof *k->scratch);
	k->sums = mem_alloc(MEM_QUANT, n * WRITE_STEP + 1, sizeof *k->sums);
	k->rows = mem_alloc(MEM_QUANT, n * (columns + 1), sizeof *k->rows);
	if (!k->scratch || !k->sums || !k->rows)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		k->scratch[i].row = k->rows + i * (columns + 1);
	return INFER_OK;
}

static int write_parts(struct work *k, const char *path, struct infer_quant_result *result,
                       infer_error *err)
{
	char hex[65];

	fingerprint(hex, k->q);
	TRY(partial_open(&k->part, k->q, path, hex, err));
	k->marked_ns = clock_now_ns();
	int rc = write_all(k, result, err);

	if (!rc)
		rc = infer_file_check_unchanged(k->q->in, err);
	/* a run can be continued after a disk error; other errors would occur again */
	int keep = rc == INFER_EIO && k->part.marks && k->differs == UINT64_MAX;

	if (!rc)
		rc = partial_end(&k->part, err);
	partial_close(&k->part, keep);
	result->kept = rc && keep;
	return rc;
}

int infer_quant_path(const infer_quant *q, const char *path, int no, char *out, size_t n,
                     infer_error *err)
{
	struct buf name;

	buf_init(&name, MEM_QUANT);
	int rc = no < 0 || no >= q->n_shards ? err_set(err, INFER_EINVAL, "there is no file %d", no)
	                                     : partial_path(&name, path, no, q->n_shards, "", err);

	if (!rc && name.len >= n)
		rc = err_set(err, INFER_EINVAL, "%s: the name is too long", file_label(path));
	if (!rc)
		memcpy(out, name.at, name.len + 1);
	buf_fini(&name);
	return rc;
}

int infer_quant_write(infer_quant *q, const char *path, int threads, const struct infer_watch *w,
                      struct infer_quant_result *result, infer_error *err)
{
	struct work k = { .q = q, .watch = w, .bad = UINT64_MAX, .differs = UINT64_MAX };
	int rc = open_work(&k, threads, err);

	k.all = (q->info.in_bytes + (q->zstd ? q->info.file_bytes : 0)) * (q->verify ? 2 : 1);
	*result = (struct infer_quant_result){ 0 };
	if (!rc)
		rc = write_parts(&k, path, result, err);
	write_gptq_end(&k);
	pool_free(k.pool);
	mem_free(k.scratch);
	mem_free(k.sums);
	mem_free(k.rows);
	return rc;
}
