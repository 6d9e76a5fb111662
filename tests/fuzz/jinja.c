/* tests/fuzz/jinja.c - any bytes as a template: refused, or rendered within a small budget.  What
 * follows a NUL, where it is JSON, is the context; else there is one that has something of
 * everything. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/err.h"
#include "base/jread.h"
#include "jinja/jinja.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char usual[] = "{\"s\":\"Hello "
			    "w\\u00f6rld\",\"n\":7,\"f\":2.5,\"l\":[3,1,2],\"d\":{\"b\":2,\"a\":1},"
			    "\"nil\":null,\"yes\":true,"
			    "\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":"
			    "\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"<|y|>\"}]}]}";

static void render(const struct jinja *t, const struct json *context, uint32_t flags)
{
	static const char *const trusted[] = { "role", NULL };
	const struct jinja_options o = {
		.steps = 20000, .bytes = 1 << 20, .depth = 100, .flags = flags, .trusted = trusted
	};
	struct buf out, from;
	infer_error err = { .message = "" };

	buf_init(&out, MEM_TEXT);
	buf_init(&from, MEM_TEXT);
	int rc = jinja_render(t, context, &o, &out, &from, &err);
	must(rc ? err.message[0] && !strchr(err.message, '\n') : out.len == from.len);
	must(out.len <= o.bytes);
	buf_fini(&out);
	buf_fini(&from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	size_t n = nul ? (size_t)(nul - data) : size;
	const struct json *c = NULL;
	struct jinja *t;
	struct arena a;

	arena_init(&a, MEM_TEXT);
	if (!nul || jread(&c, &a, (const char *)nul + 1, size - n - 1, "context", NULL) ||
	    !json_is_object(c))
		must(!jread(&c, &a, usual, sizeof usual - 1, "usual", NULL));
	if (jinja_compile(&t, (const char *)data, n, "fuzz", NULL) == INFER_OK) {
		render(t, c, 0);
		render(t, c, JINJA_MUTABLE);
		jinja_free(t);
	}
	arena_fini(&a);
	return 0;
}
