/* file/id.c - the id of a model in records. */
#include "file/file.h"
#include "base/sha256.h"

#include <stdatomic.h>
#include <string.h>

enum { SAMPLE = 4096 };
enum state { NONE, BUSY, READY };

/* Start reading all samples, so that the disk has them all in its queue. */
static void want_samples(const struct infer_file *f)
{
	for (uint32_t i = 0; i < f->n_tensors; i++) {
		const struct infer_tensor *t = &f->tensors[i];

		if (t->bytes > SAMPLE && t->data && !file_is_copy(f, t))
			os_file_want(&f->shards[t->shard].map, t->offset + (t->bytes - SAMPLE) / 2,
			             SAMPLE);
	}
}

/* Add n bytes of a mapping, read from its file as in add_sample. */
static void add_mapped(struct sha256 *s, const struct infer_file *f, const unsigned char *at,
                       size_t n)
{
	unsigned char piece[SAMPLE];
	size_t got = 0;

	for (int i = 0; i < f->n_shards; i++) {
		const struct file_shard *shard = &f->shards[i];
		if (shard->path && !shard->own && at >= shard->at && at < shard->at + shard->bytes)
			(void)os_file_read(&shard->map, shard->path, (uint64_t)(at - shard->at),
			                   piece, n, &got, NULL);
	}
	sha256_add(s, got == n ? piece : at, n);
}

/* Add the sample of a tensor with separate matrices. */
static void add_parts(struct sha256 *s, const struct infer_file *f, const struct infer_tensor *t,
                      size_t from, size_t n)
{
	const void *const *parts = file_parts(f, t);
	size_t each = t->bytes / (size_t)t->ne[2];

	for (size_t k; n; from += k, n -= k) {
		size_t at = from % each;
		k = n < each - at ? n : each - at;
		add_mapped(s, f, (const unsigned char *)parts[from / each] + at, k);
	}
}

/* Add the SAMPLE bytes from the middle of a tensor, or all of a smaller one.  They are read from
 * the file, because a fault in the mapping would read megabytes.  If they cannot be read, the
 * mapping is used, whose failures are handled everywhere. */
static void add_sample(struct sha256 *s, const struct infer_file *f, const struct infer_tensor *t)
{
	const struct file_shard *shard = &f->shards[t->shard];
	size_t n = t->bytes < SAMPLE ? t->bytes : SAMPLE, from = (t->bytes - n) / 2, got = 0;
	unsigned char piece[SAMPLE];

	if (file_parts(f, t)) {
		add_parts(s, f, t, from, n);
		return;
	}
	if (shard->path && !file_is_copy(f, t))
		(void)os_file_read(&shard->map, shard->path, t->offset + from, piece, n, &got,
		                   NULL);
	sha256_add(s, got == n ? piece : (const unsigned char *)t->data + from, n);
}

static void find_ids(const struct infer_file *f, char id[65], char older[65])
{
	struct sha256 s, header;
	uint8_t sum[32], size[8];
	uint64_t bytes = 0;

	sha256_init(&s);
	for (int i = 0; i < f->n_shards; i++) {
		sha256_add(&s, f->shards[i].at, f->shards[i].header_bytes);
		bytes += f->shards[i].bytes;
	}
	for (int i = 0; i < 8; i++)
		size[i] = (uint8_t)(bytes >> 8 * i);
	sha256_add(&s, size, sizeof size);
	header = s;
	sha256_end(&header, sum);
	sha256_hex(sum, older);
	want_samples(f);
	for (uint32_t i = 0; i < f->n_tensors; i++)
		add_sample(&s, f, &f->tensors[i]);
	sha256_end(&s, sum);
	sha256_hex(sum, id);
}

/* Compute the ids, or return the stored ones.  Threads that call while the first one stores them
 * compute them too. */
static void get_ids(const infer_file *f, char id[65], char older[65])
{
	struct file_ids *kept = (struct file_ids *)&f->ids;
	int none = NONE;

	if (atomic_load_explicit(&kept->state, memory_order_acquire) == READY) {
		memcpy(id, kept->id, sizeof kept->id);
		memcpy(older, kept->older, sizeof kept->older);
		return;
	}
	find_ids(f, id, older);
	if (!atomic_compare_exchange_strong(&kept->state, &none, BUSY))
		return;
	memcpy(kept->id, id, sizeof kept->id);
	memcpy(kept->older, older, sizeof kept->older);
	atomic_store_explicit(&kept->state, READY, memory_order_release);
}

void infer_file_id(const infer_file *f, char hex[65])
{
	char older[65];

	get_ids(f, hex, older);
}

int infer_file_is(const infer_file *f, const char *id)
{
	char now[65], older[65];

	get_ids(f, now, older);
	return !strcmp(id, now) || !strcmp(id, older);
}
