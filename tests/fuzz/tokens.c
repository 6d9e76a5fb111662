/* tests/fuzz/tokens.c - a vocabulary and a text: a GGUF file, "\nTEXT\n", the text.  Refused or
 * opened; what is opened encodes and decodes, whatever the bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <infer/token.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char mark[] = "\nTEXT\n";
static const char plain[] =
	"The 12 caf\xc3\xa9s \xe2\x96\x81 'll\n\n  \xff \xe4\xb8\xad\xe6\x96\x87<s>";

static void decode(const infer_tokenizer *t, const int32_t *ids, size_t n, uint32_t flags)
{
	infer_detok *d;
	const char *s;
	size_t k;

	if (infer_detok_new(&d, t, flags, -1, NULL))
		return;
	for (size_t i = 0; i < n; i++)
		if (infer_detok_put(d, ids[i], &s, &k, NULL))
			abort(); /* an id of our own is in the vocabulary */
	infer_detok_end(d, &s, &k, NULL);
	infer_detok_free(d);
}

static void ask(const infer_tokenizer *t, const char *text, size_t n)
{
	for (uint32_t flags = 0; flags < 4; flags++) {
		int32_t *ids;
		size_t k;
		if (infer_encode(t, text, n, flags, &ids, &k, NULL))
			continue;
		decode(t, ids, k, flags & INFER_DECODE_SPECIAL);
		infer_ids_free(ids);
	}
	for (int which = INFER_BOS; which <= INFER_PAD; which++)
		if (infer_token_special(t, which) >= infer_tokenizer_count(t))
			abort();
	for (int32_t i = 0; i < infer_tokenizer_count(t); i++) {
		struct infer_token_info info;
		const char *s;
		size_t k;
		if (infer_token_info(t, i, &info, NULL) ||
		    infer_token_bytes(t, i, INFER_DECODE_FIRST, &s, &k, NULL))
			abort();
		if (info.piece.len && infer_token_find(t, info.piece.at, info.piece.len) < i)
			abort(); /* of equal pieces the last */
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *at = memmem(data, size, mark, sizeof mark - 1);
	size_t n = at ? (size_t)(at - data) : size;
	const char *text = at ? (const char *)at + sizeof mark - 1 : plain;
	size_t text_n = at ? size - n - (sizeof mark - 1) : sizeof plain - 1;
	infer_file *f = NULL;
	infer_tokenizer *t = NULL;
	void *file = malloc(n ? n : 1); /* aligned, and its end is watched */

	if (!file)
		return 0;
	memcpy(file, data, n);
	if (infer_file_open_bytes(&f, file, n, "fuzz", NULL) == INFER_OK &&
	    infer_tokenizer_open(&t, f, NULL) == INFER_OK)
		ask(t, text, text_n);
	infer_tokenizer_close(&t);
	infer_file_close(&f);
	free(file);
	return 0;
}
