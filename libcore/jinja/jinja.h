/* jinja/jinja.h - Jinja2 templates with Python's semantics, for the chat templates of Hugging Face.
 *
 * The environment is that of transformers: ImmutableSandboxedEnvironment(trim_blocks,
 * lstrip_blocks, loopcontrols), its tojson, raise_exception, strftime_now and {% generation %}.
 * extends, include, import, block, autoescape and integers beyond 64 bits are refused. A rendering
 * is bounded in steps, bytes, nesting and time. */
#ifndef JINJA_JINJA_H
#define JINJA_JINJA_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "base/buf.h"
#include "base/json.h"

struct jinja; /* immutable: share freely */

/* JINJA_MUTABLE: allow list.append and similar methods, which transformers refuses */
enum jinja_flag { JINJA_MUTABLE = 1 << 0 };

struct jinja_options {
	/* Limit of steps, about 50 ns each: a node evaluated, an item visited, some bytes copied.
	 * 0: 2 million + 2000 for each value of the context, at most 20 million. */
	uint64_t steps;
	uint64_t *used; /* NULL, or out: steps taken */
	/* Limit of the thread's processor time; 0: 10,000. Known templates reach the limit of steps
	 * first. */
	int64_t cpu_ms;
	size_t bytes; /* limit of all strings and lists made, and the output; 0: 64 MiB */
	int *spent;   /* NULL, or set to 1 if `bytes` is why INFER_ENOMEM is returned */
	/* Limit of nested evaluations; 0: 1000; at most 4000; less if the thread's stack is
	 * small. */
	int depth;
	uint32_t flags; /* enum jinja_flag */
	int64_t now;    /* seconds since 1970-01-01 00:00 of the local clock, for strftime_now */
	/* NULL, or names of members, NULL at the end. A string of the context under such a name
	 * counts as text of the template: at the top level any string, below it only a word of
	 * lower case letters and "_", such as a role. */
	const char *const *trusted;
	/* NULL, or objects with more variables. Each overrides the context and those before it. */
	const struct json *more[3];
};

/* Compile src[0 .. n); src and name, which begins messages, are copied. *out is NULL on failure.
 * INFER_EFORMAT  a syntax error, with the line
 * INFER_EUNSUP   a tag that is refused
 * INFER_ENOMEM */
int jinja_compile(struct jinja **out, const char *src, size_t n, const char *name,
                  infer_error *err);
void jinja_free(struct jinja *t);
/* True if the template uses this name. */
int jinja_asks(const struct jinja *t, const char *name);

/* Append the rendered text to `out`; on failure both buffers are unchanged.
 * context  an object; the order of keys is kept
 * from     NULL, or gets a byte for each byte of text: 1 from the context, 0 from the template
 * INFER_EFORMAT  an error as in Python's jinja2, with the line; raise_exception, with its message;
 *                the limit of steps, time or nesting
 * INFER_ENOMEM   out of memory, or the limit of bytes */
int jinja_render(const struct jinja *t, const struct json *context, const struct jinja_options *o,
                 struct buf *out, struct buf *from, infer_error *err);
#endif
