/* tok/pretok.h - split text into the pieces that BPE encodes separately.
 *
 * A pre-tokenizer is a list of stages.  A stage splits each piece of the stage before it, as if the
 * piece were the
 * whole text: every match of its regular expression is a piece, and so is every gap between
 * matches.  If a stage has a hand-written scanner, it does this in linear time, and the expression
 * is its specification (tests compare them); otherwise PCRE2 runs the expression.  A stage with a
 * class of characters (\p{L}, \s, \d) needs a scanner: PCRE2's classes are those of its own Unicode
 * version, the scanners' those of text/unicode.h.  A byte that is not part of valid UTF-8 is in
 * category Cn for scanners and U+0001 for PCRE2: neither letter, number, mark, punctuation, symbol
 * nor space. */
#ifndef TOK_PRETOK_H
#define TOK_PRETOK_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>

enum { PRETOK_STAGES = 7 };

/* State of a scanner in its piece. */
struct pretok_it {
	const char *s;
	size_t n;        /* bytes of s */
	size_t from, to; /* the last match; the search continues at `to` */
	/* digit groups: end of the last counted run; its code points from `to` on */
	size_t run, left;
	const uint64_t *ascii; /* [2] 128 bits: ASCII characters in the stage's class */
};

/* A class of code points: in one of the sets (unicode_set) or ranges; `negated`: in none. */
struct pretok_class {
	uint32_t set;
	int negated;
	int n;
	const uint32_t (*range)[2];
};

struct pretok_stage;
/* Find the next match.  Returns 1 and sets from and to, or 0 if there is none. */
typedef int pretok_scan(const struct pretok_stage *st, struct pretok_it *it);

struct pretok_stage {
	const char *pattern;
	pretok_scan *scan; /* NULL: PCRE2 runs the pattern */
	const struct pretok_class *of;
	uint32_t max;   /* most code points in a run; 0: no limit */
	uint32_t flags; /* bits of enum pretok_how */
};

enum pretok_how {
	PRETOK_EOL = 1 << 0,         /* punctuation includes the newlines after it */
	PRETOK_SLASH = 1 << 1,       /* punctuation includes the newlines and slashes after it */
	PRETOK_ONE = 1 << 2,         /* punctuation includes at most one such character */
	PRETOK_MARKS = 1 << 3,       /* marks count as letters */
	PRETOK_PHRASE = 1 << 4,      /* words joined by single spaces are one piece */
	PRETOK_BLANKS = 1 << 5,      /* white space is split into powers of two */
	PRETOK_HAN = 1 << 6,         /* runs of Han are split off first and are not part of words */
	PRETOK_SHORT = 1 << 7,       /* a word includes the contraction after it */
	PRETOK_LEAD = 1 << 8,        /* one white space may precede the run */
	PRETOK_EXACT = 1 << 9,       /* a match has exactly `max` code points */
	PRETOK_AT_END = 1 << 10,     /* groups of digits only in a run that ends a word */
	PRETOK_LEAD_BLANK = 1 << 11, /* one U+0020 may precede the run */
};

/* flags of a pre-tokenizer */
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

const struct pretok *pretok_find(const char *name, size_t n); /* NULL: unknown name */
const struct pretok *pretok_at(size_t i);                     /* NULL: i is too large */

/* The compiled expressions of a pre-tokenizer; immutable. */
struct pretok_code;
/* WITH_PCRE2: PCRE2 runs every stage, for tests.  FOREIGN: the stages are results of
 * pretok_translate; INFER_EUNSUP if PCRE2 refuses one */
enum pretok_with { PRETOK_WITH_SCANNERS, PRETOK_WITH_PCRE2, PRETOK_FOREIGN };
int pretok_new(struct pretok_code **out, const struct pretok *p, enum pretok_with with,
               infer_error *err);
void pretok_free(struct pretok_code *c);

/* Call fn for each piece of s[0 .. n), in order; a nonzero result of fn ends the run and is
 * returned.
 * INFER_EUNSUP: PCRE2 reached a limit; the message names the byte offset in s.
 * INFER_ENOMEM */
typedef int pretok_fn(void *user, const char *s, size_t n, infer_error *err);
int pretok_run(const struct pretok_code *c, const char *s, size_t n, pretok_fn *fn, void *user,
               infer_error *err);

/* Call fn for each match of the first stage of c in s[0 .. n), in order.  Errors as for
 * pretok_run. */
typedef int pretok_match(void *user, size_t from, size_t to, infer_error *err);
int pretok_each(const struct pretok_code *c, const char *s, size_t n, pretok_match *fn, void *user,
                infer_error *err);

/* pretok_form.c: expressions of tokenizer.json, in Oniguruma's Ruby syntax. */
/* True if a and b are equivalent: they differ only in characters written as \x{..}, or a group
 * around an optional group. */
int pretok_same(const char *a, const char *b, size_t b_n);
/* Return the listed stage with the pattern s, or NULL. */
const struct pretok_stage *pretok_stage_find(const char *s, size_t n);
/* Translate s for PCRE2 with PCRE2_MULTILINE into *out (mem_free).  Classes such as \p{L} are those
 * of PCRE2's Unicode version.
 * INFER_EUNSUP: *what names the unsupported construct.  INFER_ENOMEM */
int pretok_translate(const char *s, size_t n, char **out, const char **what);

/* pretok_scan.c */
int pretok_in_class(const struct pretok_class *c, uint32_t cp);
pretok_scan pretok_gpt2, pretok_cl, pretok_o2, pretok_ds3, pretok_runs, pretok_threes, pretok_cuts,
	pretok_tail;
#endif
