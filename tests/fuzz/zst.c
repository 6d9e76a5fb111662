/* tests/fuzz/zst.c - any bytes as a file, which is refused, or opened because it is a compressed
 * model or a plain one; as read, and once more as what a frame holds, so that a mutator reaches what
 * is inside. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>
#include <infer/file.h>
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned char sink;

/* Every byte that the table points to. */
static void touch(const infer_file *f)
{
	const struct infer_tensor *t;
	unsigned char x = 0;
	char hex[65];

	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++)
		for (uint64_t k = 0; k < t->bytes; k++)
			x ^= ((const unsigned char *)t->data)[k];
	sink = x;
	infer_file_id(f, hex);
	infer_file_sha256(f, 0, hex, NULL, NULL);
}

/* Open it as a file; hex: its sha256, if it opens. */
static int open_it(const void *at, size_t n, char hex[65])
{
	static int fd = -1; /* a file without a name, written anew each time */
	char path[64];
	infer_file *f;
	infer_error err = { 0 };

	if (fd < 0)
		fd = memfd_create("model", 0);
	must(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, at, n, 0) == (ssize_t)n);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int rc = infer_file_open(&f, path, &err);
	hex[0] = '\0';
	if (rc) {
		must(!f && rc == err.code && *err.message && !strchr(err.message, '\n'));
		must(rc == INFER_EFORMAT || rc == INFER_EUNSUP || rc == INFER_ENOMEM ||
		     rc == INFER_EIO);
	} else {
		touch(f);
		infer_file_sha256(f, 0, hex, NULL, NULL);
	}
	infer_file_close(&f);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t room = ZSTD_compressBound(size);
	void *packed = malloc(room);
	char plain[65], unpacked[65];
	int rc = open_it(data, size, plain);

	if (!packed)
		return 0;
	size_t n = ZSTD_compress(packed, room, data, size, 1);
	must(!ZSTD_isError(n));
	/* what opens packed opens as it is, the same, but a split model, for its name */
	if (!open_it(packed, n, unpacked))
		must(!rc && !strcmp(plain, unpacked));
	free(packed);
	return 0;
}
