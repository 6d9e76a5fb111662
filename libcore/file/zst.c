/* file/zst.c - unpack GGUF files compressed with zstd (RFC 8878): a sequence of frames, some of
 * them possibly skippable.
 *
 * A small file may unpack to any size, so the GGUF header inside limits the memory.  First the
 * header is unpacked, into memory that doubles until it is complete.  It gives the size of the
 * model; if that much memory is available, the rest is unpacked.  The stream must end at that size.
 *
 * The compressed file is read, not mapped, so that its pages do not count as memory of this
 * process.  The library allocates the decoder and its window with malloc. */
#include "file/zst.h"
#include "base/err.h"
#include "base/num.h"
#include "file/gguf.h"

#include <string.h>
#include <sys/mman.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
	CHUNK = 256 << 10, /* bytes of the file per read */
	FIRST = 64 << 10,  /* bytes unpacked before the header is read */
	WINDOW_LOG = 27,   /* log2 of the largest window, as in zstd -d */
	HEAD_LEAST = 5,    /* bytes of the shortest frame header */
	HEAD_MOST = 18,
	HEADER_MOST = 1 << 30,
};

struct unpack {
	struct infer_file *f;
	struct file_shard *s;
	const char *path; /* path of the file, for messages */
	ZSTD_DCtx *d;
	/* n bytes of the file from offset `from` on; the first pos are consumed */
	unsigned char *in;
	size_t from, n, pos;
	/* inside: a frame has begun.  ends: end of the frame in out, 0 if unknown.  wants: bytes of
	 * input that the decoder expects next */
	int inside;
	uint64_t ends;
	size_t wants;
	unsigned char *out;
	size_t cap, len;
	infer_error *err;
};

static uint32_t magic_of(const unsigned char *at, size_t n) { return n < 4 ? 0 : num_u32(at); }

