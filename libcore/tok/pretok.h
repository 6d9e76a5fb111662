/* tok/pretok.h - splitting text into the pieces that BPE works on.
 *
 * A pre-tokenizer is a list of stages.  Each stage runs over every piece of the stage before it,
 * alone, as if the piece were the whole text: every match is a piece, and every gap between matches
 * is.  A stage is a regular expression.
 * If the stage has a hand-written scanner, the scanner splits the text, in linear time, and the
 * expression says what it must find (the tests compare); otherwise PCRE2 runs the expression.
 * A class of characters (\p{L}, \s, \d) needs a scanner: the classes of PCRE2 are those of whatever
 * Unicode version its distribution has, the scanners' are those of text/unicode.h.
 * A byte that is part of no valid UTF-8 sequence is in category Cn for the scanners and U+0001 for
 * PCRE2: neither letter, number, mark, punctuation, symbol nor space. */
#ifndef TOK_PRETOK_H
#define TOK_PRETOK_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>

enum { PRETOK_STAGES = 7 };

/* the position of a scanner in its piece */
struct pretok_it {
	const char *s;
	size_t n;        /* bytes of s */
	size_t from, to; /* the last match; the search continues at `to` */
	/* digit groups: the end of the run that was counted, and its code points from `to` on */
	size_t run, left;
	const uint64_t *ascii; /* [2] bits: the class of the stage below U+0080 */
};

/* code points that are in one of the sets (unicode_set) or ranges, or with `negated` in none of them */
struct pretok_class {
	uint32_t set;
	int negated;
	int n;
	const uint32_t (*range)[2];
};

struct pretok_stage;
/* 1: from, to are set; 0: no more */
typedef int pretok_scan(const struct pretok_stage *st, struct pretok_it *it);

struct pretok_stage {
	const char *pattern;
	pretok_scan *scan; /* NULL: PCRE2 */
	const struct pretok_class *of;
	uint32_t max;   /* the maximum of code points in a run of numbers (or of the class); 0:
	                 * no limit */
	uint32_t flags; /* enum pretok_how */
};

enum pretok_how {
	PRETOK_EOL = 1 << 0,         /* punctuation includes the following newlines */
	PRETOK_SLASH = 1 << 1,       /* and slashes */
	PRETOK_ONE = 1 << 2,         /* but only one of them */
	PRETOK_MARKS = 1 << 3,       /* marks count as letters */
	PRETOK_PHRASE = 1 << 4,      /* words joined by single spaces are one piece */
	PRETOK_BLANKS = 1 << 5,      /* white space is split into powers of two */
	PRETOK_HAN = 1 << 6,         /* runs of Han are split off first and are not part of words */
	PRETOK_SHORT = 1 << 7,       /* a word includes the contraction after it */
	PRETOK_LEAD = 1 << 8,        /* one white space may precede the run */
	PRETOK_EXACT = 1 << 9,       /* either max code points or none */
	PRETOK_AT_END = 1 << 10,     /* groups only if the run ends a word */
	PRETOK_LEAD_BLANK = 1 << 11, /* one U+0020 may precede the run */
};

/* properties of a pre-tokenizer besides its stages */
enum {
	PRETOK_WHOLE = 1 << 0, /* a piece that is a token stays whole ("ignore_merges") */
	PRETOK_ADD_BOS = 1 << 1,
	PRETOK_ADD_SEP = 1 << 2,
	PRETOK_RAW = 1 << 3, /* no byte alphabet: a space is U+2581, symbols are code points */
};

struct pretok {
	const char *names; /* separated by blanks */
	uint32_t flags;
	struct pretok_stage stage[PRETOK_STAGES]; /* pattern NULL ends the list */
};

const struct pretok *pretok_find(const char *name, size_t n); /* NULL: not known */
const struct pretok *pretok_at(size_t i);                     /* NULL past the end */

/* The compiled expressions of a pre-tokenizer; immutable. */
struct pretok_code;
/* The second for tests: PCRE2 runs every stage.  The third: stages of pretok_translate, which PCRE2 may
 * refuse: INFER_EUNSUP */
enum pretok_with { PRETOK_WITH_SCANNERS, PRETOK_WITH_PCRE2, PRETOK_FOREIGN };
int pretok_new(struct pretok_code **out, const struct pretok *p, enum pretok_with with,
               infer_error *err);
void pretok_free(struct pretok_code *c);

/* Call fn for each piece of s[0 .. n), in order; a nonzero return value of fn stops and is
 * returned.
 * INFER_EUNSUP  PCRE2 reached a limit; err names the byte offset in s
 * INFER_ENOMEM */
typedef int pretok_fn(void *user, const char *s, size_t n, infer_error *err);
int pretok_run(const struct pretok_code *c, const char *s, size_t n, pretok_fn *fn, void *user,
               infer_error *err);

/* The matches of the first stage of c in s[0 .. n), in order.  Errors as above. */
typedef int pretok_match(void *user, size_t from, size_t to, infer_error *err);
int pretok_each(const struct pretok_code *c, const char *s, size_t n, pretok_match *fn, void *user,
                infer_error *err);

/* pretok_form.c: expressions as tokenizer.json writes them, for Oniguruma in Ruby's syntax. */
/* True if they are the same but for how they are written: characters as \x{..}, and a group around
 * an optional group. */
int pretok_same(const char *a, const char *b, size_t b_n);
/* The stage of the list with the pattern s, or NULL. */
const struct pretok_stage *pretok_stage_find(const char *s, size_t n);
/* s for PCRE2 with PCRE2_MULTILINE, to *out (mem_free).  Its classes are those of the Unicode version
 * of PCRE2.
 * INFER_EUNSUP: *what is the construct that is not supported; INFER_ENOMEM */
int pretok_translate(const char *s, size_t n, char **out, const char **what);

/* pretok_scan.c */
int pretok_in_class(const struct pretok_class *c, uint32_t cp);
pretok_scan pretok_gpt2, pretok_cl, pretok_o2, pretok_ds3, pretok_runs, pretok_threes, pretok_cuts,
	pretok_tail;
#endif
