/* tests/tools/hfvocab.h - the vocabulary of a directory that has tokenizer.json (and perhaps config.json and
 * tokenizer_config.json) and nothing else, as a file without tensors. */
#ifndef TESTS_HFVOCAB_H
#define TESTS_HFVOCAB_H
#include "base/err.h"
#include "hf/hf.h"

struct hfvocab {
	struct infer_file f;
	struct hf_dir d;
	infer_file *file; /* open until hfvocab_close */
};

static inline int hfvocab_keys(struct hf_dir *d, infer_error *err)
{
	struct hf_text config, more;

	TRY(hf_text_read(d, "config.json", &config, err));
	TRY(hf_text_read(d, "tokenizer_config.json", &more, err));
	TRY(hf_text_read(d, "tokenizer.json", &d->tokenizer, err));
	TRY(hf_json_read(d, &config, &d->config, err));
	TRY(hf_json_read(d, &more, &d->tokenizer_config, err));
	d->text_config = d->config;
	if (!d->tokenizer.at)
		return err_set(err, INFER_EIO, "%s: no tokenizer.json", d->path);
	TRY(gguf_write_new(&d->keys, d->path, err));
	TRY(hf_tokenizer(d, err));
	return gguf_write_head(d->keys, &d->head, err);
}

/* hfvocab_close also after a failure. */
static inline int hfvocab_open(struct hfvocab *o, const char *path, infer_error *err)
{
	*o = (struct hfvocab){ .f = { .path = (char *)(size_t)path } };
	o->d.f = &o->f;
	o->d.path = path;
	arena_init(&o->d.arena, MEM_FILE);
	arena_init(&o->d.brief, MEM_FILE);
	buf_init(&o->d.head, MEM_FILE);
	TRY(hfvocab_keys(&o->d, err));
	return infer_file_open_bytes(&o->file, o->d.head.at, o->d.head.len, path, err);
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
