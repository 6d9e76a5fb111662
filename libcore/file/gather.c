/* file/gather.c - copy tensors with separate matrices (experts of a checkpoint) into one piece. */
#include "file/file.h"
#include "base/err.h"
#include "base/num.h"

#include <string.h>
#include <sys/mman.h>

enum { LINE = 64 }; /* bytes of a cache line */

const void *file_span(const struct infer_file *f, const struct infer_tensor *t, size_t from,
                      size_t n, void *room)
{
	const void *const *parts = file_parts(f, t);

	if (!parts)
		return (const unsigned char *)t->data + from;
	size_t each = t->bytes / (size_t)t->ne[2], at = from % each;
	if (n <= each - at)
		return (const unsigned char *)parts[from / each] + at;
	for (size_t done = 0, k; done < n; done += k, at = 0) {
		k = n - done < each - at ? n - done : each - at;
		memcpy((unsigned char *)room + done,
		       (const unsigned char *)parts[(from + done) / each] + at, k);
	}
	return room;
}

int infer_file_gather(infer_file *f, infer_error *err)
{
	struct os_limits limits;
	size_t bytes = 0;

	for (uint32_t i = 0; i < f->n_tensors; i++)
		bytes +=
			file_parts(f, &f->tensors[i]) ? num_round_up(f->tensors[i].bytes, LINE) : 0;
	if (!bytes)
		return INFER_OK;
	os_limits(&limits);
	if (bytes > limits.available_bytes)
		return err_set(
			err, INFER_ENOMEM,
			"%s: %.0f MiB for experts in one piece, but only %.0f MiB of memory are "
			"available",
			file_label(f->path), (double)bytes / (1 << 20),
			(double)limits.available_bytes / (1 << 20));
	TRY(os_reserve(&f->gathered, bytes, err));
	f->gathered_bytes = bytes;
	(void)madvise(f->gathered, bytes, MADV_HUGEPAGE);
	unsigned char *to = f->gathered;
	for (uint32_t i = 0; i < f->n_tensors; i++) {
		struct infer_tensor *t = &f->tensors[i];
		const void *const *parts = file_parts(f, t);
		size_t each = parts ? t->bytes / (size_t)t->ne[2] : 0;

		for (int64_t k = 0; parts && k < t->ne[2]; k++)
			memcpy(to + (size_t)k * each, parts[k], each);
		if (!parts)
			continue;
		t->data = to;
		to += num_round_up(t->bytes, LINE);
		f->private_bytes += t->bytes;
	}
	f->parts = NULL;
	return INFER_OK;
}
