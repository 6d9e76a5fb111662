/* tests/tools/mkvocab.h - a vocabulary of words for mkmodel: bytes, special tokens, and all
 * prefixes of common English words, then of syllables, each prefix made from the one before it
 * and a letter. */
#ifndef TESTS_TOOLS_MKVOCAB_H
#define TESTS_TOOLS_MKVOCAB_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/map.h"
#include "file/gguf_write.h"

_Noreturn static void die(int code, const char *what, const char *more)
{
	fprintf(stderr, "mkmodel: %s%s%s\n", what, more ? ": " : "", more ? more : "");
	exit(code);
}

static void *need(void *p)
{
	if (!p)
		die(1, "no memory", NULL);
	return p;
}

enum { KIND_NORMAL = 1, KIND_UNKNOWN, KIND_CONTROL, KIND_BYTE = 6 };

struct vocab {
	/* every piece with a NUL behind it; reserved whole, as map borrows from it */
	struct buf text;
	struct map map; /* piece -> id */
	size_t *at;     /* piece i */
	int32_t *kind;
	unsigned char *word;
	long n, most;
	struct buf merges;
	long n_merges;
	int spm;
};

/* bytes of a piece, NUL included */
enum { PIECE_MAX = 32 };

static long find(const struct vocab *v, const char *piece, size_t n)
{
	const uint32_t *i = map_get(&v->map, piece, n);

	return i ? (long)*i : -1;
}

static void add(struct vocab *v, const char *piece, size_t n, int kind)
{
	must(n < PIECE_MAX);
	v->at[v->n] = v->text.len;
	v->kind[v->n] = kind;
	buf_put(&v->text, piece, n);
	buf_put(&v->text, "", 1);
	if (v->text.bad || map_put(&v->map, v->text.at + v->at[v->n], n, (uint32_t)v->n))
		die(1, "no memory", NULL);
	v->n++;
}

/* How byte c is spelled in byte-level BPE: printable ones as themselves, the others from U+0100
 * on. */
static size_t spell(char out[2], int c)
{
	int cp = c, next = 256;

	for (int i = 0; i <= c; i++) {
		int plain = (i >= '!' && i <= '~') || (i >= 0xa1 && i <= 0xac) || i >= 0xae;
		cp = plain ? i : next;
		next += !plain;
	}
	if (cp < 128) {
		out[0] = (char)cp;
		return 1;
	}
	out[0] = (char)(0xc0 | cp >> 6);
	out[1] = (char)(0x80 | (cp & 63));
	return 2;
}

static const char common[] = "the of and to in is it that was for on are with as his they be at "
			     "one have this from or had by hot word but what some we "
			     "can out other were all there when up use your how said an each she "
			     "which do their time if will way about many then them "
			     "write would like so these her long make thing see him two has look "
			     "more day could go come did number sound no most people "
			     "my over know water than call first who may down side been now find "
			     "any new work part take get place made live where after "
			     "back little only round man year came show every good me give our "
			     "under name very through just form sentence great think "
			     "say help low line differ turn cause much mean before move right boy "
			     "old too same tell does set three want air well also play "
			     "small end put home read hand port large spell add even land here "
			     "must big high such follow act why ask men change went light "
			     "kind off need house picture try us again animal point mother world "
			     "near build self earth father head stand own page should "
			     "country found answer school grow study still learn plant cover food "
			     "sun four between state keep eye never last let thought";

/* Word number i: of the list, then of syllables. */
static size_t make_word(char out[PIECE_MAX], long i)
{
	size_t n = 0;

	for (const char *s = common; *s; i--) {
		n = strcspn(s, " ");
		if (i == 0) {
			memcpy(out, s, n);
			return n;
		}
		s += n + strspn(s + n, " ");
	}
	n = 0;
	for (i += 100; i; i /= 100) {
		out[n++] = "bdfgklmnprstvwzhjcxy"[i % 20];
		out[n++] = "aeiou"[i / 20 % 5];
	}
	return n;
}

/* Every beginning of a word becomes a token, made from the one before and the next letter; the
 * whole is a word. */
static void add_word(struct vocab *v, const char *word, size_t n)
{
	char piece[PIECE_MAX];
	size_t len = v->spm ? 3 : spell(piece, ' ');
	long last = -1;

	if (v->spm)
		memcpy(piece, "\xe2\x96\x81", 3);
	for (size_t i = 0; i < n && v->n < v->most; i++) {
		piece[len] = word[i];
		last = find(v, piece, len + 1);
		if (last < 0 && !v->spm) {
			char pair[80];
			int k = snprintf(pair, sizeof pair, "%.*s %c", (int)len, piece, word[i]);
			gguf_put_str(&v->merges, pair, (size_t)k);
			v->n_merges++;
		}
		if (last < 0) {
			last = v->n;
			add(v, piece, len + 1, KIND_NORMAL);
		}
		len++;
		if (i + 1 == n)
			v->word[last] = 1;
	}
}

/* size tokens, as byte-level BPE or (spm) with scores; chat: the tokens of ChatML too. */
static void make_vocab(struct vocab *v, long size, int spm, int chat)
{
	char piece[PIECE_MAX];

	*v = (struct vocab){ .most = size, .spm = spm };
	buf_init(&v->text, MEM_FILE);
	buf_init(&v->merges, MEM_FILE);
	if (buf_reserve(&v->text, ((size_t)size + 300) * PIECE_MAX) ||
	    map_init(&v->map, MEM_FILE, (uint32_t)size))
		die(1, "no memory", NULL);
	v->at = need(calloc((size_t)size + 300, sizeof *v->at));
	v->kind = need(calloc((size_t)size + 300, sizeof *v->kind));
	v->word = need(calloc((size_t)size + 300, 1));
	if (v->spm) {
		add(v, "<unk>", 5, KIND_UNKNOWN);
		add(v, "<s>", 3, KIND_CONTROL);
		add(v, "</s>", 4, KIND_CONTROL);
	}
	for (int c = 0; c < 256; c++)
		if (v->spm)
			add(v, piece,
			    (size_t)snprintf(piece, sizeof piece, "<0x%02X>", (unsigned)c),
			    KIND_BYTE);
		else
			add(v, piece, spell(piece, c), KIND_NORMAL);
	if (!v->spm)
		add(v, "<|endoftext|>", 13, KIND_CONTROL);
	if (chat) {
		add(v, "<|im_start|>", 12, KIND_CONTROL);
		add(v, "<|im_end|>", 10, KIND_CONTROL);
	}
	if (v->spm) {
		add(v, "\xe2\x96\x81", 3, KIND_NORMAL);
		for (int c = 'a'; c <= 'z'; c++)
			add(v, (char[]){ (char)c }, 1, KIND_NORMAL);
	}
	if (v->n > v->most)
		die(2, "--vocab is too small for the bytes and special tokens", NULL);
	for (long i = 0; v->n < v->most; i++)
		add_word(v, piece, make_word(piece, i));
}

static void free_vocab(struct vocab *v)
{
	buf_fini(&v->text);
	buf_fini(&v->merges);
	map_fini(&v->map);
	free(v->at);
	free(v->kind);
	free(v->word);
}
#endif
