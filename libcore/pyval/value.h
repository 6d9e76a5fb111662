/* pyval/value.h - Python's values, in the arena of one run (the rendering of a template), and what
 * that run may spend.  Confined. */
#ifndef PYVAL_VALUE_H
#define PYVAL_VALUE_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "base/arena.h"
#include "base/json.h"

enum jv_type {
	J_MISSING,
	J_UNDEF,
	J_NONE,
	J_BOOL,
	J_INT,
	J_FLOAT,
	J_STR,
	J_LIST,
	J_TUPLE,
	J_DICT,
	J_RANGE,
	J_NS,
	J_GEN,
	J_VIEW,
	J_SELF /* `self`, of which nothing but its name is asked */,
	J_MACRO,
	J_FN,
	J_METHOD,
	J_LOOP
};

/* One value.  Small values are stored inline; others are in the arena, and are never moved or
 * freed. */
struct jv {
	uint8_t type;
	union {
		int64_t i; /* J_INT, J_BOOL */
		double f;
		const struct jstr *s;
		struct jlist *l; /* J_LIST, J_TUPLE */
		struct jdict *d; /* J_DICT, J_NS */
		struct jrange *range;
		struct jgen *gen;
		struct jview *view;
		const struct jundef *undef;
		struct jmacro *macro;
		const struct jfn *fn;
		struct jmethod *method;
		struct jloop *loop;
	};
};

/* The origin of a string: the template, the context, or both, recorded per byte. */
enum jfrom { JFROM_TEMPLATE, JFROM_DATA, JFROM_MIXED };

struct jstr {
	const char *at; /* UTF-8 */
	size_t len;
	const uint8_t *mask;  /* [len] where from is JFROM_MIXED */
	struct jchunk *chunk; /* NULL, or the chunk that contains `at`, with room after it */
	uint8_t from, safe;   /* safe: a Markup of markupsafe */
};
/* group: groupby's tuple */
struct jlist {
	struct jv *at;
	size_t n, cap;
	uint8_t group;
};
struct jpair {
	struct jv k, v;
};
struct jdict {
	struct jpair *at;
	size_t n, cap;
};
struct jrange {
	int64_t start, stop, step;
	size_t n;
};
/* 'k' 'v' 'i' */
struct jview {
	struct jdict *d;
	char what;
};
/* why: the whole sentence */
struct jundef {
	const char *owner;
	const struct jstr *name;
	const char *why;
};
struct jmethod {
	struct jv self;
	const struct jfn *fn;
};

struct jrun;

/* What only the renderer can do with the kinds of values that it makes. */
struct jhost {
	/* of a generator or a loop, as jiter_next */
	int (*next)(struct jrun *r, struct jv v, struct jv *out);
	/* of a loop or a macro: 1 and *out, or 0: it has none; r->rc where it failed */
	int (*attr)(struct jrun *r, struct jv v, const struct jstr *name, struct jv *out);
	const struct jstr *(*macro_name)(struct jv macro);
};

/* One run.  name, host and in are the renderer's to set. */
struct jrun {
	const char *name; /* the template's; messages begin with it and with `line` */
	const struct jhost *host;
	struct jrender *in; /* the renderer's own state */
	struct arena arena;
	size_t bytes, bytes_max;
	int spent;                             /* 1: the byte limit was reached */
	uint64_t look;                         /* the step at which the clock is checked next */
	int64_t until_ns;                      /* on clock_thread_ns */
	uint64_t steps, steps_max, steps_more; /* more: for each value of the context */
	int depth, depth_max, line, rc;        /* rc: the first failure; sticky */
	const char *stack;                     /* where it began ... */
	size_t stack_most;                     /* ... and how far it may grow */
	int changes; /* methods that change a list or a dict work; else they are refused */
	/* names, NULL at the end, or NULL: see jv_from_json */
	const char *const *trusted;
	infer_error *err;
};

/* Set the error, unless one is set; returns the code of the run. */
int jinja_fail(struct jrun *r, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));
/* A step is some 50 ns: a node evaluated, an item visited, a value made, or so many bytes of a
 * string. */
