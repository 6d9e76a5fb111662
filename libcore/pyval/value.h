/* pyval/value.h - Python values in the arena of one run (the rendering of a template), and the
 * limits of that run.  Confined. */
#ifndef PYVAL_VALUE_H
#define PYVAL_VALUE_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "base/arena.h"
#include "base/json.h"
#include "pyval/budget.h"

enum py_type {
	PY_MISSING, /* an argument that was not given, no value */
	PY_UNDEF,   /* Jinja's Undefined */
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
	PY_SELF, /* Jinja's `self`: only its name can be used */
	PY_MACRO,
	PY_FN,
	PY_METHOD,
	PY_LOOP
};

/* One value. Small values are stored inline; others are in the arena and never moved or freed. */
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

/* The origin of a string's bytes: the template (or this program), the context, or both. */
enum py_origin { PY_FROM_TEMPLATE, PY_FROM_DATA, PY_FROM_MIXED };

struct pystr {
	const char *at; /* UTF-8 */
	size_t len;
	const uint8_t *mask;   /* [len] origin of each byte if from is PY_FROM_MIXED */
	struct pychunk *chunk; /* NULL, or the buffer that contains `at` and may be appended to */
	uint8_t from, safe;    /* enum py_origin; safe: a Markup of markupsafe */
};
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
enum py_view { PY_PAIRS, PY_KEYS, PY_VALUES, PY_ITEMS }; /* PY_PAIRS: the dict itself */
struct pyview {
	struct pydict *d;
	enum py_view what;
};
/* An undefined value: the attribute owner.name; without owner, the variable `name`; or see
 * `why`. */
struct pyundef {
	const char *owner;
	const struct pystr *name;
	const char *why; /* NULL, or the whole error message */
};
struct pymethod {
	struct pyval self;
	const struct pyfn *fn;
};

struct pyrun;

/* Operations on values that the renderer creates. */
struct pyhost {
	/* Set *out to the next item of a generator or a loop. Returns 1; 0 at the end, or if r->rc
	 * is set */
	int (*next)(struct pyrun *r, struct pyval v, struct pyval *out);
	/* Set *out to an attribute of a loop or a macro. Returns 1; 0 if there is none, or if r->rc
	 * is set. */
	int (*attr)(struct pyrun *r, struct pyval v, const struct pystr *name, struct pyval *out);
	const struct pystr *(*macro_name)(struct pyval macro);
};

/* One run. The renderer sets name, host, in, the limits, trusted and err, and clears all
 * else. It initialises the arena and frees it. */
struct pyrun {
	const char *name; /* name of the template; error messages begin with it and `line` */
	const struct pyhost *host;
	struct jrender *in; /* the renderer's state */
	struct arena arena;
	size_t bytes, bytes_max;
	int bytes_spent;     /* 1: the byte limit was reached */
	uint64_t clock_step; /* the step at which the clock is read next */
	int64_t until_ns;    /* time limit, by clock_thread_ns */
	uint64_t steps, steps_max,
		steps_more;             /* more: added to steps_max for each value of the context */
	int depth, depth_max, line, rc; /* rc: code of the first failure; sticky */
	const char *stack;              /* address of the stack at the start of the run */
	size_t stack_most;              /* bytes by which the stack may grow */
	int mutable;                    /* methods that change a list or a dict are allowed */
	/* NULL, or names, NULL at the end: see py_from_json */
	const char *const *trusted;
	infer_error *err;
};

static inline struct pyval py_none(void) { return (struct pyval){ .type = PY_NONE }; }
static inline struct pyval py_int(int64_t i) { return (struct pyval){ .type = PY_INT, .i = i }; }
static inline struct pyval py_bool(int b) { return (struct pyval){ .type = PY_BOOL, .i = !!b }; }
static inline struct pyval py_float(double f) { return (struct pyval){ .type = PY_FLOAT, .f = f }; }
static inline int py_is_int(struct pyval v) { return v.type == PY_INT || v.type == PY_BOOL; }
static inline int py_is_num(struct pyval v) { return py_is_int(v) || v.type == PY_FLOAT; }
static inline int py_is_seq(struct pyval v) { return v.type == PY_LIST || v.type == PY_TUPLE; }
static inline double py_num(struct pyval v) { return v.type == PY_FLOAT ? v.f : (double)v.i; }

