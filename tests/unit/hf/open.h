/* tests/unit/hf/open.h - the text files of a directory, read as dir.c reads them, and the keys that a part
 * of hf/ makes of them, as metadata of a file without tensors. */
#ifndef TESTS_HF_OPEN_H
#define TESTS_HF_OPEN_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "file/gguf.h"
#include "hf/hf.h"

#define ARCH(x) extern const struct arch arch_##x;
#include "arch/arch_list.h"
#undef ARCH

struct opened {
	struct infer_file f;
	struct hf_dir d;
};

static inline const struct arch *arch_of(const char *gguf)
{
	static const struct arch *const all[] = {
#define ARCH(x) &arch_##x,
#include "arch/arch_list.h"
#undef ARCH
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i]->gguf, gguf))
			return all[i];
	return NULL;
}

static inline int read_opened(struct hf_dir *d, infer_error *err)
{
	static struct hf_text more[1];
	struct hf_text config, generation, tokenizer_config;

	TRY(hf_text_read(d, "config.json", &config, err));
	TRY(hf_text_read(d, "generation_config.json", &generation, err));
	TRY(hf_text_read(d, "tokenizer_config.json", &tokenizer_config, err));
	TRY(hf_text_read(d, "tokenizer.json", &d->tokenizer, err));
	TRY(hf_text_read(d, "tokenizer.model", &d->sentencepiece, err));
	TRY(hf_text_read(d, "special_tokens_map.json", &d->special_tokens, err));
	TRY(hf_text_read(d, "added_tokens.json", &d->added_tokens, err));
	TRY(hf_text_read(d, "chat_template.jinja", &d->template, err));
	TRY(hf_text_read(d, "chat_template.json", &d->template_json, err));
	TRY(hf_text_read(d, "additional_chat_templates/tool_use.jinja", more, err));
	d->more_templates = more;
	d->n_more = more->at != NULL;
	TRY(hf_json_read(d, &config, &d->config, err));
	TRY(hf_json_read(d, &generation, &d->generation, err));
	TRY(hf_json_read(d, &tokenizer_config, &d->tokenizer_config, err));
	d->text_config = json_get(d->config, "text_config");
	if (!d->text_config)
		d->text_config = d->config;
	return gguf_write_new(&d->keys, d->path, err);
}

/* The metadata of the keys that were written. */
static inline int opened_meta(struct opened *o, infer_error *err)
{
	static struct file_shard s;
	struct infer_file head = { .shards = &s, .n_shards = 1 };

	TRY(gguf_write_head(o->d.keys, &o->d.head, err));
	s = (struct file_shard){ .at = (const unsigned char *)o->d.head.at,
		                 .bytes = o->d.head.len };
	return gguf_read(&head, 0, &o->f.meta, o->d.path, err);
}

/* Read the directory at path as one of an architecture, with its vocabulary and special tokens. */
static inline int open_special(struct opened *o, const char *path, const char *arch,
                               infer_error *err)
{
	*o = (struct opened){ .f = { .path = (char *)path } };
	o->d.f = &o->f;
	o->d.path = path;
	o->d.arch = arch_of(arch);
	arena_init(&o->d.arena, MEM_FILE);
	arena_init(&o->d.brief, MEM_FILE);
	buf_init(&o->d.head, MEM_FILE);
	TRY(file_meta_init(&o->f.meta, err));
	TRY(read_opened(&o->d, err));
	if (hf_sentencepiece_first(&o->d))
		TRY(hf_sentencepiece(&o->d, err));
	TRY(hf_special(&o->d, err));
	return opened_meta(o, err);
}

static inline void close_opened(struct opened *o)
{
	for (int i = 0; i < o->f.n_shards; i++)
		file_drop_shard(&o->f.shards[i]);
	mem_free(o->f.shards);
	file_meta_fini(&o->f.meta);
	gguf_write_free(o->d.keys);
	buf_fini(&o->d.head);
	arena_fini(&o->d.arena);
	arena_fini(&o->d.brief);
}

/* ---- a folder of a test's own ---- */

#define GOLDEN "tests/golden/hf/special/"

static char folder[64];

static inline void put_file(const char *name, const char *at, size_t n)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(at, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static inline void drop_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	(void)unlink(path);
}

/* A message with one piece, "q" with score 0, and more. */
#define PIECE "\x0a\x08\x0a\x01q\x15\0\0\0\0" /* "q", score 0 */
#define P(s) PIECE s, sizeof(PIECE s) - 1
#define Q(s) s, sizeof(s) - 1

static inline int make_folder(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof folder, "%.40s/infer-hf-XXXXXX", tmp ? tmp : "/tmp");
	return !mkdtemp(folder);
}

static inline int drop_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}
#endif
