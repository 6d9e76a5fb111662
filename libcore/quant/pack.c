/* quant/pack.c - compress files in independent frames, in parallel.  zstd allocates its contexts
 * with malloc. */
#include "quant/pack.h"
#include "base/err.h"
#include "base/num.h"
#include "base/replace.h"
#include "file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { FRAME = 4 << 20 };

struct slot {
	ZSTD_CCtx *c;
	ZSTD_DCtx *d;
	unsigned char *in, *out, *back; /* [FRAME], [bound], [FRAME] */
	size_t n;                       /* bytes in out */
	const char *failed;             /* error message; NULL: none */
	int errnum;
};
struct pack {
	struct partial *p;
	const struct pack_opts *o;
	struct slot *slots; /* [n_slots]: one for each frame of a batch */
	int n_slots, fd, to;
	size_t bound;
	uint64_t bytes, first; /* size of the file; index of the batch's first frame */
	uint64_t *ends;        /* end offset of each frame in the compressed file */
	int verify;
};

static void process_frame(void *user, int64_t i, int worker)
{
	struct pack *k = user;
	struct slot *s = &k->slots[i];
	uint64_t no = k->first + (uint64_t)i, at = no * FRAME;
	size_t n = (size_t)num_min(FRAME, (int64_t)(k->bytes - at));

	(void)worker;
	s->errnum = partial_io(1, k->fd, s->in, n, at);
	if (s->errnum)
		return;
	if (!k->verify) {
		s->n = ZSTD_compress2(s->c, s->out, k->bound, s->in, n);
		s->failed = ZSTD_isError(s->n) ? ZSTD_getErrorName(s->n) : NULL;
		return;
	}
	uint64_t from = no ? k->ends[no - 1] : 0;

	s->n = (size_t)(k->ends[no] - from);
	s->errnum = partial_io(1, k->to, s->out, s->n, from);
	if (s->errnum)
		return;
	size_t got = ZSTD_decompressDCtx(s->d, s->back, FRAME, s->out, s->n);

	if (got != n || memcmp(s->back, s->in, n))
		s->failed = "the file differs from what was written to it";
}

static int fail_packed(const struct pack *k, const char *why, infer_error *err)
{
	return err_set(err, INFER_EIO, "%s" PARTIAL_PACKED ": %s", file_label(k->p->path), why);
}

static int check_batch(const struct pack *k, int64_t n, infer_error *err)
{
	for (int64_t i = 0; i < n; i++) {
		if (k->slots[i].errnum)
			return err_errno(err, k->slots[i].errnum, "%s" PARTIAL_SUFFIX ": reading",
			                 file_label(k->p->path));
		if (k->slots[i].failed)
			return fail_packed(k, k->slots[i].failed, err);
	}
	return INFER_OK;
}

/* Compress or verify all frames of a file, batch by batch. */
static int process_frames(struct pack *k, struct pool *pool, uint64_t done, infer_error *err)
{
	uint64_t count = (k->bytes + FRAME - 1) / FRAME;

	for (k->first = 0; k->first < count; k->first += (uint64_t)k->n_slots) {
		int64_t n = num_min(k->n_slots, (int64_t)(count - k->first));

		pool_run(pool, n, process_frame, k);
		TRY(check_batch(k, n, err));
		for (int64_t i = 0; !k->verify && i < n; i++) {
			uint64_t no = k->first + (uint64_t)i, from = no ? k->ends[no - 1] : 0;
			int errnum = partial_io(0, k->to, k->slots[i].out, k->slots[i].n, from);

			if (errnum)
				return err_errno(err, errnum, "%s" PARTIAL_PACKED ": writing",
				                 file_label(k->p->path));
			k->ends[no] = from + k->slots[i].n;
		}
		if (k->o->watch && k->o->watch->fn)
			k->o->watch->fn(
				k->o->watch->user,
				done + (uint64_t)num_min((int64_t)k->bytes,
			                                 (int64_t)(k->first + (uint64_t)n) * FRAME),
				k->o->all);
	}
	return INFER_OK;
}

