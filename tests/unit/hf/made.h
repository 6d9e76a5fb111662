/* tests/unit/hf/made.h - the keys of a config.json, and the cases of tests/golden/hf/keys.jsonl. */
#ifndef TESTS_HF_MADE_H
#define TESTS_HF_MADE_H
#include "../nth.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/jread.h"
#include "hf/hf.h"

static char text[1 << 19], config_text[1 << 14];

/* The keys of a config. */
struct made {
	struct infer_file none;
	struct hf_dir d;
	struct buf bytes;
	infer_file *f;
};

static inline int make(struct made *m, const char *dir, const struct json *config, infer_error *err)
{
	m->d.f = &m->none;
	m->d.config = config;
	m->d.path = dir;
	TRY(gguf_write_new(&m->d.keys, "keys", err));
	TRY(hf_keys(&m->d, err));
	TRY(gguf_write_head(m->d.keys, &m->bytes, err));
	return infer_file_open_bytes(&m->f, m->bytes.at, m->bytes.len, "keys", err);
}

static inline void made_init(struct made *m)
{
	*m = (struct made){ 0 };
	buf_init(&m->bytes, MEM_FILE);
	arena_init(&m->d.arena, MEM_FILE);
	arena_init(&m->d.brief, MEM_FILE);
}

static inline void made_fini(struct made *m)
{
	infer_file_close(&m->f);
	buf_fini(&m->bytes);
	gguf_write_free(m->d.keys);
	file_drop(&m->none);
	arena_fini(&m->d.brief);
	arena_fini(&m->d.arena);
}

/* That of the line, or a golden config. */
static inline const struct json *config_of(struct arena *a, const struct json *c, infer_error *err)
{
	static const char *const folders[] = { "tests/golden/hf/config", "tests/golden/encoders" };
	const struct json *v = json_get(c, "config");
	char path[256];

	for (int i = 0; i < 2 && !v; i++) {
		snprintf(path, sizeof path, "%s/%.*s.json", folders[i],
		         (int)json_bytes(json_get(c, "name")), json_str(json_get(c, "name")));
		FILE *f = fopen(path, "rb");
		if (!f)
			continue;
		size_t n = fread(config_text, 1, sizeof config_text, f);
		fclose(f);
		jread(&v, a, config_text, n, path, err);
	}
	return v;
}

/* Read the cases into text. */
static inline size_t read_golden(void)
{
	FILE *f = fopen("tests/golden/hf/keys.jsonl", "rb");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof text - 1, f);
	assert_true(feof(f));
	text[n] = 0;
	fclose(f);
	return n;
}
#endif
