/* tok/spm_normal.c - the normaliser of SentencePiece: mapped characters, collapsed white space,
 * U+2581 for a space.  Kudo+ 2018, arXiv:1808.06226, section 3.2. */
#include "base/err.h"
#include "base/num.h"
#include "tok/spm.h"
#include "text/unicode.h"

#include <string.h>

int spm_charsmap_open(struct infer_tokenizer *t, struct tok_source *src, infer_error *err)
{
	struct spm_charsmap *m = &t->charsmap;
	size_t bytes = src->charsmap_bytes;

	if (!bytes)
		return INFER_OK;
	size_t trie = bytes >= 4 ? num_u32(src->charsmap) : 0;
	if (bytes < 4 || trie % 4 || !trie || trie > bytes - 4 || bytes - 4 - trie > INT32_MAX)
		return err_set(
			err, INFER_EFORMAT,
			"%s: key tokenizer.ggml.precompiled_charsmap: a trie of %zu bytes in %zu",
			src->name, trie, bytes);
	m->unit = src->charsmap + 4;
	m->n_units = (uint32_t)(trie / 4);
	m->text = (const char *)src->charsmap + 4 + trie;
	m->n_text = (uint32_t)(bytes - 4 - trie);
	if (m->n_text && m->text[m->n_text - 1])
		return err_set(
			err, INFER_EFORMAT,
			"%s: key tokenizer.ggml.precompiled_charsmap: the last string does not end",
			src->name);
	for (const char *s = m->text, *end = s + m->n_text; s < end; s += strlen(s) + 1)
		if (strlen(s) > SPM_MAPPED)
			return err_set(err, INFER_EUNSUP,
			               "%s: key tokenizer.ggml.precompiled_charsmap: a rule gives "
			               "%zu bytes, and more than %d are not "
			               "supported",
			               src->name, strlen(s), SPM_MAPPED);
	for (uint32_t i = 0; i < m->n_units; i++) {
		uint32_t u = num_u32(m->unit + 4 * (size_t)i);
		if (u >> 31 && (u & 0x7fffffff) >= m->n_text)
			return err_set(err, INFER_EFORMAT,
			               "%s: key tokenizer.ggml.precompiled_charsmap: unit %u names "
			               "a string past the end",
			               src->name, i);
	}
	return INFER_OK;
}

static uint32_t offset_of(uint32_t unit) { return unit >> 10 << (unit >> 6 & 8); }

/* Find the longest (or shortest) prefix of s that has a rule.  Returns its length and sets *to to
 * the replacement, or returns 0.  SIZE_MAX: the rule is too long (hostile file). */
static size_t find_rule(const struct spm_charsmap *m, const char *s, size_t n, int shortest,
                        const char **to)
{
	uint32_t at = m->n_units ? offset_of(num_u32(m->unit)) : 0;
	size_t len = 0;

	for (size_t i = 0; i < n && m->n_units; i++) {
		unsigned char c = (unsigned char)s[i];
		at ^= c;
		uint32_t unit = at < m->n_units ? num_u32(m->unit + 4 * (size_t)at) : 0;
		if (!c || (unit & 0x800000ff) != c)
			break;
		if (i == SPM_MAPPED)
			return SIZE_MAX;
		at ^= offset_of(unit);
		if (unit >> 8 & 1 && at < m->n_units) {
			uint32_t leaf = num_u32(m->unit + 4 * (size_t)at) & 0x7fffffff;
			if (leaf >= m->n_text)
				break;
			*to = m->text + leaf;
			len = i + 1;
			if (shortest)
				break;
		}
	}
	return len;
}

int spm_mapped_first(const struct spm_charsmap *m, const char *s, size_t n, const char **to)
{
	size_t k = find_rule(m, s, n, 1, to);

	return k && k != SIZE_MAX;
}

/* Normalise the next sequence of s.  Returns its length and sets *to to the replacement; SIZE_MAX
 * as for find_rule. */
static size_t normalise_step(const struct infer_tokenizer *t, const char *s, size_t n,
                             const char **to, size_t *to_n)
{
	size_t k = find_rule(&t->charsmap, s, n, 0, to);
	uint32_t cp;

	if (k) {
		*to_n = k == SIZE_MAX ? 0 : strlen(*to);
		return k;
	}
	*to = s;
	k = *to_n = unicode_next(s, n, &cp);
	if (cp == UNI_BAD && t->byte_id[(unsigned char)*s] < 0) {
		*to = "\xef\xbf\xbd";
		*to_n = 3;
	}
	return k;
}

/* Append s with U+2581 for each space, and one more at the start if front is not 0. */
void spm_escape(struct buf *b, const char *s, size_t n, int front)
{
	if (front)
		buf_put(b, TOK_SPACE, 3);
	for (size_t at = 0; at < n;) {
		const char *space = memchr(s + at, ' ', n - at);
		size_t end = space ? (size_t)(space - s) : n;
		buf_put(b, s + at, end - at);
		if (space)
			buf_put(b, TOK_SPACE, 3);
		at = end + 1;
	}
}

static int too_long(infer_error *err)
{
	return err_set(err, INFER_EUNSUP,
	               "key tokenizer.ggml.precompiled_charsmap: a rule takes more than %d bytes "
	               "of the text",
	               SPM_MAPPED);
}

int spm_normal(const struct infer_tokenizer *t, struct buf *b, const char *s, size_t n, int front,
               infer_error *err)
{
	size_t at = 0, k = 0, to_n, from = b->len;
	const char *to;
	int after_space = t->squeeze;

	if (!t->squeeze && !t->charsmap.n_units) {
		spm_escape(b, s, n, front);
		at = n;
		front = 0;
	}
	while (t->squeeze && at < n &&
	       (k = normalise_step(t, s + at, n - at, &to, &to_n)) != SIZE_MAX && to_n == 1 &&
	       *to == ' ')
		at += k;
	if (at < n)
		spm_escape(b, "", 0, front);
	for (; at < n; at += k) {
		k = normalise_step(t, s + at, n - at, &to, &to_n);
		if (k == SIZE_MAX)
			return too_long(err);
		/* Unicode normalisation grows text at most 11 times */
		if ((b->len - from) / SPM_TIMES > at + SPM_MAPPED)
			return err_set(err, INFER_EUNSUP,
			               "key tokenizer.ggml.precompiled_charsmap: its rules make "
			               "the text more than %d times as long",
			               SPM_TIMES);
		for (; after_space && to_n && *to == ' '; to++)
			to_n--;
		if (!to_n)
			continue;
		spm_escape(b, to, to_n, 0);
		after_space = t->squeeze && to[to_n - 1] == ' ';
	}
	while (t->squeeze && !b->bad && b->len - from >= 3 &&
	       !memcmp(b->at + b->len - 3, TOK_SPACE, 3))
		b->len -= 3;
	return b->bad ? err_set(err, INFER_ENOMEM, "no memory for %zu bytes of text", n) : INFER_OK;
}
