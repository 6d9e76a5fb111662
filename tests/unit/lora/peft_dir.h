/* tests/unit/lora/peft_dir.h - write directories of PEFT. */
#ifndef TESTS_LORA_PEFT_DIR_H
#define TESTS_LORA_PEFT_DIR_H
#include "write.h"

static char peft_dir[64];

__attribute__((unused)) static int make_peft_dir(void **state)
{
	(void)state;
	strcpy(peft_dir, "/tmp/infer-test-peft-XXXXXX");
	return mkdtemp(peft_dir) ? 0 : -1;
}

static inline void drop_peft_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", peft_dir, name);
	unlink(path);
}

__attribute__((unused)) static int drop_peft_dir(void **state)
{
	(void)state;
	drop_peft_file("adapter_config.json");
	drop_peft_file("adapter_model.safetensors");
	return rmdir(peft_dir);
}

static inline void write_peft_file(const char *name, const void *bytes, size_t n)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", peft_dir, name);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* A tensor of an adapter: shape as torch has it, values by made_value; or all `fill`, if that is not 0. */
struct peft_made {
	char name[160];
	const char *dtype; /* NULL: F32 */
	int64_t shape[3];  /* 0: no further dimension */
	uint32_t seed;
	float fill;
};

static inline int64_t peft_made_count(const struct peft_made *t)
{
	return t->shape[0] * (t->shape[1] ? t->shape[1] : 1) * (t->shape[2] ? t->shape[2] : 1);
}

static inline size_t peft_made_size(const struct peft_made *t)
{
	return !t->dtype || !strcmp(t->dtype, "F32") ? 4 : !strcmp(t->dtype, "F64") ? 8 : 2;
}

/* Write the tensors in the order given. */
static inline void write_peft_tensors(const struct peft_made *t, int n)
{
	size_t cap = 4096 + (size_t)n * 300, bytes = 0, at = 8;
	char *head;
	uint64_t len;

	for (int i = 0; i < n; i++)
		cap += (size_t)peft_made_count(&t[i]) * peft_made_size(&t[i]);
	head = calloc(cap, 1);
	assert_non_null(head);
	at += (size_t)sprintf(head + at, "{\"__metadata__\":{\"format\":\"pt\"}");
	for (int i = 0; i < n; i++) {
		size_t size = (size_t)peft_made_count(&t[i]) * peft_made_size(&t[i]);
		at += (size_t)sprintf(head + at, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%lld",
		                      t[i].name, t[i].dtype ? t[i].dtype : "F32",
		                      (long long)t[i].shape[0]);
		for (int k = 1; k < 3 && t[i].shape[k]; k++)
			at += (size_t)sprintf(head + at, ",%lld", (long long)t[i].shape[k]);
		at += (size_t)sprintf(head + at, "],\"data_offsets\":[%zu,%zu]}", bytes,
		                      bytes + size);
		bytes += size;
	}
	head[at++] = '}';
	while (at % 8)
		head[at++] = ' ';
	len = at - 8;
	memcpy(head, &len, 8);
	for (int i = 0; i < n; i++)
		for (int64_t k = 0; k < peft_made_count(&t[i]); k++, at += peft_made_size(&t[i])) {
			float v = t[i].fill != 0 ? t[i].fill : made_value(t[i].seed, k);
			double wide = (double)v;
			uint32_t bits = num_bits(v);
			uint16_t half = t[i].dtype && !strcmp(t[i].dtype, "F16")
			                        ? num_to_f16(v)
			                        : (uint16_t)(bits >> 16);
			size_t size = peft_made_size(&t[i]);
			memcpy(head + at,
			       size == 4   ? (void *)&bits
			       : size == 2 ? (void *)&half
			                   : (void *)&wide,
			       size);
		}
	write_peft_file("adapter_model.safetensors", head, at);
	free(head);
}

static inline void write_peft_config(const char *json)
{
	write_peft_file("adapter_config.json", json, strlen(json));
}
#endif
