/* quant/write.c - tensors are decoded, encoded and written, a piece at a time, by all threads.
 *
 * A tensor is a row of blocks, wherever its rows end, so it is cut at multiples of PIECE elements,
 * which are whole blocks of every type.  Each worker writes its pieces to their place in the file;
 * what they contain does not depend on who does it. */
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "base/pool.h"
#include "base/sha256.h"
#include "file/file.h"
#include "quant/pack.h"
#include "quant/part.h"
#include "type/type.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* STEP: pieces for a worker between two looks at the clock.  MARK_NS: how often it is noted how far
 * the files are. */
enum { PIECE = 1 << 16, STEP = 32, SAMPLE = 256 };
#define MARK_NS INT64_C(1000000000)

struct scratch {
	float x[PIECE], w[PIECE];
	unsigned char out[PIECE * sizeof(float)], back[PIECE * sizeof(float)];
};
struct error_sum {
	double error, square;
};
struct work {
	infer_quant *q;
	struct pool *pool;
	struct scratch *scratch; /* [threads] */
	struct error_sum *sums;  /* [STEP * threads], of the pieces of a step */
	struct part part;
	const struct infer_watch *watch;
	/* bytes of the input, once or twice, and of what is compressed, once or twice */
	uint64_t done, all;
	int64_t marked_ns;
	int verify; /* compare with the file instead of writing it */
	/* of one step of a tensor */
	const struct quant_tensor *t;
	uint64_t from, to; /* elements */
	/* the first element that is not finite, that differs; UINT64_MAX: none */
	_Atomic uint64_t bad, differs;
	_Atomic int errnum;
};

static void lower(_Atomic uint64_t *least, uint64_t v)
{
	uint64_t was = atomic_load(least);

	while (v < was && !atomic_compare_exchange_weak(least, &was, v))
		;
}

static size_t bytes_of(int type, uint64_t elements)
{
	const struct infer_type_info *info = infer_type_info(type);

	return (size_t)(elements / (uint64_t)info->block * (uint64_t)info->block_bytes);
}

static int not_finite(float x) { return (num_bits(x) & 0x7f800000u) == 0x7f800000u; }

/* The importances of elements [from, from + n) into w. */
static void columns(float *w, const struct quant_tensor *t, uint64_t from, size_t n)
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

/* The bytes of elements [from, from + n) as they are in the file; NULL: one is not finite. */
static const void *convert(struct work *k, struct scratch *s, uint64_t from, size_t n)
{
	const struct quant_tensor *t = k->t;
	const struct type *in = type_get(t->in->type), *out = type_get(t->type);
	const char *src = (const char *)t->in->data + bytes_of(t->in->type, from);
	const float *importance = NULL;

	if (t->type == t->in->type) {
		size_t at = k->q->name ? type_find_bad(t->type, src, n) : SIZE_MAX;

		if (at != SIZE_MAX)
			lower(&k->bad,
			      from + at / (size_t)in->info.block_bytes * (size_t)in->info.block);
		return at == SIZE_MAX ? src : NULL;
	}
	in->decode(s->x, src, n / (size_t)in->info.block);
	for (size_t i = 0; i < n; i++)
		if (not_finite(s->x[i])) {
			lower(&k->bad, from + i);
			return NULL;
		}
	if (t->importance) {
		columns(s->w, t, from, n);
		importance_weigh(s->w, t->type, s->x, s->w, n);
		importance = s->w;
	}
	out->encode(s->out, s->x, importance, n / (size_t)out->info.block);
	return s->out;
}

/* What the encoding has lost: the values of the file against those of the input. */
static struct error_sum compare(const struct work *k, struct scratch *s, uint64_t from, size_t n)
{
	const struct type *in = type_get(k->t->in->type), *out = type_get(k->t->type);
	struct error_sum sum = { 0 };

	if (k->t->type == k->t->in->type)
		return sum;
	in->decode(s->x, (const char *)k->t->in->data + bytes_of(k->t->in->type, from),
	           n / (size_t)in->info.block);
	out->decode(s->w, s->back, n / (size_t)out->info.block);
	for (size_t i = 0; i < n; i++) {
		double x = (double)s->x[i], e = (double)s->w[i] - x;

		sum.error += e * e;
		sum.square += x * x;
	}
	return sum;
}

