/* tests/fuzz/safetensors.c - any bytes as a safetensors file: refused with one line, or read as tensors
 * that fill it, one after the other. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "file/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned char sink;

static void check(const struct safetensors *s, const struct file_shard *shard)
{
	uint64_t at = shard->header_bytes;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct safetensors_tensor *t = &s->at[i];
		uint64_t elems = 1;
		unsigned char x = 0;

		must(t->offset == at && t->data == shard->at + at && t->shard == 0);
		must(t->n_dims >= 0 && t->n_dims <= ST_MAX_DIMS);
		for (int k = 0; k < t->n_dims; k++)
			elems *= (uint64_t)t->shape[k];
		must(elems * safetensors_dtype_bytes(t->dtype) == t->bytes);
		must(*safetensors_dtype_name(t->dtype));
		must(safetensors_find(s, t->name.at, t->name.len) == t);
		for (uint64_t k = 0; k < t->bytes; k++)
			x ^= t->data[k];
		sink = x;
		at += t->bytes;
	}
	must(at == shard->bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *at = malloc(size ? size : 1); /* its end is watched */
	struct file_shard shard = { .path = (char *)"fuzz", .at = at, .bytes = size };
	struct infer_file f = { .shards = &shard, .n_shards = 1 };
	struct safetensors s = { 0 };
	infer_error err = { 0 };

	if (!at)
		return 0;
	if (size)
		memcpy(at, data, size);
	int rc = safetensors_read(&s, &f, 0, &err);
	if (rc)
		must((rc == INFER_EFORMAT || rc == INFER_EUNSUP || rc == INFER_ENOMEM) &&
		     rc == err.code && !strncmp(err.message, "fuzz: ", 6) &&
		     !strchr(err.message, '\n'));
	else
		check(&s, &shard);
	safetensors_fini(&s);
	free(at);
	return 0;
}
