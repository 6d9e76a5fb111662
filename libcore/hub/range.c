/* hub/range.c - the state of a download on disk, and its hash. */
#include "hub/range.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* SAVES: how often the count of a piece is written; a kill -9 loses at most 1/SAVES of a piece.
 * PIECES: limit on the pieces of a file. */
enum { ROOM = 1 << 20, SAVES = 16, PIECES = 16 << 20 };

struct footer {
	char format[16], etag[72];
	uint64_t bytes, piece, n;
	/* n counts of 8 bytes follow */
};

static struct footer make_footer(const struct hub_ranges *r)
{
	struct footer f = {
		.format = "infer-ranges-1", .bytes = r->bytes, .piece = r->piece, .n = r->n
	};

	memcpy(f.etag, r->etag, sizeof f.etag);
	return f;
}

static int write_at(const struct hub_ranges *r, const void *bytes, size_t n, uint64_t at,
                    infer_error *err)
{
	const char *p = bytes;

	while (n) {
		ssize_t done = pwrite(r->fd, p, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return err_errno(err, done ? errno : ENOSPC,
			                 "a download cannot be written");
		p += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return INFER_OK;
}

/* Read n bytes.  Returns the number read, fewer at the end of the file, or -1. */
static ssize_t read_at(int fd, void *to, size_t n, uint64_t at)
{
	size_t got = 0;

	while (got < n) {
		ssize_t more = pread(fd, (char *)to + got, n - got, (off_t)(at + got));

		if (more < 0 && errno == EINTR)
			continue;
		if (more < 0)
			return -1;
		if (!more)
			break;
		got += (size_t)more;
	}
	return (ssize_t)got;
}

static void begin_hash(struct hub_ranges *r)
{
	r->hashed = 0;
	sha256_init(&r->sha256);
	sha1_init_blob(&r->sha1, r->bytes);
}

int hub_ranges_reset(struct hub_ranges *r, infer_error *err)
{
	struct footer f = make_footer(r);

	for (size_t i = 0; i < r->n; i++)
		r->at[i].got = r->at[i].saved = 0;
	r->have = r->resumed = 0;
	begin_hash(r);
	if (ftruncate(r->fd, 0) || ftruncate(r->fd, (off_t)(r->bytes + sizeof f + 8 * r->n)))
		return err_errno(err, errno, "a download of %llu bytes cannot be written",
		                 (unsigned long long)r->bytes);
	return write_at(r, &f, sizeof f, r->bytes, err);
}

uint64_t hub_ranges_bytes(const struct hub_ranges *r, size_t piece)
{
	uint64_t from = piece * r->piece;

	return r->bytes - from < r->piece ? r->bytes - from : r->piece;
}

/* Read the footer of an earlier download.  Returns 0 if the footer is missing or invalid. */
static int read_footer(struct hub_ranges *r, uint64_t file_bytes)
{
	struct footer want = make_footer(r), f;
	uint64_t *counts;
	size_t n = 8 * r->n;
	int ok;

	if (file_bytes != r->bytes + sizeof f + n ||
	    read_at(r->fd, &f, sizeof f, r->bytes) != (ssize_t)sizeof f ||
	    memcmp(&f, &want, sizeof f) != 0)
		return 0;
	counts = mem_alloc(MEM_HUB, r->n, 8);
	ok = counts && read_at(r->fd, counts, n, r->bytes + sizeof f) == (ssize_t)n;
	for (size_t i = 0; ok && i < r->n; i++)
		ok = counts[i] <= hub_ranges_bytes(r, i);
	for (size_t i = 0; ok && i < r->n; i++) {
		r->at[i].got = r->at[i].saved = counts[i];
		r->have += counts[i];
	}
	mem_free(counts);
	return ok;
}

int hub_ranges_open(struct hub_ranges *r, int fd, const struct hub_file_info *i, uint64_t piece,
                    infer_error *err)
{
	struct stat st;

	*r = (struct hub_ranges){
		.fd = fd, .bytes = i->bytes, .piece = piece, .is_lfs = i->is_lfs
	};
	memcpy(r->etag, i->etag, sizeof r->etag);
	if (i->bytes / piece >= PIECES)
		return err_set(err, INFER_EFORMAT, "a file of %llu bytes is too large",
		               (unsigned long long)i->bytes);
	r->n = (size_t)((i->bytes + piece - 1) / piece);
	r->at = mem_zalloc(MEM_HUB, r->n + 1, sizeof *r->at);
	r->room = mem_alloc(MEM_HUB, ROOM, 1);
	if (!r->at || !r->room)
		return err_set(err, INFER_ENOMEM, "out of memory for a download");
	if (fstat(fd, &st))
		return err_errno(err, errno, "a download cannot be read");
	begin_hash(r);
	if ((uint64_t)st.st_size == r->bytes) {
		for (size_t k = 0; k < r->n; k++)
			r->at[k].got = r->at[k].saved = hub_ranges_bytes(r, k);
		r->have = r->bytes;
	} else if (!read_footer(r, (uint64_t)st.st_size)) {
		return hub_ranges_reset(r, err);
	}
	r->resumed = r->have;
	return INFER_OK;
}

void hub_ranges_fini(struct hub_ranges *r)
{
	mem_free(r->at);
	mem_free(r->room);
	r->at = NULL;
	r->room = NULL;
}

size_t hub_ranges_next(const struct hub_ranges *r)
{
	size_t i = 0;

	while (i < r->n && (r->at[i].active || r->at[i].got == hub_ranges_bytes(r, i)))
		i++;
	return i;
}

static int save_count(struct hub_ranges *r, size_t piece, infer_error *err)
{
	struct hub_piece *p = &r->at[piece];

	if (p->saved == p->got)
		return INFER_OK;
	TRY(write_at(r, &p->got, 8, r->bytes + sizeof(struct footer) + 8 * piece, err));
	p->saved = p->got;
	return INFER_OK;
}

int hub_ranges_save(struct hub_ranges *r, infer_error *err)
{
	for (size_t i = 0; i < r->n; i++)
		TRY(save_count(r, i, err));
	return INFER_OK;
}

int hub_ranges_put(struct hub_ranges *r, uint64_t at, const void *bytes, size_t n, infer_error *err)
{
	const char *from = bytes;

	while (n) {
		size_t k = (size_t)(at / r->piece);
		struct hub_piece *p = &r->at[k];
		uint64_t begin = k * r->piece, whole = hub_ranges_bytes(r, k), in = at - begin;
		size_t part = n < whole - in ? n : (size_t)(whole - in);

		if (in <= p->got && in + part > p->got) { /* the bytes from p->got on are new */
			size_t old = (size_t)(p->got - in);

			TRY(write_at(r, from + old, part - old, at + old, err));
			p->got += part - old;
			r->have += part - old;
			if (p->got - p->saved >= r->piece / SAVES || p->got == whole)
				TRY(save_count(r, k, err));
		}
		at += part;
		from += part;
		n -= part;
	}
	return INFER_OK;
}

int hub_ranges_hash(struct hub_ranges *r, uint64_t most, infer_error *err)
{
	while (most && r->hashed < r->bytes) {
		size_t k = (size_t)(r->hashed / r->piece);
		uint64_t there = k * r->piece + r->at[k].got, n = there - r->hashed;

		if (there <= r->hashed)
			break;
		n = n < most ? n : most;
		n = n < ROOM ? n : ROOM;
		ssize_t got = read_at(r->fd, r->room, (size_t)n, r->hashed);

		if (got != (ssize_t)n)
			return err_errno(err, got < 0 ? errno : EIO, "a download cannot be read");
		if (r->is_lfs)
			sha256_add(&r->sha256, r->room, (size_t)n);
		else
			sha1_add(&r->sha1, r->room, (size_t)n);
		r->hashed += n;
		most -= n;
	}
	return INFER_OK;
}

int hub_ranges_end(struct hub_ranges *r, int *same, infer_error *err)
{
	uint8_t sum[32];
	char hex[65];

	must(r->hashed == r->bytes);
	if (r->is_lfs) {
		sha256_end(&r->sha256, sum);
		sha256_hex(sum, hex);
	} else {
		sha1_end(&r->sha1, sum);
		sha1_hex(sum, hex);
	}
	*same = !strcmp(hex, r->etag);
	if (*same && ftruncate(r->fd, (off_t)r->bytes))
		return err_errno(err, errno, "a download cannot be written");
	return INFER_OK;
}
