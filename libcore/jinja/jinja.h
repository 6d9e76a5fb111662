/* jinja/jinja.h - Jinja2 templates, with Python's semantics, as the chat templates of Hugging Face
 * use them.
 *
 * The environment is that of transformers: ImmutableSandboxedEnvironment(trim_blocks,
 * lstrip_blocks, loopcontrols), its tojson, raise_exception, strftime_now and {% generation %}.
 * extends, include, import, block and autoescape are refused by name, and so are integers beyond 64
 * bits.  A rendering is bounded in steps, bytes and depth. */
#ifndef JINJA_JINJA_H
#define JINJA_JINJA_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "base/buf.h"
#include "base/json.h"

struct jinja; /* immutable: share freely */

/* allow list.append and similar methods; otherwise they are refused, as by transformers */
enum jinja_flag { JINJA_MUTABLE = 1 << 0 };

struct jinja_options {
	/* Each some 50 ns: nodes evaluated, items visited, bytes by the dozen.  0: 2 million, and
	 * 2000 for each value of the context, as templates look through all messages at each; never
	 * more than 20 million. */
	uint64_t steps;
	uint64_t *used; /* NULL, or out: the number of steps taken */
	/* a last stop, on the thread's processor time; 0: 10,000.  Steps end every template known
	 * long before */
	int64_t cpu_ms;
	size_t bytes; /* 0: 64 MiB; all strings and lists made on the way, and the output */
	int *spent;   /* NULL, or set to 1 if INFER_ENOMEM means that this limit was reached */
	/* 0: 1000 nested evaluations; at most 4000; fewer where the thread's stack ends before */
	int depth;
	uint32_t flags; /* enum jinja_flag */
	int64_t now;    /* seconds since 1970-01-01 00:00 of the local clock, for strftime_now */
	/* Names, NULL at the end, or NULL.  A string that the context has under one of them counts
	 * as the template's own: at the top whatever it is, further down where it is a word of
	 * small letters and "_", as a role is. */
	const char *const *trusted;
	/* objects, or NULL: variables that go before the context's, those of the second before the
	 * first's */
	const struct json *more[2];
};

/* n: bytes of src, which is copied.  name: for messages, copied.
 * INFER_EFORMAT  with the line; INFER_EUNSUP  a tag that is refused; INFER_ENOMEM */
int jinja_compile(struct jinja **out, const char *src, size_t n, const char *name,
                  infer_error *err);
void jinja_free(struct jinja *t);
/* 1: the template mentions this variable. */
int jinja_asks(const struct jinja *t, const char *name);

/* Put the rendered text behind what `out` holds.
 * context  an object, of any depth; the order of keys is kept
 * from     NULL, or gets as many bytes: 1 where the byte comes from the context, 0 where it is the
 * template's own INFER_EFORMAT  as Python's jinja2 would fail, with the line; the steps or the time
 * are spent; raise_exception, with its
 *                message
 * INFER_ENOMEM   memory failed, or the budget of bytes is spent; both bufs are as they were */
int jinja_render(const struct jinja *t, const struct json *context, const struct jinja_options *o,
                 struct buf *out, struct buf *from, infer_error *err);
#endif
