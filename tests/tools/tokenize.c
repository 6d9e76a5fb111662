/* tests/tools/tokenize.c - the tokenizer for scripts: many texts in one process.
 *
 *	tokenize [-s] [-a] [-d] VOCAB.gguf   ids of each text, -s special tokens parsed, -a BOS and
 *	                                     EOS added;
 *	                                     -d: then what they stand for, in hexadecimal
 *	tokenize -j ... DIR                  the same of DIR/tokenizer.json
 *	tokenize -p PRE | -P PRE             byte lengths of the pieces of a pre-tokenizer, by its
 *	                                     scanners | by PCRE2
 *	tokenize -t VOCAB.gguf               milliseconds of processor time to open it, least of
 *	                                     ten; MB/s of each text, best of five
 *
 * Standard input: for each text its length, u32 little-endian, and its bytes.  Output: one line for
 * each text. */
#include <infer/token.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/num.h"
#include "hfvocab.h"
#include "tok/pretok.h"

struct opt {
	uint32_t flags;
	int decode, timed, json;
};

static int die(const infer_error *err)
{
	fprintf(stderr, "tokenize: %s\n", err->message);
	return 3;
}

/* Processor time of this thread: what a busy machine does not change much. */
static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static char *next_text(size_t *n)
{
	unsigned char head[4];

	if (fread(head, 1, 4, stdin) != 4)
		return NULL;
	*n = num_u32(head);
	char *s = malloc(*n + 1);
	if (!s || fread(s, 1, *n, stdin) != *n)
		exit(1);
	return s;
}

static int piece(void *user, const char *s, size_t n, infer_error *err)
{
	(void)user;
	(void)s;
	(void)err;
	printf("%zu ", n);
	return 0;
}

static int split(const char *name, enum pretok_with with)
{
	const struct pretok *p = pretok_find(name, strlen(name));
	struct pretok_code *c;
	infer_error err;
	char *s;
	size_t n;

	if (!p) {
		fprintf(stderr, "tokenize: no pre-tokenizer %s\n", name);
		return 2;
	}
	if (pretok_new(&c, p, with, &err))
		return die(&err);
	for (; (s = next_text(&n)); free(s), puts(""))
		if (pretok_run(c, s, n, piece, NULL, &err))
			return die(&err);
	pretok_free(c);
	return 0;
}

static int decode(const infer_tokenizer *t, const int32_t *ids, size_t n, uint32_t flags)
{
	infer_detok *d;
	infer_error err;
	const char *s;
	size_t k;

	if (infer_detok_new(&d, t, flags, -1, &err))
		return die(&err);
	putchar('|');
	for (size_t i = 0; i <= n; i++) {
		if (i < n ? infer_detok_put(d, ids[i], &s, &k, &err)
		          : infer_detok_end(d, &s, &k, &err))
			return die(&err);
		for (size_t j = 0; j < k; j++)
			printf("%02x", (unsigned char)s[j]);
	}
	infer_detok_free(d);
	return 0;
}

static int encode(const infer_tokenizer *t, const struct opt *o, const char *s, size_t n)
{
	infer_error err;
	int32_t *ids;
	size_t k;
	double best = 1e30;

	for (int i = 0; i < (o->timed ? 5 : 1); i++) {
		double from = cpu_ms();
		if (infer_encode(t, s, n, o->flags, &ids, &k, &err))
			return die(&err);
		double ms = cpu_ms() - from;
		best = ms < best ? ms : best;
		if (o->timed)
			infer_ids_free(ids);
	}
	if (o->timed) {
		printf("%.1f MB/s, %zu ids\n", (double)n / best / 1e3, k);
		return 0;
	}
	for (size_t i = 0; i < k; i++)
		printf("%s%d", i ? " " : "", ids[i]);
	if (o->decode &&
	    decode(t, ids, k, o->flags & INFER_ENCODE_SPECIAL ? INFER_DECODE_SPECIAL : 0))
		return 3;
	puts("");
	infer_ids_free(ids);
	return 0;
}

int main(int argc, char **argv)
{
	struct opt o = { 0 };
	struct hfvocab v = { 0 };
	infer_file *f;
	infer_tokenizer *t = NULL;
	infer_error err;
	char *s;
	size_t n;
	int c, rc = 0;

	while ((c = getopt(argc, argv, "sadjtp:P:")) != -1) {
		o.flags |= c == 's' ? INFER_ENCODE_SPECIAL : c == 'a' ? INFER_ENCODE_ADD : 0;
		o.decode |= c == 'd';
		o.timed |= c == 't';
		o.json |= c == 'j';
		if (c == 'p' || c == 'P')
			return split(optarg, c == 'p' ? PRETOK_WITH_SCANNERS : PRETOK_WITH_PCRE2);
		if (c == '?')
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	if (o.json) {
		double from = cpu_ms();
		if (hfvocab_open(&v, argv[optind], &err))
			return die(&err);
		if (o.timed)
			printf("%.2f ms to read tokenizer.json\n", cpu_ms() - from);
		f = v.file;
	} else if (infer_file_open(&f, argv[optind], &err)) {
		return die(&err);
	}
	double best = 1e30;
	for (int i = 0; i < (o.timed ? 10 : 1); i++) {
		infer_tokenizer_close(&t);
		double from = cpu_ms();
		if (infer_tokenizer_open(&t, f, &err))
			return die(&err);
		double ms = cpu_ms() - from;
		best = ms < best ? ms : best;
	}
	if (o.timed)
		printf("%.2f ms to open\n", best);
	for (; !rc && (s = next_text(&n)); free(s))
		rc = encode(t, &o, s, n);
	infer_tokenizer_close(&t);
	if (o.json)
		hfvocab_close(&v);
	else
		infer_file_close(&f);
	return rc;
}
