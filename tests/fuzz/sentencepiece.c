/* tests/fuzz/sentencepiece.c - any bytes as the tokenizer.model of a directory: refused by name, or a
 * vocabulary that encodes text and gives its bytes back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <infer/token.h>
#include "base/err.h"
#include "file/gguf.h"
#include "hf/hf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct arch arch_llama;

/* The tokenizer of these keys, if it is one, on a text. */
static void use(const infer_file *f)
{
	static const char text[] = "a b\xc3\xa9 <x>\n";
	infer_tokenizer *t;
	int32_t *ids;
	size_t n;

	if (infer_tokenizer_open(&t, f, NULL))
		return;
	if (!infer_encode(t, text, sizeof text - 1, 0, &ids, &n, NULL))
		infer_ids_free(ids);
	infer_tokenizer_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hf_dir d = { .path = "fuzz", .arch = &arch_llama };
	struct infer_file f = { .path = (char *)(uintptr_t) "fuzz" };
	struct file_shard s = { 0 };
	struct infer_file head = { .shards = &s, .n_shards = 1 };
	infer_error err = { 0 };

	d.f = &f;
	d.sentencepiece = (struct hf_text){ "tokenizer.model", (const char *)data, size };
	arena_init(&d.arena, MEM_FILE);
	arena_init(&d.brief, MEM_FILE);
	buf_init(&d.head, MEM_FILE);
	must(!gguf_write_new(&d.keys, "fuzz", NULL));
	int rc = hf_sentencepiece(&d, &err);

	must(!rc || rc == INFER_EFORMAT || rc == INFER_EUNSUP);
	must(!rc || !strncmp(err.message, "fuzz/tokenizer.model: ", 22));
	if (!rc) {
		must(!file_meta_init(&f.meta, NULL));
		must(!gguf_write_head(d.keys, &d.head, NULL));
		s.at = (const unsigned char *)d.head.at;
		s.bytes = d.head.len;
		must(!gguf_read(&head, 0, &f.meta, "fuzz", &err));
		use(&f);
		file_meta_fini(&f.meta);
	}
	gguf_write_free(d.keys);
	buf_fini(&d.head);
	arena_fini(&d.arena);
	arena_fini(&d.brief);
	return 0;
}
