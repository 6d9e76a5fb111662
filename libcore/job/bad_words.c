/* job/bad_words.c - texts that are never generated: the token sequences that spell them
 *
 * A word is encoded without the white space that it begins with, and once more after a space.  vLLM drops
 * the second encoding unless it is as long as the first.  Here both count: otherwise a vocabulary that has
 * " word" but not "word" lets the word through. */
#include "job/bad_words.h"
#include "base/err.h"
#include "text/unicode.h"

#include <string.h>

struct sequences {
	const int32_t **at;
	int32_t *n_ids, n;
};

/* Skip the characters that Python's lstrip removes. */
static struct infer_str skip_space(struct infer_str text)
{
	size_t at = 0;

	while (at < text.len) {
		uint32_t cp;
		size_t n = unicode_next(text.at + at, text.len - at, &cp);

		if (!(unicode_set(cp) & UNI_SPACE) && cp - 0x1c > 0x1f - 0x1c)
			break;
		at += n;
	}
	return (struct infer_str){ text.at + at, text.len - at };
}

/* Encode a text in the memory of j.  *n 0: it has no tokens. */
static int encode_word(int32_t **out, size_t *n, struct job *j, struct infer_str text,
                       infer_error *err)
{
	const int32_t n_vocab = job_vocabulary(j);
	int32_t *ids;

	*n = 0;
	*out = NULL;
	TRY(infer_encode(infer_model_tokenizer(j->o->model), text.at, text.len,
	                 INFER_ENCODE_SPECIAL, &ids, n, err));
	if (*n)
		*out = arena_alloc(&j->mem, *n, sizeof **out);
	if (*out)
		memcpy(*out, ids, *n * sizeof *ids);
	infer_ids_free(ids);
	if (*n && !*out)
		return err_nomem(err);
	for (size_t i = 0; i < *n; i++)
		if ((*out)[i] >= n_vocab)
			return err_set(err, INFER_EINVAL,
			               "token %d is outside the vocabulary of %d", (int)(*out)[i],
			               (int)n_vocab);
	return INFER_OK;
}

static void add_sequence(struct sequences *s, const int32_t *ids, size_t n)
{
	s->at[s->n] = ids;
	s->n_ids[s->n++] = (int32_t)n;
}

static int ban_word(struct sequences *s, struct job *j, struct infer_str word, infer_error *err)
{
	char spaced[1 + JOB_BAD_WORD_BYTES] = " ";
	int32_t *plain, *second;
	size_t n, n_second;

	word = skip_space(word);
	TRY(encode_word(&plain, &n, j, word, err));
	if (!n)
		return err_set(err, INFER_EINVAL, "it has no tokens");
	add_sequence(s, plain, n);
	memcpy(spaced + 1, word.at, word.len);
	int rc =
		encode_word(&second, &n_second, j, (struct infer_str){ spaced, 1 + word.len }, err);

	if (rc == INFER_EUNSUP) /* tokens that cannot encode the space never produce it */
		return INFER_OK;
	if (!rc && (n_second != n || memcmp(second, plain, n * sizeof *plain)))
		add_sequence(s, second, n_second);
	return rc;
}

int job_ban_words(struct job *j, infer_error *err)
{
	struct infer_sample_opts *o = &j->j.request.sample;
	const size_t n = j->j.n_bad_words;
	struct sequences s = { 0 };
	infer_error why;

	if (!n)
		return INFER_OK;
	if (!infer_model_tokenizer(j->o->model))
		return err_set(err, INFER_EUNSUP, "bad_words: the model has no vocabulary");
	s.at = arena_alloc(&j->mem, 2 * n, sizeof *s.at);
	s.n_ids = arena_alloc(&j->mem, 2 * n, sizeof *s.n_ids);
	if (!s.at || !s.n_ids)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		if (ban_word(&s, j, j->j.bad_words[i], &why))
			return err_set(err, why.code, "bad_words: entry %zu: %s", i, why.message);
	o->banned = s.at;
	o->n_banned_ids = s.n_ids;
	o->n_banned = s.n;
	return INFER_OK;
}
