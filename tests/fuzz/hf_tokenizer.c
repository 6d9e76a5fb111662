/* tests/fuzz/hf_tokenizer.c - any bytes as the tokenizer.json of a directory: refused with the name of the file,
 * or a vocabulary; if a tokenizer can be made of it, it encodes text and decodes every id. */
#include <stdint.h>
#include <stdlib.h>

#include <infer/token.h>
#include "../tools/hfvocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The tokenizer of these keys, if it is one, on texts. */
static void use(const infer_file *f)
{
	static const char *const texts[] = { "a b\xc3\xa9 <x>\n",
		                             "\xe2\x96\x81 \xef\xac\x81 1234,word",
		                             "a\xcc\x81\xff \xe3\x80\x80", "[MASK] ##b's" };
	infer_tokenizer *t;
	infer_error err;
	const char *s;
	int32_t *ids;
	size_t n, k;

	int rc = infer_tokenizer_open(&t, f, &err);
	must(!rc || rc == INFER_EFORMAT || rc == INFER_EUNSUP);
	for (size_t i = 0; !rc && i < sizeof texts / sizeof *texts; i++) {
		if (infer_encode(t, texts[i], strlen(texts[i]), i & 1 ? INFER_ENCODE_SPECIAL : 0,
		                 &ids, &n, NULL))
			continue;
		for (size_t j = 0; j < n; j++)
			must(!infer_token_bytes(t, ids[j], 0, &s, &k, NULL));
		infer_ids_free(ids);
	}
	infer_tokenizer_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hfvocab o;
	infer_error err = { 0 };
	int rc = hfvocab_text(&o, (const char *)data, size, NULL, &err);

	must(!rc || rc == INFER_EFORMAT || rc == INFER_EUNSUP);
	must(!rc || !strncmp(err.message, "DIR/", 4));
	if (!rc)
		use(o.file);
	hfvocab_close(&o);
	return 0;
}
