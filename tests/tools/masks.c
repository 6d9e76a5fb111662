/* tests/tools/masks.c - walks random members of constraints, token by token, and times the masks.
 *
 *	masks VOCABULARY CONSTRAINTS WALKS TOKENS [check]
 *
 * VOCABULARY: how many tokens, then for each its length and its bytes; 32-bit numbers of this
 * machine.  CONSTRAINTS: a JSON object on each line with one of schema, gbnf, regex, choice.  WALKS
 * for each, of at most about TOKENS tokens.  For each constraint one line of JSON: nanoseconds of
 * thread CPU time to compile it and for each mask, the texts that are finished, and the tokens of
 * every walk.  With check each mask is compared with that of vocab_mask(). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/jread.h"
#include "base/jwrite.h"
#include "base/rng.h"
#include "grammar/grammar.h"
#include "lark/lark.h"
#include "mask/mask.h"

static struct vocab_token *tokens;
static uint32_t n_tokens, words;
static struct vocab *vocab;
static int checking;
static const char *const ends[] = { "\"", "}", "]", "\"}", "0" };
enum { N_ENDS = 5 };
static uint32_t end_id[N_ENDS];
static const struct budget most = { 1 << 26, 1 << 28 };

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static char *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	size_t cap = 1 << 16;
	char *s = malloc(cap);

	*n = 0;
	while (f && s) {
		const size_t got = fread(s + *n, 1, cap - *n, f);

		*n += got;
		if (!got)
			break;
		if (*n == cap)
			s = realloc(s, cap *= 2);
	}
	if (!f || !s || fclose(f)) {
		fprintf(stderr, "masks: %s\n", path);
		exit(2);
	}
	return s;
}

static void read_vocabulary(const char *path)
{
	size_t n, at = 4;
	char *s = slurp(path, &n);
	int64_t t;

	memcpy(&n_tokens, s, 4);
	tokens = calloc(n_tokens, sizeof *tokens);
	for (uint32_t i = 0; i < n_tokens; i++) {
		memcpy(&tokens[i].n, s + at, 4);
		tokens[i].at = s + at + 4;
		at += 4 + tokens[i].n;
	}
	for (uint32_t e = 0; e < N_ENDS; e++)
		for (end_id[e] = 0; end_id[e] < n_tokens; end_id[e]++)
			if (tokens[end_id[e]].n == strlen(ends[e]) &&
			    !memcmp(tokens[end_id[e]].at, ends[e], strlen(ends[e])))
				break;
	t = now();
	if (at != n || vocab_new(&vocab, tokens, n_tokens, NULL))
		exit(2);
	words = vocab_words(vocab);
	fprintf(stderr, "vocabulary: %.1f ms\n", (double)(now() - t) * 1e-6);
}

/* as infer_grammar_compile does for answers */
static const struct schema_opts as_generated = { .canonical = 1, .closed = 1 };

static int compile(struct grammar **g, const struct json *c, infer_error *err)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	const struct json *v;

	if ((v = json_get(c, "schema")))
		return schema_compile(g, v, &as_generated, &left, err);
	if ((v = json_get(c, "gbnf")))
		return gbnf_compile(g, v->s, v->n, &left, err);
	if ((v = json_get(c, "lark")))
		return lark_compile(g, v->s, v->n, &as_generated, NULL, &left, err);
	if ((v = json_get(c, "regex")))
		return grammar_regex(g, v->s, v->n, &left, err);
	if ((v = json_get(c, "choice"))) {
		struct dfa_word *word = calloc(v->n + 1, sizeof *word);
		size_t n = 0;
		int rc;

		json_each(e, v)
			word[n++] = (struct dfa_word){ e->s, e->n };
		rc = grammar_choice(g, word, n, &left, err);
		free(word);
		return rc;
	}
	exit(2);
}

/* One of the tokens; late in a walk one that ends something, where there is one. */
static int64_t pick(const uint64_t *bits, uint32_t at, uint32_t late, const uint32_t r[4])
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < words; w++)
		n += (uint32_t)__builtin_popcountll(bits[w]);
	if (!n)
		return -1;
	for (uint32_t e = 0; at >= late && e < N_ENDS; e++)
		if (end_id[e] < n_tokens && bits[end_id[e] / 64] >> end_id[e] % 64 & 1)
			return end_id[e];
	n = r[1] % n;
	for (uint32_t w = 0; w < words; w++)
		for (uint64_t x = bits[w]; x; x &= x - 1)
			if (!n--)
				return w * 64 + __builtin_ctzll(x);
	return -1;
}