/* All functions below that return int, unless noted: INFER_OK, or r->rc. *out is set on success.
 * INFER_EFORMAT  what Python would raise, or the limit of steps, time or nesting
 * INFER_ENOMEM   the limit of bytes, or memory */

/* Make a string from a copy of s[0 .. n). */
int py_str(struct pyrun *r, struct pyval *out, const char *s, size_t n, enum py_origin from);
int py_lit(struct pyrun *r, struct pyval *out, const char *s); /* a copy of a literal of ours */
/* Make the substring s[at .. at + n), in bytes, which are shared; at + n <= s->len. */
int py_sub(struct pyrun *r, struct pyval *out, const struct pystr *s, size_t at, size_t n);
/* Make an empty PY_LIST or PY_TUPLE with room for cap items. */
int py_list(struct pyrun *r, struct pyval *out, enum py_type type, size_t cap);
int py_push(struct pyrun *r, struct pyval list, struct pyval item);
/* Make an empty PY_DICT or PY_NS with room for cap pairs. */
int py_dict(struct pyrun *r, struct pyval *out, enum py_type type, size_t cap);
/* Make an undefined value: attribute `name` of the type `owner`, or the variable `name` if owner is
 * NULL; or one with a message of its own. owner, *name and why are not copied. */
int py_undef(struct pyrun *r, struct pyval *out, const char *owner, const struct pystr *name);
int py_undef_why(struct pyrun *r, struct pyval *out, const char *why);
int py_undef_fail(struct pyrun *r, struct pyval v); /* fail with the error of using v */
int py_concat(struct pyrun *r, struct pyval *out, const struct pystr *a, const struct pystr *b);
/* Return the byte offset of the first occurrence of `what` in s[from .. to), or SIZE_MAX: there is
 * none, or r->rc is set. from <= to <= s->len */
size_t pystr_find(struct pyrun *r, const struct pystr *s, size_t from, size_t to,
                  const struct pystr *what);
/* Return the offset of the last occurrence, likewise. */
size_t pystr_rfind(struct pyrun *r, const struct pystr *s, size_t from, size_t to,
                   const struct pystr *what);
/* Escape HTML, unless s is safe; the result is safe. */
int py_escape(struct pyrun *r, struct pyval *out, const struct pystr *s);
/* Convert JSON; strings share the bytes of j, which must outlive the run. Their origin is the
 * context; if the key is in r->trusted, the origin of any string at the top level, and below it of
 * words of lower case letters and "_", is the template. */
int py_from_json(struct pyrun *r, struct pyval *out, const struct json *j);

const char *py_type_name(struct pyval v);                   /* Python's name of the type; static */
int py_true(struct pyval v);                                /* bool(v): 0 or 1 */
int py_same(struct pyval a, struct pyval b);                /* a is b: 0 or 1 */
int py_eq(struct pyrun *r, struct pyval a, struct pyval b); /* a == b: 0 or 1; failed: 0, r->rc */
/* Set *sign to -1, 0 or 1, or to 2 if a NaN makes every comparison false. op: for the message. */
int py_cmp(struct pyrun *r, struct pyval a, struct pyval b, const char *op, int *sign);
int py_in(struct pyrun *r, struct pyval item, struct pyval where, int *yes); /* item in where */
int py_len(struct pyrun *r, struct pyval v, size_t *n);                      /* len(v) */
size_t py_chars(struct pyrun *r, const struct pystr *s); /* code points, also on failure */

/* Set *at to the index of a key, or to d->n if absent. Fails if the key is unhashable. */
int pydict_find(struct pyrun *r, const struct pydict *d, struct pyval key, size_t *at);
/* Set d[key] = v. */
int pydict_put(struct pyrun *r, struct pydict *d, struct pyval key, struct pyval v);
/* Append a pair whose key is not in d. */
int pydict_push(struct pyrun *r, struct pydict *d, struct pyval key, struct pyval v);
#endif
