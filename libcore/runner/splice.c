/* runner/splice.c - reuse the ids of the previous prompt and answer at the start of a prompt */
#include <infer/runner.h>
#include "base/err.h"
#include "base/mem.h"

#include <string.h>

enum { NORMAL = 1, USER_DEFINED = 4, BYTE = 6 };

/* A list of ids, read as bytes.  bytes [left]: the unread rest of the token before ids[at]. */
struct id_reader {
	const int32_t *ids;
	size_t n, at;
	const char *bytes;
	size_t left;
};

/* Load the bytes of the next token; *text: 0 if it is not a text token or has no bytes. */
static int next_spelled(struct id_reader *s, const infer_tokenizer *t, int *text, infer_error *err)
{
	struct infer_token_info info;

	TRY(infer_token_info(t, s->ids[s->at], &info, err));
	*text = info.kind == NORMAL || info.kind == USER_DEFINED || info.kind == BYTE;
	TRY(infer_token_bytes(t, s->ids[s->at], INFER_DECODE_SPECIAL, &s->bytes, &s->left, err));
	*text = *text && s->left;
	s->at++;
	return INFER_OK;
}

static int32_t peek(const struct id_reader *s) { return s->ids[s->at]; }

/* Find the longest common prefix, in bytes, that ends with a whole token of both: *i, *j ids. */
static int common_prefix(struct id_reader *a, struct id_reader *b, const infer_tokenizer *t,
                         size_t *i, size_t *j, infer_error *err)
{
	int text;

	for (;;) {
		if (!a->left && !b->left) {
			*i = a->at;
			*j = b->at;
			if (a->at == a->n || b->at == b->n)
				return INFER_OK;
			if (peek(a) == peek(b)) {
				a->at++;
				b->at++;
				continue;
			}
		}
		for (int k = 0; k < 2; k++) {
			struct id_reader *s = k ? b : a;

			if (s->left)
				continue;
			if (s->at == s->n)
				return INFER_OK;
			TRY(next_spelled(s, t, &text, err));
			if (!text)
				return INFER_OK;
		}
		size_t same = a->left < b->left ? a->left : b->left;

		if (memcmp(a->bytes, b->bytes, same))
			return INFER_OK;
		a->bytes += same;
		b->bytes += same;
		a->left -= same;
		b->left -= same;
	}
}

int infer_splice(int32_t **ids, size_t *n, const infer_tokenizer *t, const int32_t *previous,
                 size_t n_previous, const int32_t *prompt, size_t n_prompt, infer_error *err)
{
	struct id_reader a = { .ids = previous, .n = n_previous },
			 b = { .ids = prompt, .n = n_prompt };
	size_t i = 0, j = 0;

	*ids = NULL;
	*n = 0;
	TRY(common_prefix(&a, &b, t, &i, &j, err));
	*ids = mem_alloc(MEM_JOB, i + n_prompt - j, sizeof **ids);
	if (!*ids)
		return err_nomem(err);
	if (i)
		memcpy(*ids, previous, i * sizeof **ids);
	if (n_prompt > j)
		memcpy(*ids + i, prompt + j, (n_prompt - j) * sizeof **ids);
	*n = i + n_prompt - j;
	return INFER_OK;
}
