/* tests/tools/hfvocab.h - the vocabulary of a directory that has tokenizer.json (and perhaps config.json and
 * tokenizer_config.json) and nothing else, as a file without tensors. */
#ifndef TESTS_HFVOCAB_H
#define TESTS_HFVOCAB_H
#include <string.h>

#include "base/err.h"
#include "hf/hf.h"

struct hfvocab {
	struct infer_file f;
	struct hf_dir d;
	infer_file *file; /* open until hfvocab_close */
};

/* The keys of d->tokenizer, as the bytes of a file. */
static inline int hfvocab_make(struct hf_dir *d, infer_error *err)
{
	d->text_config = d->config;
	TRY(gguf_write_new(&d->keys, d->path, err));
	TRY(hf_tokenizer(d, err));
	return gguf_write_head(d->keys, &d->head, err);
}

static inline int hfvocab_keys(struct hf_dir *d, infer_error *err)
{
	struct hf_text config, more;

	TRY(hf_text_read(d, "config.json", &config, err));
	TRY(hf_text_read(d, "tokenizer_config.json", &more, err));
	TRY(hf_text_read(d, "tokenizer.json", &d->tokenizer, err));
	TRY(hf_json_read(d, &config, &d->config, err));
	TRY(hf_json_read(d, &more, &d->tokenizer_config, err));
	if (!d->tokenizer.at)
		return err_set(err, INFER_EIO, "%s: no tokenizer.json", d->path);
	return hfvocab_make(d, err);
}

static inline void hfvocab_init(struct hfvocab *o, const char *path)
{
	*o = (struct hfvocab){ .f = { .path = (char *)(size_t)path } };
	o->d.f = &o->f;
	o->d.path = path;
	arena_init(&o->d.arena, MEM_FILE);
	arena_init(&o->d.brief, MEM_FILE);
	buf_init(&o->d.head, MEM_FILE);
}

/* hfvocab_close also after a failure. */
static inline int hfvocab_open(struct hfvocab *o, const char *path, infer_error *err)
{
	hfvocab_init(o, path);
	TRY(hfvocab_keys(&o->d, err));
	return infer_file_open_bytes(&o->file, o->d.head.at, o->d.head.len, path, err);
}

/* Of a tokenizer.json in memory, and a config.json and a tokenizer_config.json, which may be NULL. */
static inline int hfvocab_texts(struct hfvocab *o, const char *json, size_t n, const char *config,
                                const char *more, infer_error *err)
{
	struct hf_text c = { "config.json", config, config ? strlen(config) : 0 };
	struct hf_text m = { "tokenizer_config.json", more, more ? strlen(more) : 0 };

	hfvocab_init(o, "DIR");
	TRY(hf_json_read(&o->d, &m, &o->d.tokenizer_config, err));
	o->d.tokenizer = (struct hf_text){ "tokenizer.json", json, n };
	TRY(hf_json_read(&o->d, &c, &o->d.config, err));
	TRY(hfvocab_make(&o->d, err));
	return infer_file_open_bytes(&o->file, o->d.head.at, o->d.head.len, "DIR", err);
}

static inline int hfvocab_text(struct hfvocab *o, const char *json, size_t n, const char *config,
                               infer_error *err)
{
	return hfvocab_texts(o, json, n, config, NULL, err);
}

static inline void hfvocab_close(struct hfvocab *o)
{
	infer_file_close(&o->file);
	for (int i = 0; i < o->f.n_shards; i++)
		file_drop_shard(&o->f.shards[i]);
	mem_free(o->f.shards);
	gguf_write_free(o->d.keys);
	buf_fini(&o->d.head);
	arena_fini(&o->d.arena);
	arena_fini(&o->d.brief);
}
#endif
