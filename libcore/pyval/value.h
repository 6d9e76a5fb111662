/* pyval/value.h - Python's values, in the arena of one run (the rendering of a template), and what
 * that run may spend.  Confined. */
#ifndef PYVAL_VALUE_H
#define PYVAL_VALUE_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "base/arena.h"
#include "base/json.h"

enum py_type {
	PY_MISSING,
	PY_UNDEF,
	PY_NONE,
	PY_BOOL,
	PY_INT,
	PY_FLOAT,
	PY_STR,
	PY_LIST,
	PY_TUPLE,
	PY_DICT,
	PY_RANGE,
	PY_NS,
	PY_GEN,
	PY_VIEW,
	PY_SELF /* `self`, of which nothing but its name is asked */,
	PY_MACRO,
	PY_FN,
	PY_METHOD,
	PY_LOOP
};

/* One value.  Small values are stored inline; others are in the arena, and are never moved or
 * freed. */
struct pyval {
	uint8_t type;
	union {
		int64_t i; /* PY_INT, PY_BOOL */
		double f;
		const struct pystr *s;
		struct pylist *l; /* PY_LIST, PY_TUPLE */
		struct pydict *d; /* PY_DICT, PY_NS */
		struct pyrange *range;
		struct jgen *gen;
		struct pyview *view;
		const struct pyundef *undef;
		struct jmacro *macro;
		const struct pyfn *fn;
		struct pymethod *method;
		struct jloop *loop;
	};
};

/* The origin of a string: the template, the context, or both, recorded per byte. */
enum py_origin { PY_FROM_TEMPLATE, PY_FROM_DATA, PY_FROM_MIXED };

struct pystr {
	const char *at; /* UTF-8 */
	size_t len;
	const uint8_t *mask;   /* [len] where from is PY_FROM_MIXED */
	struct pychunk *chunk; /* NULL, or the chunk that contains `at`, with room after it */
	uint8_t from, safe;    /* safe: a Markup of markupsafe */
};
/* group: groupby's tuple */
struct pylist {
	struct pyval *at;
	size_t n, cap;
	uint8_t group;
};
struct pypair {
	struct pyval k, v;
};
struct pydict {
	struct pypair *at;
	size_t n, cap;
};
struct pyrange {
	int64_t start, stop, step;
	size_t n;
};
/* 'k' 'v' 'i' */
struct pyview {
	struct pydict *d;
	char what;
};
/* why: the whole sentence */
struct pyundef {
	const char *owner;
	const struct pystr *name;
	const char *why;
};
struct pymethod {
	struct pyval self;
	const struct pyfn *fn;
};

struct pyrun;

/* What only the renderer can do with the kinds of values that it makes. */
struct pyhost {
	/* of a generator or a loop, as pyiter_next */
	int (*next)(struct pyrun *r, struct pyval v, struct pyval *out);
	/* of a loop or a macro: 1 and *out, or 0: it has none; r->rc where it failed */
	int (*attr)(struct pyrun *r, struct pyval v, const struct pystr *name, struct pyval *out);
	const struct pystr *(*macro_name)(struct pyval macro);
};

/* One run.  name, host and in are the renderer's to set. */
struct pyrun {
	const char *name; /* the template's; messages begin with it and with `line` */
	const struct pyhost *host;
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
	/* names, NULL at the end, or NULL: see py_from_json */
	const char *const *trusted;
	infer_error *err;
};

/* Set the error, unless one is set; returns the code of the run. */
int py_fail(struct pyrun *r, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));
/* A step is some 50 ns: a node evaluated, an item visited, a value made, or so many bytes of a
 * string. */
enum {
	PY_STEP_COPY = 128 /* copied, compared */,
	PY_STEP_LOOK = 32 /* looked at one by one */,
	PY_STEP_READ = 8 /* taken as characters */
};
enum {
	PY_STEP_ITEMS = 8 /* items moved, or keys looked at */,
	PY_STEP_DIGITS = 32 /* the steps of a float's way to text or back */
};
int py_spend(struct pyrun *r, uint64_t steps); /* INFER_OK, or the code when they are spent */
int py_fail_bytes(struct pyrun *r) __attribute__((cold)); /* fails: the bytes are spent */
/* zeroed; NULL: failure, with the code in r->rc */
void *py_alloc(struct pyrun *r, size_t n, size_t size);
int py_enter(struct pyrun *r); /* one level deeper; r->depth-- is the caller's */