enum {
	JSTEP_COPY = 128 /* copied, compared */,
	JSTEP_LOOK = 32 /* looked at one by one */,
	JSTEP_READ = 8 /* taken as characters */
};
enum {
	JSTEP_ITEMS = 8 /* items moved, or keys looked at */,
	JSTEP_DIGITS = 32 /* the steps of a float's way to text or back */
};
int jinja_spend(struct jrun *r, uint64_t steps); /* INFER_OK, or the code when they are spent */
int jinja_full(struct jrun *r) __attribute__((cold)); /* fails: the bytes are spent */
/* zeroed; NULL: failure, with the code in r->rc */
void *jinja_take(struct jrun *r, size_t n, size_t size);
int jinja_enter(struct jrun *r); /* one level deeper; r->depth-- is the caller's */

static inline struct jv jv_none(void) { return (struct jv){ .type = J_NONE }; }
static inline struct jv jv_int(int64_t i) { return (struct jv){ .type = J_INT, .i = i }; }
static inline struct jv jv_bool(int b) { return (struct jv){ .type = J_BOOL, .i = !!b }; }
static inline struct jv jv_float(double f) { return (struct jv){ .type = J_FLOAT, .f = f }; }
static inline int jv_is_int(struct jv v) { return v.type == J_INT || v.type == J_BOOL; }
static inline int jv_is_num(struct jv v) { return jv_is_int(v) || v.type == J_FLOAT; }
static inline int jv_is_seq(struct jv v) { return v.type == J_LIST || v.type == J_TUPLE; }
static inline double jv_num(struct jv v) { return v.type == J_FLOAT ? v.f : (double)v.i; }

/* All of these: 0 or the run's code; *out is set on success.  Strings given by address are
 * copied. */
int jv_str(struct jrun *r, struct jv *out, const char *s, size_t n, enum jfrom from);
int jv_lit(struct jrun *r, struct jv *out, const char *s); /* a string of the engine itself */
/* shares the bytes */
int jv_sub(struct jrun *r, struct jv *out, const struct jstr *s, size_t at, size_t n);
int jv_list(struct jrun *r, struct jv *out, enum jv_type type, size_t cap);
int jv_push(struct jrun *r, struct jv list, struct jv item);
int jv_dict(struct jrun *r, struct jv *out, enum jv_type type, size_t cap);
int jv_undef(struct jrun *r, struct jv *out, const char *owner, const struct jstr *name);
int jv_undef_why(struct jrun *r, struct jv *out, const char *why);
int jv_undef_fail(struct jrun *r, struct jv v); /* fails like a use of the value */
int jv_concat(struct jrun *r, struct jv *out, const struct jstr *a, const struct jstr *b);
/* in s[from .. to); SIZE_MAX: not there */
size_t jstr_find(struct jrun *r, const struct jstr *s, size_t from, size_t to,
                 const struct jstr *what);
/* the last */
size_t jstr_rfind(struct jrun *r, const struct jstr *s, size_t from, size_t to,
                  const struct jstr *what);
int jv_escape(struct jrun *r, struct jv *out, const struct jstr *s); /* HTML, safe afterwards */
/* Strings are shared with j.  One whose key is in r->trusted counts as the template's own: at the
 * top whatever it is, further down where it is a word of small letters and "_". */
int jv_from_json(struct jrun *r, struct jv *out, const struct json *j);

const char *jv_type_name(struct jv v); /* as Python names the type */
int jv_true(struct jv v);
int jv_same(struct jv a, struct jv b);               /* Python's `is` */
int jv_eq(struct jrun *r, struct jv a, struct jv b); /* 0, 1; on failure 0 and r->rc */
int jv_cmp(struct jrun *r, struct jv a, struct jv b, const char *op, int *sign);
int jv_in(struct jrun *r, struct jv item, struct jv where, int *yes);
int jv_len(struct jrun *r, struct jv v, size_t *n);    /* fails if Python's len does */
size_t jv_chars(struct jrun *r, const struct jstr *s); /* code points */

/* Dicts.  find: its index, or d->n; an unhashable key fails. */
int jdict_find(struct jrun *r, const struct jdict *d, struct jv key, size_t *at);
int jdict_put(struct jrun *r, struct jdict *d, struct jv key, struct jv v);
/* append a pair without looking for the key */
int jdict_push(struct jrun *r, struct jdict *d, struct jv key, struct jv v);
#endif