int zst_is(const unsigned char *at, size_t n)
{
	uint32_t magic = magic_of(at, n);

	return magic == ZSTD_MAGICNUMBER ||
	       (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

static unsigned long long input_offset(const struct unpack *u) { return u->from + u->pos; }

/* Read until u->in has at least n unused bytes, fewer only at the end of the file. */
static int fill_input(struct unpack *u, size_t n)
{
	size_t left = u->n - u->pos, got, more;

	if (left >= n || u->from + u->n == u->s->map.bytes)
		return INFER_OK;
	memmove(u->in, u->in + u->pos, left);
	u->from += u->pos;
	u->pos = 0;
	u->n = left;
	more = u->s->map.bytes - u->from - left;
	if (more > CHUNK - left)
		more = CHUNK - left;
	TRY(os_file_read(&u->s->map, u->path, u->from + left, u->in + left, more, &got, u->err));
	if (got < more)
		return err_set(u->err, INFER_EIO, "%s: became shorter while it was in use",
		               u->path);
	u->n += got;
	file_tell(u->f->watch, u->from + left, u->s->map.bytes);
	return INFER_OK;
}

static int set_unpack_error(struct unpack *u, size_t code)
{
	switch (ZSTD_getErrorCode(code)) {
	case ZSTD_error_memory_allocation:
		return err_set(u->err, INFER_ENOMEM, "%s: no memory to unpack it", u->path);
	case ZSTD_error_dictionary_wrong:
		return err_set(u->err, INFER_EUNSUP,
		               "%s: it was compressed with a dictionary, which is not supported",
		               u->path);
	case ZSTD_error_frameParameter_windowTooLarge:
		return err_set(u->err, INFER_EUNSUP,
		               "%s: unpacking it takes a window of more than %d MiB, at byte %llu",
		               u->path, 1 << (WINDOW_LOG - 20), input_offset(u));
	default:
		return err_set(u->err, INFER_EFORMAT,
		               "%s: the compressed data is damaged: %s, "
		               "at byte %llu",
		               u->path, ZSTD_getErrorName(code), input_offset(u));
	}
}

/* Begin the next frame, if there is one.  Refuse a frame that declares to unpack beyond byte `most`
 * of the output. */
static int begin_frame(struct unpack *u, uint64_t most)
{
	unsigned long long bytes;

	TRY(fill_input(u, HEAD_MOST));
	if (u->pos == u->n)
		return INFER_OK;
	if (!zst_is(u->in + u->pos, u->n - u->pos))
		return err_set(u->err, INFER_EFORMAT,
		               "%s: other data follows the compressed data, at byte %llu", u->path,
		               input_offset(u));
	u->inside = 1;
	u->wants = HEAD_LEAST;
	u->ends = 0;
	bytes = ZSTD_getFrameContentSize(u->in + u->pos, u->n - u->pos);
	if (bytes >= ZSTD_CONTENTSIZE_ERROR) /* an error, or size unknown */
		return INFER_OK;
	if (bytes > most - u->len)
		return err_set(u->err, INFER_EFORMAT,
		               "%s: unpacks to more than the %llu bytes of its header, at "
		               "byte %llu",
		               u->path, (unsigned long long)most, input_offset(u));
	u->ends = u->len + bytes;
	return INFER_OK;
}

/* Unpack until `out` is full or the file ends; in that case u->inside is 0.  The decoder gets one
 * block at a time, so that a message names the block that is damaged. */
static int unpack_to(struct unpack *u, ZSTD_outBuffer *out, uint64_t most)
{
	while (out->pos < out->size) {
		ZSTD_inBuffer in;
		size_t before = out->pos, code;

		if (!u->inside)
			TRY(begin_frame(u, most));
		if (!u->inside)
			return INFER_OK;
		TRY(fill_input(u, u->wants));
		in = (ZSTD_inBuffer){ u->in, u->n, u->pos };
		if (in.size - in.pos > u->wants)
			in.size = in.pos + u->wants;
		code = ZSTD_decompressStream(u->d, out, &in);
		if (ZSTD_isError(code))
			return set_unpack_error(u, code);
		if (code && u->pos == u->n && out->pos == before)
			return err_set(u->err, INFER_EFORMAT,
			               "%s: the compressed data ends inside a frame, at byte %llu",
			               u->path, input_offset(u));
		u->pos = in.pos;
		u->wants = code;
		u->inside = code != 0;
		u->len += out->pos - before;
	}
	return INFER_OK;
}

/* Unpack into u->out up to byte `to`. */
static int unpack_some(struct unpack *u, size_t to, uint64_t most)
{
	ZSTD_outBuffer out = { u->out, to, u->len };

	return unpack_to(u, &out, most);
}

/* Grow u->out to `bytes`, if that much memory is available. */
static int reserve_output(struct unpack *u, size_t bytes)
{
	struct os_limits l;
	void *at = u->out;
	uint64_t room;

	if (bytes <= u->cap)
		return INFER_OK;
	os_limits(&l);
	room = l.available_bytes < l.address_bytes ? l.available_bytes : l.address_bytes;
	if (bytes - u->len > room)
		return err_set(u->err, INFER_ENOMEM,
		               "%s: unpacked it takes %llu MiB of memory; %llu MiB are available "
		               "(a file that zstd -d has unpacked is mapped, and takes none)",
		               u->path, (unsigned long long)bytes >> 20,
		               (unsigned long long)(room + u->len) >> 20);
	TRY(os_reserve_again(&at, u->cap, bytes, u->err));
	u->out = at;
	u->cap = bytes;
	return INFER_OK;
}

/* Unpack the GGUF header, and compute the size of the model from it. */
static int read_header(struct unpack *u, struct gguf_size *size)
{
	for (;;) {
		TRY(unpack_some(u, u->cap, UINT64_MAX));
		int ended = u->len < u->cap;

		if (magic_of(u->out, u->len) != magic_of((const unsigned char *)"GGUF", 4))
			return file_refuse(u->s->path, u->out,
			                   u->len < FILE_HEAD ? u->len : FILE_HEAD, u->err);
		TRY(gguf_measure(size, u->out, u->len, u->path, u->err));
		if (ended && (size->need || size->bytes > u->len))
			size->bytes = u->len; /* header incomplete: gguf_read reports it */
		if (ended || !size->need)
			return INFER_OK;
		if (size->need > HEADER_MOST)
			return err_set(u->err, INFER_EFORMAT, "%s: a header of more than %d MiB",
			               u->path, HEADER_MOST >> 20);
		TRY(reserve_output(u, size->need > 2 * u->cap ? size->need : 2 * u->cap));
	}
}

static int refuse_excess(struct unpack *u, const struct gguf_size *size)
{
	return err_set(u->err, INFER_EFORMAT,
	               "%s: unpacks to more than the %zu bytes of its header, at byte %llu",
	               u->path, size->bytes, input_offset(u));
}

static int unpack_rest(struct unpack *u)
{
	struct gguf_size size;
	unsigned char more;
	ZSTD_outBuffer out = { &more, 1, 0 };

	TRY(read_header(u, &size));
	if (u->len > size.bytes || (u->inside && u->ends > size.bytes))
		return refuse_excess(u, &size);
	TRY(reserve_output(u, size.bytes));
	/* huge pages: fewer page faults now, fewer TLB misses later */
	(void)madvise(u->out, u->cap, MADV_HUGEPAGE);
	TRY(unpack_some(u, size.bytes, size.bytes));
	TRY(unpack_to(u, &out, size.bytes));
	if (out.pos)
		return refuse_excess(u, &size);
	file_tell(u->f->watch, u->s->map.bytes, u->s->map.bytes);
	return INFER_OK;
}

static int begin_unpack(struct unpack *u)
{
	void *out;

	u->in = mem_alloc(MEM_FILE, CHUNK, 1);
	u->d = u->in ? ZSTD_createDCtx() : NULL;
	if (!u->d || ZSTD_isError(ZSTD_DCtx_setParameter(u->d, ZSTD_d_windowLogMax, WINDOW_LOG)))
		return err_set(u->err, INFER_ENOMEM, "%s: no memory to unpack it", u->path);
	TRY(os_reserve(&out, FIRST, u->err));
	u->out = out;
	u->cap = FIRST;
	return INFER_OK;
}

int zst_unpack(struct infer_file *f, struct file_shard *s, infer_error *err)
{
	struct unpack u = { .f = f, .s = s, .path = file_label(s->path), .err = err };
	int rc;

	os_file_hold(&s->map);
	s->at = NULL;
	s->bytes = 0;
	rc = begin_unpack(&u);
	if (!rc)
		rc = unpack_rest(&u);
	if (os_file_changed(&s->map))
		rc = err_set(err, INFER_EIO, "%s was modified while it was in use", u.path);
	ZSTD_freeDCtx(u.d);
	mem_free(u.in);
	if (rc) {
		os_release(u.out, u.cap);
		return rc;
	}
	s->own = u.out;
	s->own_bytes = u.cap;
	s->at = u.out;
	s->bytes = u.len;
	return INFER_OK;
}

static int knows(const char *path, const struct os_stat *st, const unsigned char *head, size_t n)
{
	(void)path;
	return st->kind == OS_REGULAR && zst_is(head, n);
}

/* Open the GGUF file inside. */
static int open_zst(struct infer_file *f, infer_error *err)
{
	f->format = &format_gguf;
	return format_gguf.open(f, err);
}

const struct format format_zst = { .name = "zstd", .knows = knows, .open = open_zst };