static void piece(void *user, int64_t i, int worker)
{
	struct work *k = user;
	struct scratch *s = &k->scratch[worker];
	uint64_t from = k->from + (uint64_t)i * PIECE;
	size_t n = (size_t)num_min(PIECE, (int64_t)(k->to - from)), bytes = bytes_of(k->t->type, n);
	uint64_t offset = k->t->at + bytes_of(k->t->type, from);
	int fd = k->part.fds[k->t->shard], errnum;

	if (atomic_load(&k->bad) < from || atomic_load(&k->errnum))
		return;
	const void *out = convert(k, s, from, n);

	if (!out)
		return;
	errnum = part_io(k->verify, fd, k->verify ? s->back : (void *)(size_t)out, bytes, offset);
	if (errnum)
		atomic_store(&k->errnum, errnum);
	if (errnum || !k->verify)
		return;
	if (memcmp(s->back, out, bytes))
		lower(&k->differs, from);
	k->sums[i] = compare(k, s, from, n);
}

/* ---- one tensor after the other ---- */

static int told(const struct work *k, uint64_t from, const char *what, infer_error *err)
{
	return err_set(err, INFER_EIO, "tensor %.*s: element %llu: %s", (int)k->t->in->name.len,
	               k->t->in->name.at, (unsigned long long)from, what);
}

static int check_step(const struct work *k, infer_error *err)
{
	const struct infer_tensor *in = k->t->in;
	uint64_t bad = k->bad;

	if (k->errnum)
		return err_errno(err, k->errnum, "%s" PART_SUFFIX ": %s", file_label(k->part.path),
		                 k->verify ? "reading it again" : "writing");
	if (bad != UINT64_MAX)
		return err_set(err, INFER_ENAN, "tensor %.*s: element %llu is not finite",
		               (int)in->name.len, in->name.at, (unsigned long long)bad);
	if (k->differs != UINT64_MAX)
		return told(k, k->differs, "the file has not what was written to it", err);
	return INFER_OK;
}

/* The pages of the input that are done with leave this process, and those that come are asked for. */
static void pages(const struct work *k, uint64_t from, uint64_t to)
{
	const struct infer_tensor *in = k->t->in;
	const struct file_shard *s = &k->q->in->shards[in->shard];
	size_t page = os_page(), a = bytes_of(in->type, from), b = bytes_of(in->type, to);
	size_t at = (size_t)(in->offset + a), end = (size_t)(in->offset + b);

	if (!s->map.at)
		return;
	at = num_round_up(at, page);
	end = end / page * page;
	if (at < end)
		(void)madvise((void *)(size_t)(s->map.at + at), end - at, MADV_DONTNEED);
	os_file_want(&s->map, (size_t)(in->offset + b), b - a);
}

static int tensor(struct work *k, uint64_t i, uint64_t from, infer_error *err)
{
	struct quant_tensor *t = &k->q->tensors[i];
	uint64_t all = quant_elements(t->in), step = (uint64_t)pool_threads(k->pool) * STEP * PIECE,
		 start = k->done;
	struct error_sum sum = { 0 };

	k->t = t;
	for (; from < all; from = k->to) {
		k->from = from;
		k->to = (uint64_t)num_min((int64_t)all, (int64_t)(from + step));
		int64_t n = (int64_t)((k->to - from + PIECE - 1) / PIECE);

		pool_run(k->pool, n, piece, k);
		TRY(check_step(k, err));
		for (int64_t p = 0; k->verify && p < n; p++) {
			sum.error += k->sums[p].error;
			sum.square += k->sums[p].square;
		}
		pages(k, from, k->to);
		k->done = start + bytes_of(t->in->type, k->to);
		if (k->watch && k->watch->fn)
			k->watch->fn(k->watch->user, k->done, k->all);
		if (k->verify || clock_now_ns() - k->marked_ns < MARK_NS)
			continue;
		TRY(part_mark(&k->part, i, k->to, err));
		k->marked_ns = clock_now_ns();
	}
	if (k->verify)
		t->error = sum.square > 0 ? sqrt(sum.error / sum.square) : 0;
	return INFER_OK;
}