static inline struct pyval py_none(void) { return (struct pyval){ .type = PY_NONE }; }
static inline struct pyval py_int(int64_t i) { return (struct pyval){ .type = PY_INT, .i = i }; }
static inline struct pyval py_bool(int b) { return (struct pyval){ .type = PY_BOOL, .i = !!b }; }
static inline struct pyval py_float(double f) { return (struct pyval){ .type = PY_FLOAT, .f = f }; }
static inline int py_is_int(struct pyval v) { return v.type == PY_INT || v.type == PY_BOOL; }
static inline int py_is_num(struct pyval v) { return py_is_int(v) || v.type == PY_FLOAT; }
static inline int py_is_seq(struct pyval v) { return v.type == PY_LIST || v.type == PY_TUPLE; }
static inline double py_num(struct pyval v) { return v.type == PY_FLOAT ? v.f : (double)v.i; }

/* All of these: 0 or the run's code; *out is set on success.  Strings given by address are
 * copied. */
int py_str(struct pyrun *r, struct pyval *out, const char *s, size_t n, enum py_origin from);
int py_lit(struct pyrun *r, struct pyval *out, const char *s); /* a string of the engine itself */
/* shares the bytes */
int py_sub(struct pyrun *r, struct pyval *out, const struct pystr *s, size_t at, size_t n);
int py_list(struct pyrun *r, struct pyval *out, enum py_type type, size_t cap);
int py_push(struct pyrun *r, struct pyval list, struct pyval item);
int py_dict(struct pyrun *r, struct pyval *out, enum py_type type, size_t cap);
int py_undef(struct pyrun *r, struct pyval *out, const char *owner, const struct pystr *name);
int py_undef_why(struct pyrun *r, struct pyval *out, const char *why);
int py_undef_fail(struct pyrun *r, struct pyval v); /* fails like a use of the value */
int py_concat(struct pyrun *r, struct pyval *out, const struct pystr *a, const struct pystr *b);
/* in s[from .. to); SIZE_MAX: not there */
size_t pystr_find(struct pyrun *r, const struct pystr *s, size_t from, size_t to,
                  const struct pystr *what);
/* the last */
size_t pystr_rfind(struct pyrun *r, const struct pystr *s, size_t from, size_t to,
                   const struct pystr *what);
int py_escape(struct pyrun *r, struct pyval *out,
              const struct pystr *s); /* HTML, safe afterwards */
/* Strings are shared with j.  One whose key is in r->trusted counts as the template's own: at the
 * top whatever it is, further down where it is a word of small letters and "_". */
int py_from_json(struct pyrun *r, struct pyval *out, const struct json *j);

const char *py_type_name(struct pyval v); /* as Python names the type */
int py_true(struct pyval v);
int py_same(struct pyval a, struct pyval b);                /* Python's `is` */
int py_eq(struct pyrun *r, struct pyval a, struct pyval b); /* 0, 1; on failure 0 and r->rc */
int py_cmp(struct pyrun *r, struct pyval a, struct pyval b, const char *op, int *sign);
int py_in(struct pyrun *r, struct pyval item, struct pyval where, int *yes);
int py_len(struct pyrun *r, struct pyval v, size_t *n);  /* fails if Python's len does */
size_t py_chars(struct pyrun *r, const struct pystr *s); /* code points */

/* Dicts.  find: its index, or d->n; an unhashable key fails. */
int pydict_find(struct pyrun *r, const struct pydict *d, struct pyval key, size_t *at);
int pydict_put(struct pyrun *r, struct pydict *d, struct pyval key, struct pyval v);
/* append a pair without looking for the key */
int pydict_push(struct pyrun *r, struct pydict *d, struct pyval key, struct pyval v);
#endif
