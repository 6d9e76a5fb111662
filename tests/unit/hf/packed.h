/* tests/unit/hf/packed.h - a file of tests/golden/packed: stored tensors of quantised modules, repacked one module at a time. */
#ifndef TESTS_HF_PACKED_H
#define TESTS_HF_PACKED_H
#include "../nth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/jread.h"
#include "base/num.h"
#include "base/sha256.h"
#include "hf/packed.h"
#include "type/type.h"

/* A directory whose tensors are those of one golden file. */
struct packed_dir {
	struct infer_file f;
	struct hf_dir d;
	struct safetensors_tensor part[PACKED_PARTS]; /* of the module, which a test may change */
	struct hf_packed p;
	char *room; /* of the values */
};

static inline int packed_open_dir(struct packed_dir *t, const char *path, infer_error *err)
{
	*t = (struct packed_dir){ .d = { .path = "dir" } };
	t->d.f = &t->f;
	t->d.quant = (struct hf_quant){ .file = "config.json", .key = "quantization_config" };
	arena_init(&t->d.arena, MEM_FILE);
	arena_init(&t->d.brief, MEM_FILE);
	TRY(file_add_shard(&t->f, path, err));
	return safetensors_read(&t->d.raw, &t->f, 0, err);
}

static inline void packed_close(struct packed_dir *t)
{
	for (int i = 0; i < t->f.n_shards; i++)
		file_drop_shard(&t->f.shards[i]);
	mem_free(t->f.shards);
	safetensors_fini(&t->d.raw);
	arena_fini(&t->d.arena);
	arena_fini(&t->d.brief);
}

/* Find the parts of a module. */
static inline void packed_find(struct packed_dir *t, const struct packing *how, const char *module)
{
	t->p = (struct hf_packed){ .how = how, .module = { module, strlen(module) } };
	for (int i = 0; i < PACKED_PARTS && how->parts[i]; i++) {
		char name[160];
		const struct safetensors_tensor *s;

		snprintf(name, sizeof name, "%s.%s", module, how->parts[i]);
		s = safetensors_find(&t->d.raw, name, strlen(name));
		if (!s)
			continue;
		t->part[i] = *s;
		t->p.part[i] = &t->part[i];
	}
}

/* Read the config and open the module.  config: JSON */
static inline int packed_open(struct packed_dir *t, const struct json *config, infer_error *err)
{
	TRY(t->p.how->config(&t->d, config, &t->p.own, err));
	return t->p.how->open(&t->d, &t->p, err);
}

/* The values of all rows as f32, in the order of the module's inputs, repacked `step` rows at a time.  Freed by the
 * caller. */
static inline float *packed_values(const struct hf_packed *p, int64_t step)
{
	const struct infer_type_info *t = infer_type_info(p->type);
	size_t bytes = (size_t)(p->cols / t->block) * (size_t)t->block_bytes;
	float *all = malloc((size_t)(p->mats * p->rows * p->cols) * sizeof *all),
	      *line = malloc((size_t)p->cols * sizeof *line);
	unsigned char *rows = malloc((size_t)step * bytes);

	assert_non_null(all);
	assert_non_null(line);
	assert_non_null(rows);
	for (int64_t at = 0; at < p->mats * p->rows; at += step) {
		int64_t n = num_min(step, p->rows - at % p->rows);

		p->how->rows(p, at / p->rows, at % p->rows, n, rows);
		for (int64_t r = 0; r < n; r++) {
			assert_int_equal(infer_type_decode(p->type, line, rows + (size_t)r * bytes,
			                                   (size_t)p->cols, NULL),
			                 INFER_OK);
			for (int64_t c = 0; c < p->cols; c++)
				all[(at + r) * p->cols + (p->order ? p->order[c] : c)] =
					line[c] + 0.0f;
		}
	}
	free(rows);
	free(line);
	return all;
}

/* Fail unless the values have the hash of the golden file. */
static inline void packed_same(const struct hf_packed *p, int64_t step, const struct json *sha)
{
	float *all = packed_values(p, step);
	char name[65];

	sha256_name(name, all, (size_t)(p->mats * p->rows * p->cols) * sizeof *all);
	free(all);
	assert_true(json_equals(sha, name));
}
#endif