/* Read all of it again from the disk, and compare it with what it should be. */
static int verify(struct work *k, infer_error *err)
{
	TRY(part_sync(&k->part, err));
	for (int i = 0; i < k->q->n_shards; i++)
		(void)posix_fadvise(k->part.fds[i], 0, 0, POSIX_FADV_DONTNEED);
	k->verify = 1;
	for (uint64_t i = 0; i < k->q->n; i++)
		TRY(tensor(k, i, 0, err));
	return INFER_OK;
}

static int write_all(struct work *k, struct infer_quant_result *result, infer_error *err)
{
	uint64_t first = k->part.tensor, elements = k->part.elements;

	for (uint64_t i = 0; i < first; i++)
		k->done += k->q->tensors[i].in->bytes;
	result->resumed_bytes = k->done + bytes_of(k->q->tensors[first].in->type, elements);
	for (uint64_t i = first; i < k->q->n; i++)
		TRY(tensor(k, i, i == first ? elements : 0, err));
	if (k->q->verify)
		TRY(verify(k, err));
	if (k->q->zstd)
		TRY(part_mark(&k->part, k->q->n - 1, quant_elements(k->q->tensors[k->q->n - 1].in),
		              err));
	const struct pack_opts o = { k->q->zstd, k->q->verify, k->watch, k->done, k->all };

	return o.level ? pack_files(&k->part, k->pool, &o, &result->packed_bytes, err) : INFER_OK;
}

/* ---- what makes a file that was left another one ---- */

static void add_encoders(struct sha256 *s, const infer_quant *q)
{
	unsigned char out[SAMPLE * sizeof(float)];
	uint8_t seen[INFER_TYPE_COUNT] = { 0 };
	float x[SAMPLE];

	for (int i = 0; i < SAMPLE; i++)
		x[i] = (float)((i * 37 + 11) % 255 - 127) / 64 * (float)(1 + i / 64);
	for (uint64_t i = 0; i < q->n; i++) {
		const struct type *t = type_get(q->tensors[i].type);
		uint8_t types[2] = { q->tensors[i].type, (uint8_t)q->tensors[i].in->type };

		sha256_add(s, types, sizeof types);
		if (types[0] == types[1] || seen[types[0]])
			continue;
		seen[types[0]] = 1;
		t->encode(out, x, NULL, (size_t)(SAMPLE / t->info.block));
		sha256_add(s, out, bytes_of(types[0], SAMPLE));
	}
}

/* The input, by what the system knows of its files; the recipe, by what it makes; the encoders, by
 * what they make of a sample. */
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
	sha256_end(&s, sum);
	sha256_hex(sum, hex);
}

static int open_work(struct work *k, int threads, infer_error *err)
{
	TRY(pool_new(&k->pool, threads, err));
	size_t n = (size_t)pool_threads(k->pool);

	k->scratch = mem_alloc(MEM_QUANT, n, sizeof *k->scratch);
	k->sums = mem_alloc(MEM_QUANT, n * STEP, sizeof *k->sums);
	return k->scratch && k->sums ? INFER_OK
	                             : err_set(err, INFER_ENOMEM, "no memory for %zu threads", n);
}

static int write_parts(struct work *k, const char *path, struct infer_quant_result *result,
                       infer_error *err)
{
	char hex[65];

	fingerprint(hex, k->q);
	TRY(part_open(&k->part, k->q, path, hex, err));
	k->marked_ns = clock_now_ns();
	int rc = write_all(k, result, err);

	if (!rc)
		rc = infer_file_check_unchanged(k->q->in, err);
	/* what an error of the disk leaves is worth continuing; another would come again */
	int keep = rc == INFER_EIO && k->part.marks && k->differs == UINT64_MAX;

	if (!rc)
		rc = part_end(&k->part, err);
	part_close(&k->part, keep);
	result->kept = rc && keep;
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
	pool_free(k.pool);
	mem_free(k.scratch);
	mem_free(k.sums);
	return rc;
}
