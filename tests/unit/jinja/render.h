/* tests/unit/jinja/render.h - compile and render one template. */
#ifndef JINJA_RENDER_H
#define JINJA_RENDER_H
#include "base/buf.h"
#include "jinja/jinja.h"
#include <string.h>

#define NOW 1786797296 /* 2026-08-15 12:34:56 */

/* Compile and render. Returns the text, freed by mem_free, or NULL and err. */
static char *render(const char *src, size_t n, const struct json *context, uint32_t flags,
                    infer_error *err)
{
	static const struct jinja_options base = { .now = NOW };
	struct jinja_options o = base;
	struct jinja *t;
	struct buf out;

	o.flags = flags;
	memset(err, 0, sizeof *err);
	if (jinja_compile(&t, src, n, "test", err))
		return NULL;
	buf_init(&out, MEM_TEXT);
	int rc = jinja_render(t, context, &o, &out, NULL, err);
	buf_putc(&out, 0);
	jinja_free(t);
	if (rc)
		buf_fini(&out);
	return rc ? NULL : out.at;
}
#endif