static void check(struct match *m, const struct match_state *at, const uint64_t *bits,
                  const char *text)
{
	struct budget left = { UINT64_MAX, UINT64_MAX };
	uint64_t *want = calloc(words, sizeof *want);

	if (vocab_mask(vocab, m, at, want, &left, NULL))
		exit(3);
	for (uint32_t i = 0; i < n_tokens; i++)
		if (((bits[i / 64] ^ want[i / 64]) >> i % 64) & 1) {
			fprintf(stderr, "DIFFERS: token %u '%.*s' (%d wanted) behind: %s\n", i,
			        (int)tokens[i].n, tokens[i].at, (int)(want[i / 64] >> i % 64 & 1),
			        text);
			exit(3);
		}
	free(want);
}

static void walk(struct mask *k, struct match *m, struct jwrite *w, struct buf *text,
                 struct buf *ids, uint64_t seed, uint32_t n)
{
	struct match_state at = { 0 };
	uint64_t *bits = calloc(words, sizeof *bits);
	int ended = 0, rc = match_begin(m, &at, NULL);
	infer_error err;

	for (uint32_t i = 0; i < 2 * n && !rc && !ended; i++) {
		struct budget left = most;
		uint32_t r[4];
		int64_t t = now(), id;

		rc = mask_fill(k, m, &at, bits, &left, &err);
		jw_int(w, NULL, now() - t);
		if (rc) {
			fprintf(stderr, "mask: %s\n", err.message);
			break;
		}
		if (checking)
			check(m, &at, bits, text->at ? text->at : "");
		rng_block(r, seed, i);
		id = pick(bits, i, n, r);
		ended = match_may_end(m, &at) && (id < 0 || i >= n || !(r[0] % 4));
		if (id < 0 || ended)
			break;
		for (uint32_t b = 0; b < tokens[id].n && !rc; b++)
			rc = match_byte(m, &at, (uint8_t)tokens[id].at[b], NULL);
		buf_printf(ids, "%s%d", ids->len ? "," : "", (int)id);
		buf_put(text, tokens[id].at, tokens[id].n);
		buf_put(text, "", 1);
		text->len--;
	}
	if (!ended)
		text->len = 0;
	match_drop(m, &at);
	free(bits);
}

static void constraint(const struct json *c, struct jwrite *w, uint32_t walks, uint32_t n)
{
	struct buf *text = calloc(2 * walks, sizeof *text), *ids = text + walks;
	struct grammar *g;
	struct mask *k;
	struct match *m;
	infer_error err;
	int64_t t = now();
	int rc = compile(&g, c, &err);

	jw_int(w, "compile", now() - t);
	jw_int(w, "rc", rc);
	if (rc) {
		jw_str(w, "error", err.message);
		free(text);
		return;
	}
	if (match_new(&m, g, MATCH_TIDY, &most, NULL) ||
	    mask_new(&k, g, vocab, MATCH_TIDY, &most, NULL))
		exit(2);
	jw_array(w, "masks");
	for (uint32_t i = 0; i < walks; i++) {
		buf_init(text + i, MEM_GRAMMAR);
		buf_init(ids + i, MEM_GRAMMAR);
		walk(k, m, w, text + i, ids + i, i, n);
	}
	jw_end(w);
	jw_array(w, "texts");
	for (uint32_t i = 0; i < walks; i++) {
		if (text[i].len)
			jw_strn(w, NULL, text[i].at, text[i].len);
		buf_fini(text + i);
	}
	jw_end(w);
	jw_array(w, "walks");
	for (uint32_t i = 0; i < walks; i++) {
		jw_strn(w, NULL, ids[i].at ? ids[i].at : "", ids[i].len);
		buf_fini(ids + i);
	}
	jw_end(w);
	free(text);
	mask_free(k);
	match_free(m);
	ir_free(g);
}

int main(int argc, char **argv)
{
	size_t n, at = 0;
	char *s;

	if (argc < 5)
		return 2;
	checking = argc > 5;
	read_vocabulary(argv[1]);
	s = slurp(argv[2], &n);
	while (at < n) {
		const char *end = memchr(s + at, '\n', n - at);
		const size_t len = end ? (size_t)(end - s) - at : n - at;
		const struct json *c;
		struct jwrite w;
		struct arena a;
		struct buf out;

		arena_init(&a, MEM_GRAMMAR);
		buf_init(&out, MEM_GRAMMAR);
		jw_init(&w, &out);
		if (jread(&c, &a, s + at, len, "constraints", NULL))
			return 2;
		jw_object(&w, NULL);
		constraint(c, &w, (uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]));
		jw_end(&w);
		printf("%.*s\n", (int)out.len, out.at);
		buf_fini(&out);
		arena_fini(&a);
		at += len + 1;
	}
	return 0;
}