static int pack_open(struct pack *k, int no, infer_error *err)
{
	struct buf name;

	k->fd = k->p->fds[no];
	k->bytes = k->p->q->shards[no].file_bytes;
	k->ends = mem_alloc(MEM_QUANT, (size_t)(k->bytes / FRAME + 1), sizeof *k->ends);
	if (!k->ends)
		return err_nomem(err);
	buf_init(&name, MEM_QUANT);
	int rc = partial_create(&k->to, &name, k->p, no, PARTIAL_PACKED, err);

	buf_fini(&name);
	return rc;
}

/* Give the compressed file the owner and permissions of the file that it replaces. */
static int keep_mode(const struct pack *k, int no, infer_error *err)
{
	struct buf name;

	buf_init(&name, MEM_QUANT);
	int rc = partial_path(&name, k->p->path, no, k->p->q->n_shards, "", err);

	if (!rc)
		replace_keep(k->to, name.at);
	buf_fini(&name);
	return rc;
}

static int pack_one(struct pack *k, int no, struct pool *pool, uint64_t *done, uint64_t *bytes,
                    infer_error *err)
{
	int rc;

	k->to = -1;
	k->ends = NULL;
	k->verify = 0;
	rc = pack_open(k, no, err);
	if (!rc)
		rc = process_frames(k, pool, *done, err);
	if (!rc && fdatasync(k->to))
		rc = err_errno(err, errno, "%s" PARTIAL_PACKED ": writing", file_label(k->p->path));
	*done += k->bytes;
	if (!rc && k->o->verify) {
		(void)posix_fadvise(k->to, 0, 0, POSIX_FADV_DONTNEED);
		k->verify = 1;
		rc = process_frames(k, pool, *done, err);
		*done += k->bytes;
	}
	if (!rc)
		rc = keep_mode(k, no, err);
	if (!rc)
		*bytes += k->ends[(k->bytes - 1) / FRAME];
	if (k->to >= 0)
		close(k->to);
	mem_free(k->ends);
	return rc;
}

static int slots_new(struct pack *k, infer_error *err)
{
	int bad = 0;

	k->bound = ZSTD_compressBound(FRAME);
	k->slots = mem_zalloc(MEM_QUANT, (size_t)k->n_slots, sizeof *k->slots);
	for (int i = 0; k->slots && i < k->n_slots; i++) {
		struct slot *s = &k->slots[i];

		s->c = ZSTD_createCCtx();
		s->d = k->o->verify ? ZSTD_createDCtx() : NULL;
		s->in = mem_alloc(MEM_QUANT, FRAME, 1);
		s->out = mem_alloc(MEM_QUANT, k->bound, 1);
		s->back = k->o->verify ? mem_alloc(MEM_QUANT, FRAME, 1) : NULL;
		bad |= !s->c || !s->in || !s->out || (k->o->verify && (!s->d || !s->back));
		if (s->c) {
			ZSTD_CCtx_setParameter(s->c, ZSTD_c_compressionLevel, k->o->level);
			ZSTD_CCtx_setParameter(s->c, ZSTD_c_checksumFlag, 1);
		}
	}
	return k->slots && !bad ? INFER_OK : err_nomem(err);
}

static void slots_free(struct pack *k)
{
	for (int i = 0; k->slots && i < k->n_slots; i++) {
		ZSTD_freeCCtx(k->slots[i].c);
		ZSTD_freeDCtx(k->slots[i].d);
		mem_free(k->slots[i].in);
		mem_free(k->slots[i].out);
		mem_free(k->slots[i].back);
	}
	mem_free(k->slots);
}

int pack_files(struct partial *p, struct pool *pool, const struct pack_opts *o, uint64_t *bytes,
               infer_error *err)
{
	struct pack k = { .p = p, .o = o, .n_slots = pool_threads(pool) };
	uint64_t done = o->done;
	int rc = slots_new(&k, err);

	*bytes = 0;
	for (int i = 0; !rc && i < p->q->n_shards; i++)
		rc = pack_one(&k, i, pool, &done, bytes, err);
	slots_free(&k);
	if (!rc)
		p->suffix = PARTIAL_PACKED;
	return rc;
}
